"""The inputs of an operation: one object schema, the place of each, and the idempotency key."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Final, NamedTuple, cast, get_args

from pydantic import JsonValue

from orchestrator.catalog.contract import is_credential
from orchestrator.catalog.operations import Operation
from orchestrator.catalog.tool import IdempotencyKey, InputBinding, KeyForm, Location
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.patterns import PatternUndecided
from orchestrator.json_schema.validation import SCHEMA_FAULTS
from orchestrator.json_schema.validator import REQUEST_FORMATS, SchemaValidator
from orchestrator.json_schema.walker import flatten_object, rename_properties
from orchestrator.language.words import name_words

IDEMPOTENCY_KEY: Final = "x-orchet-idempotency-key"
_PLACES: Final = ("header", "query", "body")
_STEMS: Final = ("idempoten", "dedup")
_OF_REQUESTS: Final = frozenset({"request", "nonce", "token"})
_OF_PAGES: Final = frozenset({"page", "next", "cursor", "continuation", "sync"})
_REPEATS: Final = re.compile(
    r"idempoten|\bdeduplicat|\bduplicate|\bretr(?:y|ies|ied)\b|\brepeat|\brepetition", re.IGNORECASE
)
_CONSTRAINTS: Final = frozenset(
    {"pattern", "format", "enum", "const", "allOf", "anyOf", "oneOf", "not", "$ref", "if"}
)
_UUID: Final = 36
_SHORTEST, _LONGEST = 12, 128
"""Lengths of derived keys: 48 bits distinguish the calls of one provider."""
_FORMS: Final[tuple[KeyForm, ...]] = ("hex", "HEX", "letters", "LETTERS", "digits")
_SAMPLES: Final = tuple(f"mission-{number}.leg.{number}" for number in range(4))


class _Field(NamedTuple):
    """A place in the request that takes a value."""

    binding: InputBinding
    schema: JsonValue


def find_key(operation: Operation, fields: Sequence[_Field]) -> IdempotencyKey | None:
    """Return an operation's idempotency key: the declared one, else one recognised by its words.

    Args:
        operation: its x-orchet-idempotency-key names the field, or is false.
        fields: all fields that a request may have.

    Raises:
        DocumentInvalid: no field has the declared name, or no key form fits a required field.
    """
    able = [f for f in fields if f.binding.location in _PLACES and f.binding.field]
    declared = operation.node.at(IDEMPOTENCY_KEY)
    if declared is not None and declared.value is False:
        return None
    if declared is not None:
        name = declared.text().lower()
        found = [f for f in able if f.binding.field.lower() == name]
        if not found:
            raise declared.invalid(
                f"no header, query parameter or body property is called {declared.text()!r}"
            )
    else:
        found = [f for f in able if _is_key(f, operation)]
    for taken in sorted(found, key=lambda f: _PLACES.index(f.binding.location)):
        schema = taken.schema if isinstance(taken.schema, dict) else {}
        opened = operation.schemas.inputs.opened(schema)
        if (form := _fitting(json.dumps(opened, sort_keys=True, default=str))) is not None:
            location, name = taken.binding.location, taken.binding.field
            return IdempotencyKey(location=location, field=name, form=form[0], length=form[1])
        if declared is not None or taken.binding.required:
            raise operation.node.invalid(
                f"no idempotency key that we can make fits the schema of {taken.binding.field!r}",
                f"correct its schema, or set {IDEMPOTENCY_KEY}: false to make it an input",
            )
    return None


def _is_key(field: _Field, operation: Operation) -> bool:
    """Return True if the field's name, or a request token's name and description, mean a key.

    A required header with the request's id has to differ between calls, like the orchestrator's
    key.
    """
    schema = field.schema if isinstance(field.schema, dict) else {}
    schema = operation.schemas.inputs.opened(schema)
    words = name_words(field.binding.field)
    if not _is_text(schema):
        return False
    if any(word.startswith(_STEMS) for word in words):
        return True
    if operation.is_safe:
        return False
    is_own_header = field.binding.location == "header" and words[-2:] == ("request", "id")
    if is_own_header and field.binding.required:
        return True
    is_of_request = _OF_REQUESTS & {*words} and not _OF_PAGES & {*words}
    described = str(schema.get("description", ""))
    return bool(is_of_request and _REPEATS.search(described))


def _is_text(schema: JsonObject) -> bool:
    kind = schema.get("type", "string")
    return kind == "string" or (isinstance(kind, list) and "string" in kind)


@lru_cache(maxsize=1 << 10)
def _fitting(text: str) -> tuple[KeyForm, int] | None:
    """Return the first form, with its length, whose samples all fit a schema, given as JSON."""
    schema: JsonObject = json.loads(text)
    validator = SchemaValidator(schema, format_checker=REQUEST_FORMATS)
    try:
        for form, length in _candidates(schema):
            key = IdempotencyKey(location="header", field="", form=form, length=length)
            if all(validator.is_valid(key.written(sample)) for sample in _SAMPLES):
                return form, length
    except (PatternUndecided, *SCHEMA_FAULTS):
        return None
    return None


def _candidates(schema: JsonObject) -> Iterator[tuple[KeyForm, int]]:
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength", 0)
    if isinstance(longest, int) and _CONSTRAINTS.isdisjoint(schema) and not 0 < longest < _UUID:
        # If the limit is shorter than the text, a UUID is used.
        yield "text", longest
    yield "uuid", _UUID
    yield "UUID", _UUID
    low = max(shortest if isinstance(shortest, int) else 0, _SHORTEST)
    high = min(longest if isinstance(longest, int) and longest else _LONGEST, _LONGEST)
    for length in sorted(range(low, high + 1), key=lambda n: abs(n - 32)):
        yield from ((form, length) for form in _FORMS)


_IGNORED_HEADERS = frozenset({"accept", "content-type"})
_JSON = "application/json"
_FORM = "application/x-www-form-urlencoded"
_RANGES = {"*/*": _JSON, "application/*": _JSON, "text/*": "text/plain"}
_WHOLE_BODY = "body"
_TEXT_TYPE = re.compile(
    r"[/+](?:x-)?(xml|yaml|ndjson|json(?:l|lines)?|csv|javascript|graphql|www-form-urlencoded)\b"
)

Expand = Callable[[DocumentNode], JsonObject]


@dataclass(frozen=True)
class Inputs:
    """The input schema of a tool, and the way in which its values are sent."""

    schema: JsonObject
    bindings: tuple[InputBinding, ...]
    content_type: str | None
    idempotency_key: IdempotencyKey | None


@dataclass(frozen=True)
class _Body:
    content_type: str | None = None
    fields: tuple[_Field, ...] = ()
    required: tuple[str, ...] = ()
    """In the order of the document's list, so that the order of properties has no effect."""
    constraints: JsonObject = field(default_factory=dict)

    def without(self, name: str) -> "_Body":
        """Return the body without a field that the orchestrator fills."""
        bound = self.constraints.get("dependentRequired")
        kept: JsonObject = {}
        for other, needed in (bound if isinstance(bound, dict) else {}).items():
            left = [n for n in needed if n != name] if isinstance(needed, list) else needed
            if left and other != name:
                kept[other] = left
        constraints = {k: v for k, v in self.constraints.items() if k != "dependentRequired"}
        return replace(
            self,
            fields=tuple(f for f in self.fields if f.binding.field != name),
            required=tuple(n for n in self.required if n != name),
            constraints={**constraints, "dependentRequired": kept} if kept else constraints,
        )


