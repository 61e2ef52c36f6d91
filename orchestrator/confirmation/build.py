"""Build the card of a call: its effect made readable, its price, its warnings."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from pydantic import JsonValue

from orchestrator.catalog.card_types import CANCELLATION, DEFAULT_CARD
from orchestrator.catalog.prices import (
    Ids,
    expected_price,
    plain_arguments,
    price_doubts,
    states_price,
)
from orchestrator.catalog.tool import Tool
from orchestrator.confirmation.asked_before import AskedCall, changes_between, why_asked
from orchestrator.confirmation.card_content import Amount, CancelTerms, CardLine, Moment
from orchestrator.confirmation.card_facts import CardFact, content_of, facts
from orchestrator.confirmation.card_warnings import (
    not_explained,
    not_shown_whole,
    over_what_is_left,
    totals_of,
    unknown_price,
    unlike_found,
)
from orchestrator.confirmation.models import ConfirmationCard, call_digest
from orchestrator.confirmation.named_things import (
    EarlierAnswer,
    FoundThing,
    find_things,
    main_first,
    named_thing,
    stands_in,
    unexplained,
)
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
"""The maximum number of inputs with a line each; the card says where to read the others."""


@dataclass(frozen=True)
class CardContext:
    """The context of a call on its card: its purpose, known answers, earlier cards."""

    goal: str = ""
    clause: str = ""
    agent: str = ""
    reason: str = ""
    """The planner's reason."""
    answers: tuple[EarlierAnswer, ...] = ()
    """Earlier answers, the newest last."""
    given: tuple[str, ...] = ()
    """Values that people gave with the goal and as answers."""
    left: Money | None = None
    """The rest of the budget."""
    unpriced: int = 0
    """The number of calls with an unknown price, which `left` does not include."""
    doubt: str = ""
    """A warning about a call of unknown price."""
    fee: Money | None = None
    """The possible cost of cancelling the call, which is reserved in a budget."""
    files: tuple[ReceivedFile, ...] = ()
    """The files that are sent, by their handles."""
    asked: tuple[AskedCall, ...] = ()
    """Earlier cards, the newest last."""
    proposals: int = 1
    """The number of cards for this part of the goal so far, this one included."""
    changed_by_people: tuple[str, ...] = ()
    """The arguments that a person amended."""
    said_at: datetime | None = None
    """The time of the goal, in the requester's time; None: its values are not compared."""
    order: str = ""
    """The words of the goal that order the call; empty if unknown."""
    count: int = 0
    """The number of effects of that order."""


def call_price(
    tool: Tool, arguments: JsonObject, quoted: Sequence[JsonObject], things: Sequence[FoundThing]
) -> Money | None:
    """Return the cost of a call; None if unknown, for example if two of its things cost."""
    is_declared = tool.price is not None and tool.price.expected is not None
    if not is_declared and sum(thing.price is not None for thing in things) > 1:
        return None
    return expected_price(tool, arguments, quoted[0] if quoted else None, _ids_of(things))


def doubts_about_price(
    tool: Tool, arguments: JsonObject, things: Sequence[FoundThing]
) -> tuple[str, ...]:
    """Return the amounts and multipliers that leave the price of a call uncertain."""
    return price_doubts(tool, arguments, [thing.items[0] for thing in things], _ids_of(things))


def _ids_of(things: Sequence[FoundThing]) -> Ids:
    return frozenset((one.argument, str(one.value)) for thing in things for one in thing.ids)


