"""Compare the values of a call with the goal: contradictions, and values that nobody stated.

The results are warnings for the reader of the card. Nothing here blocks a call or asks a question.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Final

from pydantic import JsonValue
from rapidfuzz.fuzz import ratio
from rapidfuzz.process import extractOne

from orchestrator.confirmation.card_facts import CardFact, facts
from orchestrator.confirmation.named_things import EarlierAnswer, FoundThing
from orchestrator.core.pii import is_handle
from orchestrator.core.record import JsonObject
from orchestrator.language.detect import foreign_in
from orchestrator.language.values import Value, find_values

_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d(?!\d)")
_CLOCK: Final = re.compile(r"(?:[T ]|^)(\d\d:\d\d)(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$")
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")
_WORDS: Final = re.compile(r"[^\W\d_]{2,}")
_NAME: Final = re.compile(r'"[^\W\d_a-z][^\W\d_]*[a-z][^"\d]{0,60}"')
"""A JSON string that begins like a name."""
_MOST_WORDS: Final = 2_000
_ALIKE: Final = 75
"""The similarity, out of 100, from which names count as equal, as Lisbon and Lisboa do."""
_SHORTEST_CODE: Final = 3
_DIGIT: Final = re.compile(r"\d")
_OTHERS: Final = ("de", "es", "fr", "it", "pt", "nl")
_ANY: Final = datetime(2026, 1, 1)
_COMPARED: Final = ("date", "time", "amount", "number", "email", "id")
_LONGEST: Final = 4_000
_MOST_ANSWERS: Final = 400_000
"""The maximum number of characters of earlier answers in which a value is searched."""
_MOST_TOLD: Final = 6
_MOST_DAYS: Final = 400

Typed = tuple[str, str]
"""A kind and a normalised value: ("date", "2026-12-05"), ("amount", "90")."""


@dataclass(frozen=True)
class Stated:
    """The goal, the other values that people stated, and the time."""

    goal: str
    now: datetime
    """The time at which the goal was stated, in the requester's time zone."""
    clause: str = ""
    """The words of the goal that order the call; empty for the whole goal."""
    given: Sequence[str] = ()
    """Values that people gave with the goal and as answers."""
    language: str = "en"
    """The language of the goal."""
    count: int = 0
    """The number of effects of the call's order: a number in the goal that belongs to no input."""


def language_of(goal: str) -> str:
    """Return the ISO 639-1 code of a goal's language.

    If the language is uncertain, the result is English, or else the one language in which the goal
    states a day.
    """
    foreign = foreign_in(goal)
    if foreign is not None and foreign.language:
        return foreign.language
    if not _DIGIT.search(goal) or _states_a_day(goal, "en"):
        return "en"
    return next((code for code in _OTHERS if _states_a_day(goal, code)), "en")


def _states_a_day(goal: str, language: str) -> bool:
    return any(value.kind == "date" for value in find_values(goal, now=_ANY, language=language))


def said_otherwise(
    sent: JsonObject, things: Sequence[FoundThing], stated: Stated, *, defaults: JsonObject
) -> Iterator[str]:
    """Yield where the goal states a value of a kind, and the call has only others of that kind.

    The values of the things that the ids of the call name count as its own. For a price, and for
    values between two days, a goal may state the limits only.
    """
    chosen = {n: v for n, v in sent.items() if n not in defaults or defaults[n] != v}
    own = [*_typed(facts(chosen), stated)]
    found = [one for thing in things for item in thing.items for one in _typed(facts(item), stated)]
    for kind in _COMPARED:
        wanted = _wanted(kind, stated)
        here = [value for of, value in own if of == kind]
        around = [value for of, value in found if of == kind]
        if not wanted or not (here or (around and kind in ("date", "time"))):
            continue
        if not _agree(kind, [value for _, value in wanted], [*here, *around]):
            words = [
                _shown(kind, value) if kind == "date" else " ".join(text.split())
                for text, value in wanted
            ]
            goal = ", ".join(dict.fromkeys(words))
            this = ", ".join(dict.fromkeys(_shown(kind, value) for value in here or around))
            yield f"the goal says {goal}; this is for {this}"
    # A warning if no name of the goal is in the call or its things, in a similar spelling.
    said = _values(stated.clause or stated.goal, stated)
    names = dict.fromkeys(value.text for value in said if value.kind == "name")
    about: list[JsonValue] = [sent]
    for thing in things:
        for held, answer in thing.sources:
            about += [held.item, held.around, answer.arguments]
    about_text = json.dumps(about, ensure_ascii=False, default=str)
    known = [*dict.fromkeys(_WORDS.findall(about_text.casefold()))][:_MOST_WORDS]
    if not names or not _NAME.search(about_text):
        return
    parts = [word for name in names for word in _WORDS.findall(name.casefold())]
    if not any(extractOne(word, known, scorer=ratio, score_cutoff=_ALIKE) for word in parts):
        yield f"the goal says {', '.join(names)}, which stands nowhere in this call"


