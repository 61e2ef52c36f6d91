"""What the user's own words say about one input of a tool."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

from pydantic import JsonValue

from orchestrator.language import lexicon
from orchestrator.language.clauses import split_clauses, without_lead
from orchestrator.language.intent import Slot, SlotKind
from orchestrator.language.slots import find_slots
from orchestrator.language.words import STOP_WORDS, stem, tokens
from orchestrator.planning.rules.parameters import Kind, Parameter

_MINUTES_OF_AN_EVENT: Final = 60
_FILE_NAME = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,4}$")

MEASURES: Final = frozenset({"date", "time", "origin", "place", "amount", "quantity", "email"})
"""Kinds of slots that say when, where, how many or for whom, and never what the thing is called."""


@dataclass(frozen=True)
class Said:
    """One clause of the goal, with the values found in it."""

    text: str
    slots: tuple[Slot, ...]
    now: datetime

    def of(self, *kinds: SlotKind) -> list[Slot]:
        """Slots of these kinds, in the text's order."""
        return [slot for slot in self.slots if slot.kind in kinds]

    @property
    def words(self) -> frozenset[str]:
        """Every word, lower case."""
        return frozenset(tokens(self.text))


def listen(text: str, *, now: datetime) -> Said:
    """Read one clause."""
    return Said(text=text, slots=find_slots(text, now=now), now=now)


def listen_around(leg_goal: str, mission_goal: str, *, now: datetime) -> tuple[Said, ...]:
    """The other clauses of the mission's goal: those before, the nearest first, then the rest.

    All of them when the leg's goal does not stand in the mission's word for word.
    """
    start = mission_goal.find(leg_goal)
    if start < 0:
        return tuple(listen(c, now=now) for c in split_clauses(mission_goal))
    before = reversed(split_clauses(mission_goal[:start]))
    after = split_clauses(mission_goal[start + len(leg_goal) :])
    return tuple(listen(c, now=now) for c in (*before, *after) if tokens(c))


def value_said(
    parameter: Parameter, said: Said, *, among: Sequence[Parameter], start: JsonValue = None
) -> JsonValue:
    """The value that a clause gives an input; None when it gives none that the schema allows.

    Args:
        parameter: the input.
        said: the clause.
        among: all inputs of the tool: a second date belongs to the one that ends a stretch of time.
        start: the value of the input that starts it, when it is known.
    """
    return parameter.first_accepted(*_candidates(parameter, said, among, start))


def is_said_unasked(parameter: Parameter) -> bool:
    """Whether a clause may be searched for the value of an input that is not required.

    An optional input is filled only by what was said with it in mind; free text and names are not.
    """
    if parameter.kind in _NEVER_UNASKED:
        return False
    if parameter.kind is Kind.AMOUNT:
        return parameter.bound is not None
    return True


_NEVER_UNASKED: Final = frozenset(
    {Kind.TEXT, Kind.TITLE, Kind.OBJECT, Kind.OTHER, Kind.PAGING, Kind.IDENTIFIER}
)


def _candidates(
    parameter: Parameter, said: Said, among: Sequence[Parameter], start: JsonValue
) -> list[JsonValue]:
    match parameter.kind:
        case Kind.DATE:
            return list(_dates(parameter, said, among, start))
        case Kind.TIME:
            return _times(parameter, said, among)
        case Kind.DATETIME:
            return _moments(parameter, said, among, start)
        case Kind.PLACE:
            return _places(parameter, said, among)
        case Kind.MONEY | Kind.AMOUNT | Kind.CURRENCY:
            return _money(parameter, said, among)
        case Kind.COUNT:
            return _counts(parameter, said, among)
        case Kind.NIGHTS:
            return _nights(said)
        case Kind.EMAIL:
            return [slot.value for slot in said.of("email")]
        case Kind.CHOICE:
            return _choices(parameter, said)
        case Kind.FLAG:
            return _flags(parameter, said)
        case Kind.IDENTIFIER:
            return _identifiers(parameter, said)
        case Kind.TITLE | Kind.OTHER:
            return _names(parameter, said)
        case Kind.LIST:
            return _lists(parameter, said, among)
        case _:
            return []