def items_holding(
    wanted: Collection[tuple[str, JsonValue]], bodies: Sequence[JsonValue]
) -> Iterator[JsonObject]:
    """Yield the objects in answers that have one of these names with its value, newest first."""
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
    """Return the card for one exact call.

    The first object of `quoted`, those in plain answers that its ids name, is shown;
    `confirmation_id` is by default the call's own; `asked` counts how often the call is asked
    about, this time included.
    """
    card_type = tool.card_type or DEFAULT_CARD
    item = quoted[0] if quoted else None
    context = context or CardContext()
    things = main_first(find_things(arguments, context.answers, tool.input_schema))
    sent = {name: _with_file_names(held, context.files) for name, held in arguments.items()}
    price = call_price(tool, arguments, quoted, things)
    # References and ids that a thing explains are apart from what a person decides on.
    explained = {(one.argument, repr(one.value)) for thing in things for one in thing.ids}

    def is_bookkeeping(fact: CardFact) -> bool:
        if fact.name in tool.reference_inputs or (fact.name, repr(fact.value)) in explained:
            return True
        values = fact.value if isinstance(fact.value, list) else []
        return bool(values) and all((fact.name, repr(value)) in explained for value in values)

    shown = _shown(tool, sent, item, price)
    others = [fact for fact in shown if is_bookkeeping(fact)]
    facts = [fact for fact in shown if fact not in others]
    content, rest = content_of(card_type, facts, tool.card_layout)
    others += [fact for fact in rest if is_handle(fact.value)]
    rest = tuple(fact for fact in rest if not is_handle(fact.value))
    terms = cancel_terms(tool, quoted).model_copy(update={"fee": context.fee})
    heading = tool.card_layout.title if tool.card_layout is not None else ""
    inputs = None
    if tool.input_schema.get("additionalProperties") in (None, False):
        inputs = tuple(dict.fromkeys([*tool.properties, *(one.name for one in tool.bindings)]))
    lines = [fact.line() for fact in rest if fact.is_sent]
    added = [fact.line() for fact in rest if not fact.is_sent]
    card = ConfirmationCard(
        confirmation_id=confirmation_id or call.call_id,
        mission_id=call.mission_id,
        leg_id=call.leg_id,
        card_type=card_type,
        heading=heading or card_type.removeprefix("structured-").replace("-", " ").capitalize(),
        title=tool.title,
        tool=tool.name,
        content=content,
        lines=(*_first(lines, _MOST_SENT), *_first(added, max(1, _MOST_LINES - len(lines)))),
        arguments=arguments,
        personal=tool.pii_fields,
        inputs=inputs,
        price=price,
        cancellation=terms.sentence(),
        cancel_terms=terms,
        digest=call_digest(
            call, arguments=arguments, card_type=card_type, confirmation_id=confirmation_id
        ),
        expires_at=expires_at,
        approvers=approvers,
        round=asked,
    )
    return _in_context(card, tool, context, things, facts, others)


def _in_context(
    card: ConfirmationCard,
    tool: Tool,
    context: CardContext,
    things: Sequence[FoundThing],
    facts: Sequence[CardFact],
    others: Sequence[CardFact],
) -> ConfirmationCard:
    amounts = [fact.money for fact in (*facts, *others) if fact.money is not None]
    labels = _labels(tool)
    plain = plain_arguments(tool, card.arguments)
    totals = totals_of(plain, card.price)
    ids = unexplained(card.arguments, things, tool.input_schema)
    ids = tuple(one for one in ids if one.argument not in tool.reference_inputs)
    costs = tool.spends and (amounts or card.price is not None or states_price(tool))
    is_unknown = card.price is None and (context.doubt or costs)
    too_dear = tuple(over_what_is_left(card.price, context.left, context.unpriced))
    sent = {name: v for name, v in plain.items() if name not in tool.reference_inputs}
    otherwise: tuple[str, ...] = ()
    nowhere: tuple[str, ...] = ()
    if context.said_at is not None:
        stated = Stated(
            goal=context.goal,
            now=context.said_at,
            clause=context.order,
            given=context.given,
            language=language_of(context.goal),
            count=context.count,
        )
        properties = tool.properties.items()
        defaults = {name: shape["default"] for name, shape in properties if "default" in shape}
        otherwise = tuple(said_otherwise(sent, things, stated, defaults=defaults))
        nowhere = tuple(stated_nowhere(sent, context.answers, stated))
    said = " ".join((context.goal, *context.given))
    is_made_up = any(
        str(one.value) not in said
        and not any(stands_in(one, answer.body) for answer in context.answers)
        for one in unexplained(sent, things, tool.input_schema)
    )
    count = len([fact for fact in facts if fact.is_sent])
    too_many = (
        f"it has {count} inputs, and not all are shown here; read them with "
        "orchestrator confirm show --json before you approve"
    )
    doubts = ", ".join(doubts_about_price(tool, card.arguments, things) if costs else ())
    warnings = (
        *otherwise,
        *not_shown_whole((*facts, *others)),
        *((too_many,) if count > _MOST_SENT else ()),
        *((unknown_price(context.doubt, amounts),) if is_unknown else ()),
        *((f"the price is not certain, for the call also has {doubts}",) if doubts else ()),
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
            "is_unfounded": bool(otherwise or nowhere or is_made_up)
            or any(unlike_found(sent, things)),
            "named": tuple(
                named_thing(thing, is_shown=n == 0, labels=labels) for n, thing in enumerate(things)
            ),
            "totals": totals.amounts,
            "other_inputs": tuple(fact.line() for fact in others),
        }
    )
    if not context.asked:
        return shown
    before, changes = context.asked[-1], []
    because = why_asked(before, context.proposals)
    if before.tool == shown.tool:
        changes = changes_between(before, shown.as_asked().shown, shown.price)
    return shown.model_copy(update={"asked_because": because, "changes": tuple(changes)})


