"""Whether an answer says that something is so: a number, a yes or no, a word of a list, a count.

Conservative: what is not said in so many words is left open, and a person is asked.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from typing import Final, Literal

from pydantic import JsonValue

from orchestrator.catalog.stated_prices import money_of
from orchestrator.catalog.tool import Tool
from orchestrator.core.budget import Money
from orchestrator.core.read_once import read_once
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import resolve
from orchestrator.json_schema.walker import properties_of
from orchestrator.language.bounds import limit_of
from orchestrator.language.intent import Slot, SlotKind
from orchestrator.language.slots import find_slots
from orchestrator.language.words import content_stems, name_stems, stem, tokens
from orchestrator.planning.rules.answers import Item, read_items
from orchestrator.planning.rules.sentences import details
from orchestrator.saga.judged import is_empty, says

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_NUMBER: Final = re.compile(r"(?<![\w.-])-?\d+(?:[.,]\d+)?")
_THERE_IS: Final = re.compile(
    r"(?:there\s+(?:is|are|was|were)|(?:i|we)(?:['\u2019]ve|\s+(?:already\s+)?have)(?:\s+got)?)\b",
    re.IGNORECASE,
)
_IS: Final = re.compile(
    r"\b(?:is|are|was|were|has|have|had|been|gets?|becomes?)\b|['\u2019](?:s|re|ve)\b",
    re.IGNORECASE,
)
_EXISTS: Final = re.compile(r"\bexists?\s*$", re.IGNORECASE)
_FREE: Final = frozenset({"free", "available"})
_FREE_STEMS: Final = frozenset(map(stem, _FREE))
_EMPTY: Final = stem("empty")
_LEAST: Final = frozenset({"cheapest", "lowest", "least"})
_CHANCE: Final = frozenset({"chance", "probability", "likelihood"})
_LIKELY, _UNLIKELY = 50, 30
"""Of a chance in percent: what contradicts that a thing is not so, and that it is."""
_STILL: Final = frozenset(map(stem, ("still", "already", "yet", "day", "date", "then")))
_LOWER: Final = frozenset({"below", "under", "less", "fewer", "colder", "cheaper", "lower"})
_HIGHER: Final = frozenset({"above", "over", "more", "warmer", "hotter", "higher", "exceeds"})
_COMPARING: Final = frozenset(map(stem, _LOWER | _HIGHER))
"""They say how a number is, and name no thing."""
_MOST_DETAILS: Final = 4
_MAX_WORDS: Final = 3
"""Of a value that names a state, and tells no story."""


@dataclass(frozen=True)
class SaidSo:
    """What an answer says of a statement; `is_so` is None where it leaves it open."""

    is_so: bool | None
    said: str = ""


OPEN: Final = SaidSo(None)


def evidence_in(told: str, answer: "LookedAt", *, now: datetime) -> SaidSo:
    """What an answer of a tool says of a statement that denies nothing."""
    statement = _Statement(told, answer.body, answer.tool, now, answer)
    if statement.bound is not None:
        return statement.compared()
    for read in (statement.listed, statement.yes_or_no, statement.named, statement.state):
        found = read()
        if found.is_so is not None:
            return found
    return OPEN


@dataclass(frozen=True)
class LookedAt:
    """What a call answered, and what it was asked of."""

    body: JsonValue
    tool: Tool
    arguments: JsonObject = field(default_factory=dict)
    times: tuple[str, ...] = ()
    """Of the day, as HH:MM, that are meant where a statement names none itself."""
    days: tuple[str, ...] = ()
    """That are meant, in ISO 8601; empty: any."""


@dataclass(frozen=True)
class _Statement:
    told: str
    body: JsonValue
    tool: Tool
    now: datetime
    asked: LookedAt

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        return find_slots(self.told, now=self.now)

    @cached_property
    def stems(self) -> frozenset[str]:
        """Of the words that say something, without places, days and numbers."""
        return self._stems_but("date", "time", "place", "origin", "amount", "quantity")

    def _stems_but(self, *kinds: SlotKind) -> frozenset[str]:
        values = {s for slot in self.slots if slot.kind in kinds for s in content_stems(slot.text)}
        return frozenset(content_stems(self.told)) - values

    @cached_property
    def predicate(self) -> frozenset[str]:
        """Of these, what is said of the thing, and not what it is called."""
        verb = _IS.search(self.told)
        said = self.told[verb.end() :] if verb else self.told
        return self.stems & frozenset(content_stems(said))

    @cached_property
    def items(self) -> list[Item]:
        return [item for item in read_items(self.body, tool=self.tool)]

    @cached_property
    def item(self) -> Item | None:
        """The one thing that is meant: the only one, or the only one with the words for it."""
        things = [one for one in self.items if one.label] or self.items
        if len(things) == 1:
            return things[0] if self._names_it(things[0]) else None
        names = self.stems - _known_words(self.tool) - self._states - _STILL - _COMPARING
        meant = [one for one in things if names and names <= _words_of(one.fields)]
        return meant[0] if len(meant) == 1 else None

    def _names_it(self, thing: Item, *, but: str = "") -> bool:
        """Whether the only thing there bears the names that are said, or was asked for by them."""
        said = (slot.text for slot in self.slots if slot.kind in ("name", "identifier", "quoted"))
        held = _words_of(thing.fields) | _words_of(self.asked.arguments)
        names = {word for text in said for word in content_stems(text)} - {*content_stems(but)}
        return held >= names - self._states - {*name_stems(" ".join(thing.fields))}

    @cached_property
    def _states(self) -> frozenset[str]:
        """Stems of the words that the document lists for some field."""
        choices = _choices(self.tool.output_schema or {})
        return frozenset(word for choice in choices for word in name_stems(choice))

    @cached_property
    def bound(self) -> "_Bound | None":
        return _bound_in(self.told, self.slots)

    # -- numbers ----------------------------------------------------------------------------------

    def compared(self) -> SaidSo:
        """A number with a number of the same unit: of every field that may be meant, or of none."""
        assert self.bound is not None
        if isinstance(self.bound.value, Money):
            found = self._prices(self.bound.value.currency)
        else:
            found = self._counted() or self._numbers()
        answers = {self.bound.holds(number) for _, number in found}
        said = ", ".join(f"{name} {number}" for name, number in found[:_MAX_WORDS])
        return SaidSo(answers.pop(), said) if len(answers) == 1 else OPEN

    def _prices(self, currency: str) -> list[tuple[str, Decimal]]:
        prices = [one.price for one in self.items if one.price is not None]
        labels = {stem(word) for one in self.items for word in tokens(one.label)}
        whole = next((one.price for one in self.items if not one.label), None)
        if whole is not None and labels.isdisjoint(self.stems):
            prices = [whole]  # of an invoice with its lines, what it comes to
        elif self.item is not None and self.item.price is not None:
            prices = [self.item.price]
        if any(price.currency != currency for price in prices):
            return []
        amounts = [price.amount for price in prices]
        if amounts and not _LEAST.isdisjoint(tokens(self.told)):
            amounts = [min(amounts)]
        return [(currency, amount) for amount in amounts]

    def _counted(self) -> list[tuple[str, Decimal]]:
        """How many are listed of what the statement counts."""
        things = [one for one in self.items if one.label]
        labels = {stem(tokens(one.label)[-1]) for one in things}
        if not _THERE_IS.match(self.told) or not labels & self.stems:
            return []
        return [("listed", Decimal(len(things)))]

    def _numbers(self) -> list[tuple[str, Decimal]]:
        if self.item is None:
            return []
        numbers = {
            name: Decimal(str(value))
            for name, value in self.item.fields.items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        }
        by_name = {n: v for n, v in numbers.items() if self.stems & set(name_stems(n))}
        by_words = {n: v for n, v in numbers.items() if self.stems & self._described(n)}
        return list((by_name or by_words).items())

    def _described(self, name: str) -> set[str]:
        return set(content_stems(str(self._schema_of(name).get("description", ""))))

    # -- lists ------------------------------------------------------------------------------------

    def listed(self) -> SaidSo:
        """Whether what is said to be there is listed."""
        words = {stem(word) for word in tokens(self.told)}
        if not _lists(self.body):
            return OPEN
        empty = is_empty(self.body)
        if _EMPTY in words:
            return SaidSo(empty, "nothing is listed" if empty else "something is listed")
        exists = bool(_THERE_IS.match(self.told) or _EXISTS.search(self.told))
        free = bool(words & _FREE & set(name_stems(self.tool.name)))
        if not exists and not free:
            return OPEN
        is_of_free = not _FREE_STEMS.isdisjoint(name_stems(self.tool.name))
        if is_of_free and not free and self.stems.isdisjoint(_known_words(self.tool)):
            return OPEN  # when somebody is free does not tell what they have
        if empty:
            return SaidSo(False, "nothing is listed")
        own = [str(slot.value)[:5] for slot in self.slots if slot.kind == "time"]
        times = own or (self.asked.times if free else ())
        names = self._stems_but("date", "time", "amount", "quantity") - _known_words(self.tool)
        names -= _STILL | _FREE_STEMS | _words_of(self.asked.arguments)
        for one in self.items:
            covers = all(_covers(one.fields, time) for time in times)
            if one.label and covers and self._is_of_the_day(one) and names <= _words_of(one.fields):
                return SaidSo(True, f"{one.label}: {_shortly(one.fields)}")
        return OPEN

    def _is_of_the_day(self, one: Item) -> bool:
        said = set(_DAY.findall(json.dumps(one.fields, default=str)))
        return not self.asked.days or not said or not said.isdisjoint(self.asked.days)

    # -- fields -----------------------------------------------------------------------------------

    def yes_or_no(self) -> SaidSo:
        """A field that is true or false, and has the statement's words in its name."""
        fields = self.item.fields if self.item is not None else {}
        found = {
            name: value
            for name, value in fields.items()
            if isinstance(value, bool) and self.predicate & set(name_stems(name))
        }
        if len(set(found.values())) != 1:
            return OPEN
        name, value = next(iter(found.items()))
        return SaidSo(value, f"{' '.join(tokens(name))}: {'yes' if value else 'no'}")

    def named(self) -> SaidSo:
        """A field that the statement names with its value: "in building South"."""
        things = [one for one in self.items if one.label] or self.items
        alone = self.item or (things[0] if len(things) == 1 else None)
        for name, value in (alone.fields if alone is not None else {}).items():
            words = r"\s+".join(map(re.escape, tokens(name)))
            said = re.search(rf"\b{words}\s+([A-Z][\w-]*|\d[\w-]*)", self.told)
            if alone is None or said is None or not isinstance(value, str | int):
                continue
            if self._names_it(alone, but=said.group(1)):
                return SaidSo(
                    said.group(1).casefold() == str(value).casefold(),
                    f"{' '.join(tokens(name))}: {value}",
                )
        return OPEN

    def state(self) -> SaidSo:
        """A word that names a state: it is the one that is said, or another one of its list."""
        fields = self.item.fields if self.item is not None else {}
        for name, value in fields.items():
            if not isinstance(value, str) or not 0 < len(value.split()) <= _MAX_WORDS:
                continue
            said = f"{' '.join(tokens(name))}: {value}"
            if (words := set(name_stems(value))) and words <= self.predicate:
                return OPEN if _contradicts(fields, words, is_so=True) else SaidSo(True, said)
            choices = self._schema_of(name).get("enum")
            others = [set(name_stems(str(c))) for c in choices] if isinstance(choices, list) else []
            meant = next((other for other in others if other and other <= self.predicate), None)
            if meant is not None:
                return OPEN if _contradicts(fields, meant, is_so=False) else SaidSo(False, said)
        return OPEN

    def _schema_of(self, name: str) -> JsonObject:
        schema = self.tool.output_schema or {}
        return next(_parts(schema, schema, name, 0), {})


