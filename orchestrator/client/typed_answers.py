"""Reads typed answers by the schemas of the question's fields.

A value that its field accepts stays unchanged. Other texts are read as people write them, by the
clock of the person who answers; an ambiguous text is refused.
"""

import json
import math
import re
from collections.abc import Container, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Final

from pydantic import JsonValue
from rapidfuzz import fuzz

from orchestrator.client.waits import Understood
from orchestrator.core.pii import is_handle
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import resolve, with_definitions
from orchestrator.json_schema.validation import field_problems
from orchestrator.language import lexicon
from orchestrator.language.days import ValueKind
from orchestrator.language.values import Value, find_values
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import tokens
from orchestrator.messages.question_field import (
    FieldChoice,
    FieldKind,
    QuestionField,
    choices_of,
    kind_of,
    question_field,
    takes_other_texts,
    text_with_money,
)

_LISTS: Final = WordLists("asked")
_YES: Final = _LISTS.word_set("yes")
_NO: Final = _LISTS.word_set("no")
_FILLERS: Final = _LISTS.word_set("fillers")
_PARTS_OF_DAY: Final = _LISTS.word_set("parts_of_day")
_ORDINALS: Final = {word: int(place) for word, place in _LISTS.table("ordinals").items()}
_GOING_ON: Final = frozenset(_LISTS.lines("going_on"))
_STOPPING: Final = frozenset(_LISTS.lines("stopping"))
_APART: Final = re.compile(r"\s*(?:[,;]|\band\b)\s*")
_GIVING_UP: Final = frozenset(_LISTS.lines("giving_up"))
_LEFT: Final = "; to have none of it done, cancel the mission (orchestrator mission cancel)"


class ValueUnread(Exception):
    """A text is no value of a field, or is ambiguous; the message says why."""

    def __init__(self, why: str, *readings: str) -> None:
        """Take the reason, and the possible readings if there are several."""
        super().__init__(why)
        self.readings = readings


def read_answer(
    fields: Mapping[str, JsonObject], typed: Mapping[str, JsonValue], *, now: datetime
) -> Understood:
    """Return an answer read field by field; the validator finds missing and unknown fields.

    Args:
        fields: their JSON Schemas.
        typed: by field, values or texts; texts are read.
        now: when the person answered, in the mission's time zone: "tomorrow" is the day after it.
    """
    values: JsonObject = {}
    notes: list[str] = []
    problems: list[str] = []
    for name, given in typed.items():
        if name not in fields:
            values[name] = given
            continue
        field = question_field(name, fields[name])
        try:
            values[name] = _read(field, fields[name], given, now=now)
        except ValueUnread as unread:
            left = _LEFT if " ".join(str(given).casefold().split()) in _GIVING_UP else ""
            problems.append(f"{field.label}: {unread}; give {field.takes(now.date())}{left}")
            continue
        if (read := shown(values[name])) != str(given).strip():
            notes.append(f"{field.label}: {read}")
    # A last day before the first one would be refused by the provider.
    days = [name for name in values if name in fields and _is_day(str(values[name]))]
    starts = [name for name in days if lexicon.is_start(tokens(name))]
    ends = [name for name in days if lexicon.is_end(tokens(name))]
    if len(starts) == len(ends) == 1 and str(values[ends[0]]) < str(values[starts[0]]):
        first, last = (question_field(name, fields[name]).label for name in (*starts, *ends))
        stops, begins = values[ends[0]], values[starts[0]]
        problems.append(f"{last}: {stops} is before {first} {begins}; give a day after it")
    return Understood(values=values, notes=tuple(notes), problems=tuple(problems))


