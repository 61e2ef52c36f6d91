"""Which fact goes where on a card: to the parts of its type, by names and shapes."""

from collections.abc import Iterator, Sequence

from orchestrator.catalog.card_types import CARD_TYPES, CardPart, CardType
from orchestrator.catalog.tool import CardLayout
from orchestrator.confirmation.card_content import (
    CONTENT_TYPES,
    Amount,
    CardLine,
    CardSection,
    Content,
    Declared,
    LineItem,
    Moment,
)
from orchestrator.confirmation.card_facts import CardFact, line_items
from orchestrator.core.pii import is_handle

_MINE = "client"
"""A client reference is ours: no fact about what is done."""
_PART_OF_KIND = {"money": "amounts", "moment": "times", "items": "items"}
"""Where on every card facts go whose shape alone says what they are."""


def content_of(
    card_type: str, shown: Sequence[CardFact], layout: CardLayout | None = None
) -> tuple[Content | None, tuple[CardFact, ...]]:
    """What a card of this type shows of these facts, and those that have no place on it."""
    if layout is not None and layout.sections:
        return _declared(shown, layout)
    if card_type not in CARD_TYPES:
        return None, tuple(shown)
    parts: dict[str, list[object]] = {}
    rest = []
    for fact in shown:
        part, entries = _placed(fact, CARD_TYPES[card_type])
        if part is None:
            rest.append(fact)
        else:
            parts.setdefault(part, []).extend(entries)
    return CONTENT_TYPES[card_type].model_validate(parts), tuple(rest)


def _placed(fact: CardFact, card_type: CardType) -> tuple[str | None, list[object]]:
    """The part of the card that a fact belongs to, and what is written there."""
    if fact.kind in _PART_OF_KIND:
        part = _PART_OF_KIND[fact.kind]
        return (part, list(_typed(fact))) if part in card_type.parts else (None, [])
    taking = [name for name, part in card_type.parts.items() if _takes(part, fact)]
    if not taking:
        return None, []
    name = min(taking, key=lambda name: card_type.parts[name].turn)
    return name, [fact.line(prose=card_type.parts[name].is_prose)]


def _takes(part: CardPart, fact: CardFact) -> bool:
    if fact.kind not in ("text", "flag") or _MINE in fact.words:
        return False
    # A code says nothing to a person, and a value from the vault is not shown.
    if (fact.is_id or is_handle(fact.value)) and not part.takes_ids:
        return False
    return bool(part.words & set(fact.words))


def _typed(fact: CardFact) -> Iterator[Amount | Moment | LineItem]:
    if fact.money is not None:
        yield Amount(label=fact.label, money=fact.money)
    elif fact.kind == "moment":
        yield Moment(label=fact.label, at=str(fact.value))
    else:
        yield from line_items(fact.value, whole=fact.is_sent)


def _declared(
    shown: Sequence[CardFact], layout: CardLayout
) -> tuple[Declared, tuple[CardFact, ...]]:
    """A document's own layout; what it leaves out is shown all the same, with the rest."""
    placed: set[str] = set()
    parts = []
    for section in layout.sections:
        lines: list[CardLine] = []
        for field in section.fields:
            inside = f"{field.name}."
            meant = [f for f in shown if f.name == field.name or f.name.startswith(inside)]
            placed.update(fact.name for fact in meant)
            lines += [
                fact.line(prose=True, label=field.label if len(meant) == 1 else "")
                for fact in meant
            ]
        if lines:
            parts.append(CardSection(title=section.title, lines=tuple(lines)))
    return Declared(parts=tuple(parts)), tuple(f for f in shown if f.name not in placed)
