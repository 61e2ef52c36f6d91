"""A document's operations compiled to tools."""

import re

from pydantic import JsonValue

from orchestrator.catalog.card_layout import read_card_layout
from orchestrator.catalog.compensation_contract import read_compensation, reference_inputs
from orchestrator.catalog.contract import (
    is_irreversible,
    read_card_type,
    read_credentials,
    read_effect,
    read_load_policy,
    read_pii_fields,
    read_server,
    read_success_when,
)
from orchestrator.catalog.inputs import choose_content_type, is_json, read_inputs
from orchestrator.catalog.operations import Operation, check_document, operations
from orchestrator.catalog.price_declaration import read_price
from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.expansion import SchemaExpansion
from orchestrator.json_schema.flatten import flatten_object

TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""What planners and model providers take as the name of a tool."""


def compile_document(name: str, document: JsonObject) -> dict[str, Tool]:
    """The tools of one document, by name.

    Args:
        name: what the document is called, e.g. flights.
        document: parsed; references lead no further than the document itself.

    Raises:
        DocumentInvalid: with the JSON pointer of what cannot be compiled.
    """
    root = DocumentNode.of(name, document)
    check_document(root)
    exposed = [op for op in operations(root) if op.is_tool]
    plain: dict[str, Tool] = {}
    for operation in exposed:
        tool = compile_operation(operation)
        if tool.name in plain:
            raise operation.node.invalid(f"the operationId {tool.name!r} is taken by another")
        plain[tool.name] = tool
    return {
        tool.name: _with_compensation(operation, tool, plain)
        for operation, tool in zip(exposed, plain.values(), strict=True)
    }


def compile_operation(operation: Operation) -> Tool:
    """One operation, without what other operations add to it: its compensation.

    Raises:
        DocumentInvalid: with the JSON pointer of what cannot be compiled.
    """
    inputs = read_inputs(operation)
    server, server_variables = read_server(operation)
    card_type = read_card_type(operation)
    return Tool(
        name=read_name(operation),
        document=operation.document,
        domain=next(iter(operation.node.texts_at("tags")), operation.document),
        summary=(operation.node.text_at("summary") or "").strip(),
        description=(operation.node.text_at("description") or "").strip(),
        method=operation.method,
        path=operation.path,
        server=server,
        server_variables=server_variables,
        input_schema=inputs.schema,
        output_schema=_output_schema(operation),
        bindings=inputs.bindings,
        body_content_type=inputs.content_type,
        effect=read_effect(operation),
        irreversible=is_irreversible(operation),
        card_type=card_type,
        card_layout=read_card_layout(operation, card_type),
        price=read_price(operation),
        pii_fields=read_pii_fields(operation, inputs.bindings),
        intent_tags=operation.node.texts_at("x-orchet-intent-tags"),
        examples=operation.node.texts_at("x-orqen-examples"),
        load_policy=read_load_policy(operation),
        cancel_for=operation.node.text_at("x-orchet-cancel-for"),
        success_when=read_success_when(operation),
        idempotency_header=inputs.idempotency_header,
        credentials=read_credentials(operation),
    )


def read_name(operation: Operation) -> str:
    """The operationId.

    Raises:
        DocumentInvalid: it is missing, or cannot be the name of a tool.
    """
    name = operation.node.require("operationId")
    if not TOOL_NAME.fullmatch(name.text()):
        raise name.invalid(
            f"{name.text()!r} cannot name a tool: letters, digits, _ and - only, at most 64"
        )
    return name.text()


def _output_schema(operation: Operation) -> JsonObject | None:
    """The schema of the first success answer that is JSON."""
    responses = operation.node.items("responses")
    for status, response in sorted(responses, key=lambda item: item[0]):
        media_types = dict(response.items("content")) if status.startswith("2") else {}
        content_type = choose_content_type(media_types)
        if content_type is not None and is_json(content_type):
            written = media_types[content_type].raw("schema")
            if written is None:
                return {}
            return _answer_schema(written, operation.schemas.outputs)
    return None


def _answer_schema(written: DocumentNode, expansion: SchemaExpansion) -> JsonObject:
    """The schema with its properties at the top, where those who chain answers look for them."""
    schema = expansion.opened(expansion.expand(written))
    flat = flatten_object(schema, opened=expansion.opened) if "allOf" in schema else None
    if flat is not None:
        required = list[JsonValue](flat.required)
        schema = {
            "type": "object",
            "properties": flat.properties,
            **({"required": required} if required else {}),
            **flat.constraints,
        }
    return expansion.closed(schema)


def _with_compensation(operation: Operation, tool: Tool, tools: dict[str, Tool]) -> Tool:
    compensation = read_compensation(operation, tool, tools)
    if compensation is None:
        return tool
    references = reference_inputs(tool, compensation)
    return tool.model_copy(update={"compensation": compensation, "reference_inputs": references})
