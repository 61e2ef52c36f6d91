"""Forms for the arguments of a call: a field for each input, made from its JSON Schema.

A form is read against what it showed: a field that nobody touched changes nothing.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal

from pydantic import Field, JsonValue

from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.pii import handle_for, is_handle
from orchestrator.core.record import JsonObject, Record
from orchestrator.core.shown_text import visible_block
from orchestrator.json_schema.validation import field_problems
from orchestrator.messages.question_field import choices_of, question_field, takes_other_texts

Widget = Literal["text", "long", "date", "choice", "json", "handle", "number"]
PREFIX: Final = "argument."
"""Begins the names of these fields, so that an input may have any name."""
_LONG: Final = 80
_UNSET: Final = ""


class Option(Record):
    """A value to choose."""

    value: str
    label: str


class ArgumentField(Record):
    """A field of the form."""

    name: str
    label: str
    widget: Widget
    about: str = ""
    takes: str = ""
    shown: str = Field(default="", description="the text in it when nobody has touched it")
    options: tuple[Option, ...] = ()
    is_given: bool = Field(default=False, description="True if the call has this argument")
    types: tuple[str, ...] = ()
    problem: str = ""
    typed: str | None = Field(default=None, description="the text as it was sent")

    @property
    def key(self) -> str:
        """Its name in the form."""
        return PREFIX + self.name

    @property
    def value(self) -> str:
        """The text to show in it."""
        return self.shown if self.typed is None else self.typed


class ReadForm(Record):
    """A form as it was read."""

    changes: JsonObject = Field(default_factory=dict)
    fields: tuple[ArgumentField, ...] = Field(description="with what was typed, and its problems")

    @property
    def problems(self) -> tuple[str, ...]:
        """The problems, each with the label of its field."""
        return tuple(f"{one.label}: {one.problem}" for one in self.fields if one.problem)


def changeable_inputs(card: ConfirmationCard, schemas: Mapping[str, JsonObject]) -> list[str]:
    """Return the names of arguments that a person may amend, without generated references."""
    named = card.inputs if card.inputs is not None else (*card.arguments, *schemas)
    return without_ours(card.arguments, named, f"{card.mission_id}.{card.leg_id}.")


def without_ours(arguments: JsonObject, named: Iterable[str], ours: str) -> list[str]:
    """Return names of arguments without those whose values are references that begin so."""
    made = {n for n, v in arguments.items() if isinstance(v, str) and v.startswith(ours)}
    return [name for name in dict.fromkeys(named) if name not in made]


def argument_fields(
    arguments: JsonObject,
    schemas: Mapping[str, JsonObject],
    *,
    names: Iterable[str],
    personal: Iterable[str] = (),
) -> tuple[ArgumentField, ...]:
    """Return the form's fields for inputs that may be changed; one without a schema takes JSON.

    Personal inputs take handles of values in the vault.
    """
    private = frozenset(personal)
    found = (_field(name, arguments, schemas.get(name), name in private) for name in names)
    return tuple(sorted(found, key=lambda one: not one.is_given))


def _field(
    name: str, arguments: JsonObject, schema: JsonObject | None, is_private: bool
) -> ArgumentField:
    value, is_given = arguments.get(name), name in arguments
    described = question_field(name, schema or {})
    made = ArgumentField(
        name=name, label=described.label, widget="handle", about=described.about, is_given=is_given
    )
    if is_private or is_handle(value):
        takes = f"a handle of the vault, such as {handle_for(name)}"
        shown = value if isinstance(value, str) else ""
        return made.model_copy(update={"takes": takes, "shown": shown})
    types: tuple[str, ...] = ()
    match (schema or {}).get("type"):
        case str() as declared:
            types = (declared,)
        case list() as declared:
            types = tuple(map(str, declared))
        case _ if schema is None and isinstance(value, str):
            types = ("string",)
    options = _options(schema, types, value, is_given=is_given)
    widget = "choice" if options else _widget(schema or {}, types, value)
    if widget in ("text", "long"):
        takes = described.takes() if schema else ""
    else:
        takes = {"date": "a day", "number": "a number", "json": "JSON"}.get(widget, "")
    shown = _shown(value, widget) if is_given else _UNSET
    parts = {"widget": widget, "takes": takes, "options": options, "shown": shown, "types": types}
    return made.model_copy(update=parts)


def _widget(schema: JsonObject, types: tuple[str, ...], value: JsonValue) -> Widget:
    plain = set(types) - {"null"}
    if plain and plain <= {"integer", "number"}:
        return "number"
    if plain != {"string"} or not isinstance(value, str | None):
        return "json"
    if schema.get("format") == "date":
        return "date"
    is_long = isinstance(value, str) and (len(value) > _LONG or "\n" in value)
    return "long" if is_long else "text"


def _options(
    schema: JsonObject | None, types: tuple[str, ...], value: JsonValue, *, is_given: bool
) -> tuple[Option, ...]:
    """Return the values to choose from, each as JSON; none where other texts are taken."""
    choices = () if schema is None or takes_other_texts(schema) else choices_of(schema)
    found = [Option(value=_json(one.value), label=one.label) for one in choices]
    if not found and set(types) - {"null"} == {"boolean"}:
        found = [Option(value="true", label="yes"), Option(value="false", label="no")]
    if not found:
        return ()
    if is_given and _json(value) not in [one.value for one in found]:
        found.insert(0, Option(value=_json(value), label=str(value)))
    return (*(() if is_given else (Option(value=_UNSET, label="not given"),)), *found)


def _shown(value: JsonValue, widget: Widget) -> str:
    if widget == "choice":
        return _json(value)
    if isinstance(value, str) and widget in ("text", "long", "date"):
        # A text that differs only in hidden characters, which are shown escaped, is untouched.
        return visible_block(value)
    return json.dumps(value, ensure_ascii=False, indent=None if widget == "number" else 2)


def _json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


class _Unread(Exception):
    """A text is no value of its field."""


def read_arguments(
    fields: Iterable[ArgumentField],
    schemas: Mapping[str, JsonObject],
    sent: Callable[[str], str | None],
) -> ReadForm:
    """Return the changes that a form asks for, with the problems of its fields.

    `sent` returns the text of a field of the form; None: it was not sent.
    """
    changes: JsonObject = {}
    read: list[ArgumentField] = []
    for one in fields:
        text = sent(one.key)
        if text is None or text.strip() == one.shown.strip():
            read.append(one)
            continue
        try:
            value = _value(one, text.strip(), schemas.get(one.name))
        except _Unread as unread:
            # A personal value that was typed by mistake is not shown again.
            typed = "" if one.widget == "handle" else text
            read.append(one.model_copy(update={"problem": str(unread), "typed": typed}))
            continue
        changes[one.name] = value
        read.append(one.model_copy(update={"typed": text}))
    return ReadForm(changes=changes, fields=tuple(read))


def _value(one: ArgumentField, text: str, schema: JsonObject | None) -> JsonValue:
    if one.widget == "handle" and not is_handle(text):
        raise _Unread(
            "this value is personal: store it with: orchestrator pii "
            f"{one.name}, and give its handle, {handle_for(one.name)}"
        )
    if not text and one.widget != "handle" and "null" in one.types:
        value: JsonValue = None
    elif one.widget in ("text", "long", "date", "handle"):
        value = text
    elif not text:
        raise _Unread("it needs a value")
    elif len(text) > 100_000:
        raise _Unread("the text is too long")
    else:
        try:
            value = json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            place = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
            is_number = one.widget == "number"
            wanted = "a number, such as 2 or 12.50" if is_number else f"JSON{place}"
            raise _Unread(f"it is not {wanted}") from None
    problems = [] if schema is None else field_problems({one.label: schema}, {one.label: value})
    if problems:
        raise _Unread("; ".join(p.removeprefix(one.label).lstrip(": ") for p in problems))
    return value


def _refuse_constant(name: str) -> float:
    raise ValueError(name)
