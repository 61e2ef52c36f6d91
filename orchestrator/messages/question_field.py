"""Fields of a question as a person reads them: name, kind and choices, from JSON Schemas."""

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from typing import Final, Literal

from pydantic import Field, JsonValue

from orchestrator.core import command_lines
from orchestrator.core.payment_numbers import payment_number
from orchestrator.core.pii import handle_for, is_field_name, is_handle
from orchestrator.core.record import JsonObject, Record
from orchestrator.json_schema.references import resolve, with_definitions
from orchestrator.json_schema.validation import field_problems
from orchestrator.language import lexicon
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import tokens

FieldKind = Literal[
    "choice", "flag", "date", "time", "moment", "money", "whole", "number", "several", "email",
    "priced", "object", "text",
]  # fmt: skip


class FieldChoice(Record):
    """A value that a field accepts, with its label."""

    value: JsonValue
    label: str
    about: str = ""


_TYPES: Final[dict[str, FieldKind]] = {
    "boolean": "flag",
    "integer": "whole",
    "number": "number",
    "array": "several",
    "object": "object",
}
_FORMATS: Final[dict[str, FieldKind]] = {
    "date": "date",
    "date-time": "moment",
    "time": "time",
    "email": "email",
    "idn-email": "email",
}
_MONEY: Final = frozenset({"amount", "currency"})


def kind_of(schema: JsonObject) -> FieldKind:
    """Return the kind of a field, from its type and format."""
    declared = schema.get("type")
    named = [str(n) for n in declared if n != "null"] if isinstance(declared, list) else [declared]
    if named == ["object"] or (named == [None] and "properties" in schema):
        properties = schema.get("properties")
        if isinstance(properties, dict) and set(properties) == _MONEY:
            return "money"
        return "priced" if text_with_money(schema) else "object"
    if len(named) == 1 and (found := _TYPES.get(str(named[0]))) is not None:
        return found
    return _FORMATS.get(str(schema.get("format")), "text") if named == ["string"] else "text"


def text_with_money(schema: JsonObject) -> str:
    """Return the only text that an object requires besides an amount and its currency; or "".

    Example: `description`, in the items of an expense report.
    """
    listed, properties = schema.get("required"), schema.get("properties")
    needed = {str(name) for name in listed} if isinstance(listed, list) else set()
    if len(needed) != 3 or not needed > _MONEY or not isinstance(properties, dict):
        return ""
    (name,) = needed - _MONEY
    other = properties.get(name)
    is_text = isinstance(other, dict) and other.get("type") == "string" and not choices_of(other)
    return name if is_text else ""


def choices_of(schema: JsonObject) -> tuple[FieldChoice, ...]:
    """Return the enum values of a schema, or the constants among its alternatives."""
    listed = schema.get("enum")
    if isinstance(listed, list):
        return tuple(
            FieldChoice(value=value, label=_readable(value))
            for value in listed
            if value is not None
        )
    found = []
    for branch in _branches(schema):
        if "const" in branch:
            title, value = branch.get("title"), branch["const"]
            label = title if isinstance(title, str) and title else _readable(value)
            about = _first_sentence(branch.get("description"))
            found.append(FieldChoice(value=value, label=label, about=about))
    return tuple(found)


def _first_sentence(text: JsonValue) -> str:
    return text.split(". ")[0].strip(" .\n")[:200] if isinstance(text, str) else ""


def takes_other_texts(schema: JsonObject) -> bool:
    """Return True if a field accepts texts in addition to its choices."""
    if "enum" in schema:
        return False
    return any("const" not in b and b.get("type") == "string" for b in _branches(schema))


def _branches(schema: JsonObject) -> Iterator[JsonObject]:
    for keyword in ("oneOf", "anyOf"):
        held = schema.get(keyword)
        yield from (b for b in held if isinstance(b, dict)) if isinstance(held, list) else ()


