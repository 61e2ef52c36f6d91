"""The inputs of an operation: one object schema, and where each of its properties goes."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import cast, get_args

from pydantic import JsonValue

from orchestrator.catalog.operations import Operation
from orchestrator.catalog.tool import InputBinding, Location
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.flatten import flatten_object, rename_properties

_IDEMPOTENCY_HEADERS = frozenset({"idempotency-key", "x-idempotency-key"})
_IGNORED_HEADERS = frozenset({"accept", "authorization", "content-type"})
_FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")
_WHOLE_BODY = "body"

Expand = Callable[[DocumentNode], JsonObject]


@dataclass(frozen=True)
class Inputs:
    """What a caller gives, and how it is sent."""

    schema: JsonObject
    bindings: tuple[InputBinding, ...]
    content_type: str | None
    idempotency_header: str | None


@dataclass(frozen=True)
class _Field:
    """One place in the request that takes a value."""

    location: Location
    name: str
    """On the wire; '' for the whole body."""
    schema: JsonValue
    required: bool
    style: str = "simple"
    explode: bool = False

    @property
    def wanted_name(self) -> str:
        return self.name or _WHOLE_BODY


@dataclass(frozen=True)
class _Body:
    content_type: str | None = None
    fields: tuple[_Field, ...] = ()
    required: tuple[str, ...] = ()
    """In the order of the document's own list: the order of properties must decide nothing."""
    constraints: JsonObject = field(default_factory=dict)


def read_inputs(operation: Operation) -> Inputs:
    """Compile the parameters and the body of an operation.

    Raises:
        DocumentInvalid: a parameter or body that OpenAPI does not allow.
    """
    parameters = operation.parameters()
    expansion = operation.schemas.inputs
    limit = expansion.graph.inline_limit(_written_schemas(operation, parameters))
    expand = partial(expansion.expand, limit=limit)
    fields = [_read_parameter(p, expand) for p in parameters if _is_input(p)]
    body = _read_body(operation, expand)
    named = _named([*fields, *body.fields])
    return Inputs(
        schema=expansion.closed(_object_schema(named, body)),
        bindings=tuple(_binding(name, place) for name, place in _in_stable_order(named)),
        content_type=body.content_type,
        idempotency_header=_idempotency_header(parameters),
    )


def _written_schemas(
    operation: Operation, parameters: Iterable[DocumentNode]
) -> Iterator[DocumentNode]:
    """The schemas that stand together in the inputs, as the document has them."""
    _, media_type = _chosen_body(operation)
    body = media_type.raw("schema") if media_type is not None else None
    for schema in (*map(_parameter_written, parameters), body):
        if schema is not None:
            yield schema


def _idempotency_header(parameters: Iterable[DocumentNode]) -> str | None:
    for parameter in parameters:
        if _header_name(parameter) in _IDEMPOTENCY_HEADERS:
            return parameter.require("name").text()
    return None


def _header_name(parameter: DocumentNode) -> str | None:
    """The lower-case name of a header parameter; None for the other kinds."""
    if parameter.require("in").text() != "header":
        return None
    return parameter.require("name").text().lower()


def _is_input(parameter: DocumentNode) -> bool:
    return _header_name(parameter) not in _IDEMPOTENCY_HEADERS | _IGNORED_HEADERS


def _read_parameter(parameter: DocumentNode, expand: Expand) -> _Field:
    location = parameter.require("in")
    if location.text() not in get_args(Location) or location.text() == "body":
        raise location.invalid(f"a parameter cannot be in {location.text()!r}")
    style, explode = _serialization(parameter, location.text())
    return _Field(
        location=cast("Location", location.text()),
        name=parameter.require("name").text(),
        schema=_parameter_schema(parameter, expand),
        required=location.text() == "path" or parameter.is_true("required"),
        style=style,
        explode=explode,
    )


def _serialization(parameter: DocumentNode, location: str) -> tuple[str, bool]:
    if any(is_json(media_type) for media_type, _ in parameter.items("content")):
        # Sent as one JSON text: none of OpenAPI's styles applies. Other text goes as it is.
        return "json", False
    style = parameter.text_at("style") or ("form" if location in ("query", "cookie") else "simple")
    explode = parameter.at("explode")
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
    """The media type that is sent, and where it is described."""
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
    if is_json(content_type) or content_type in _FORM_TYPES:
        opened = operation.schemas.inputs.opened
        flat = flatten_object(opened(schema), opened=opened)
        if flat is not None and (required or not flat.constraints):
            needed = tuple(flat.required) if required else ()
            fields = tuple(_body_fields(flat.properties, needed, media_type))
            constraints = flat.constraints if required else _all_or_none(flat.required, fields)
            return _Body(content_type, fields, needed, constraints)
    text: JsonObject = {"type": "string"}
    whole = schema if schema or is_json(content_type) else text
    return _Body(content_type, (_Field("body", "", _described(whole, body), required),))


