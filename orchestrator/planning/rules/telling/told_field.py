"""The fields of one thing as they are told; two that belong together are told as one range."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.declared_prices import PRICE
from orchestrator.catalog.stated_prices import money_of, names_currency
from orchestrator.core.pii import is_handle
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import resolve
from orchestrator.json_schema.walker import properties_of
from orchestrator.language import lexicon
from orchestrator.language.inflection import singular
from orchestrator.language.units import unit_of
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import tokens
from orchestrator.planning.rules.answers import says_that_it_went_well
from orchestrator.planning.rules.telling import spoken_values as spoken
from orchestrator.planning.rules.telling.spoken_values import Sort

_LISTS: Final = WordLists("telling")
_LOWER: Final = _LISTS.word_set("lower") | lexicon.START | lexicon.ORIGIN
_UPPER: Final = _LISTS.word_set("upper") | lexicon.END | lexicon.DESTINATION
_FROM: Final = frozenset({"origin", "from"})
_TO: Final = frozenset({"destination", "to"})
_ALONE: Final = _LISTS.word_set("speaks_for_itself")
_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?")
_BOOKKEEPING: Final = lexicon.BOOKKEEPING - {"status", "at", "sent", "cancelled", "url"}
_WRAPPERS: Final = _LISTS.word_set("generic")
_LINKS: Final = _LISTS.word_set("links")
_MAX_DEPTH: Final = 3
_A_DAY: Final = 24 * 60
_MOST_LISTED: Final = 5
_YEARS: Final = range(1000, 2200)
_DONE_IN: Final = frozenset((word,) for word in _LISTS.words("done_in"))


@dataclass(frozen=True)
class Told:
    """One field: its name in words, its value as it is, and as it is said."""

    name: str
    words: tuple[str, ...]
    """Of its name, without those of its unit."""
    value: JsonValue
    sort: Sort
    said: str
    unit: str = ""
    options: tuple[str, ...] = ()
    """What its schema lists as its only values."""
    names: tuple[str, ...] = ()
    """Of the fields that it is told for."""
    until: JsonValue = None
    """The value of the other end, of a range."""

    @property
    def heading(self) -> str:
        """Its name in words, for the head of a column."""
        return " ".join(self.words)

    @property
    def is_id(self) -> bool:
        """Whether it is an id that a machine gave: nobody tells it."""
        return self.words[-1:] in (("id",), ("uuid",), ("guid",))

    @property
    def year(self) -> int | None:
        """The year that it is, or that it lies in; None where it is neither."""
        if self.sort in ("date", "moment"):
            return int(str(self.value)[:4])
        is_year = self.sort == "number" and self.said == str(self.value) and len(self.said) == 4
        return int(self.said) if is_year else None

    @property
    def is_bookkeeping(self) -> bool:
        """Whether it says more of a record, or of the call, than of the thing."""
        is_record = bool(set(self.words) & _BOOKKEEPING) or self.words == ("client", "reference")
        return is_record or says_that_it_went_well(self.name, self.value)

    @property
    def is_over(self) -> bool:
        """Whether it says that the thing is no more: cancelled, expired, deleted."""
        if self.sort == "flag":
            return self.value is True and bool(set(self.words) & lexicon.GONE)
        return self.sort == "text" and str(self.value).lower() in lexicon.GONE

    @property
    def is_title(self) -> bool:
        """Whether it is what the thing is called."""
        return bool(self.words) and self.words[-1] in lexicon.TITLE and self.sort == "text"

    @property
    def phrase(self) -> str:
        """It with its name, where the value alone would not say what it is."""
        if self.sort == "flag":
            return _flag(self)
        return self.said if self._speaks_for_itself else f"{self.heading} {self.said}"

    @property
    def _speaks_for_itself(self) -> bool:
        last = self.words[-1] if self.words else ""
        match self.sort:
            case "text":
                named = last in _ALONE | lexicon.PLACE or (self.options and len(self.words) == 1)
                return bool(named) or " " in self.said
            case "money":
                return last in ("price", "cost", "fare", "amount")
            case "number":
                dimension, _, counted = self.unit.partition("-")
                meant = {dimension, f"{dimension}s", f"{counted}s"}
                return bool(self.unit) and set(self.words) <= meant
            case _:
                return self.sort in ("date", "time", "moment") and len(self.words) < 2


def _flag(told: Told) -> str:
    if len(told.words) == 1:
        return told.heading if told.value else f"not {told.heading}"
    return f"{told.heading}: {told.said}"


def told_fields(
    body: JsonObject, schema: JsonObject, root: JsonObject, now: datetime
) -> list[Told]:
    """The fields of an object in its order, ranges as one; no lists of things, nothing empty."""
    return _joined(list(_read(body, schema, root, now)), now)


def _read(
    body: JsonObject,
    schema: JsonObject,
    root: JsonObject,
    now: datetime,
    path: tuple[str, ...] = (),
) -> Iterator[Told]:
    parts = properties_of(resolve(schema, root))
    for name, value in body.items():
        if name == PRICE:
            continue  # what it says stands under its own name, too
        if isinstance(value, dict) and name.strip("_") in _LINKS:
            continue  # where to go on, for a machine
        part = resolve(parts.get(name, {}), root)
        sort = spoken.sort_of(value, body)
        if sort is None and isinstance(value, dict) and len(path) < _MAX_DEPTH:
            yield from _read(value, part, root, now, (*path, name))
        if sort is None or (names_currency(name) and _holds_amount(body)):
            continue
        if isinstance(value, str) and value.startswith(("http://", "https://")):
            continue
        yield _told(_qualifying(path), name, value, sort, part, body, now)


def _qualifying(path: tuple[str, ...]) -> list[str]:
    """The names of the objects around a field, but those that only wrap it."""
    return [name for name in path if singular(name.lower()) not in _WRAPPERS][-1:]


def _holds_amount(body: JsonObject) -> bool:
    """Whether an object holds an amount, which is told with the currency beside it."""
    return any(_is_amount(tuple(tokens(k))) or _is_only_number(k, body) for k in body)


def _is_only_number(name: str, body: JsonObject) -> bool:
    """Whether a field is the one number beside a currency: then it is so much of it."""
    numbers = [k for k, v in body.items() if isinstance(v, int | float) and type(v) is not bool]
    return numbers == [name] and any(names_currency(key) for key in body)


def _told(
    around: list[str],
    own: str,
    value: JsonValue,
    sort: Sort,
    schema: JsonObject,
    holder: JsonObject,
    now: datetime,
) -> Told:
    name = " ".join([*around, own])
    words = tuple(tokens(name))
    unit = unit_of(words) if sort == "number" else ""
    is_number = sort == "number" or (isinstance(value, str) and _NUMBER.fullmatch(value))
    of_money = _is_amount(words) or _is_only_number(own, holder)
    if is_number and of_money and (money := money_of(value, holder)) is not None:
        return Told(name, words, value, "money", str(money), names=(name,))
    listed = schema.get("enum")
    options = tuple(str(o) for o in listed) if isinstance(listed, list) else ()
    kept = words[:-1] if unit and len(words) > 1 else words
    described = tokens(str(schema.get("description", "")))
    is_year = isinstance(value, int) and (
        "year" in (*words, *described[:2]) or (words[-1:] in _DONE_IN and value in _YEARS)
    )
    said = str(value) if is_year else _said(value, sort, unit, holder, now)
    if schema.get("format") == "duration" and isinstance(value, str):
        said = spoken.said_length(value)
    return Told(name, kept, value, sort, said, unit, options, (name,))


def said_value(value: JsonValue, now: datetime) -> str:
    """An answer that is one value, or a list of them; empty where it is neither."""
    sort = spoken.sort_of(value, {})
    return _said(value, sort, "", {}, now) if sort is not None else ""


def _is_amount(words: tuple[str, ...]) -> bool:
    return bool(set(words) & lexicon.MONEY - {"limit", "rate", "max", "min"})


def _said(value: JsonValue, sort: Sort, unit: str, holder: JsonObject, now: datetime) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return spoken.said_number(value, unit)
    if isinstance(value, dict):
        return str(money_of(value, holder) or "")
    if isinstance(value, list):
        cut = [spoken.said_text(str(member)) for member in value[:_MOST_LISTED]]
        more = f" and {len(value) - _MOST_LISTED} more" if len(value) > _MOST_LISTED else ""
        return f"{', '.join(cut)}{more}"
    text = str(value)
    if is_handle(text):
        return text
    told: dict[Sort, Callable[[], str]] = {
        "date": lambda: spoken.said_day(text, now),
        "time": lambda: spoken.said_time(text),
        "moment": lambda: spoken.said_moment(text, now),
    }
    return told[sort]() if sort in told else spoken.said_text(spoken.said_words(text))


# -- what belongs together ------------------------------------------------------------------------


def _joined(fields: Sequence[Told], now: datetime) -> list[Told]:
    """The fields with pairs as one: a start and its end, a time and its duration, from and to."""
    kept: list[Told] = []
    for one in fields:
        partner = next((n for n, other in enumerate(kept) if _is_pair(other, one)), None)
        if partner is None:
            kept.append(one)
        else:
            kept[partner] = _pair(kept[partner], one, now)
    return kept


def _is_pair(first: Told, second: Told) -> bool:
    if len(first.names) > 1 or first.sort not in ("date", "time", "moment", "number", "text"):
        return False
    if first.sort == "text":
        ends = set(first.words) & _FROM, set(second.words) & _TO
        return all(ends) and second.sort == "text" and len(first.words) == len(second.words)
    if first.sort == "time" and second.unit == "duration-minute":
        return second.words == ("duration",) and 0 <= float(str(second.value)) <= _A_DAY
    if first.sort != second.sort or first.unit != second.unit:
        return False
    if first.sort == "number":
        ends = ({"min", "minimum"}, {"max", "maximum"})
        least = _bare(first, ends[0])
        is_range = least is not None and least == _bare(second, ends[1])
        return is_range and float(str(first.value)) <= float(str(second.value))
    return (
        _has(first, _LOWER, lexicon.START_PAIRS)
        and _has(second, _UPPER, lexicon.END_PAIRS)
        and first.words != second.words
    )


def _bare(told: Told, ends: set[str]) -> tuple[str, ...] | None:
    """The words of a name without the one that makes it an end; None where it is none."""
    if not ends & set(told.words):
        return None
    return tuple(word for word in told.words if word not in ends)


def _has(told: Told, ends: frozenset[str], pairs: tuple[tuple[str, str], ...]) -> bool:
    beside = set(zip(told.words, told.words[1:], strict=False))
    return bool(set(told.words) & ends) or bool(beside & set(pairs))


def _pair(first: Told, second: Told, now: datetime) -> Told:
    names = (*first.names, *second.names)
    joined = replace(first, names=names, said=_range(first, second, now), until=second.value)
    if first.sort == "number":
        return replace(joined, words=_bare(first, {"min", "minimum"}) or first.words)
    if first.sort == "time" and second.sort == "time":
        return replace(joined, words=("time",))
    if first.sort == "text":
        return replace(joined, words=("route",))
    return replace(joined, words=("dates",)) if first.sort == "date" else joined


def _range(first: Told, second: Told, now: datetime) -> str:
    one, two = str(first.value), str(second.value)
    if second.unit == "duration-minute" and first.sort == "time":
        start = datetime(2000, 1, 1, int(one[:2]), int(one[3:5]))
        end = start + timedelta(minutes=float(two))
        return f"{start:%H:%M}-{end:%H:%M}"
    if first.sort == "date":
        return spoken.said_days(one, two, now)
    if first.sort == "time":
        return f"{spoken.said_time(one)}-{spoken.said_time(two)}"
    if first.sort == "number":
        return second.said if one == two else f"{float(one):g} to {second.said}"
    return f"{first.said} to {second.said}"
