"""The operations of documents compiled to tools; what cannot be compiled is left out, and told."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from orchestrator.catalog.compensation_contract import read_compensation, reference_inputs
from orchestrator.catalog.contract import (
    is_irreversible,
    names_personal,
    read_card_layout,
    read_card_type,
    read_credentials,
    read_effect,
    read_load_policy,
    read_pii_fields,
    read_server,
    read_success_when,
)
from orchestrator.catalog.declared_prices import read_price
from orchestrator.catalog.inputs import choose_content_type, is_file_type, is_json, read_inputs
from orchestrator.catalog.operations import (
    Operation,
    SkippedOperation,
    check_document,
    operations,
    skipped,
)
from orchestrator.catalog.tool import Tool
from orchestrator.catalog.tool_names import Peers, Place, name_tools, place_of, why_named
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.received_files import ANSWER_SCHEMA
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.expansion import SchemaExpansion
from orchestrator.json_schema.flatten import flatten_object


class Compiled(NamedTuple):
    """What the operations of documents came to."""

    tools: dict[str, Tool]
    """By name."""
    skipped: tuple[SkippedOperation, ...]
    """Those that are marked as tools and cannot be."""
    renamed: dict[str, str]
    """Why tools are not called by their operationId, by name."""


def compile_document(name: str, document: JsonObject) -> Compiled:
    """The tools of one document.

    Args:
        name: what the document is called, e.g. flights.
        document: parsed; references lead no further than the document itself.

    Raises:
        DocumentInvalid: it is no document of a version that we read.
    """
    return compile_documents({name: document})


def compile_documents(documents: Mapping[str, JsonObject]) -> Compiled:
    """The tools of documents, by name, whatever their order.

    Raises:
        DocumentInvalid: one is no document of a version that we read.
    """
    left_out: list[SkippedOperation] = []
    exposed = {
        name: read_exposed(DocumentNode.of(name, documents[name]), left_out)
        for name in sorted(documents)
    }
    names = name_tools(operation for group in exposed.values() for operation in group)
    tools = {
        tool.name: tool
        for group in exposed.values()
        for tool in _compile_group(group, names, left_out)
    }
    named = ((names[place_of(op)], op) for group in exposed.values() for op in group)
    whys = {name: why_named(op, name) for name, op in named if name in tools}
    return Compiled(tools, tuple(left_out), {name: why for name, why in whys.items() if why})


def read_exposed(root: DocumentNode, left_out: list[SkippedOperation]) -> list[Operation]:
    """The operations that a document exposes as tools; to the list, what cannot be read of others.

    Raises:
        DocumentInvalid: it is no document of a version that we read.
    """
    check_document(root)
    found = []
    for operation in operations(root, lambda label, e: left_out.append(skipped(label, e))):
        try:
            if operation.is_tool:
                found.append(operation)
        except DocumentInvalid as fault:
            left_out.append(skipped(operation.label, fault))
    return found


def _compile_group(
    exposed: Sequence[Operation], names: Mapping[Place, str], left_out: list[SkippedOperation]
) -> list[Tool]:
    """The tools of one document.

    Where a tool cannot be compiled, neither can those that it would undo: what is skipped for that
    may be named by others in turn.
    """
    plain: dict[Place, Tool] = {}
    faults: dict[Place, DocumentInvalid] = {}
    for operation in exposed:
        place = place_of(operation)
        try:
            plain[place] = compile_operation(operation, names[place])
        except DocumentInvalid as fault:
            faults[place] = fault
    while True:
        whole: dict[Place, Tool] = {}
        known = len(faults)
        peers = Peers(exposed, plain, faults)
        for operation in exposed:
            if (tool := plain.get(place_of(operation))) is not None:
                try:
                    whole[place_of(operation)] = _with_peers(operation, tool, peers)
                except DocumentInvalid as fault:
                    faults[place_of(operation)] = fault
        if len(faults) == known:
            break
        plain = {place: tool for place, tool in plain.items() if place not in faults}
    left_out += [
        skipped(op.label, faults[place_of(op)], names_personal(op))
        for op in exposed
        if place_of(op) in faults
    ]
    return list(whole.values())


def compile_operation(operation: Operation, name: str) -> Tool:
    """One operation, without what other operations add to it: its compensation.

    Raises:
        DocumentInvalid: with the JSON pointer of what cannot be compiled.
    """
    inputs = read_inputs(operation)
    server, server_variables = read_server(operation)
    card_type = read_card_type(operation)
    return Tool(
        name=name,
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


def _output_schema(operation: Operation) -> JsonObject | None:
    """The schema of the first success answer that is JSON, or of what stands for a file."""
    responses = operation.node.items("responses")
    for status, response in sorted(responses, key=lambda item: item[0]):
        media_types = dict(response.items("content")) if status.startswith("2") else {}
        content_type = choose_content_type(media_types)
        if content_type is not None and is_json(content_type):
            written = media_types[content_type].raw("schema")
            if written is None:
                return {}
            return _answer_schema(written, operation.schemas.outputs)
        if content_type is not None and is_file_type(content_type):
            return ANSWER_SCHEMA
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


def _with_peers(operation: Operation, tool: Tool, peers: Peers) -> Tool:
    """The tool with what other operations add to it: its compensation, and what it cancels."""
    if (name := peers.tool_name(tool.cancel_for)) != tool.cancel_for:
        tool = tool.model_copy(update={"cancel_for": name})
    compensation = read_compensation(operation, tool, peers)
    if compensation is None:
        return tool
    references = reference_inputs(tool, compensation)
    return tool.model_copy(update={"compensation": compensation, "reference_inputs": references})
