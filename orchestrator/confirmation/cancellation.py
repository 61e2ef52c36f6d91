"""The card of a cancel that is not plainly its mission's own: what it is, whose, what follows."""

from dataclasses import dataclass

from orchestrator.catalog.card_types import CANCELLATION
from orchestrator.catalog.tool import Tool
from orchestrator.confirmation.card_content import Amount, CardLine
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.record import JsonObject

_NO_UNDO = "nothing undoes a cancel"


@dataclass(frozen=True)
class AskedCancel:
    """A planner's cancel that a person decides about."""

    doubt: str
    """Why it is not plainly of the mission's own: a sentence without its full stop."""
    found: tuple[JsonObject, ...] = ()
    """What providers say of the thing, the newest first; empty: it could not be read."""
    leaves_a_consequence: bool = True
    """Whether what it cancels stands in no ledger, so that the cancel itself must."""

    def asking(self, tool: Tool) -> Tool:
        """The cancel tool, as one that asks by this card."""
        return tool.model_copy(update={"card_type": CANCELLATION, "card_layout": None})

    def on(self, card: ConfirmationCard) -> ConfirmationCard:
        """The card with what must be known before deciding.

        The price of the thing is no price of the call: it stands with the other amounts.
        """
        assert card.content is not None
        lines = [CardLine(label="Whose", value=self.doubt)]
        if not self.found:
            lines.append(CardLine(label="What it is", value="could not be read"))
        lines.append(CardLine(label="After that", value=_NO_UNDO))
        shown: dict[str, object] = {"warnings": tuple(lines)}
        if card.price is not None:
            amounts = getattr(card.content, "amounts", ())
            shown["amounts"] = (Amount(label="Its price", money=card.price), *amounts)
        content = card.content.model_copy(update=shown)
        return card.model_copy(update={"content": content, "price": None, "undo": _NO_UNDO})