@dataclass(frozen=True)
class _Bound:
    value: Decimal | Money
    limit: Literal["max", "min"]
    or_equal: bool

    def holds(self, number: Decimal) -> bool | None:
        """Whether a number is within; None at the very bound, where it is not said."""
        bound = self.value.amount if isinstance(self.value, Money) else self.value
        if number == bound:
            return True if self.or_equal else None
        return number < bound if self.limit == "max" else number > bound


def _bound_in(told: str, slots: Sequence[Slot]) -> _Bound | None:
    """The number that a statement compares with, and which side of it is meant."""
    or_equal = bool(
        re.search(r"\b(?:or\s+(?:less|more|fewer)|at\s+(?:most|least)|up\s+to)\b", told)
    )
    for slot in slots:
        if slot.kind == "amount" and (limit := limit_of(told, slot)) is not None:
            money = money_of(slot.value)
            return _Bound(money, limit, or_equal) if money is not None else None
    dated = [(s.position, s.position + len(s.text)) for s in slots if s.kind in ("date", "time")]
    numbers = _NUMBER.finditer(told)
    match = next((m for m in numbers if not any(a <= m.start() < b for a, b in dated)), None)
    word = re.search(r"\bzero\b", told, re.IGNORECASE) if match is None else None
    place = match or word
    if place is None:
        return None
    text = place.group()
    number = Decimal(text.replace(",", ".")) if match else Decimal(0)
    at = Slot(kind="quantity", value=str(number), text=text, position=place.start())
    limit = limit_of(told, at) or _side_of(told[: place.start()])
    return _Bound(number, limit, or_equal) if limit is not None else None


