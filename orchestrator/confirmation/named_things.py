"""What the ids among a call's arguments stand for: the objects in earlier answers that hold them.

An offer is booked by its id alone. What a person wants to read (the route, the times, the price,
when it was quoted) is in the answers in which that id was found, of this leg or of another.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.stated_prices import names_currency, stated_price
from orchestrator.confirmation.card_content import CardLine, NamedThing
from orchestrator.confirmation.card_facts import CardFact, facts, label_of, readable
from orchestrator.confirmation.named_ids import Held, NamedId, holders_of, ids_in
from orchestrator.core.budget import Money
from orchestrator.core.pii import is_handle
from orchestrator.core.record import JsonObject

_MOST_LINES: Final = 12


@dataclass(frozen=True)
class EarlierAnswer:
    """What one earlier call was asked and answered."""

    body: JsonValue
    arguments: JsonObject = field(default_factory=dict)
    title: str = ""
    """What the call did."""
    at: datetime | None = None


@dataclass(frozen=True)
class FoundThing:
    """A thing that ids among the arguments stand for, as answers hold it, the newest first."""

    ids: tuple[NamedId, ...]
    sources: tuple[tuple[Held, EarlierAnswer], ...]
    newest: int = 0
    """The place of the newest answer among all of them."""

    @property
    def price(self) -> Money | None:
        """What the newest answer that states one says that it costs."""
        return next((price for item in self.items if (price := stated_price(item))), None)

    @property
    def items(self) -> tuple[JsonObject, ...]:
        """The objects, each with the currency that the answer around it states."""
        return tuple(_with_currency(held) for held, _ in self.sources)


def find_things(
    arguments: JsonObject, answers: Sequence[EarlierAnswer], schema: JsonObject | None = None
) -> tuple[FoundThing, ...]:
    """The things that the arguments name and that answers hold, in the order of the arguments.

    Of the answers the newest is the last. Ids that the same object holds name one thing.
    """
    things: dict[int, FoundThing] = {}
    for wanted in ids_in(arguments, schema):
        sources = tuple(_sources(wanted, arguments, answers))
        if not sources:
            continue
        key = id(sources[0][0].item)
        known = things.get(key)
        named = (*(known.ids if known else ()), wanted)
        newest = next(n for n, a in enumerate(answers) if a is sources[0][1])
        things[key] = FoundThing(named, known.sources if known else sources, newest)
    return tuple(things.values())


def main_first(things: Iterable[FoundThing]) -> list[FoundThing]:
    """The things with the one first that the call is about, as far as that can be told.

    It states a price, is named by most ids, and was found last.
    """
    return sorted(things, key=lambda t: (t.price is None, -len(t.ids), -t.newest))


def unexplained(
    arguments: JsonObject, things: Iterable[FoundThing], schema: JsonObject | None = None
) -> tuple[NamedId, ...]:
    """The arguments that are ids by their name, and of which no answer says what they are."""
    found = {(i.argument, repr(i.value)) for thing in things for i in thing.ids}
    return tuple(
        i
        for i in ids_in(arguments, schema)
        if i.is_named and isinstance(i.value, str) and (i.argument, repr(i.value)) not in found
    )


def named_thing(thing: FoundThing, *, is_shown: bool, labels: dict[str, str]) -> NamedThing:
    """A thing as a card tells of it; one that the card itself shows is not told twice."""
    held, answer = thing.sources[0]
    price, values = thing.price, [one.value for one in thing.ids]
    found = [] if is_shown else _facts_of(thing)
    told = [f for f in found if f.value not in values and (f.money is None or f.money != price)]
    return NamedThing(
        ids=tuple(_line(i, labels) for i in thing.ids),
        lines=tuple(fact.line() for fact in told[:_MOST_LINES]),
        price=None if is_shown else price,
        found_by=answer.title,
        found_for=tuple(_context(held, answer)),
        at=answer.at,
    )


def _sources(
    wanted: NamedId, arguments: JsonObject, answers: Sequence[EarlierAnswer]
) -> Iterator[tuple[Held, EarlierAnswer]]:
    for answer in reversed(answers):
        for held in holders_of(wanted, answer.body, arguments):
            yield held, answer


def _facts_of(thing: FoundThing) -> Iterator[CardFact]:
    """The facts of a thing, each as the newest answer has it that tells it."""
    told: set[str] = set()
    for item in thing.items:
        for fact in facts(item):
            if fact.name not in told and not fact.is_empty:
                told.add(fact.name)
                yield fact


def _with_currency(held: Held) -> JsonObject:
    if any(names_currency(name) for name in held.item):
        return held.item
    around = {name: value for name, value in held.around.items() if names_currency(name)}
    return {**held.item, **around}


def _context(held: Held, answer: EarlierAnswer) -> Iterator[CardLine]:
    """What was asked for when the thing was found, and what holds of all that was found then."""
    around = {**answer.arguments, **held.around}
    for fact in facts(around):
        is_told = fact.name in held.item or fact.is_empty or fact.is_id or is_handle(fact.value)
        if not is_told and not names_currency(fact.name):
            yield fact.line()


def _line(one: NamedId, labels: dict[str, str]) -> CardLine:
    label = labels.get(one.argument) or label_of(one.argument.replace(".", ": "))
    return CardLine(label=label, value=readable(one.value))