def read_inputs(operation: Operation) -> Inputs:
    """Compile the parameters and the body of an operation.

    Raises:
        DocumentInvalid: OpenAPI does not allow a parameter or the body.
    """
    parameters = operation.parameters()
    expansion = operation.schemas.inputs
    limit = expansion.graph.inline_limit(_written_schemas(operation, parameters))
    expand = partial(expansion.expand, limit=limit)
    fields = [_read_parameter(p, expand) for p in parameters if is_input(p, operation.root)]
    body = _read_body(operation, expand)
    key = find_key(operation, [*fields, *body.fields])
    if key is not None and key.location == "body":
        body = body.without(key.field)
    taken = (key.location, key.field) if key is not None else None
    asked = [f for f in [*fields, *body.fields] if (f.binding.location, f.binding.field) != taken]
    named = _with_unique_names(asked)
    return Inputs(
        schema=expansion.closed(_object_schema(named, body)),
        bindings=tuple(sorted((field.binding for field in named), key=_place)),
        content_type=body.content_type,
        idempotency_key=key,
    )


def _written_schemas(
    operation: Operation, parameters: Iterable[DocumentNode]
) -> Iterator[DocumentNode]:
    """Yield the schemas of the parameters and the body, as written in the document."""
    _, media_type = _chosen_body(operation)
    body = media_type.raw("schema") if media_type is not None else None
    for schema in (*map(_parameter_written, parameters), body):
        if schema is not None:
            yield schema


def _header_name(parameter: DocumentNode) -> str | None:
    """Return the lower-case name of a header parameter; None for other kinds."""
    if parameter.require("in").text() != "header":
        return None
    return parameter.require("name").text().lower()


def is_input(parameter: DocumentNode, root: DocumentNode) -> bool:
    """Return True unless HTTP owns the header, or the parameter carries a credential."""
    return _header_name(parameter) not in _IGNORED_HEADERS and not is_credential(parameter, root)


