"""The inputs of an operation: one object schema, the place of each, and the idempotency key."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
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
from orchestrator.json_schema.walker import flatten_object, rename_properties, types_of
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
    if "string" not in (types_of(schema) or {"string"}):
        return False
    if operation.is_safe or any(word.startswith(_STEMS) for word in words):
        return any(word.startswith(_STEMS) for word in words)
    is_own_header = field.binding.location == "header" and words[-2:] == ("request", "id")
    is_of_request = bool(_OF_REQUESTS & {*words}) and not _OF_PAGES & {*words}
    described = _REPEATS.search(str(schema.get("description", ""))) is not None
    return (is_own_header and field.binding.required) or (is_of_request and described)


@lru_cache(maxsize=1 << 10)
def _fitting(text: str) -> tuple[KeyForm, int] | None:
    """Return the first form, with its length, whose samples all fit a schema, given as JSON."""
    schema: JsonObject = json.loads(text)
    validator = SchemaValidator(schema, format_checker=REQUEST_FORMATS)
    least, most = schema.get("minLength", 0), schema.get("maxLength", 0)
    longest = most if isinstance(most, int) else 0
    low = max(least if isinstance(least, int) else 0, _SHORTEST)
    lengths = sorted(range(low, min(longest or _LONGEST, _LONGEST) + 1), key=lambda n: abs(n - 32))
    candidates: list[tuple[KeyForm, int]] = [("uuid", _UUID), ("UUID", _UUID)]
    candidates += [(form, length) for length in lengths for form in _FORMS]
    is_limit = isinstance(most, int) and not 0 < most < _UUID
    if is_limit and _CONSTRAINTS.isdisjoint(schema):
        # If the limit is shorter than the text, a UUID is used.
        candidates.insert(0, ("text", longest))
    try:
        for form, length in candidates:
            key = IdempotencyKey(location="header", field="", form=form, length=length)
            if all(validator.is_valid(key.written(sample)) for sample in _SAMPLES):
                return form, length
    except (PatternUndecided, *SCHEMA_FAULTS):
        return None
    return None


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


def read_inputs(operation: Operation) -> Inputs:
    """Compile the parameters and the body of an operation.

    Raises:
        DocumentInvalid: OpenAPI does not allow a parameter or the body.
    """
    parameters = operation.parameters()
    expansion = operation.schemas.inputs
    _, media_type = _chosen_body(operation)
    written = [*map(_parameter_written, parameters)]
    written += [media_type.raw("schema")] if media_type is not None else []
    limit = expansion.graph.inline_limit(schema for schema in written if schema is not None)
    expand = partial(expansion.expand, limit=limit)
    fields = [_read_parameter(p, expand) for p in parameters if is_input(p, operation.root)]
    body = _read_body(operation, expand)
    key = find_key(operation, [*fields, *body.fields])
    taken = (key.location, key.field) if key is not None else None
    constraints, needed_fields = body.constraints, body.required
    if key is not None and key.location == "body":
        # The orchestrator fills that field.
        bound = constraints.get("dependentRequired")
        kept: JsonObject = {}
        for other, others in (bound if isinstance(bound, dict) else {}).items():
            left = [n for n in others if n != key.field] if isinstance(others, list) else others
            if left and other != key.field:
                kept[other] = left
        constraints = {k: v for k, v in constraints.items() if k != "dependentRequired"}
        constraints |= {"dependentRequired": kept} if kept else {}
        needed_fields = tuple(name for name in needed_fields if name != key.field)
    asked = [f for f in [*fields, *body.fields] if (f.binding.location, f.binding.field) != taken]
    names = [field.binding.name for field in asked]
    used = set(names)
    # The first field of a name keeps it; the location prefixes the others. By name, so that the
    # order of a body's properties has no effect.
    clashing = [index for index, name in enumerate(names) if name in names[:index]]
    for index in sorted(clashing, key=lambda i: (asked[i].binding.location, names[i])):
        while names[index] in used:
            names[index] = f"{asked[index].binding.location}_{names[index]}"
        used.add(names[index])
    named = zip(asked, names, strict=True)
    bindings = [field.binding.model_copy(update={"name": name}) for field, name in named]
    ordered = {name: index for index, name in enumerate(needed_fields)}
    needed = [binding for binding in bindings if binding.required]
    needed.sort(key=lambda b: ordered.get(b.field, 0) if b.location == "body" else -1)
    renamed = {b.field: b.name for b in bindings if b.location == "body" and b.field}
    schema: JsonObject = {
        "type": "object",
        "properties": {b.name: f.schema for b, f in zip(bindings, asked, strict=True)},
        "additionalProperties": False,
        **rename_properties(constraints, renamed),
    }
    if needed:
        schema["required"] = [b.name for b in needed]
    locations = get_args(Location)
    return Inputs(
        schema=expansion.closed(schema),
        # Independent of the document's order.
        bindings=tuple(sorted(bindings, key=lambda b: (locations.index(b.location), b.name))),
        content_type=body.content_type,
        idempotency_key=key,
    )


def is_input(parameter: DocumentNode, root: DocumentNode) -> bool:
    """Return True unless HTTP owns the header, or the parameter carries a credential."""
    is_header = parameter.require("in").text() == "header"
    if is_header and parameter.require("name").text().lower() in _IGNORED_HEADERS:
        return False
    return not is_credential(parameter, root)


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
    written = _parameter_written(parameter)
    schema = expand(written) if written is not None else {}
    if (description := parameter.text_at("description")) is not None:
        schema = {**schema, "description": description}
    example = parameter.at("example")
    if example is not None and "examples" not in schema:
        schema = {**schema, "examples": [example.value]}
    if parameter.is_true("deprecated"):
        schema = {**schema, "deprecated": True}
    return _Field(binding, schema)


def _serialization(place: DocumentNode, default: str) -> tuple[str, bool]:
    """Return the declared style, and True if it is exploded."""
    style, explode = place.text_at("style") or default, place.at("explode")
    return style, explode.value is True if explode is not None else style == "form"


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
            fields = [
                _body_field(name, held, media_type, required=name in needed)
                for name, held in flat.properties.items()
            ]
            constraints = flat.constraints
            if not required:
                # The required fields of an optional body count once it is sent.
                others = {n: [o for o in flat.required if o != n] for n in flat.properties}
                dependent: JsonObject = {n: list[JsonValue](o) for n, o in others.items() if o}
                constraints = {"dependentRequired": dependent} if dependent else {}
            return _Body(content_type, tuple(fields), needed, constraints)
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
    if types_of(schema) & {"string", "number", "integer", "boolean"}:
        return schema
    about: JsonObject = {key: schema[key] for key in ("title", "description") if key in schema}
    return {**about, "type": "string"}


def _body_field(
    name: str, schema: JsonValue, media_type: DocumentNode, *, required: bool
) -> _Field:
    kind = media_type.path[-1]
    entry = media_type.at("encoding", name)
    declared: list[str] = []
    if entry is not None and is_multipart(kind):
        declared = (entry.text_at("contentType") or "").split(",")
    if isinstance(schema, dict) and declared and all(map(is_file_type, declared)):
        # OpenAPI 3.1 allows a part without a schema.
        schema = _as_file(schema)
    style, explode = "simple", False  # only forms use them
    if not _sends_json(kind):
        style, explode = _serialization(entry, "form") if entry is not None else ("form", True)
    binding = InputBinding(
        name=name or _WHOLE_BODY,
        location="body",
        field=name,
        required=required,
        style=style,
        explode=explode,
    )
    return _Field(binding, schema)


def _as_file(schema: JsonObject) -> JsonObject:
    """Return a schema of text, or of anything, as the schema of a file's content."""
    declared = {"format", "contentEncoding", "contentMediaType", "$ref", "enum"} & {*schema}
    is_text = types_of(schema) <= {"string"}
    return {**schema, "format": "binary"} if is_text and not declared else schema
