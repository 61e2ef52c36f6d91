"""The values that an answer gives, read by the schemas of the fields that were asked for.

What a field takes as it is stays as it is. What it does not is read as a person writes it, by the
clock of whoever answers; what was made of it is told. Nothing that can be read in two ways is.
"""

import contextlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from typing import Final

from pydantic import JsonValue

from orchestrator.client.typed_answers.amounts_typed import (
    as_decimal,
    read_money,
    read_number,
    read_priced,
)
from orchestrator.client.typed_answers.choosing import chosen
from orchestrator.client.typed_answers.not_read import Unread
from orchestrator.client.typed_answers.typed_moments import read_day, read_moment, read_time
from orchestrator.client.understood import Understood
from orchestrator.core.pii import is_handle
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import resolve, with_definitions
from orchestrator.json_schema.validation import field_problems
from orchestrator.json_schema.walker import properties_of
from orchestrator.language.word_lists import WordLists
from orchestrator.messages.question_field import QuestionField, question_field, text_beside_money
from orchestrator.planning.rules.parameters import Kind, read_parameter

_LISTS: Final = WordLists("asked")
_YES: Final = _LISTS.word_set("yes")
_NO: Final = _LISTS.word_set("no")
_FILLERS: Final = _LISTS.word_set("fillers")
_GIVING_UP: Final = frozenset(_LISTS.lines("giving_up"))
_LEFT: Final = "; to have none of it done, cancel the mission (orchestrator mission cancel)"
_CLOCK: Final = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
_APART: Final = re.compile(r"\s*(?:[,;]|\band\b)\s*")


