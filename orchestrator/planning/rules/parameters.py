"""The meaning of a tool's input, read from its name, schema and description."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum, auto
from functools import cached_property
from typing import Final, Literal

from jsonschema import Draft202012Validator
from jsonschema.protocols import Validator
from pydantic import JsonValue

from orchestrator.catalog.arguments import is_file
from orchestrator.catalog.tool import Tool
from orchestrator.core.read_once import read_once
from orchestrator.core.received_files import FILE, is_file_handle
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import resolve, with_definitions
from orchestrator.json_schema.validation import SCHEMA_FAULTS
from orchestrator.json_schema.validator import SchemaValidator
from orchestrator.json_schema.walker import needs_something, properties_of, required_of
from orchestrator.language import lexicon
from orchestrator.language.inflection import singular
from orchestrator.language.words import stem, tokens

Side = Literal["start", "end"]
Bound = Literal["max", "min"]


class Kind(StrEnum):
    """The kind of value that an input takes."""

    CONSTANT = auto()
    CHOICE = auto()
    FLAG = auto()
    DATE = auto()
    TIME = auto()
    DATETIME = auto()
    TIME_ZONE = auto()
    PLACE = auto()
    MONEY = auto()
    """An object with an amount and a currency."""
    AMOUNT = auto()
    CURRENCY = auto()
    COUNT = auto()
    NIGHTS = auto()
    DURATION = auto()
    """A duration in ISO 8601."""
    EMAIL = auto()
    IDENTIFIER = auto()
    QUERY = auto()
    TEXT = auto()
    TITLE = auto()
    LIST = auto()
    OBJECT = auto()
    FILE = auto()
    """The content of a file, by the handle of a received file."""
    PAGING = auto()
    OTHER = auto()


DAYS: Final = frozenset({Kind.DATE, Kind.DATETIME})
TEXTS: Final = frozenset({Kind.TEXT, Kind.TITLE})
MONEY: Final = frozenset({Kind.AMOUNT, Kind.MONEY})
_MOST_LEAVES: Final = 80
_MOST_STEPS: Final = 6
_DIGIT: Final = re.compile(r"\d")


@dataclass(frozen=True)
class Parameter:
    """An input; `words` are those of its name, after those of the enclosing object."""

    name: str
    schema: JsonObject
    root: JsonObject
    required: bool
    words: tuple[str, ...]
    kind: Kind
    side: Side | None = None
    bound: Bound | None = None
    around: JsonObject = field(default_factory=dict)
    """The schema of the object that has it as a property."""

    def accepts(self, value: JsonValue) -> bool:
        """Return True if the schema allows the value."""
        if self.kind is Kind.FILE and is_file_handle(value):
            return True
        try:
            return self._validator.is_valid(value)
        except SCHEMA_FAULTS:
            # The call itself is refused with the reason; planning must not fail before it.
            return True

    def first_accepted(self, *values: JsonValue) -> JsonValue:
        """Return the first value except None that the schema allows; None without any."""
        return next((v for v in values if v is not None and self.accepts(v)), None)

    @property
    def options(self) -> list[str]:
        """The texts that the schema lists as the only values."""
        listed = self.schema.get("enum")
        return [o for o in listed if isinstance(o, str)] if isinstance(listed, list) else []

    @cached_property
    def element(self) -> "Parameter | None":
        """The elements of a list, as a parameter named in the singular; else None."""
        items = self.schema.get("items")
        if self.kind is not Kind.LIST or not isinstance(items, dict):
            return None
        return read_parameter(singular(self.name), items, self.root, required=True)

    @property
    def is_id(self) -> bool:
        """True if it takes an identifier, as a text or a whole number."""
        if self.kind is Kind.OTHER:
            return _type(self.schema) == "integer" and bool({*self.words} & lexicon.IDENTIFIER)
        return self.kind is Kind.IDENTIFIER

    def is_code(self, value: JsonValue) -> bool:
        """Return True if the schema's pattern accepts a value only because of its digits."""
        if "pattern" not in self.schema or not isinstance(value, str) or not self.accepts(value):
            return False
        return not self.accepts(_DIGIT.sub("x", value)) and not self.accepts(_DIGIT.sub("X", value))

    @property
    def is_persons_name(self) -> bool:
        """True if it takes the name of a person."""
        *before, last = self.words or ("",)
        if self.kind is Kind.OTHER and last in lexicon.PERSONAL:
            return "name" in tokens(str(self.schema.get("description", "")))
        return last == "name" and not lexicon.PERSONAL.isdisjoint(before)

    @cached_property
    def names(self) -> frozenset[str]:
        """The names under which answers hold its value: its own, and that of one element."""
        if (self.element or self).kind is Kind.FILE:
            return frozenset({FILE})
        return frozenset({self.name, *([self.element.name] if self.element else ())})

    @cached_property
    def fields(self) -> tuple["Parameter", ...]:
        """The properties of an object, as parameters; empty for other types."""
        return read_parameters(self.schema, self.root, parent=self.words)

    @cached_property
    def _validator(self) -> Validator:
        whole = with_definitions(self.schema, self.root)
        return SchemaValidator(whole, format_checker=Draft202012Validator.FORMAT_CHECKER)