def _dates(
    parameter: Parameter, said: Said, among: Sequence[Parameter], start: JsonValue
) -> list[JsonValue]:
    slots = said.of("date")
    values = [slot.value for slot in slots]
    if parameter.side != "end":
        first = [s.value for s in slots if s.hint not in lexicon.END_SAID]
        return first or values
    if not any(p.side != "end" and p.kind in (Kind.DATE, Kind.DATETIME) for p in among):
        return values[::-1]
    ends = [s.value for s in slots if s.hint in lexicon.END_SAID] or values[1:]
    return ends or _after(start if isinstance(start, str) else _first(values), said)


def _first(values: list[JsonValue]) -> JsonValue:
    return values[0] if values else None


def _after(start: JsonValue, said: Said) -> list[JsonValue]:
    """The day that a stated number of nights, days or weeks makes the last."""
    nights = _nights(said)
    if not nights or not isinstance(start, str) or not isinstance(nights[0], int):
        return []
    try:
        begin = date.fromisoformat(start[:10])
        return [(begin + timedelta(days=nights[0])).isoformat()]
    except (ValueError, OverflowError):
        return []


def _nights(said: Said) -> list[JsonValue]:
    for slot in said.of("quantity"):
        if isinstance(slot.value, int) and 0 < slot.value <= 3650:
            if slot.hint in lexicon.NIGHTS:
                return [slot.value]
            if slot.hint in lexicon.WEEKS:
                return [slot.value * 7]
    return []


def _times(parameter: Parameter, said: Said, among: Sequence[Parameter]) -> list[JsonValue]:
    values = [str(slot.value)[:5] for slot in said.of("time")]
    clocks = [p for p in among if p.kind is Kind.TIME]
    if parameter.side == "end" and len(clocks) > 1:
        values = values[1:]
    return [form for value in values[:1] for form in (value, f"{value}:00", f"{value}:00Z")]


def _moments(
    parameter: Parameter, said: Said, among: Sequence[Parameter], start: JsonValue
) -> list[JsonValue]:
    days = [d for d in _dates(parameter, said, among, start) if isinstance(d, str)]
    clocks = [str(slot.value)[:5] for slot in said.of("time")]
    if parameter.side == "end":
        clocks = clocks[1:]
        if not clocks and isinstance(start, str) and said.of("time"):
            return [_later(start)]
    if not days:
        return []
    return [at(days[0], clocks[0] if clocks else "00:00", said.now)]


def at(day: str, clock: str, now: datetime) -> str | None:
    """A moment in the time zone of `now`, as RFC 3339; None when there is no such day or time."""
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}:00").replace(tzinfo=now.tzinfo)
    except ValueError:
        return None
    return moment.isoformat().replace("+00:00", "Z")


def _later(start: str) -> JsonValue:
    try:
        moment = datetime.fromisoformat(start) + timedelta(minutes=_MINUTES_OF_AN_EVENT)
    except (ValueError, OverflowError):
        return None
    return moment.isoformat().replace("+00:00", "Z")


def _places(parameter: Parameter, said: Said, among: Sequence[Parameter]) -> list[JsonValue]:
    origins, places = said.of("origin"), said.of("place")
    if parameter.side == "start":
        return [slot.value for slot in origins]
    if any(p.side == "start" and p.kind is Kind.PLACE for p in among):
        return [slot.value for slot in places]
    towards = [s for s in places if s.hint != "to"] if parameter.side is None else []
    return [slot.value for slot in (*towards, *places, *origins)]


