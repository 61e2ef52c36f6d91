"""Find the things that ids among a call's arguments name, in earlier answers.

An offer is booked by its id alone. The details for the person (the route, the times, the price,
when it was quoted) are in the answers that contain that id, of this leg or of another.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.money import names_currency, stated_price
from orchestrator.confirmation.card_content import CardLine, NamedThing
from orchestrator.confirmation.card_facts import CardFact, facts, label_of, readable
from orchestrator.core.budget import Money
from orchestrator.core.pii import is_handle
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import resolve
from orchestrator.json_schema.walker import properties_of
from orchestrator.language import lexicon
from orchestrator.language.words import name_words

_LONGEST: Final = 200
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d([T ]\S*)?|\d\d?:\d\d\S*")
_CODE: Final = re.compile(r"(?=.*\d)(?=.*[^\W\d_])[^\s@:/?&]{2,}")
"""Letters and digits without spaces; no address, no moment."""


@dataclass(frozen=True)
class NamedId:
    """An argument that may name a thing."""

    argument: str
    """The name of its argument; for a nested one, the holder's name first."""
    value: JsonValue
    is_named: bool
    """True if the argument's own name or schema says that it is an id."""


@dataclass(frozen=True)
class Held:
    """An object in an answer that contains an id."""

    item: JsonObject
    around: JsonObject
    """The scalars of the enclosing objects, the nearest first."""


def ids_in(arguments: JsonObject, schema: JsonObject | None = None) -> tuple[NamedId, ...]:
    """Return the arguments that may be ids, at any depth and in lists too, each once."""
    found = {(i.argument, repr(i.value)): i for i in _ids(arguments, "", schema or {}, schema)}
    return tuple(found.values())


def stands_in(wanted: NamedId, body: JsonValue) -> bool:
    """Return True if an answer contains an id at all, also in several things."""
    if isinstance(body, list):
        return any(stands_in(wanted, member) for member in body)
    if not isinstance(body, dict):
        return False
    return _holds(wanted, body) or any(stands_in(wanted, held) for held in body.values())


def _ids(
    value: JsonValue, name: str, schema: JsonObject, root: JsonObject | None
) -> Iterator[NamedId]:
    if isinstance(value, dict):
        known = properties_of(schema)
        for inner, held in value.items():
            part = known.get(inner)
            shape = resolve(part, root or {}) if isinstance(part, dict) else {}
            yield from _ids(held, f"{name}.{inner}" if name else inner, shape, root)
    elif isinstance(value, list):
        items = schema.get("items")
        shape = resolve(items, root or {}) if isinstance(items, dict) else {}
        for held in value:
            yield from _ids(held, name, shape, root)
    elif "enum" not in schema and "const" not in schema:
        is_number = isinstance(value, int) and not isinstance(value, bool)
        is_text = isinstance(value, str) and 0 < len(value) <= _LONGEST
        if not is_number and (not is_text or is_handle(value) or _MOMENT.fullmatch(str(value))):
            return
        is_named = _says_id(name) or schema.get("format") == "uuid"
        if is_named or (isinstance(value, str) and _CODE.fullmatch(value)):
            yield NamedId(name, value, is_named)


def _says_id(name: str) -> bool:
    return bool(set(name_words(name)[-1:]) & lexicon.IDENTIFIER)


def _held(wanted: NamedId, value: JsonValue, around: JsonObject, others: JsonObject) -> list[Held]:
    if isinstance(value, list):
        found = [_held(wanted, member, around, others) for member in value]
        holding = [held for held in found if held]
        if len(holding) > 1:  # the member counts that agrees with the other arguments
            plain = {n: v for n, v in others.items() if not isinstance(v, dict | list)}
            holding = [
                held
                for held in holding
                if all(held[0].item[n] == v for n, v in plain.items() if n in held[0].item)
            ]
        return holding[0] if len(holding) == 1 else []
    if not isinstance(value, dict):
        return []
    own = [Held(value, around)] if _holds(wanted, value) else []
    outer = {**around, **{n: v for n, v in value.items() if not isinstance(v, dict | list)}}
    inner = [held for v in value.values() for held in _held(wanted, v, outer, others)]
    return [*own, *inner]


