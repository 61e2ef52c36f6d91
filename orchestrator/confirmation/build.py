"""What a call would do, made readable: its card and its price."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime

from pydantic import JsonValue

from orchestrator.catalog.card_types import DEFAULT_CARD
from orchestrator.catalog.prices import expected_price, plain_arguments
from orchestrator.catalog.tool import Tool
from orchestrator.confirmation.card_content import Amount, CancelTerms, CardLine, Moment
from orchestrator.confirmation.card_facts import CardFact, facts
from orchestrator.confirmation.card_parts import content_of
from orchestrator.confirmation.models import ConfirmationCard, call_digest
from orchestrator.core.call_ref import CallRef
from orchestrator.core.pii import is_handle
from orchestrator.core.record import JsonObject

_MOST_LINES = 24


def quoted_items(arguments: JsonObject, bodies: Sequence[JsonValue]) -> Iterator[JsonObject]:
    """The objects in earlier answers that share an identifier with the arguments, newest first.

    An offer is booked by its id alone; what a person wants to read on the card (the times, the
    price) is in the answers in which that id was found: an offer, its rules, an older offer.
    Of the bodies of the answers, whose money is plain, the newest is the last.
    """
    wanted = {
        (name, value)
        for name, value in arguments.items()
        if name.endswith("_id") and isinstance(value, str) and not is_handle(value)
    }
    yield from items_holding(wanted, bodies)


def items_holding(
    wanted: Collection[tuple[str, JsonValue]], bodies: Sequence[JsonValue]
) -> Iterator[JsonObject]:
    """The objects in answers that hold one of these names with its value, newest first."""
    for body in reversed(bodies):
        for item in _objects(body):
            if any(name in item and item[name] == value for name, value in wanted):
                yield item


def build_card(
    call: CallRef,
    tool: Tool,
    arguments: JsonObject,
    *,
    quoted: Sequence[JsonObject],
    expires_at: datetime | None,
    approvers: tuple[str, ...] = (),
    confirmation_id: str = "",
    asked: int = 1,
) -> ConfirmationCard:
    """The card for one exact call.

    Of `quoted`, which `quoted_items` finds in plain answers, the first is shown; `confirmation_id`
    is the call's own when it is left out; `asked` counts how often the call is asked about, this
    time included.
    """
    card_type = tool.card_type or DEFAULT_CARD
    item = quoted[0] if quoted else None
    content, rest = content_of(card_type, _shown(tool, arguments, item), tool.card_layout)
    terms = _cancel_terms(tool, quoted)
    return ConfirmationCard(
        confirmation_id=confirmation_id or call.call_id,
        mission_id=call.mission_id,
        leg_id=call.leg_id,
        card_type=card_type,
        heading=_heading(tool, card_type),
        title=tool.title,
        tool=tool.name,
        content=content,
        lines=_lines(rest),
        arguments=arguments,
        personal=tool.pii_fields,
        inputs=_inputs_of(tool),
        price=expected_price(tool, arguments, item),
        undo=terms.sentence(),
        undo_terms=terms,
        digest=call_digest(
            call, arguments=arguments, card_type=card_type, confirmation_id=confirmation_id
        ),
        expires_at=expires_at,
        approvers=approvers,
        round=asked,
    )


def _inputs_of(tool: Tool) -> tuple[str, ...] | None:
    """The names of all that a tool takes; None when its document lets it take anything."""
    if tool.input_schema.get("additionalProperties") not in (None, False):
        return None
    return tuple(dict.fromkeys([*tool.properties, *(binding.name for binding in tool.bindings)]))


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
    price = expected_price(tool, arguments, item)
    sent = list(facts(plain_arguments(tool, arguments), labels))
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


def _cancel_terms(tool: Tool, quoted: Iterable[JsonObject]) -> CancelTerms:
    """What contract and answers say about cancelling a call; of the answers the newest is first."""
    compensation = tool.compensation
    if compensation is None or tool.irreversible:
        return CancelTerms(irreversible=tool.irreversible)
    stated: dict[str, CardFact] = {}
    for item in quoted:
        for fact in facts(item):
            if {"cancel", "cancellation", "refund", "refundable"} & set(fact.words):
                stated.setdefault(fact.name, fact)
    flags = [f.value for f in stated.values() if f.kind == "flag" and "refundable" in f.words]
    return CancelTerms(
        tool=compensation.cancel.tool,
        window=compensation.window,
        is_refundable=bool(flags[0]) if flags else None,
        until=tuple(
            Moment(label=f.label, at=str(f.value)) for f in stated.values() if f.kind == "moment"
        ),
        cost=tuple(
            Amount(label=f.label, money=f.money) for f in stated.values() if f.money is not None
        ),
    )


def _objects(value: JsonValue) -> Iterator[JsonObject]:
    """Every object in a JSON value, outer before inner."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _objects(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _objects(inner)
