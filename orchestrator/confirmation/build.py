"""What a call would do, made readable: its card and its price."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from pydantic import JsonValue

from orchestrator.catalog.card_types import DEFAULT_CARD
from orchestrator.catalog.prices import expected_price, plain_arguments, price_doubts, states_price
from orchestrator.catalog.tool import Tool
from orchestrator.confirmation.asked_before import AskedCall, changes_between, why_asked
from orchestrator.confirmation.card_content import Amount, CancelTerms, CardLine, Moment
from orchestrator.confirmation.card_facts import CardFact, facts
from orchestrator.confirmation.card_parts import content_of
from orchestrator.confirmation.card_warnings import (
    not_explained,
    not_shown_whole,
    over_what_is_left,
    too_many_to_show,
    uncertain_price,
    unknown_price,
    unlike_found,
)
from orchestrator.confirmation.models import ConfirmationCard, call_digest
from orchestrator.confirmation.named_ids import stands_in
from orchestrator.confirmation.named_things import (
    EarlierAnswer,
    FoundThing,
    find_things,
    main_first,
    named_thing,
    unexplained,
)
from orchestrator.confirmation.totals import totals_of
from orchestrator.confirmation.value_warnings import (
    Stated,
    language_of,
    said_otherwise,
    stated_nowhere,
)
from orchestrator.core.budget import Money
from orchestrator.core.call_ref import CallRef
from orchestrator.core.pii import is_handle
from orchestrator.core.received_files import ReceivedFile
from orchestrator.core.record import JsonObject

_MOST_LINES = 24
_MOST_SENT = 200
"""Inputs that have a line each; who sends more is to read them elsewhere, and is told so."""


@dataclass(frozen=True)
class CardContext:
    """What a card tells beside the call itself: what it is for, and what was known and asked."""

    goal: str = ""
    clause: str = ""
    agent: str = ""
    reason: str = ""
    """The planner's."""
    answers: tuple[EarlierAnswer, ...] = ()
    """What earlier calls answered, the newest last."""
    given: tuple[str, ...] = ()
    """What people gave with the goal and as answers."""
    left: Money | None = None
    """Of the budget."""
    unpriced: int = 0
    """Calls whose price nobody knows, and which what is left does not count."""
    doubt: str = ""
    """What a person must know of a call whose price nobody knows."""
    fee: Money | None = None
    """What undoing the call may cost, and is kept aside of a budget."""
    files: tuple[ReceivedFile, ...] = ()
    """Those that are sent, by their handles."""
    asked: tuple[AskedCall, ...] = ()
    """What people were asked before, the newest last."""
    proposals: int = 1
    """How many cards this part of the goal has had, this one included."""
    changed_by_people: tuple[str, ...] = ()
    """The arguments that a person amended."""
    said_at: datetime | None = None
    """When the goal was said, in the requester's time; None: its values are not compared."""
    order: str = ""
    """The words of the goal that the call is ordered by; empty: nothing says which."""
    count: int = 0
    """How many effects that order has."""


def quoted_items(arguments: JsonObject, bodies: Sequence[JsonValue]) -> Iterator[JsonObject]:
    """The objects in earlier answers that the ids among the arguments stand for, newest first.

    An offer is booked by its id alone; what a person wants to read on the card (the times, the
    price) is in the answers in which that id was found: an offer, its rules, an older offer.
    Of the bodies of the answers, whose money is plain, the newest is the last.
    """
    things = main_first(find_things(arguments, [EarlierAnswer(body) for body in bodies]))
    yield from (item for thing in things for item in thing.items)


def call_price(
    tool: Tool,
    arguments: JsonObject,
    quoted: Sequence[JsonObject],
    things: Sequence[FoundThing],
) -> Money | None:
    """Return what a call will cost; None if that is unknown, as where two of its things cost."""
    is_declared = tool.price is not None and tool.price.expected is not None
    if not is_declared and sum(thing.price is not None for thing in things) > 1:
        return None
    return expected_price(tool, arguments, quoted[0] if quoted else None)