def _read(
    field: QuestionField, schema: JsonObject, given: JsonValue, *, now: datetime
) -> JsonValue:
    """Return the value of one field."""
    if is_handle(given) or not isinstance(given, str | int | float | bool):
        return given
    if not isinstance(given, str) and _fits(schema, given):
        return given
    text = given.strip() if isinstance(given, str) else json.dumps(given)
    if text and field.kind in ("date", "time", "moment"):
        # A text in the form that the field declares, or that its example shows, stays as it is.
        if field.kind == "date":
            shows_other = bool(field.example) and not _is_day(field.example)
            is_in_form = _is_day(text) or (schema.get("format") != "date" and shows_other)
        else:
            is_in_form = ("pattern" in schema or "format" in schema) and _fits(schema, text)
        if is_in_form:
            return text
    resolved = resolve(schema, schema)
    if isinstance(items := resolved.get("items"), dict):
        each = with_definitions(items, schema)
        resolved = {**resolved, "items": resolve(each, each)}
    value = read_text(text, resolved, now=now, kind=field.kind)
    if field.kind == "time":  # with the seconds and the offset that its field accepts
        offset = now.isoformat()[-6:].replace("+00:00", "Z")
        forms = (f"{value}", f"{value}:00", f"{value}:00{offset}")
        value = next((form for form in forms if _fits(schema, form)), value)
    if not _fits(schema, value) and not field.choices:
        (problem, *_) = field_problems({field.label: schema}, {field.label: value})
        raise ValueUnread(problem.removeprefix(field.label).lstrip(": ") or "it is not taken")
    return value


def _fits(schema: JsonObject, value: JsonValue) -> bool:
    return not field_problems({"value": schema}, {"value": value})


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return "-" in text