def stated_nowhere(
    sent: JsonObject, answers: Sequence[EarlierAnswer], stated: Stated
) -> Iterator[str]:
    """Yield the days, amounts, addresses and codes of a call that have no source.

    Texts are read too: an amount in a message is a value of the call.
    """
    said = "\n".join((stated.goal, *stated.given))
    known = {*_in_text(said, stated)}
    # The days that follow a stated day by a stated number or duration of days.
    values = (v.value for v in _values(said, stated) if v.kind in ("number", "duration"))
    lengths = [one.get("days") if isinstance(one, dict) else one for one in values]
    days = [date.fromisoformat(value) for kind, value in known if kind == "date"]
    known |= {
        ("date", (day + timedelta(days=length)).isoformat())
        for length in lengths
        if isinstance(length, int) and 0 < length < _MOST_DAYS
        for day in days
    }
    sources_text = json.dumps(
        [[answer.arguments, answer.body] for answer in answers], ensure_ascii=False, default=str
    )[-_MOST_ANSWERS:]
    sources = f"{said}\n{sources_text}".casefold()
    numbers = {_decimal(found.group()) for found in _NUMBER.finditer(sources)}
    missing: dict[Typed, str] = {}
    codes_apart = (fact for fact in facts(sent) if not fact.is_id)
    for fact in codes_apart:
        for kind, value in _typed([fact], stated):
            if (kind, value) in known or kind not in ("date", "amount", "email", "id", "quoted"):
                continue
            in_numbers = kind == "amount" and _decimal(value) in numbers
            if not in_numbers and value.casefold() not in sources:
                missing.setdefault((kind, value), fact.label)
    for (kind, value), label in [*missing.items()][:_MOST_TOLD]:
        yield (
            f"{_shown(kind, value)} in {label.lower()} stands in neither goal, inputs nor answers"
        )


def _typed(shown: Iterable[CardFact], stated: Stated) -> Iterator[Typed]:
    for fact in shown:
        if fact.money is not None:
            yield "amount", _plain(fact.money.amount)
        elif fact.kind == "items" and isinstance(fact.value, list):
            inner = (item for item in fact.value if isinstance(item, dict))
            yield from (one for item in inner for one in _typed(facts(item), stated))
        elif isinstance(fact.value, list):
            for held in fact.value:
                yield from _of_leaf(held, fact, stated)
        else:
            yield from _of_leaf(fact.value, fact, stated)


def _of_leaf(value: JsonValue, fact: CardFact, stated: Stated) -> Iterator[Typed]:
    if isinstance(value, bool) or value is None or is_handle(value):
        return
    if isinstance(value, int | float):
        yield ("id" if fact.is_id else "number"), _plain(Decimal(str(value)))
    elif isinstance(value, str) and fact.is_id:
        yield "id", value
    elif isinstance(value, str) and (fact.kind == "moment" or _DAY.match(value)):
        if day := _DAY.match(value):
            yield "date", day.group()
        if clock := _CLOCK.search(value):
            yield from (("time", one) for one in _clocks(value, clock, stated.now))
    elif isinstance(value, str):
        yield from _in_text(value[:_LONGEST], stated)


def _clocks(text: str, clock: re.Match[str], now: datetime) -> Iterator[str]:
    """Yield the time of day as written, and in the requester's time zone."""
    yield clock[1]
    if clock[2] and now.tzinfo is not None and len(text) > len("00:00:00"):
        try:
            yield datetime.fromisoformat(text).astimezone(now.tzinfo).strftime("%H:%M")
        except ValueError:
            return


def _in_text(text: str, stated: Stated) -> Iterator[Typed]:
    for value in _values(text, stated):
        if (typed := _of_value(value)) is not None:
            yield typed
            if value.kind == "quoted":
                yield from _in_text(typed[1], stated)


def _values(text: str, stated: Stated) -> tuple[Value, ...]:
    return find_values(text, now=stated.now, language=stated.language)


def _of_value(value: Value) -> Typed | None:
    held = value.value
    if value.kind == "amount" and isinstance(held, dict):
        return "amount", _plain(_decimal(str(held.get("amount"))))
    if value.kind == "number" and isinstance(held, int | float):
        return "number", _plain(Decimal(str(held)))
    if value.kind in ("date", "time", "email", "id", "quoted") and isinstance(held, str):
        return value.kind, held
    return None


def _wanted(kind: str, stated: Stated) -> list[tuple[str, str]]:
    """Return the words and values of a kind that people stated for the call.

    They are those of its clause; if the clause states no value at all, those of the whole goal.
    """
    clause = _values(stated.clause, stated) if stated.clause else ()
    read = [(value, _of_value(value)) for value in clause or _values(stated.goal, stated)]
    found = [(value.text, typed[1]) for value, typed in read if typed and typed[0] == kind]
    if kind == "number":
        return [one for one in found if one[1] != str(stated.count)]
    return [one for one in found if kind != "id" or len(one[1]) >= _SHORTEST_CODE]


def _agree(kind: str, wanted: Sequence[str], here: Sequence[str]) -> bool:
    if {one.casefold() for one in wanted} & {one.casefold() for one in here}:
        return True
    if kind == "date" and len(wanted) > 1:
        return any(min(wanted) <= one <= max(wanted) for one in here)
    if kind == "id":
        # A code may be part of a longer text: `INV-17` in a path, a key in a name.
        return any(a.casefold() in b.casefold() for a in wanted for b in here)
    return False


def _shown(kind: str, value: str) -> str:
    if kind == "date":
        try:
            day = date.fromisoformat(value)
        except ValueError:
            return value
        return f"{day.day} {day:%B %Y}"
    return value


def _plain(amount: Decimal) -> str:
    if not amount.is_finite():
        return "0"
    text = format(amount.normalize(), "f")
    return "0" if text == "-0" else text


def _decimal(text: str) -> Decimal:
    last = max(text.rfind("."), text.rfind(","))
    is_fraction = last >= 0 and len(text) - last - 1 in (1, 2)
    digits = re.sub(r"[.,]", "", text[:last]) + "." + text[last + 1 :] if is_fraction else ""
    try:
        return Decimal(digits or re.sub(r"[.,]", "", text))
    except InvalidOperation:
        return Decimal(0)