def _holds(wanted: NamedId, item: Mapping[str, JsonValue]) -> bool:
    last = wanted.argument.rpartition(".")[2]
    said = (wanted.value, str(wanted.value))
    for name, value in item.items():
        if value not in said:
            continue
        is_same = value == wanted.value and type(value) is type(wanted.value)
        if not is_same and _says_id(name) and wanted.is_named:  # a number here, and text there
            is_same = type(wanted.value) is int and value == str(wanted.value)
        is_meant = name == last or _says_id(name) or (wanted.is_named and isinstance(value, str))
        if is_same and is_meant:
            return True
    return False


_MOST_LINES: Final = 12


@dataclass(frozen=True)
class EarlierAnswer:
    """Arguments and answer of an earlier call."""

    body: JsonValue
    arguments: JsonObject = field(default_factory=dict)
    title: str = ""
    """The title of the call."""
    at: datetime | None = None


@dataclass(frozen=True)
class FoundThing:
    """A thing that ids among the arguments name, with its objects in answers, the newest first."""

    ids: tuple[NamedId, ...]
    sources: tuple[tuple[Held, EarlierAnswer], ...]
    newest: int = 0
    """The index of the newest answer among all of them."""

    @property
    def price(self) -> Money | None:
        """The price in the newest answer that states one."""
        return next((price for item in self.items if (price := stated_price(item))), None)

    @property
    def items(self) -> tuple[JsonObject, ...]:
        """The objects, each with the currency that the answer around it states."""
        found = []
        for held, _ in self.sources:
            around = {n: v for n, v in held.around.items() if names_currency(n)}
            has_own = any(names_currency(name) for name in held.item)
            found.append(held.item if has_own else {**held.item, **around})
        return tuple(found)


def find_things(
    arguments: JsonObject, answers: Sequence[EarlierAnswer], schema: JsonObject | None = None
) -> tuple[FoundThing, ...]:
    """Return the things that the arguments name and answers contain, in order of the arguments.

    The last answer is the newest. Ids in the same object name one thing.
    """
    things: dict[int, FoundThing] = {}
    for wanted in ids_in(arguments, schema):
        sources = tuple(
            (held, answer)
            for answer in reversed(answers)
            for held in _held(wanted, answer.body, {}, arguments)
        )
        if not sources:
            continue
        key = id(sources[0][0].item)
        known = things.get(key)
        named = (*(known.ids if known else ()), wanted)
        newest = next(n for n, a in enumerate(answers) if a is sources[0][1])
        things[key] = FoundThing(named, known.sources if known else sources, newest)
    return tuple(things.values())


def main_first(things: Iterable[FoundThing]) -> list[FoundThing]:
    """Return the things with the main one first, as far as that is known.

    The main thing states a price, is named by most ids, and was found last.
    """
    return sorted(things, key=lambda t: (t.price is None, -len(t.ids), -t.newest))


def unexplained(
    arguments: JsonObject, things: Iterable[FoundThing], schema: JsonObject | None = None
) -> tuple[NamedId, ...]:
    """Return the arguments that are ids by their name and that no answer explains."""
    found = {(i.argument, repr(i.value)) for thing in things for i in thing.ids}
    return tuple(
        i
        for i in ids_in(arguments, schema)
        if i.is_named and isinstance(i.value, str) and (i.argument, repr(i.value)) not in found
    )


def named_thing(thing: FoundThing, *, is_shown: bool, labels: dict[str, str]) -> NamedThing:
    """Return a thing for the card, without its lines if the card itself shows it."""
    held, answer = thing.sources[0]
    price, values = thing.price, [one.value for one in thing.ids]
    found: dict[str, CardFact] = {}  # each from the newest answer that has it
    for fact in (one for item in thing.items for one in facts(item)):
        if not is_shown and not fact.is_empty:
            found.setdefault(fact.name, fact)
    own = [
        one
        for one in found.values()
        if one.value not in values and (one.money is None or one.money != price)
    ]
    # The arguments of the search, and facts that its results have in common.
    searched = [
        fact.line()
        for fact in facts({**answer.arguments, **held.around})
        if not (fact.name in held.item or fact.is_empty or fact.is_id or is_handle(fact.value))
        and not names_currency(fact.name)
    ]
    ids = [
        CardLine(
            label=labels.get(one.argument) or label_of(one.argument.replace(".", ": ")),
            value=readable(one.value),
        )
        for one in thing.ids
    ]
    return NamedThing(
        ids=tuple(ids),
        lines=tuple(fact.line() for fact in own[:_MOST_LINES]),
        price=None if is_shown else price,
        found_by=answer.title,
        found_for=tuple(searched),
        at=answer.at,
    )