def _money(parameter: Parameter, said: Said, among: Sequence[Parameter]) -> list[JsonValue]:
    slots = [s for s in said.of("amount") if isinstance(s.value, dict)]
    if parameter.kind is Kind.CURRENCY:
        return [s.value["currency"] for s in slots if isinstance(s.value, dict)]
    if parameter.bound == "max":
        slots = [s for s in slots if s.hint in lexicon.MOST_SAID]
    elif parameter.bound == "min":
        slots = [s for s in slots if s.hint in lexicon.LEAST_SAID]
    else:
        slots = [s for s in slots if s.hint not in lexicon.MOST_SAID - {"to"}]
    if parameter.kind is Kind.MONEY:
        return [slot.value for slot in slots]
    return [_in_units(parameter, s.value["amount"]) for s in slots if isinstance(s.value, dict)]


def _in_units(parameter: Parameter, amount: JsonValue) -> JsonValue:
    if set(parameter.words) & lexicon.MINOR_UNITS and isinstance(amount, int | float):
        return round(amount * 100)
    return amount


def _counts(parameter: Parameter, said: Said, among: Sequence[Parameter]) -> list[JsonValue]:
    slots = [s for s in said.of("quantity") if s.hint not in lexicon.NIGHTS | lexicon.WEEKS]
    stems = {stem(word) for word in parameter.words}
    if named := [s.value for s in slots if stem(s.hint) in stems]:
        return list(named)
    if set(parameter.words) & lexicon.PEOPLE:
        return [s.value for s in slots if s.hint in lexicon.PEOPLE or s.hint in ("for", "")]
    if parameter.bound is not None or not set(parameter.words) & {"quantity", "qty", "copies"}:
        return []
    taken = {stem(word) for p in among if p is not parameter for word in p.words}
    return [s.value for s in slots if s.hint not in lexicon.PEOPLE and stem(s.hint) not in taken]


def _choices(parameter: Parameter, said: Said) -> list[JsonValue]:
    """The listed values that the clause says, the longest first."""
    listed = parameter.schema.get("enum")
    options = [o for o in listed if isinstance(o, str)] if isinstance(listed, list) else []
    heard = [stem(word) for word in tokens(without_lead(said.text))]
    found = [o for o in options if _is_heard(o, parameter, heard)]
    return [*sorted(found, key=len, reverse=True)]


def _is_heard(option: str, parameter: Parameter, heard: list[str]) -> bool:
    wanted = [stem(word) for word in tokens(option)]
    size = len(wanted)
    near = {stem(word) for word in (*parameter.words, "class")}
    for at_word in range(len(heard) - size + 1) if size else ():
        if heard[at_word : at_word + size] == wanted:
            around = heard[max(0, at_word - 1) : at_word + size + 1]
            if option.lower() not in lexicon.AMBIGUOUS_CHOICES or near & set(around):
                return True
    return False


def _flags(parameter: Parameter, said: Said) -> list[JsonValue]:
    wanted = {w for w in parameter.words if w not in STOP_WORDS | {"only", "include", "included"}}
    return [True] if wanted and wanted <= said.words else []


def _identifiers(parameter: Parameter, said: Said) -> list[JsonValue]:
    """Ids introduced by the parameter's noun, or by no noun at all; file names are no ids."""
    slots = [s for s in said.of("identifier") if not _FILE_NAME.search(str(s.value))]
    stems = {stem(word) for word in parameter.words} - {"id"}
    named = [s.value for s in slots if stem(s.hint) in stems]
    verb = tokens(without_lead(said.text))[:1]
    bare = [s.value for s in slots if not s.hint or s.hint in STOP_WORDS or [s.hint] == verb]
    return [*named, *bare]


def _names(parameter: Parameter, said: Said) -> list[JsonValue]:
    stems = {stem(word) for word in parameter.words}
    quoted = said.of("quoted")
    named = [s.value for s in (*quoted, *said.of("name")) if stem(s.hint) in stems]
    return [*named, *(slot.value for slot in quoted)]


def _lists(parameter: Parameter, said: Said, among: Sequence[Parameter]) -> list[JsonValue]:
    element = parameter.element
    if element is None or element.kind not in (Kind.EMAIL, Kind.CHOICE):
        return []
    values = [v for v in _candidates(element, said, among, None) if element.accepts(v)]
    return [values] if values else []
