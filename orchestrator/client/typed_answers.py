"""The values that an answer gives, read by the schemas of the fields that were asked for.

A value that a field takes as it is stays as it is. Other texts are read as a person writes them, by
the clock of the person who answers; nothing that can be read in two ways is.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from typing import Final

from pydantic import JsonValue

from orchestrator.client.understood import Understood
from orchestrator.core.pii import is_handle
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import resolve, with_definitions
from orchestrator.json_schema.validation import field_problems
from orchestrator.language import answers, lexicon
from orchestrator.language.answers import ValueUnread
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import tokens
from orchestrator.messages.question_field import QuestionField, question_field

_GIVING_UP: Final = frozenset(WordLists("asked").lines("giving_up"))
_LEFT: Final = "; to have none of it done, cancel the mission (orchestrator mission cancel)"


def read_answer(
    fields: Mapping[str, JsonObject], typed: Mapping[str, JsonValue], *, now: datetime
) -> Understood:
    """Return an answer read field by field; the validator finds what is missing or not asked for.

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
            values[name] = _read(field, fields[name], given, now=now)
        except ValueUnread as unread:
            left = _LEFT if " ".join(str(given).casefold().split()) in _GIVING_UP else ""
            problems.append(f"{field.label}: {unread}; give {field.takes(now.date())}{left}")
            continue
        if (read := shown(values[name])) != str(given).strip():
            notes.append(f"{field.label}: {read}")
    problems += _ends_first(fields, values)
    return Understood(values=values, notes=tuple(notes), problems=tuple(problems))


def _ends_first(fields: Mapping[str, JsonObject], values: JsonObject) -> Iterator[str]:
    """The problem of a last day before its first, which the provider would refuse."""
    days = [name for name in values if name in fields and _is_day(str(values[name]))]
    starts = [name for name in days if lexicon.is_start(tokens(name))]
    ends = [name for name in days if lexicon.is_end(tokens(name))]
    if len(starts) == len(ends) == 1 and str(values[ends[0]]) < str(values[starts[0]]):
        first, last = (question_field(name, fields[name]).label for name in (*starts, *ends))
        stops, begins = values[ends[0]], values[starts[0]]
        yield f"{last}: {stops} is before {first} {begins}; give a day after it"


def _read(
    field: QuestionField, schema: JsonObject, given: JsonValue, *, now: datetime
) -> JsonValue:
    """The value that one field is given.

    Raises:
        ValueUnread: what was typed is no value of it, or can be read in several ways.
    """
    if is_handle(given) or not isinstance(given, str | int | float | bool):
        return given
    if not isinstance(given, str) and _fits(schema, given):
        return given
    text = given.strip() if isinstance(given, str) else json.dumps(given)
    if (
        text
        and field.kind in ("date", "time", "moment")
        and _is_taken_as_it_is(field, schema, text)
    ):
        return text
    value = answers.read_answer(text, _resolved(schema), now=now, kind=field.kind)
    value = _in_form(value, schema, now) if field.kind == "time" else value
    if not _fits(schema, value) and not field.choices:
        (problem, *_) = field_problems({field.label: schema}, {field.label: value})
        raise ValueUnread(problem.removeprefix(field.label).lstrip(": ") or "it is not taken")
    return value


def _is_taken_as_it_is(field: QuestionField, schema: JsonObject, text: str) -> bool:
    """True of a value in the form that its field declares, or that its example shows."""
    if field.kind == "date":
        shows_other = bool(field.example) and not _is_day(field.example)
        return _is_day(text) or (schema.get("format") != "date" and shows_other)
    return ("pattern" in schema or "format" in schema) and _fits(schema, text)


def _resolved(schema: JsonObject) -> JsonObject:
    """A schema without references at its top and in its items."""
    top = resolve(schema, schema)
    items = top.get("items")
    if not isinstance(items, dict):
        return top
    each = with_definitions(items, schema)
    return {**top, "items": resolve(each, each)}


def _in_form(clock: JsonValue, schema: JsonObject, now: datetime) -> JsonValue:
    """A time with its seconds and its offset, where its field takes it so."""
    offset = now.isoformat()[-6:].replace("+00:00", "Z")
    forms = (f"{clock}", f"{clock}:00", f"{clock}:00{offset}")
    return next((form for form in forms if _fits(schema, form)), clock)


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
