"""Checks of a call's arguments against its tool's contract, before anything is sent."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from pydantic import JsonValue

from orchestrator.catalog.call_templates import is_blank
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.expressions import parse_filling
from orchestrator.catalog.inputs import is_multipart, is_structured
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.pii import Handle, field_of, handles_in, handles_within
from orchestrator.core.received_files import (
    ANSWER_SCHEMA,
    ReceivedFile,
    file_handles_in,
    is_file_handle,
)
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.patterns import PatternUndecided
from orchestrator.json_schema.references import format_pointer, resolve, with_definitions
from orchestrator.json_schema.validation import SCHEMA_FAULTS, describe_violations, unknown_name
from orchestrator.json_schema.validator import (
    KEYWORDS,
    REQUEST_FORMATS,
    Keyword,
    SchemaValidator,
    extra_names,
)
from orchestrator.json_schema.walker import properties_of, subschemas

_DIGITS: Final = re.compile(r"0|-?[1-9][0-9]{0,999}")
"""A whole number as it is written back; leading zeros would make another text."""


def check_arguments(catalog: Catalog, tool: Tool, arguments: JsonObject) -> tuple[str, ...]:
    """Return a sentence for each fault of the arguments; empty if they are valid.

    A handle such as `pii:traveler_id`, or the handle of a file, counts as a valid value: the value
    itself is checked again when the call is sent. No sentence quotes a value. Arguments that a
    pattern cannot decide in bounded time are refused, so that nothing unchecked is sent.

    Raises:
        DocumentInvalid: the tool's own schema cannot be evaluated.
    """
    try:
        fields = personal_fields(catalog, tool)
        validator = _validator_class(fields, bool(file_handles_in(arguments)))(
            tool.input_schema, format_checker=REQUEST_FORMATS
        )
        violations = describe_violations(validator.iter_errors(by_text(tool, arguments)))
        return tuple(dict.fromkeys((*check_names(catalog, tool, arguments), *violations)))
    except PatternUndecided as undecided:
        return (str(undecided),)
    except SCHEMA_FAULTS as fault:
        raise unreadable_schema(tool, fault) from None


def by_text(tool: Tool, arguments: JsonObject) -> JsonObject:
    """Return the arguments with numbers and digits in the form that parameters' schemas accept.

    A path, query, header or cookie carries text: there 7 and "7" are one value, whichever of the
    two an earlier answer had. In a body they are two values.
    """
    changed: JsonObject = {}
    for binding in tool.bindings:
        if binding.location == "body" or binding.style == "json":
            continue
        value = arguments.get(binding.name)
        other: JsonValue = None
        if isinstance(value, str) and _DIGITS.fullmatch(value):
            other = int(value)
        elif isinstance(value, int | float) and not isinstance(value, bool) and value % 1 == 0:
            other = str(int(value))
        if other is not None:
            schema = with_definitions(tool.properties.get(binding.name, {}), tool.input_schema)
            validator = SchemaValidator(schema, format_checker=REQUEST_FORMATS)
            with suppress(PatternUndecided, *SCHEMA_FAULTS):  # the check that follows reports them
                if not validator.is_valid(value) and validator.is_valid(other):
                    changed[binding.name] = other
    return {**arguments, **changed} if changed else arguments


def check_names(catalog: Catalog, tool: Tool, arguments: JsonObject) -> tuple[str, ...]:
    """Return sentences about undeclared arguments and about handles that the tool may not receive.

    JSON Schema has no such rules, but an undeclared parameter has no place in a request.
    """
    found = []
    if tool.input_schema.get("additionalProperties") in (None, False):
        bound = {binding.name for binding in tool.bindings}
        strange = (n for n in extra_names(arguments, tool.input_schema) if n not in bound)
        found += [unknown_name(name, tool.properties) for name in strange]
    fields = personal_fields(catalog, tool)
    takes = ", ".join(f"pii:{field}" for field in sorted(fields)) or "none"
    for field in sorted(handles_in(arguments) - fields):
        found.append(f"pii:{field} is no personal field of this tool; it takes {takes}")
    forward = catalog.tools.get(tool.cancel_for or "")
    if forward is not None and forward.compensation is not None:
        for name, template in forward.compensation.cancel.arguments.items():
            value = arguments.get(name)
            if isinstance(value, str) and is_blank(value) and parse_filling(template).expressions:
                found.append(f"{name} is blank, and names nothing to cancel")
    takes = ", ".join(file_inputs(tool))
    stated = f"it takes files in {takes}" if takes else "no input of this tool is a file"
    for place in file_places(tool, arguments):
        if place.form is None:
            found.append(f"{place.name} is the handle of a file and takes none; {stated}")
    return tuple(found)


def personal_fields(catalog: Catalog, tool: Tool) -> frozenset[str]:
    """Return the fields whose values a call may carry: its tool's, and those of calls it cancels.

    A cancel or a probe goes to the provider that received the values before, and an id that the
    provider made from one of them must reach it unchanged.
    """
    others = _fields_of_others(catalog).get((tool.document, tool.name), frozenset())
    return others.union(tool.pii_fields)


def needed_handles(catalog: Catalog, tool: Tool, arguments: JsonObject) -> tuple[Handle, ...]:
    """Return the handles whose values a call with these arguments carries, each once.

    A handle may be inside other text, such as an id that a provider made from a value.
    """
    return handles_within(arguments, personal_fields(catalog, tool))


@lru_cache(maxsize=8)
def _fields_of_others(catalog: Catalog) -> dict[tuple[str, str], frozenset[str]]:
    """Return, for each cancel tool and probe, the personal fields of the tools that declare it.

    Cached per catalog, because the function visits every tool.
    """
    found: dict[tuple[str, str], frozenset[str]] = {}
    for other in catalog.tools.values():
        for template in other.compensation.templates if other.compensation is not None else ():
            key = (other.document, template.tool)
            found[key] = found.get(key, frozenset()).union(other.pii_fields)
    return found


def unreadable_schema(tool: Tool, fault: BaseException) -> DocumentInvalid:
    """Return the error for a schema of this tool that cannot be evaluated.

    It names only the kind of fault, because the fault's text may quote a value.
    """
    pointer = format_pointer(("paths", tool.path, tool.method.lower()))
    kind = type(fault).__name__
    return DocumentInvalid(
        tool.document, pointer, f"a schema of {tool.name} cannot be evaluated ({kind})"
    )


@lru_cache(maxsize=256)
def _validator_class(fields: frozenset[str], files: bool) -> type[Validator]:
    """Return a JSON Schema 2020-12 validator that accepts handles of these fields as values.

    With `files`, handles of files as well.
    """
    if not fields and not files:
        return SchemaValidator

    def lenient(keyword: Keyword) -> Keyword:
        def checked(
            validator: Validator, wanted: Any, instance: Any, schema: Any
        ) -> Iterable[ValidationError] | None:
            if field_of(instance) in fields or (files and is_file_handle(instance)):
                return None
            return keyword(validator, wanted, instance, schema)

        return checked

    keywords = {name: lenient(keyword) for name, keyword in KEYWORDS.items()}
    extended: type[Validator] = extend(SchemaValidator, keywords)  # type: ignore[no-untyped-call]  # jsonschema leaves it untyped
    return extended


FileForm = Literal["bytes", "base64", "base64url"]
"""Form of a sent file: bytes (a part, a whole body), or base64 text."""
_SEVERAL = ("anyOf", "oneOf")
_MOST_LEVELS = 8


class FilePlace(NamedTuple):
    """A place in the arguments of a call that holds the handle of a file."""

    path: tuple[str, ...]
    """Names of properties; the elements of a list share the path of the list."""
    handle: str
    form: FileForm | None
    """Form of the sent file; None if this place takes no file."""
    most_bytes: int | None
    """Largest size that the document allows for a file sent as bytes."""

    @property
    def name(self) -> str:
        """The place in readable form: `ticket.attachments`."""
        return ".".join(self.path)


def file_places(tool: Tool, arguments: JsonObject) -> tuple[FilePlace, ...]:
    """Return the places in a call's arguments where a whole value is the handle of a file."""
    found: list[FilePlace] = []

    def noted(place: FilePlace) -> str:
        found.append(place)
        return place.handle

    with_files_written(tool, arguments, noted)
    return tuple(found)