def _side_of(before: str) -> Literal["max", "min"] | None:
    word = next(iter(tokens(before)[::-1]), "")
    than = tokens(before)[-2:-1] if word == "than" else [word]
    if than and than[0] in _LOWER:
        return "max"
    if than and than[0] in _HIGHER:
        return "min"
    return None


def _lists(body: JsonValue) -> bool:
    return isinstance(body, list) or (
        isinstance(body, dict) and any(isinstance(v, list) for v in body.values())
    )


@read_once
def _known_words(tool: Tool) -> frozenset[str]:
    """Stems of the words that a tool itself is described with."""
    texts = (tool.name, tool.summary, tool.description or "", tool.domain)
    return frozenset(word for text in texts for word in content_stems(text.replace("_", " ")))


def _words_of(fields: JsonObject) -> frozenset[str]:
    texts = [value for value in fields.values() if isinstance(value, str)]
    return frozenset(word for text in texts for word in content_stems(text))


def _shortly(fields: JsonObject) -> str:
    return ", ".join(details(fields, reference=False)[:_MOST_DETAILS])


def _covers(fields: JsonObject, time: str) -> bool:
    """Whether a thing is at a time of the day, or under way then."""
    if any(isinstance(v, str) and re.match(rf"(?:[\d-]+T)?{time}", v) for v in fields.values()):
        return True
    clocks: dict[str, str] = {}
    for name, value in fields.items():
        found = re.search(r"(?:^|T)(\d{2}:\d{2})", value) if isinstance(value, str) else None
        side = next((s for s in ("start", "end") if s in tokens(name)), None)
        if found and side:
            clocks.setdefault(side, found.group(1))
    return len(clocks) == 2 and clocks["start"] <= time < clocks["end"]