def _readable(value: JsonValue) -> str:
    """Return a machine's value in words: `premium_economy` is "premium economy"."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = str(value)
    apart = text.replace("_", " ").strip()
    return apart if apart and " " not in text else text


DECLINED: Final[JsonObject] = {"reply": "decline"}
"""The answer to a server by a person who declines."""
DECLINE: Final = "reply=decline"
_TOLD: Final = WordLists("asked").table("kinds")
_LONGEST: Final = 200
_PERSONAL: Final = frozenset({"passport", "iban", "ssn", "cvv", "cvc"})
"""Words in field names that ask for data which only the vault may hold."""


class QuestionField(Record):
    """A field of a question, read from its schema."""

    name: str
    label: str = Field(description="name of the value, in words")
    kind: FieldKind
    about: str = Field(default="", description="the document's description, in one sentence")
    choices: tuple[FieldChoice, ...] = ()
    is_open: bool = Field(default=True, description="True if it takes values beyond the choices")
    example: str = Field(default="", description="example in the document")
    unit: str = Field(default="", description="unit of a number, if known")
    each: str = Field(default="", description="kind of the elements of a list that are not texts")
    is_optional: bool = False
    """True if it has a default."""
    default: JsonValue = None

    def takes(self, today: date | None = None) -> str:
        """Return the expected answer in one phrase, with an example."""
        day = "2026-12-03" if today is None else (today + timedelta(days=10)).isoformat()
        kind_text = _TOLD[self.kind].format(day=day)
        if self.choices and self.is_open:
            return f"one of those listed, or {self.about or _TOLD['text']}"
        counted = f", each {self.each}" if self.each else f", in {self.unit}" if self.unit else ""
        shown = (
            f", e.g. {self.example}" if self.example and self.kind in ("text", "several") else ""
        )
        has_default = self.is_optional and self.default is not None
        left = f"; nothing for {self.default}" if has_default else ""
        return f"{kind_text}{counted}{shown}{left}"

    def described(self, today: date | None = None) -> str:
        """Return the field on one line: "day: of the flight; a day"."""
        is_said = self.choices and self.is_open
        about = f"{self.about}; " if self.about and not is_said else ""
        return f"{self.label}: {about}{self.takes(today)}"

    def listed(self) -> Iterator[str]:
        """Yield its choices, numbered: "1. go on: make exactly this call"."""
        for number, choice in enumerate(self.choices, start=1):
            about = f": {choice.about}" if choice.about else ""
            yield f"{number}. {choice.label}{about}"


def answer_problems(fields: Mapping[str, JsonObject], values: JsonObject) -> tuple[str, ...]:
    """Return one sentence for each fault of an answer; none quotes a value.

    Payment numbers, and values of fields with personal names, are refused: histories hold answers
    in the open, while handles do not reveal their values.
    """
    faults = field_problems({**fields}, values)
    return (*faults, *personal_problems(values))


def input_problems(fields: Mapping[str, JsonObject], values: JsonObject) -> tuple[str, ...]:
    """Return one sentence for each fault of an answer to a server; none quotes a value.

    No personal value goes to a server that asks, also not by its handle.
    """
    if values == DECLINED:
        return ()
    needed = {n: one for n, one in fields.items() if n in values or "default" not in one}
    return (*field_problems(needed, values), *undisclosed(values))


def undisclosed(values: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """Return a sentence for each value that no server gets because it asks for it."""
    handles = [name for name, value in values.items() if is_handle(value)]
    held = [*_personal(values), *((name, "it is a handle of a personal value") for name in handles)]
    return tuple(
        f"{name}: {why}, which no server gets because it asks; decline with {DECLINE}"
        for name, why in held
    )


def personal_problems(values: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """Return a sentence for each value that only the vault may hold."""
    problems = []
    for name, why in _personal(values):
        field = name if is_field_name(name) else "<name>"
        problems.append(
            f"{name}: {why}, which would stand in histories in the open; store it in the vault "
            f"({command_lines.store_personal(field)}) and answer with its handle, "
            f"{handle_for(field)}"
        )
    return tuple(problems)


def _personal(values: Mapping[str, JsonValue]) -> Iterator[tuple[str, str]]:
    """Yield the fields with a personal value where a handle belongs, each with the evidence."""
    for name, value in values.items():
        if is_handle(value):
            continue
        if (number := payment_number(value)) is not None:
            yield name, f"the answer holds {number}"
        elif _PERSONAL & set(tokens(name)) and any(c.isdigit() for c in str(value)):
            yield name, "the value is personal"


def question_fields(fields: Mapping[str, JsonObject]) -> tuple[QuestionField, ...]:
    """Return the fields of a question, in the question's order."""
    return tuple(question_field(name, schema) for name, schema in fields.items())


def question_field(name: str, schema: JsonObject) -> QuestionField:
    """Return one field of a question, from its name and its JSON Schema."""
    resolved = resolve(schema, schema)
    words = tokens(name)
    choices = choices_of(resolved)
    kind = "choice" if choices else _kind(words, resolved)
    listed, items, title = (resolved.get(name) for name in ("examples", "items", "title"))
    example = listed[0] if isinstance(listed, list) and listed else resolved.get("example")
    label = title.strip() if isinstance(title, str) else ""
    about, each = _first_sentence(resolved.get("description")), ""
    if len(choices) > 1 and all(choice.label in about for choice in choices[:2]):
        about = ""  # it lists the choices
    if kind == "several" and isinstance(items, dict):
        one = question_field(name, with_definitions(items, resolved))
        each = one.takes() if one.kind in ("priced", "object") else ""
    return QuestionField(
        name=name,
        label=(label or " ".join(words))[:_LONGEST] or "value",
        kind=kind,
        about=about,
        choices=choices,
        is_open=not choices or takes_other_texts(resolved),
        example=example if isinstance(example, str) else "",
        unit=lexicon.unit_of(words) if kind in ("whole", "number") else "",
        each=each,
        is_optional="default" in resolved,
        default=resolved.get("default"),
    )


def _kind(words: list[str], schema: JsonObject) -> FieldKind:
    kind = kind_of(schema)
    if kind != "text" or schema.get("type") not in ("string", None):
        return kind
    last, described = words[-1] if words else "", tokens(str(schema.get("description", "")))
    if last in lexicon.DATE or (last in lexicon.START | lexicon.END and "date" in described):
        return "date"
    if last in lexicon.TIME or "pattern" not in schema:
        return "time" if last in lexicon.TIME else "text"

    def fits(text: str) -> bool:
        return not field_problems({"value": schema}, {"value": text})

    if fits("a few words") or fits("word"):
        return "text"
    return "time" if fits("20:00") else "date" if fits("2026-12-03") else "text"
