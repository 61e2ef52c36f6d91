"""Inputs that take a file: the places for its handle in a call, and the form of the file sent."""

from collections.abc import Callable, Iterator, Mapping
from typing import Literal, NamedTuple

from pydantic import JsonValue

from orchestrator.catalog.inputs import is_multipart, is_structured
from orchestrator.catalog.tool import Tool
from orchestrator.core.received_files import (
    ANSWER_SCHEMA,
    ReceivedFile,
    file_handles_in,
    is_file_handle,
)
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import resolve
from orchestrator.json_schema.walker import properties_of, subschemas

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
    return tuple(
        name
        for name, schema in tool.properties.items()
        if any(_form(tool, (name,), one) for one in _with_elements(schema, tool.input_schema))
    )


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


def misplaced_files(tool: Tool, arguments: JsonObject) -> Iterator[str]:
    """Yield a sentence for each handle of a file in a place that takes no file."""
    takes = ", ".join(file_inputs(tool))
    stated = f"it takes files in {takes}" if takes else "no input of this tool is a file"
    for place in file_places(tool, arguments):
        if place.form is None:
            yield f"{place.name} is the handle of a file and takes none; {stated}"


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


def _with_elements(schema: JsonObject, root: JsonObject) -> list[JsonObject]:
    own = list(_alternatives(schema, root))
    return [*own, *(one for inner in _inner(own, "items") for one in _alternatives(inner, root))]


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
    return "bytes" if _is_binary(schema) and _carries_bytes(tool, path) else None


def _is_binary(schema: Mapping[str, JsonValue]) -> bool:
    is_encoded = "contentEncoding" in schema
    return schema.get("format") == "binary" or ("contentMediaType" in schema and not is_encoded)


def _carries_bytes(tool: Tool, path: tuple[str, ...]) -> bool:
    """Return True if the place is sent as its own part, or as the whole body."""
    binding = next((b for b in tool.bindings if b.name == path[0]), None)
    body_type = tool.body_content_type
    if binding is None or binding.location != "body" or body_type is None:
        return False
    if is_multipart(body_type):
        return len(path) == (1 if binding.field else 2)
    return not is_structured(body_type) and len(path) == 1