def _described(schema: JsonObject, body: DocumentNode) -> JsonObject:
    description = body.text_at("description")
    return {"description": description, **schema} if description is not None else schema


def choose_content_type(media_types: Iterable[str]) -> str | None:
    """The media type that we send: JSON before forms before anything else; None of none."""
    offered = sorted(media_types)
    for wanted in ("application/json", None, *_FORM_TYPES):
        for offer in offered:
            if offer == wanted or (wanted is None and is_json(offer)):
                return offer
    return offered[0] if offered else None


def is_json(content_type: str) -> bool:
    """Whether a media type, with or without parameters, is JSON."""
    essence = content_type.partition(";")[0].strip().lower()
    return essence == "application/json" or essence.endswith("+json")


def _body_fields(
    properties: JsonObject, required: Iterable[str], media_type: DocumentNode
) -> Iterator[_Field]:
    needed = frozenset(required)
    for name, schema in properties.items():
        style, explode = _encoding(media_type, name)
        yield _Field("body", name, schema, name in needed, style, explode)


def _encoding(media_type: DocumentNode, name: str) -> tuple[str, bool]:
    """How one field of the body is serialised; only forms make use of it."""
    if is_json(media_type.path[-1]):
        return "simple", False
    entry = media_type.at("encoding", name)
    if entry is None:
        return "form", True
    style, explode = entry.text_at("style") or "form", entry.at("explode")
    return style, explode.value is True if explode is not None else style == "form"


def _all_or_none(required: Iterable[str], fields: Iterable[_Field]) -> JsonObject:
    """An optional body needs its required fields only when it is sent at all."""
    needed = list(required)
    if not needed:
        return {}
    dependent: JsonObject = {}
    for place in fields:
        others = [name for name in needed if name != place.name]
        if others:
            dependent[place.name] = list[JsonValue](others)
    return {"dependentRequired": dependent} if dependent else {}


def _named(fields: list[_Field]) -> list[tuple[str, _Field]]:
    """Each field with its input name; of two with one name the later gets its location's prefix."""
    taken: set[str] = set()
    names: dict[int, str] = {}
    clashing: list[int] = []
    for index, place in enumerate(fields):
        if place.wanted_name in taken:
            clashing.append(index)
        else:
            taken.add(place.wanted_name)
            names[index] = place.wanted_name
    # By name, so that the order of a body's properties decides nothing.
    for index in sorted(clashing, key=lambda i: (fields[i].location, fields[i].name)):
        name = fields[index].wanted_name
        while name in taken:
            name = f"{fields[index].location}_{name}"
        taken.add(name)
        names[index] = name
    return [(names[index], place) for index, place in enumerate(fields)]


def _object_schema(named: list[tuple[str, _Field]], body: _Body) -> JsonObject:
    renamed = {p.name: name for name, p in named if p.location == "body" and p.name}
    required = _required(named, body)
    schema: JsonObject = {
        "type": "object",
        "properties": {name: place.schema for name, place in named},
        "additionalProperties": False,
        **rename_properties(body.constraints, renamed),
    }
    return {**schema, "required": required} if required else schema


def _required(named: list[tuple[str, _Field]], body: _Body) -> list[JsonValue]:
    ordered = {name: index for index, name in enumerate(body.required)}
    needed = [(name, place) for name, place in named if place.required]
    needed.sort(key=lambda pair: ordered.get(pair[1].name, 0) if pair[1].location == "body" else -1)
    return [name for name, _ in needed]


def _in_stable_order(named: list[tuple[str, _Field]]) -> list[tuple[str, _Field]]:
    return sorted(named, key=lambda pair: (get_args(Location).index(pair[1].location), pair[0]))


def _binding(name: str, place: _Field) -> InputBinding:
    return InputBinding(
        name=name,
        location=place.location,
        field=place.name,
        required=place.required,
        style=place.style,
        explode=place.explode,
    )