def _contradicts(fields: JsonObject, state: set[str], *, is_so: bool) -> bool:
    """Whether a text or a number of the same name says otherwise than a state does."""
    if not is_so and says(fields, tuple(state), ()):
        return True
    for name, value in fields.items():
        words = set(tokens(name))
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if not state & set(name_stems(name)):
            continue
        likely = words & _CHANCE or "percent" in words
        if is_so and value <= (_UNLIKELY if likely else 0):
            return True
        if not is_so and value > (_LIKELY if likely else 0):
            return True
    return False


def _choices(node: JsonValue) -> Iterator[str]:
    """Every value that a schema lists."""
    if isinstance(node, dict):
        listed = node.get("enum")
        yield from map(str, listed if isinstance(listed, list) else ())
        for part in node.values():
            yield from _choices(part)
    elif isinstance(node, list):
        for part in node:
            yield from _choices(part)


def _parts(schema: JsonObject, root: JsonObject, name: str, depth: int) -> Iterator[JsonObject]:
    """The schemas of the fields of that name."""
    resolved = resolve(schema, root)
    items = resolved.get("items")
    if isinstance(items, dict) and depth < _MAX_WORDS:
        yield from _parts(items, root, name, depth + 1)
    for key, part in properties_of(resolved).items():
        if key == name:
            yield resolve(part, root)
        elif depth < _MAX_WORDS:
            yield from _parts(part, root, name, depth + 1)
