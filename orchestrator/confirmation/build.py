"""What a call would do, made readable: the card, the quoted price, and the entry in the ledger."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from pydantic import JsonValue

from orchestrator.catalog.prices import amounts_in, price_of
from orchestrator.catalog.tool import Tool
from orchestrator.confirmation.card_content import CardLine
from orchestrator.confirmation.card_facts import CardFact, facts
from orchestrator.confirmation.card_slots import content_of, undo_terms
from orchestrator.confirmation.models import ConfirmationCard, call_digest
from orchestrator.core.budget import Money
from orchestrator.core.pii import is_handle
from orchestrator.core.record import JsonObject
from orchestrator.planning.models import Observation
from orchestrator.saga.ledger import Obligation

_MOST_LINES = 24


def quoted_item(arguments: JsonObject, observations: Sequence[Observation]) -> JsonObject | None:
    """The thing that the arguments point at: the last seen object that shares an identifier.

    An offer is booked by its id alone; what a person wants to read on the card (the times, the
    price) is in the answer in which that id was found.
    """
    return next(quoted_items(arguments, observations), None)


def quoted_items(
    arguments: JsonObject, observations: Sequence[Observation]
) -> Iterator[JsonObject]:
    """All that was seen of that thing, newest first: an offer, its rules, an older offer."""
    wanted = {
        (name, value)
        for name, value in arguments.items()
        if name.endswith("_id") and isinstance(value, str) and not is_handle(value)
    }
    for observation in reversed(observations):
        for item in _objects(observation.body):
            if any((name, item.get(name)) in wanted for name, _ in wanted):
                yield item


def quoted_price(arguments: JsonObject, item: JsonObject | None) -> Money | None:
    """What the call will cost: as its arguments say, else as the quoted item says."""
    return price_of(arguments) or (price_of(item) if item is not None else None)


def amounts_of(arguments: JsonObject, item: JsonObject | None) -> tuple[Money, ...]:
    """Every amount of money that the arguments and the quoted item state, the price among them."""
    return (*amounts_in(arguments), *amounts_in(item))


def build_card(
    tool: Tool,
    arguments: JsonObject,
    *,
    call_id: str,
    mission_id: str,
    leg_id: str,
    catalog_digest: str,
    quoted: Sequence[JsonObject],
    expires_at: datetime | None,
    approvers: tuple[str, ...] = (),
    confirmation_id: str = "",
    asked: int = 1,
) -> ConfirmationCard:
    """The card for one exact call.

    Of `quoted`, which `quoted_items` finds, the first is shown; `confirmation_id` is the call's own
    when it is left out; `asked` counts how often the call is asked about, this time included.
    """
    card_type = tool.card_type or "structured-confirmation"
    item = quoted[0] if quoted else None
    content, rest = content_of(card_type, _shown(tool, arguments, item), tool.card_layout)
    undo = undo_terms(tool.compensation, quoted)
    return ConfirmationCard(
        confirmation_id=confirmation_id or call_id,
        mission_id=mission_id,
        leg_id=leg_id,
        card_type=card_type,
        heading=_heading(tool, card_type),
        title=title_of(tool),
        tool=tool.name,
        content=content,
        lines=_lines(rest),
        arguments=arguments,
        personal=tool.pii_fields,
        price=quoted_price(arguments, item),
        undo=undo.sentence(),
        undo_terms=undo,
        digest=call_digest(
            tool=tool.name,
            catalog_digest=catalog_digest,
            arguments=arguments,
            card_type=card_type,
            call_id=call_id,
            confirmation_id=confirmation_id,
        ),
        expires_at=expires_at,
        approvers=approvers,
        round=asked,
    )


def _heading(tool: Tool, card_type: str) -> str:
    if tool.card_layout is not None and tool.card_layout.title:
        return tool.card_layout.title
    return card_type.removeprefix("structured-").replace("-", " ").capitalize()


def _shown(tool: Tool, arguments: JsonObject, item: JsonObject | None) -> list[CardFact]:
    """The arguments, then what the quoted item adds; its price has a place of its own."""
    labels = {
        name: title
        for name, schema in tool.properties.items()
        if isinstance(title := schema.get("title"), str)
    }
    price = quoted_price(arguments, item)
    sent = list(facts(arguments, labels))
    names = {fact.name for fact in sent} | set(arguments)
    found = [fact for fact in facts(item or {}) if not fact.is_empty]
    added = [f for f in found if not {f.name, f.name.split(".")[0]} & names]
    if tool.card_layout is not None:
        return [*sent, *added]
    return [*sent, *(f for f in added if f.money is None or f.money != price)]


def _lines(rest: Sequence[CardFact]) -> tuple[CardLine, ...]:
    lines = [fact.line() for fact in rest]
    if len(lines) <= _MOST_LINES:
        return tuple(lines)
    left = len(lines) - _MOST_LINES + 1
    more = CardLine(label="More", value=f"{left} others; see: orchestrator confirm show --json")
    return (*lines[: _MOST_LINES - 1], more)


def draft_obligation(
    tool: Tool,
    arguments: JsonObject,
    *,
    call_id: str,
    mission_id: str,
    leg_id: str,
    catalog_digest: str,
    now: datetime,
) -> Obligation:
    """The ledger entry of one side-effect call; its leg sets the times when it writes it."""
    undo = tool.compensation
    obligation = Obligation(
        obligation_id=call_id,
        mission_id=mission_id,
        leg_id=leg_id,
        tool=tool.name,
        cancel_tool=undo.cancel.tool if undo else None,
        catalog_digest=catalog_digest,
        arguments=arguments,
        idempotency_key=call_id if tool.idempotency_header else None,
        title=title_of(tool),
        spends=tool.spends,
        written_at=now,
        deadline=now,
    )
    if undo is None:
        return obligation
    return obligation.model_copy(
        update={
            "cancel_timeout": undo.timeout,
            "cancel_max_attempts": undo.max_attempts,
            "on_failure": undo.on_failure,
        }
    )


def title_of(tool: Tool) -> str:
    """What the call does, in the words of its contract."""
    return tool.summary.rstrip(".") or tool.name.replace("_", " ")


def _objects(value: JsonValue) -> Iterator[JsonObject]:
    """Every object in a JSON value, outer before inner."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _objects(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _objects(inner)