def _shown(
    tool: Tool, arguments: JsonObject, item: JsonObject | None, price: Money | None
) -> list[CardFact]:
    """Return the arguments, then new facts of the quoted item; its price is shown elsewhere."""
    plain = facts(plain_arguments(tool, arguments), _labels(tool))
    sent = [replace(fact, is_sent=True) for fact in plain]
    names = {fact.name for fact in sent} | set(arguments)
    found = [fact for fact in facts(item or {}) if not fact.is_empty]
    added = [f for f in found if not {f.name, f.name.split(".")[0]} & names]
    if tool.card_layout is not None:
        return [*sent, *added]
    # Other ids of the item mean nothing to a person, and none of them is sent.
    return [*sent, *(f for f in added if not f.is_id and (f.money is None or f.money != price))]


def _with_file_names(value: JsonValue, files: Sequence[ReceivedFile]) -> JsonValue:
    if isinstance(value, str):
        return next((str(file) for file in files if file.handle == value), value)
    if isinstance(value, dict):
        return {name: _with_file_names(held, files) for name, held in value.items()}
    if isinstance(value, list):
        return [_with_file_names(held, files) for held in value]
    return value


def _labels(tool: Tool) -> dict[str, str]:
    titles = ((name, schema.get("title")) for name, schema in tool.properties.items())
    return {name: title for name, title in titles if isinstance(title, str)}


def _first(lines: Sequence[CardLine], most: int) -> tuple[CardLine, ...]:
    if len(lines) <= most:
        return tuple(lines)
    left = len(lines) - most + 1
    more = CardLine(label="More", value=f"{left} others; see: orchestrator confirm show --json")
    return (*lines[: most - 1], more)


def cancel_terms(tool: Tool, quoted: Iterable[JsonObject] = ()) -> CancelTerms:
    """Return the cancellation terms by the contract and the answers, the newest answer first."""
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
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _objects(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _objects(inner)


_NO_CANCELLATION = "nothing reverses a cancel"


@dataclass(frozen=True)
class AskedCancel:
    """A planner's cancel that a person decides on."""

    doubt: str
    """The reason why it may reach beyond its mission: a sentence without its full stop."""
    found: tuple[JsonObject, ...] = ()
    """Providers' answers about the thing, the newest first; empty if it could not be read."""
    leaves_a_consequence: bool = True
    """True if the cancelled thing is in no ledger, so that the cancel itself must be."""

    def asking(self, tool: Tool) -> Tool:
        """Return the cancel tool with the card type that asks for this decision."""
        return tool.model_copy(update={"card_type": CANCELLATION, "card_layout": None})

    def on(self, card: ConfirmationCard) -> ConfirmationCard:
        """Return the card with the facts needed for the decision.

        The price of the thing is not the price of the call: it is listed with the other amounts.
        """
        assert card.content is not None
        lines = [CardLine(label="Whose", value=self.doubt)]
        if not self.found:
            lines.append(CardLine(label="What it is", value="could not be read"))
        lines.append(CardLine(label="After that", value=_NO_CANCELLATION))
        shown: dict[str, object] = {"warnings": tuple(lines)}
        if card.price is not None:
            amounts = getattr(card.content, "amounts", ())
            shown["amounts"] = (Amount(label="Its price", money=card.price), *amounts)
        content = card.content.model_copy(update=shown)
        changes = {"content": content, "price": None, "cancellation": _NO_CANCELLATION}
        return card.model_copy(update=changes)