@read_once
def tool_parameters(tool: Tool) -> tuple[Parameter, ...]:
    """Return the inputs of a tool that a planner fills, without generated references.

    The required fields of a changing call's body count as required, even if the document makes the
    body optional: nobody who orders something wants an empty request.
    """
    found = read_parameters(tool.input_schema, tool.input_schema)
    root, needed = tool.input_schema, set[str]()
    bound, body = root.get("dependentRequired"), [b for b in tool.bindings if b.location == "body"]
    fields = {binding.name for binding in body}
    if tool.is_side_effect and isinstance(bound, dict) and len(fields) > 1:
        by_name = {name: {*names} for name, names in bound.items() if isinstance(names, list)}
        needed = {n for n in fields if all(n in by_name.get(o, ()) for o in fields - {n})}
    elif tool.is_side_effect:
        whole = (b.name for b in body if not b.field)
        needed = {n for n in whole if needs_something(tool.properties[n], root)}
    own = (replace(p, required=p.required or p.name in needed) for p in found)
    return tuple(p for p in own if p.name not in tool.reference_inputs)


def as_typed(given: JsonValue) -> Iterator[JsonValue]:
    """Yield a given value, then other readings of typed text."""
    yield given
    if isinstance(given, str):
        text = given.strip()
        yield text
        number = text.removeprefix("-")
        if number.isdigit() and len(number) < 19:
            yield int(text)
        if number.replace(".", "", 1).isdigit() and len(number) < 19:
            yield float(text)
        if text.lower() in ("true", "false"):
            yield text.lower() == "true"
        yield [part.strip() for part in text.split(",")]
    elif isinstance(given, int | float) and not isinstance(given, bool):
        yield str(given)


@dataclass(frozen=True)
class Leaf:
    """An input, or a field inside an object or the first object of a list."""

    parameter: Parameter
    path: tuple[str | int, ...]
    required: bool

    @property
    def name(self) -> str:
        """The name of the tool's own input that contains it."""
        return str(self.path[0])


@read_once
def leaves_of(tool: Tool) -> tuple[Leaf, ...]:
    """Return the inputs of a tool, with objects opened."""
    found: list[Leaf] = []
    for parameter in tool_parameters(tool):
        found += _opened(parameter, (parameter.name,), required=parameter.required)
    return tuple(found[:_MOST_LEAVES])


def _opened(parameter: Parameter, path: tuple[str | int, ...], *, required: bool) -> list[Leaf]:
    element = parameter.element
    holder, step = (parameter, ()) if element is None else (element, (0,))
    if len(path) >= _MOST_STEPS or holder.kind is not Kind.OBJECT or not holder.fields:
        return [Leaf(parameter, path, required)]
    return [
        leaf
        for one in holder.fields
        for leaf in _opened(one, (*path, *step, one.name), required=required and one.required)
    ]


def units_of(parameter: Parameter) -> frozenset[str]:
    """Return the stems of the words for an input's unit: "kg", "degrees Celsius"."""
    if parameter.schema.get("type") not in ("integer", "number"):
        return frozenset()
    return frozenset(map(stem, (*parameter.words, *tokens(lexicon.unit_of(parameter.words)))))


def read_parameters(
    schema: JsonObject, root: JsonObject, *, parent: tuple[str, ...] = ()
) -> tuple[Parameter, ...]:
    """Return an object schema's properties, required ones first, else in schema order."""
    resolved = resolve(schema, root)
    needed = set(required_of(resolved))
    found = [
        replace(
            read_parameter(name, part, root, required=name in needed, parent=parent),
            around=resolved,
        )
        for name, part in properties_of(resolved).items()
    ]
    days = [one.kind for one in found if one.kind in DAYS]
    for number, one in enumerate(found):
        if days.count(one.kind) > 1 and one.side is None:
            # Of several days, the description says which end of the stretch it is.
            described = tuple(tokens(str(one.schema.get("description", ""))))
            found[number] = replace(one, side=_side(described, one.kind))
    return tuple(sorted(found, key=lambda parameter: not parameter.required))