def _read_parameter(parameter: DocumentNode, expand: Expand) -> _Field:
    location = parameter.require("in")
    if location.text() not in get_args(Location) or location.text() == "body":
        raise location.invalid(f"a parameter cannot be in {location.text()!r}")
    if any(is_json(media_type) for media_type, _ in parameter.items("content")):
        # A JSON parameter is sent as one text, so no OpenAPI style applies; other text is sent
        # unchanged.
        style, explode = "json", False
    else:
        default = "form" if location.text() in ("query", "cookie") else "simple"
        style, explode = _serialization(parameter, default)
    name = parameter.require("name").text()
    binding = InputBinding(
        name=name or _WHOLE_BODY,
        location=cast("Location", location.text()),
        field=name,
        required=location.text() == "path" or parameter.is_true("required"),
        style=style,
        explode=explode,
    )
    return _Field(binding, _parameter_schema(parameter, expand))


def _serialization(place: DocumentNode, default: str) -> tuple[str, bool]:
    """Return the declared style, and True if it is exploded."""
    style, explode = place.text_at("style") or default, place.at("explode")
    return style, explode.value is True if explode is not None else style == "form"


def _parameter_schema(parameter: DocumentNode, expand: Expand) -> JsonObject:
    written = _parameter_written(parameter)
    schema = expand(written) if written is not None else {}
    if (description := parameter.text_at("description")) is not None:
        schema = {**schema, "description": description}
    example = parameter.at("example")
    if example is not None and "examples" not in schema:
        schema = {**schema, "examples": [example.value]}
    return {**schema, "deprecated": True} if parameter.is_true("deprecated") else schema


def _parameter_written(parameter: DocumentNode) -> DocumentNode | None:
    described = next((media_type for _, media_type in parameter.items("content")), parameter)
    return parameter.raw("schema") or described.raw("schema")


def _chosen_body(operation: Operation) -> tuple[str | None, DocumentNode | None]:
    """Return the media type to send, and its place in the document."""
    body = operation.node.at("requestBody")
    media_types = dict(body.items("content")) if body is not None else {}
    content_type = choose_content_type(media_types)
    return content_type, media_types[content_type] if content_type is not None else None


def _read_body(operation: Operation, expand: Expand) -> _Body:
    body = operation.node.at("requestBody")
    content_type, media_type = _chosen_body(operation)
    if body is None or content_type is None or media_type is None:
        return _Body()
    required = body.is_true("required")
    written = media_type.raw("schema")
    schema = expand(written) if written is not None else {}
    if is_structured(content_type):
        opened = operation.schemas.inputs.opened
        flat = flatten_object(opened(schema), opened=opened)
        if flat is not None and (required or not flat.constraints):
            needed = tuple(flat.required) if required else ()
            fields = tuple(_body_fields(flat.properties, needed, media_type))
            constraints = flat.constraints if required else _all_or_none(flat.required, fields)
            return _Body(content_type, fields, needed, constraints)
    whole = schema if is_structured(content_type) else text_schema(schema)
    if is_file_type(content_type):
        whole = _as_file(whole)
    if (description := body.text_at("description")) is not None:
        whole = {"description": description, **whole}
    binding = InputBinding(name=_WHOLE_BODY, location="body", field="", required=required)
    return _Body(content_type, (_Field(binding, whole),))


def choose_content_type(media_types: Iterable[str]) -> str | None:
    """Return the media type to send: JSON, else a form, else any; None if none is offered."""
    offered = sorted(media_types)
    wanted: tuple[Callable[[str], bool], ...]
    wanted = (lambda offer: offer == _JSON, is_json, is_form, is_multipart, _sends_json)
    for is_wanted in wanted:
        for offer in offered:
            if is_wanted(offer):
                return offer
    return offered[0] if offered else None


def sent_type(media_type: str) -> str:
    """Return the media type to send for a declared one: a range becomes a type inside it."""
    return _RANGES.get(_essence(media_type), media_type)


def is_json(content_type: str) -> bool:
    """Return True for JSON, with or without media type parameters."""
    essence = _essence(content_type)
    return essence in (_JSON, "text/json") or essence.endswith("+json")


def is_form(content_type: str) -> bool:
    """Return True for a URL-encoded form, with or without media type parameters."""
    return _essence(content_type) == _FORM


def is_multipart(content_type: str) -> bool:
    """Return True for a multipart type, with or without media type parameters."""
    return _essence(content_type).startswith("multipart/")


def is_text_type(content_type: str) -> bool:
    """Return True for text in some format, with or without media type parameters."""
    essence = _essence(content_type)
    return essence.startswith("text/") or _TEXT_TYPE.search(essence) is not None