def with_files_written(
    tool: Tool, arguments: JsonObject, written: Callable[[FilePlace], str]
) -> JsonObject:
    """Return the arguments with `written(place)` in place of each value that is a file's handle."""
    if not file_handles_in(arguments):
        return arguments
    return {
        name: _written(tool, (name,), [tool.properties.get(name, {})], value, written)
        for name, value in arguments.items()
    }


def file_inputs(tool: Tool) -> tuple[str, ...]:
    """Return the inputs of a tool that are a file, or a list of files."""
    root, found = tool.input_schema, list[str]()
    for name, schema in tool.properties.items():
        own = list(_alternatives(schema, root))
        own += [one for inner in _inner(own, "items") for one in _alternatives(inner, root)]
        if any(_form(tool, (name,), one) for one in own):
            found.append(name)
    return tuple(found)


def is_file(schema: Mapping[str, JsonValue]) -> bool:
    """Return True if values of the schema are the content of a file, as bytes or base64."""
    is_encoded = schema.get("contentEncoding") in ("base64", "base64url")
    return schema.get("format") == "byte" or is_encoded or _is_binary(schema)


def answers_file(tool: Tool) -> bool:
    """Return True if the tool answers with a file."""
    return tool.output_schema == ANSWER_SCHEMA


def takes_bytes(schema: JsonObject) -> bool:
    """Return True if a value, or each element of a list, is the content of a file."""
    items = schema.get("items")
    of_element = items if isinstance(items, dict) else {}
    return any(_is_binary(one) for one in (schema, of_element))


