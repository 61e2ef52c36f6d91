"""A document reduced to one operation, in the form in which openapi-core checks its values."""

from collections.abc import Iterator

from pydantic import JsonValue

from orchestrator.catalog.inputs import is_input, is_json, is_structured, text_schema
from orchestrator.catalog.operations import Operation
from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode

JSON = "application/json"
PINNED = "operation"
"""Where the operation stands: its own path may hold a character that divides a place."""
BODY = "body"
"""The name of the request's body among the parts of a request; a parameter's has a dot in it."""


def pinned_document(operation: Operation, tool: Tool, responses: JsonObject) -> JsonObject:
    """The document with this one operation, reduced to what openapi-core is to check."""
    written: JsonObject = {
        **operation.node.mapping(),
        "responses": responses,
        "parameters": [],
        "requestBody": {"content": {JSON: {"schema": _request_schema(operation, tool)}}},
        "security": [],
    }
    root = operation.root.mapping()
    paths = root["paths"] if isinstance(root["paths"], dict) else {}
    pinned: JsonObject = {**paths, PINNED: {tool.method.lower(): written}}
    return {**root, "paths": pinned}


def declared_responses(operation: Operation) -> JsonObject:
    """The declared responses, their media types as answers are looked up in them."""
    declared = operation.node.at("responses")
    if declared is None:
        # OpenAPI 3.1 does not ask for responses: an operation without them promises nothing.
        return {"default": {"description": ""}}
    pinned: JsonObject = {}
    for status, response in declared.items():
        mapping = dict(response.mapping())
        content = response.at("content")
        if content is not None:
            mapping["content"] = _content(content)
        # A range is written in capitals, 4XX, and not by everyone.
        pinned[status.upper() if status[:1].isdigit() else status] = mapping
    return pinned


def _content(declared: DocumentNode) -> JsonObject:
    """By media types without parameters; two that differ only in these hold either's schema."""
    schemas: dict[str, list[JsonValue]] = {}
    for key, media_type in declared.items():
        essence = key.partition(";")[0].strip().lower()
        written = media_type.raw("schema")
        speaks = written is not None and _speaks(essence, written.resolved().value)
        schema = written.value if written is not None and speaks else {}
        schemas.setdefault(essence, []).append(schema)
    return {
        essence: {"schema": found[0] if len(found) == 1 else {"anyOf": found}}
        for essence, found in schemas.items()
    }


def _speaks(essence: str, schema: JsonValue) -> bool:
    """Whether a schema speaks of a body as it is read.

    What is no JSON and no text, such as XML, is not turned into what a schema speaks of; nor is
    text into the object that it may stand for.
    """
    if is_json(essence) or "*" in essence:
        return True
    kind = schema.get("type", "string") if isinstance(schema, dict) else "string"
    is_of_text = "string" in kind if isinstance(kind, (str, list)) else False
    return essence.startswith("text/") and is_of_text


def answer_types(responses: JsonObject) -> Iterator[str]:
    """The media types of these responses, as `declared_responses` gives them."""
    for response in responses.values():
        content = response.get("content") if isinstance(response, dict) else None
        yield from content if isinstance(content, dict) else ()


def _request_schema(operation: Operation, tool: Tool) -> JsonObject:
    """One object schema of all parts of a request."""
    properties: JsonObject = {}
    required: list[JsonValue] = []
    for node in operation.parameters():
        parameter = node.mapping()
        if is_input(node, operation.root):
            part = part_name(str(parameter["in"]), str(parameter["name"]))
            properties[part] = _schema_of_parameter(parameter)
            if parameter.get("required") is True:
                required.append(part)
    body = operation.node.at("requestBody")
    if body is not None:
        properties[BODY] = _schema_of_body(body, tool.body_content_type)
        if body.mapping().get("required") is True:
            required.append(BODY)
    return {"type": "object", "properties": properties, "required": required}


def part_name(location: str, name: str) -> str:
    """What a parameter is called among the parts of a request."""
    return f"{location}.{name}"


def _schema_of_parameter(parameter: JsonObject) -> JsonValue:
    content = parameter.get("content")
    media_types = list(content.values()) if isinstance(content, dict) else []
    described = parameter if "schema" in parameter or not media_types else media_types[0]
    return described.get("schema", {}) if isinstance(described, dict) else {}


def _schema_of_body(body: DocumentNode, content_type: str | None) -> JsonValue:
    media_type = body.at("content", content_type or "")
    written = media_type.raw("schema") if media_type is not None else None
    if written is None:
        return {}
    if is_structured(content_type or "") or not isinstance(written.resolved().value, dict):
        return written.value
    resolved = written.resolved().mapping()
    return written.value if text_schema(resolved) is resolved else {"type": "string"}