def read_parameter(
    name: str, schema: JsonObject, root: JsonObject, *, required: bool, parent: tuple[str, ...] = ()
) -> Parameter:
    """Return a property with its meaning."""
    resolved = resolve(schema, root)
    words = (*parent, *tokens(name))
    kind = _kind(words, resolved)
    bound: Bound | None = "max" if lexicon.MAXIMUM & {*words} else None
    if bound is None and lexicon.MINIMUM & {*words}:
        bound = "min"
    return Parameter(name, resolved, root, required, words, kind, _side(words, kind), bound)


def moment_at(day: str, clock: str, now: datetime) -> str | None:
    """Return a moment in the time zone of `now`, in RFC 3339; None if it does not exist."""
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}:00").replace(tzinfo=now.tzinfo)
    except ValueError:
        return None
    return moment.isoformat().replace("+00:00", "Z")


def _kind(words: tuple[str, ...], schema: JsonObject) -> Kind:
    choices = schema.get("enum")
    if "const" in schema or (isinstance(choices, list) and len(choices) == 1):
        return Kind.CONSTANT
    if isinstance(choices, list) and not lexicon.CURRENCY & set(words):
        return Kind.CHOICE
    match _type(schema):
        case "boolean":
            return Kind.FLAG
        case "array":
            return Kind.LIST
        case "object":
            is_money = set(properties_of(schema)) == {"amount", "currency"}
            return Kind.MONEY if is_money else Kind.OBJECT
        case "integer" | "number" as number:
            whole = number == "integer"
        case _:
            return _text_kind(words, schema)
    named = set(words)
    is_qualified = len(words) > 1 and words[-1] in lexicon.IDENTIFIER
    is_id = is_qualified and not lexicon.PEOPLE & {*words[:-1]}  # "hire_no", not "seat_no"
    if named & lexicon.NOT_COUNTED or is_id:
        return Kind.OTHER
    if whole and named & lexicon.NIGHTS:
        return Kind.NIGHTS
    if whole and named & lexicon.COUNTED and not {"per", "page"} <= named:
        return Kind.COUNT
    if named & lexicon.PAGING and not named & lexicon.MONEY - lexicon.PAGING:
        return Kind.PAGING
    if named & (lexicon.MONEY | lexicon.MINOR_UNITS):
        return Kind.AMOUNT
    return Kind.COUNT if whole else Kind.OTHER


def _type(schema: JsonObject) -> str:
    found = schema.get("type")
    if isinstance(found, list):
        return next((str(t) for t in found if t != "null"), "string")
    if isinstance(found, str):
        return found
    return "object" if "properties" in schema else "array" if "items" in schema else "string"


_FORMATS: Final[Mapping[str, Kind]] = {
    "date": Kind.DATE,
    "date-time": Kind.DATETIME,
    "duration": Kind.DURATION,
    "time": Kind.TIME,
    "email": Kind.EMAIL,
    "idn-email": Kind.EMAIL,
    "uuid": Kind.IDENTIFIER,
}


def _text_kind(words: tuple[str, ...], schema: JsonObject) -> Kind:
    if is_file(schema):
        return Kind.FILE
    if (known := _FORMATS.get(str(schema.get("format")))) is not None:
        return known
    named, last = set(words), words[-1] if words else ""
    described = set(tokens(str(schema.get("description", ""))))
    directed = last in lexicon.ORIGIN | lexicon.DESTINATION
    surest_first = (
        (Kind.IDENTIFIER, last == "id"),
        (Kind.EMAIL, named & lexicon.EMAIL),
        (Kind.CURRENCY, named & lexicon.CURRENCY),
        (Kind.TIME_ZONE, named & lexicon.TIME_ZONE or {"time", "zone"} <= named),
        (Kind.IDENTIFIER, last in lexicon.IDENTIFIER),
        (Kind.DATE, last in lexicon.DATE),
        (Kind.DATE, last in lexicon.START | lexicon.END and "date" in described),
        (Kind.TIME, last in lexicon.TIME),
        (Kind.TEXT, last in lexicon.TEXT),
        (Kind.QUERY, last in lexicon.QUERY),
        (Kind.TITLE, last in lexicon.TITLE),
        (Kind.PLACE, named & lexicon.PLACE or (directed and described & lexicon.PLACE_DESCRIBED)),
    )
    return next((kind for kind, holds in surest_first if holds), Kind.OTHER)


def _side(words: tuple[str, ...], kind: Kind) -> Side | None:
    named = set(words)
    if kind is Kind.PLACE:
        return "start" if named & lexicon.ORIGIN else "end" if named & lexicon.DESTINATION else None
    if kind in (Kind.DATE, Kind.TIME, Kind.DATETIME):
        return "end" if lexicon.is_end(words) else "start" if lexicon.is_start(words) else None
    return None