def doubts_about_price(
    tool: Tool, arguments: JsonObject, things: Sequence[FoundThing]
) -> tuple[str, ...]:
    """Return the amounts and multipliers that leave the price of a call uncertain."""
    return price_doubts(tool, arguments, [thing.items[0] for thing in things])


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
    context: CardContext | None = None,
) -> ConfirmationCard:
    """The card for one exact call.

    Of `quoted`, which `quoted_items` finds in plain answers, the first is shown; `confirmation_id`
    is the call's own when it is left out; `asked` counts how often the call is asked about, this
    time included.
    """
    card_type = tool.card_type or DEFAULT_CARD
    item = quoted[0] if quoted else None
    context = context or CardContext()
    things = main_first(find_things(arguments, context.answers, tool.input_schema))
    sent = {name: _with_files_told(held, context.files) for name, held in arguments.items()}
    told, others = _told_apart(_shown(tool, sent, item), tool, things)
    content, rest = content_of(card_type, told, tool.card_layout)
    others += [fact for fact in rest if is_handle(fact.value)]
    rest = tuple(fact for fact in rest if not is_handle(fact.value))
    terms = _cancel_terms(tool, quoted).model_copy(update={"fee": context.fee})
    card = ConfirmationCard(
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
        price=call_price(tool, arguments, quoted, things),
        undo=terms.sentence(),
        undo_terms=terms,
        digest=call_digest(
            call, arguments=arguments, card_type=card_type, confirmation_id=confirmation_id
        ),
        expires_at=expires_at,
        approvers=approvers,
        round=asked,
    )
    return _in_context(card, tool, context, things, told, others)


def _in_context(
    card: ConfirmationCard,
    tool: Tool,
    context: CardContext,
    things: Sequence[FoundThing],
    told: Sequence[CardFact],
    others: Sequence[CardFact],
) -> ConfirmationCard:
    """The card with what it is for, what its ids stand for, and what was asked before."""
    amounts = [fact.money for fact in (*told, *others) if fact.money is not None]
    labels = _labels(tool)
    plain = plain_arguments(tool, card.arguments)
    totals = totals_of(plain, card.price)
    ids = unexplained(card.arguments, things, tool.input_schema)
    ids = tuple(one for one in ids if one.argument not in tool.reference_inputs)
    costs = tool.spends and (amounts or states_price(tool))
    is_unknown = card.price is None and (context.doubt or costs)
    too_dear = tuple(over_what_is_left(card.price, context.left, context.unpriced))
    sent = {name: v for name, v in plain.items() if name not in tool.reference_inputs}
    otherwise, nowhere = _compared(sent, tool, context, things)
    warnings = (
        *otherwise,
        *not_shown_whole((*told, *others)),
        *too_many_to_show(len([fact for fact in told if fact.is_sent]), _MOST_SENT),
        *((unknown_price(context.doubt, amounts),) if is_unknown else ()),
        *uncertain_price(doubts_about_price(tool, card.arguments, things) if costs else ()),
        *too_dear,
        *unlike_found(sent, things, changed_by_people=context.changed_by_people),
        *not_explained(ids, context.answers, (context.goal, *context.given)),
        *nowhere,
        *totals.warnings,
        *(("its provider has deprecated this operation",) if tool.deprecated else ()),
    )
    shown = card.model_copy(
        update={
            "goal": context.goal,
            "clause": context.clause,
            "agent": context.agent,
            "reason": context.reason,
            "warnings": warnings if context.answers or context.goal else (),
            "exceeds_budget": bool(too_dear),
            "is_unfounded": bool(otherwise or nowhere)
            or _is_unfounded(plain, tool, context, things),
            "named": tuple(
                named_thing(thing, is_shown=n == 0, labels=labels) for n, thing in enumerate(things)
            ),
            "totals": totals.amounts,
            "other_inputs": tuple(fact.line() for fact in others),
        }
    )
    return _asked_again(shown, context)