def size_problems(place: FilePlace, received: ReceivedFile) -> Iterator[str]:
    """Yield a sentence if a file is too large for a place."""
    if place.most_bytes is not None and received.size_bytes > place.most_bytes:
        yield (
            f"{place.name} takes files of at most {place.most_bytes:,} bytes, and "
            f"{received.name or place.handle} has {received.size_bytes:,}"
        )


def _written(
    tool: Tool,
    path: tuple[str, ...],
    schemas: list[JsonObject],
    value: JsonValue,
    written: Callable[[FilePlace], str],
) -> JsonValue:
    if isinstance(value, str) and not is_file_handle(value):
        return value
    meant = [one for schema in schemas for one in _alternatives(schema, tool.input_schema)]
    if isinstance(value, str):
        found = [(form, one) for one in meant if (form := _form(tool, path, one)) is not None]
        form, schema = found[0] if found else (None, {})
        most = schema.get("maxLength") if form == "bytes" else None
        return written(FilePlace(path, value, form, most if isinstance(most, int) else None))
    if isinstance(value, dict):
        named: JsonObject = {}
        for name, held in value.items():
            inner = [properties_of(s)[name] for s in meant if name in properties_of(s)]
            inner = inner or _inner(meant, "additionalProperties")
            named[name] = _written(tool, (*path, name), inner, held, written)
        return named
    if isinstance(value, list):
        return [_written(tool, path, _inner(meant, "items"), held, written) for held in value]
    return value


def _inner(schemas: list[JsonObject], keyword: str) -> list[JsonObject]:
    found = (schema.get(keyword) for schema in schemas)
    return [inner for inner in found if isinstance(inner, dict)]


def _alternatives(schema: JsonObject, root: JsonObject, level: int = 0) -> Iterator[JsonObject]:
    """Yield the schema as one object, and its anyOf and oneOf branches."""
    opened = resolve(schema, root)
    yield opened
    for inner in subschemas(opened, _SEVERAL) if level < _MOST_LEVELS else ():
        if isinstance(inner, dict):
            yield from _alternatives(inner, root, level + 1)


def _form(tool: Tool, path: tuple[str, ...], schema: JsonObject) -> FileForm | None:
    if schema.get("contentEncoding") == "base64url":
        return "base64url"
    if schema.get("format") == "byte" or schema.get("contentEncoding") == "base64":
        return "base64"
    binding = next((b for b in tool.bindings if b.name == path[0]), None)
    body_type = tool.body_content_type
    if binding is None or binding.location != "body" or body_type is None:
        return None
    # Bytes are sent as a part of their own, or as the whole body.
    is_part = is_multipart(body_type) and len(path) == (1 if binding.field else 2)
    is_sent = is_part or (not is_structured(body_type) and len(path) == 1)
    return "bytes" if is_sent and _is_binary(schema) else None


def _is_binary(schema: Mapping[str, JsonValue]) -> bool:
    is_encoded = "contentEncoding" in schema
    return schema.get("format") == "binary" or ("contentMediaType" in schema and not is_encoded)