def is_file_type(content_type: str) -> bool:
    """Return True for a media type that is neither JSON nor text.

    `*/*` allows anything; `image/*` allows no text.
    """
    essence = _essence(content_type)
    is_read = is_json(essence) or is_text_type(essence) or is_form(essence) or is_multipart(essence)
    return not is_read and essence not in _RANGES


def _essence(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _sends_json(content_type: str) -> bool:
    return is_json(sent_type(content_type))


def is_structured(content_type: str) -> bool:
    """Return True if the fields of a schema are the fields sent in this media type."""
    return any(kind(content_type) for kind in (_sends_json, is_form, is_multipart))


def text_schema(schema: JsonObject) -> JsonObject:
    """Return the schema of a body that is sent as text: XML, CSV, a file.

    Serialising a declared object would need the rules of that format, so it becomes a string.
    """
    if _types_of(schema) & {"string", "number", "integer", "boolean"}:
        return schema
    about: JsonObject = {key: schema[key] for key in ("title", "description") if key in schema}
    return {**about, "type": "string"}


def _types_of(schema: JsonObject) -> set[JsonValue]:
    kind = schema.get("type")
    return set(kind) if isinstance(kind, list) else {kind}


def _body_fields(
    properties: JsonObject, required: Iterable[str], media_type: DocumentNode
) -> Iterator[_Field]:
    needed = frozenset(required)
    for name, written in properties.items():
        style, explode = _encoding(media_type, name)
        schema = _part_schema(media_type, name, written)
        binding = InputBinding(
            name=name or _WHOLE_BODY,
            location="body",
            field=name,
            required=name in needed,
            style=style,
            explode=explode,
        )
        yield _Field(binding, schema)


def _part_schema(media_type: DocumentNode, name: str, schema: JsonValue) -> JsonValue:
    """Return the schema of a body field, marked as a file if its part has a file's media type.

    OpenAPI 3.1 allows such a part without a schema.
    """
    entry = media_type.at("encoding", name) if is_multipart(media_type.path[-1]) else None
    declared = (entry.text_at("contentType") or "").split(",") if entry is not None else []
    if isinstance(schema, dict) and declared and all(map(is_file_type, declared)):
        return _as_file(schema)
    return schema


def _as_file(schema: JsonObject) -> JsonObject:
    """Return a schema of text, or of anything, as the schema of a file's content."""
    declared = {"format", "contentEncoding", "contentMediaType", "$ref", "enum"} & {*schema}
    return (
        schema
        if declared or not _types_of(schema) <= {"string", None}
        else {**schema, "format": "binary"}
    )


def _encoding(media_type: DocumentNode, name: str) -> tuple[str, bool]:
    """Return the style of one body field, and True if it is exploded; only forms use them."""
    if _sends_json(media_type.path[-1]):
        return "simple", False
    entry = media_type.at("encoding", name)
    return _serialization(entry, "form") if entry is not None else ("form", True)


def _all_or_none(required: list[str], fields: Iterable[_Field]) -> JsonObject:
    """Return constraints for an optional body: its required fields count once it is sent."""
    dependent: JsonObject = {}
    for binding, _ in fields:
        if others := [name for name in required if name != binding.field]:
            dependent[binding.field] = list[JsonValue](others)
    return {"dependentRequired": dependent} if dependent else {}


def _with_unique_names(fields: list[_Field]) -> list[_Field]:
    """Give the first field of a name that name, and prefix the others with their location."""
    names = [field.binding.name for field in fields]
    first = {name: index for index, name in reversed(list(enumerate(names)))}
    clashing = [index for index, name in enumerate(names) if first[name] != index]
    taken = set(names)
    # By name, so that the order of a body's properties has no effect.
    for index in sorted(clashing, key=lambda i: (fields[i].binding.location, names[i])):
        while names[index] in taken:
            names[index] = f"{fields[index].binding.location}_{names[index]}"
        taken.add(names[index])
    return [
        _Field(field.binding.model_copy(update={"name": name}), field.schema)
        for field, name in zip(fields, names, strict=True)
    ]


def _object_schema(fields: list[_Field], body: _Body) -> JsonObject:
    bindings = [field.binding for field in fields]
    renamed = {b.field: b.name for b in bindings if b.location == "body" and b.field}
    ordered = {name: index for index, name in enumerate(body.required)}
    needed = [binding for binding in bindings if binding.required]
    needed.sort(key=lambda b: ordered.get(b.field, 0) if b.location == "body" else -1)
    schema: JsonObject = {
        "type": "object",
        "properties": {field.binding.name: field.schema for field in fields},
        "additionalProperties": False,
        **rename_properties(body.constraints, renamed),
    }
    return {**schema, "required": [b.name for b in needed]} if needed else schema


def _place(binding: InputBinding) -> tuple[int, str]:
    """Return the sort key of an input: location and name, independent of the document's order."""
    return get_args(Location).index(binding.location), binding.name