def shown(value: JsonValue) -> str:
    """Return a value as a person reads it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(shown, value))
    if isinstance(value, dict) and {"amount", "currency"} <= set(value):
        rest = [shown(held) for name, held in value.items() if name not in ("amount", "currency")]
        return " ".join([*rest, f"{value['amount']} {value['currency']}"])
    if isinstance(value, str) and _is_day(value):
        day = date.fromisoformat(value)
        return f"{day:%A} {day.day} {day:%B %Y} ({value})"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# --- one text -----------------------------------------------------------------------------


def read_text(
    text: str, schema: JsonObject, *, now: datetime, kind: FieldKind | None = None
) -> JsonValue:
    """Return the value that a text means for a field; the caller validates it by the schema.

    Args:
        text: as a person typed it: "tomorrow", "8 pm", "the second one", "two".
        schema: the field's JSON Schema, references resolved.
        now: when it was typed, in the person's own time.
        kind: how to read the field; by default derived from its type and format.

    Raises:
        ValueUnread: the text is no value of the field, or is ambiguous.
    """
    text = text.strip()
    if choices := choices_of(schema):
        return _choice(text, choices, is_open=takes_other_texts(schema), now=now)
    if not text:
        raise ValueUnread("nothing was said")
    match kind or kind_of(schema):
        case "flag":
            for meaning, said in ((_YES, True), (_NO, False)):
                if _is_all(_content_words(text.lower()), meaning):
                    return said
            raise ValueUnread(f"{text!r} is neither yes nor no")
        case "date":
            return _one(text, "date", now, "day").value
        case "time":
            is_hour = re.fullmatch(r"\d{1,2}(?:\s+(?:in|on)\b.*)?", text)
            clock = f"at {text}" if is_hour else text
            return _one(clock, "time", now, "time of day").value
        case "moment":
            return _moment(text, now)
        case "whole" | "number":
            return _number(text, now)
        case "money":
            return _json_object(text) or _money(text, schema, now)
        case "priced":
            return _json_object(text) or _priced(text, schema, now)
        case "several":
            if isinstance(as_json := _json(text), list):
                return as_json
            items = schema.get("items")
            each = items if isinstance(items, dict) else {}
            return [read_text(part, each, now=now) for part in _APART.split(text) if part.strip()]
        case "object":
            if (read := _json_object(text)) is None:
                raise ValueUnread(f"{text!r} is no JSON object")
            return read
        case _:
            return text if "type" in schema else _json(text, otherwise=text)


# --- choices --------------------------------------------------------------------------------

_NEAR: Final = 80.0
"""Similarity, of 100, from which a word counts as a misspelt word of a label."""
_SLIP: Final = 70.0
"""Similarity from which a free text is refused as a misspelt option."""
_LISTED: Final = 100
"""Length of all choices, in characters, up to which an error lists them."""


def _choice(
    text: str, choices: Sequence[FieldChoice], *, is_open: bool, now: datetime
) -> JsonValue:
    """Return the choice that a text names; or the text itself, if the field is open."""
    said = _plain(text)
    exact = [c for c in choices if said in (_plain(str(c.value)), _plain(c.label))]
    found = exact[:1] or _by_place(said, choices)
    for meaning, options in ((_YES, _GOING_ON), (_NO, _STOPPING)):
        if not found and _is_all(_content_words(said), meaning):
            found = [c for c in choices if _plain(str(c.value)) in options][:1]
    if found:
        return found[0].value
    begun = [c for c in choices if said and _plain(c.label).startswith(said)]
    if is_open:
        if not said:
            raise ValueUnread("nothing was said")
        # A free text, unless it is a misspelt option, or a bare yes or no.
        near = begun or [c for c in choices if fuzz.ratio(said, _plain(c.label)) >= _SLIP]
        if said in _YES | _NO or near:
            hint = f"; is {near[0].label!r} meant?" if near else ""
            raise ValueUnread(f"{text!r} is none of {_among(choices, choices)}{hint}")
        return text
    if not begun and len(said) > 2:  # "acme" in "INV-7, Acme, 12 EUR"
        words = re.compile(rf"(?<!\w){re.escape(said)}(?!\w)")
        begun = [c for c in choices if words.search(_plain(c.label))]
    values = find_values(text, now=now)
    if not begun and len(values) == 1 and _is_filler(_without(text, values)):
        meant = values[0].value  # "8 pm" for 20:00
        begun = [c for c in choices if meant is not None and c.value == meant]
    if not begun and len(said) > 2:
        begun = [c for c in choices if _is_misspelt(said, _plain(c.label))]
    if len(begun) == 1:
        return begun[0].value
    if begun:
        raise ValueUnread(f"{text!r} may be {_among(begun, choices)}", *(c.label for c in begun))
    raise ValueUnread(f"{text!r} is none of {_among(choices, choices)}")


def _by_place(said: str, choices: Sequence[FieldChoice]) -> list[FieldChoice]:
    """Return the choice for "2", "the second one" or "the last", unless choices are numbers."""
    words = _content_words(said)
    if len(words) != 1:
        return []
    (word,) = words
    if word == "last":
        return [choices[-1]]
    if "one" not in said.split() and (named := [c for c in choices if _plain(c.label) == word]):
        return named
    nth = re.fullmatch(r"(\d{1,4})(?:st|nd|rd|th)", word)
    place = _ORDINALS.get(word) or (int(nth[1]) if nth else 0)
    if not place and re.fullmatch(r"[0-9]{1,4}", word):
        values = [choice.value for choice in choices]
        counts = (
            isinstance(v, int | float) or (isinstance(v, str) and v.isdigit()) for v in values
        )
        place = 0 if any(counts) else int(word)
    return [choices[place - 1]] if 0 < place <= len(choices) else []


def _is_misspelt(said: str, label: str) -> bool:
    """Return True if each word is nearly that of the label; numbers must be equal."""
    words, wanted = said.split(), label.split()
    if re.findall(r"\d", said) != re.findall(r"\d", label) or len(words) != len(wanted):
        return False
    return all(fuzz.ratio(*pair) >= _NEAR for pair in zip(words, wanted, strict=True))


def _is_all(words: Sequence[str], meaning: Container[str]) -> bool:
    return bool(words) and all(word in meaning for word in words)


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[\s_-]+", " ", text.casefold()).strip(" .!,'\"").split())


def _content_words(said: str) -> list[str]:
    return [word for word in re.findall(r"[\w'\u2019]+", said) if word not in _FILLERS]


def _among(some: Sequence[FieldChoice], choices: Sequence[FieldChoice]) -> str:
    """Return some of the choices in words, or by their numbers if they are long."""
    said = ", ".join(choice.label for choice in some)
    if len(said) <= _LISTED:
        return said
    if len(some) == len(choices):
        return f"the {len(choices)} that are listed"
    return f"any of {', '.join(str(n) for n, c in enumerate(choices, start=1) if c in some)}"


# --- values ---------------------------------------------------------------------------------


def _one(text: str, kind: ValueKind, now: datetime, noun: str) -> Value:
    """Return the single value of a kind in a text that otherwise holds only fillers."""
    found = [value for value in find_values(text, now=now) if value.kind == kind]
    if len(found) != 1:
        raise ValueUnread(f"{text!r} names {f'several {noun}s' if found else f'no {noun}'}")
    (value,) = found
    if value.readings:
        raise ValueUnread(f"{text!r} may be {' or '.join(value.readings)}", *value.readings)
    if value.value is None:
        raise ValueUnread(f"{text!r} names no single {noun}")
    if not _is_filler(_without(text, found)):
        raise ValueUnread(f"{text!r} says more than a {noun}")
    return value


def _without(text: str, values: Sequence[Value]) -> str:
    for value in reversed(values):
        text = f"{text[: value.start]} {text[value.end :]}"
    return text


def _is_filler(rest: str) -> bool:
    return all(w in _FILLERS | _PARTS_OF_DAY for w in re.findall(r"[\w'\u2019]+", rest.lower()))


def _moment(text: str, now: datetime) -> str:
    values = find_values(text, now=now)
    days = [v for v in values if v.kind == "date"]
    if len(days) == 1 and not any(v.kind == "time" for v in values):
        raise ValueUnread(f"{text!r} names a day, and no time of it")
    clock = _one(_without(text, days), "time", now, "time of day").value
    day = _one(_without(text, [v for v in values if v.kind == "time"]), "date", now, "day").value
    moment = datetime.fromisoformat(f"{day}T{clock}:00").replace(tzinfo=now.tzinfo)
    return moment.isoformat().replace("+00:00", "Z")


def _number(text: str, now: datetime) -> JsonValue:
    as_json = _json(text)
    if isinstance(as_json, int | float) and not isinstance(as_json, bool):
        return int(as_json) if as_json == int(as_json) else as_json
    values = find_values(text, now=now)
    money = next((v.value for v in values if v.kind == "amount"), None)
    if isinstance(money, dict):
        currency = money["currency"]
        raise ValueUnread(f"{text!r} names a currency ({currency}), and this takes a number alone")
    numbers = [v for v in values if v.kind in ("number", "duration")]
    if len(numbers) != 1 or len(values) != 1:
        raise ValueUnread(f"{text!r} is not one number")
    (found,) = numbers
    words = re.findall(r"[\w'\u2019]+", _without(text, numbers).lower())
    if not _is_filler(" ".join(word for word in words if word != found.unit)):
        raise ValueUnread(f"{text!r} is not one number")
    return next(iter(found.value.values())) if isinstance(found.value, dict) else found.value


def _money(text: str, schema: JsonObject, now: datetime) -> JsonObject:
    """Return amount and currency; the schema decides if the amount is a number or a text."""
    money = _one(text, "amount", now, "amount with its currency").value
    properties = schema.get("properties")
    amount = properties.get("amount") if isinstance(properties, dict) else None
    if not isinstance(money, dict):
        raise ValueUnread(f"{text!r} is not one amount with its currency")
    if isinstance(amount, dict) and amount.get("type") == "string":
        return money
    number = Decimal(str(money["amount"]))
    return {**money, "amount": int(number) if number == int(number) else float(number)}


def _priced(text: str, schema: JsonObject, now: datetime) -> JsonObject:
    """Return a thing with its amount: "taxi 23.50 EUR", "12 euros for lunch"."""
    amounts = [v for v in find_values(text, now=now) if v.kind == "amount"]
    if len(amounts) != 1:
        raise ValueUnread(f"{text!r} is not one thing with one amount and its currency")
    words = re.split(r"[\s,:;]+", _without(text, amounts).strip(" ,:;"))
    said = [place for place, word in enumerate(words) if word and word.lower() not in _FILLERS]
    if not said:
        raise ValueUnread(f"{text!r} does not say what costs that")
    what = " ".join(words[said[0] : said[-1] + 1])
    return {text_with_money(schema): what, **_money(amounts[0].text, schema, now)}


def _json_object(text: str) -> JsonObject | None:
    read = _json(text)
    return read if isinstance(read, dict) else None


def _json(text: str, *, otherwise: JsonValue = None) -> JsonValue:
    try:
        value: JsonValue = json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return otherwise
    return otherwise if isinstance(value, float) and not math.isfinite(value) else value