def read_answer(
    fields: Mapping[str, JsonObject], typed: Mapping[str, JsonValue], *, now: datetime
) -> Understood:
    """An answer, field by field; what was not asked for, or is missing, is left to the validator.

    Args:
        fields: JSON Schemas of what is asked for.
        typed: by field, values or texts; texts are read.
        now: when it was answered, in the mission's time zone: "tomorrow" is the day after it.
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
            values[name] = read_field(field, fields[name], given, now=now)
        except Unread as unread:
            left = _LEFT if " ".join(str(given).casefold().split()) in _GIVING_UP else ""
            problems.append(f"{field.label}: {unread}; give {field.takes(now.date())}{left}")
            continue
        if (told := shown(values[name])) != str(given).strip():
            notes.append(f"{field.label}: {told}")
    problems += _ends_first(fields, values)
    return Understood(values=values, notes=tuple(notes), problems=tuple(problems))


def _ends_first(fields: Mapping[str, JsonObject], values: JsonObject) -> Iterator[str]:
    """What is wrong with a day up to which something lasts, and that is before its first.

    Its provider would refuse it, and what was asked for would be lost.
    """
    asked = [name for name in values if name in fields]
    read = [read_parameter(name, fields[name], fields[name], required=True) for name in asked]
    starts = [p.name for p in read if p.kind is Kind.DATE and p.side == "start"]
    ends = [p.name for p in read if p.kind is Kind.DATE and p.side == "end"]
    if len(starts) != 1 or len(ends) != 1:
        return
    begins, stops = str(values[starts[0]]), str(values[ends[0]])
    if stops < begins:
        first, last = (question_field(name, fields[name]).label for name in (*starts, *ends))
        yield f"{last}: {stops} is before {first} {begins}; give a day after it"


def read_field(
    field: QuestionField, schema: JsonObject, given: JsonValue, *, now: datetime
) -> JsonValue:
    """The value that one field is given.

    Raises:
        Unread: what was typed is no value of it, or can be read in several ways.
    """
    if is_handle(given) or not isinstance(given, str | int | float | bool):
        return given
    text = given.strip() if isinstance(given, str) else json.dumps(given)
    if not isinstance(given, str) and _fits(schema, given):
        return given
    if field.choices:
        return _choice(field, text, now)
    value = _read(field, schema, text, now)
    if not _fits(schema, value):
        (problem, *_) = field_problems({field.label: schema}, {field.label: value})
        raise Unread(problem.removeprefix(field.label).lstrip(": ") or "it is not taken")
    return value


def _fits(schema: JsonObject, value: JsonValue) -> bool:
    return not field_problems({"value": schema}, {"value": value})


def _choice(field: QuestionField, text: str, now: datetime) -> JsonValue:
    try:
        choice = chosen(text, field.choices, is_open=field.is_open)
    except Unread:
        if (meant := _in_other_words(field, text, now)) is None:
            raise
        return meant
    if choice is not None:
        return choice.value
    if not text:
        raise Unread("nothing was said")
    return text


def _in_other_words(field: QuestionField, text: str, now: datetime) -> JsonValue:
    """The choice that is the day or the time which a text names: "8 pm" of 08:00 and 20:00."""
    values = [choice.value for choice in field.choices]
    with contextlib.suppress(Unread):
        if all(isinstance(v, str) and _CLOCK.fullmatch(v) for v in values):
            clock = read_time(text)
            return clock if clock in values else None
        if all(isinstance(v, str) and _is_day(v) for v in values):
            day = read_day(text, now)
            return day if day in values else None
    return None


def _read(field: QuestionField, schema: JsonObject, text: str, now: datetime) -> JsonValue:
    if not text:
        raise Unread("nothing was said")
    match field.kind:
        case "flag":
            return _flag(text)
        case "date":
            return _day(field, schema, text, now)
        case "time":
            return _time(schema, text, now)
        case "moment":
            return _moment(schema, text, now)
        case "whole" | "number":
            as_json = _json(text)
            if isinstance(as_json, int | float) and not isinstance(as_json, bool):
                return int(as_json) if as_json == int(as_json) else as_json
            return read_number(text, now=now, whole=field.kind == "whole")
        case "money":
            return _money(schema, text, now)
        case "several":
            return _several(field, schema, text, now)
        case "priced":
            return _priced(schema, text, now)
        case "object":
            return _object(text)
        case _:
            is_free = "type" not in resolve(schema, schema)
            return text if not is_free and _fits(schema, text) else _json(text, otherwise=text)


def _flag(text: str) -> bool:
    words = [w for w in re.findall(r"[\w']+", text.lower()) if w not in _FILLERS] or ["?"]
    if all(word in _YES for word in words):
        return True
    if all(word in _NO for word in words):
        return False
    raise Unread(f"{text!r} is neither yes nor no")


def _day(field: QuestionField, schema: JsonObject, text: str, now: datetime) -> str:
    if _is_day(text) or (schema.get("format") != "date" and _is_another_form(field)):
        return text
    return read_day(text, now)


def _is_another_form(field: QuestionField) -> bool:
    """Whether its example shows that its days are not written as ISO 8601 has them."""
    return bool(field.example) and not _is_day(field.example)


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return "-" in text


def _time(schema: JsonObject, text: str, now: datetime) -> str:
    if re.fullmatch(r"\d{2}:\d{2}(:\d{2})?(Z|[+-]\d{2}:\d{2})?", text) and _fits(schema, text):
        return text
    clock = read_time(text)
    forms = (clock, f"{clock}:00", f"{clock}:00{_offset(now)}")
    return next((form for form in forms if _fits(schema, form)), clock)


def _moment(schema: JsonObject, text: str, now: datetime) -> str:
    if _fits(schema, text):
        return text
    day, clock = read_moment(text, now)
    moment = datetime.fromisoformat(f"{day}T{clock}:00").replace(tzinfo=now.tzinfo)
    return moment.isoformat().replace("+00:00", "Z")


def _offset(now: datetime) -> str:
    return now.isoformat()[-6:].replace("+00:00", "Z")


def _money(schema: JsonObject, text: str, now: datetime) -> JsonValue:
    if isinstance(found := _json(text), dict):
        return found
    money = read_money(text, now=now)
    amount = properties_of(resolve(schema, schema)).get("amount", {})
    if amount.get("type") == "string":
        return {**money, "amount": as_decimal(money["amount"])}
    return money


def _several(field: QuestionField, schema: JsonObject, text: str, now: datetime) -> JsonValue:
    if isinstance(found := _json(text), list):
        return found
    resolved = resolve(schema, schema)
    items = resolved.get("items")
    each = with_definitions(items, schema) if isinstance(items, dict) else {}
    one = question_field(field.name, each)
    return [
        read_field(one, each, part, now=now) for part in _APART.split(text.strip()) if part.strip()
    ]


def _priced(schema: JsonObject, text: str, now: datetime) -> JsonValue:
    if isinstance(found := _json(text), dict):
        return found
    what, money = read_priced(text, now=now)
    return {text_beside_money(resolve(schema, schema)): what, **money}


def _object(text: str) -> JsonValue:
    if isinstance(found := _json(text), dict):
        return found
    raise Unread(f"{text!r} is no JSON object")


def _json(text: str, *, otherwise: JsonValue = None) -> JsonValue:
    try:
        value: JsonValue = json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return otherwise
    return otherwise if isinstance(value, float) and not math.isfinite(value) else value


def shown(value: JsonValue) -> str:
    """A value as a person reads it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(shown, value))
    if isinstance(value, dict) and {"amount", "currency"} <= set(value):
        beside = [shown(held) for name, held in value.items() if name not in ("amount", "currency")]
        return " ".join([*beside, f"{value['amount']} {value['currency']}"])
    if isinstance(value, str) and _is_day(value):
        day = date.fromisoformat(value)
        return f"{day:%A} {day.day} {day:%B %Y} ({value})"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