def _compared(
    sent: JsonObject, tool: Tool, context: CardContext, things: Sequence[FoundThing]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what the goal says otherwise than a call, and what of it nobody stated."""
    if context.said_at is None:
        return (), ()
    stated = Stated(
        goal=context.goal,
        now=context.said_at,
        clause=context.order,
        given=context.given,
        language=language_of(context.goal),
        count=context.count,
    )
    defaults = {n: shape["default"] for n, shape in tool.properties.items() if "default" in shape}
    otherwise = said_otherwise(sent, things, stated, defaults=defaults)
    return tuple(otherwise), tuple(stated_nowhere(sent, context.answers, stated))


def _is_unfounded(
    plain: JsonObject, tool: Tool, context: CardContext, things: Sequence[FoundThing]
) -> bool:
    """True if an id is nobody's, or a thing differs from what is said of it."""
    sent = {name: value for name, value in plain.items() if name not in tool.reference_inputs}
    said = " ".join((context.goal, *context.given))
    made_up = (
        one
        for one in unexplained(sent, things, tool.input_schema)
        if str(one.value) not in said
        and not any(stands_in(one, answer.body) for answer in context.answers)
    )
    return any(unlike_found(sent, things)) or any(made_up)


def _asked_again(card: ConfirmationCard, context: CardContext) -> ConfirmationCard:
    """The card with what is otherwise than when people were asked before, and why again."""
    if not context.asked:
        return card
    before = context.asked[-1]
    because = why_asked(before, context.proposals)
    changes = []
    if before.tool == card.tool:
        changes = changes_between(before, card.as_asked().shown, card.price)
    return card.model_copy(update={"asked_because": because, "changes": tuple(changes)})


def _told_apart(
    shown: Sequence[CardFact], tool: Tool, things: Sequence[FoundThing]
) -> tuple[list[CardFact], list[CardFact]]:
    """What a person decides on, and what only fills the call: our references, explained ids."""
    explained = {(one.argument, repr(one.value)) for thing in things for one in thing.ids}

    def is_bookkeeping(fact: CardFact) -> bool:
        if fact.name in tool.reference_inputs or (fact.name, repr(fact.value)) in explained:
            return True
        return _are_explained(fact, explained)

    folded = [fact for fact in shown if is_bookkeeping(fact)]
    return [fact for fact in shown if fact not in folded], folded


def _are_explained(fact: CardFact, explained: set[tuple[str, str]]) -> bool:
    """Whether a list holds explained ids alone."""
    values = fact.value if isinstance(fact.value, list) else []
    return bool(values) and all((fact.name, repr(value)) in explained for value in values)


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
    price = expected_price(tool, arguments, item)
    plain = facts(plain_arguments(tool, arguments), _labels(tool))
    sent = [replace(fact, is_sent=True) for fact in plain]
    names = {fact.name for fact in sent} | set(arguments)
    found = [fact for fact in facts(item or {}) if not fact.is_empty]
    added = [f for f in found if not {f.name, f.name.split(".")[0]} & names]
    if tool.card_layout is not None:
        return [*sent, *added]
    # Its other ids tell a person nothing, and none of them is sent.
    return [*sent, *(f for f in added if not f.is_id and (f.money is None or f.money != price))]


def _with_files_told(value: JsonValue, files: Sequence[ReceivedFile]) -> JsonValue:
    """What is sent, with what each file is in the place of its handle."""
    if isinstance(value, str):
        return next((str(file) for file in files if file.handle == value), value)
    if isinstance(value, dict):
        return {name: _with_files_told(held, files) for name, held in value.items()}
    if isinstance(value, list):
        return [_with_files_told(held, files) for held in value]
    return value


def _labels(tool: Tool) -> dict[str, str]:
    """The names that the document gives inputs for people."""
    titles = ((name, schema.get("title")) for name, schema in tool.properties.items())
    return {name: title for name, title in titles if isinstance(title, str)}


def _lines(rest: Sequence[CardFact]) -> tuple[CardLine, ...]:
    """All that is sent; of what answers add, as much as a person reads."""
    sent = [fact.line() for fact in rest if fact.is_sent]
    added = [fact.line() for fact in rest if not fact.is_sent]
    return (*_first(sent, _MOST_SENT), *_first(added, max(1, _MOST_LINES - len(sent))))


def _first(lines: Sequence[CardLine], most: int) -> tuple[CardLine, ...]:
    if len(lines) <= most:
        return tuple(lines)
    left = len(lines) - most + 1
    more = CardLine(label="More", value=f"{left} others; see: orchestrator confirm show --json")
    return (*lines[: most - 1], more)


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
