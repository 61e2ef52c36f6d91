"""Compilation of documents to tools; an operation that does not compile is skipped and reported."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from pydantic import JsonValue

from orchestrator.catalog.compensation_contract import read_compensation, reference_inputs
from orchestrator.catalog.contract import (
    PII,
    SUCCESS_WHEN,
    input_name,
    is_irreversible,
    names_personal,
    operation_keywords,
    read_card_layout,
    read_card_type,
    read_conditions,
    read_credentials,
    read_effect,
    read_server,
)
from orchestrator.catalog.declared_prices import read_price
from orchestrator.catalog.inputs import choose_content_type, is_file_type, is_json, read_inputs
from orchestrator.catalog.mcp_documents import check_is_called
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
from orchestrator.core.secret_names import SchemeName, shared_variable
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.walker import flatten_object


class Compiled(NamedTuple):
    """The result of compiling documents."""

    tools: dict[str, Tool]
    skipped: tuple[SkippedOperation, ...]
    renamed: dict[str, str]
    """Reason for each tool whose name is not its operationId, by tool name."""


def compile_documents(documents: Mapping[str, JsonObject]) -> Compiled:
    """Compile the tools of documents by name; the order of documents does not matter.

    Raises:
        DocumentInvalid: one is not a document of a supported version, or the secrets of two of
            their security schemes would be read from one variable.
    """
    left_out: list[SkippedOperation] = []
    groups: list[list[Operation]] = []
    for document in sorted(documents):
        root = DocumentNode.of(document, documents[document])
        check_document(root)
        groups.append([])
        for operation in operations(root, lambda label, e: left_out.append(skipped(label, e))):
            try:
                if operation.is_tool:
                    check_is_called(operation)
                    groups[-1].append(operation)
            except DocumentInvalid as fault:
                left_out.append(skipped(operation.label, fault))
    exposed = [operation for group in groups for operation in group]
    schemes: list[SchemeName] = []
    for operation in exposed:
        with suppress(DocumentInvalid):  # as far as readable
            security = operation.inherited("security")
            for requirement in security.elements() if security is not None else ():
                schemes += [SchemeName(operation.document, one) for one in requirement.mapping()]
    if (shared := shared_variable(schemes)) is not None:
        # One would be sent the other's secret.
        one, other, variable = shared
        raise DocumentInvalid(
            other.document,
            f"/components/securitySchemes/{other.scheme}",
            f"its secret and that of {one.scheme} of {one.document} are both read from {variable}; "
            "rename one of the two schemes, or the file of one of the documents",
        )
    names = name_tools(exposed)
    compiled = (tool for group in groups for tool in _compile_group(group, names, left_out))
    tools = {tool.name: tool for tool in compiled}
    named = ((names[place_of(op)], op) for op in exposed)
    whys = {name: why_named(op, name) for name, op in named if name in tools}
    return Compiled(tools, tuple(left_out), {name: why for name, why in whys.items() if why})


def _compile_group(
    exposed: Sequence[Operation], names: Mapping[Place, str], left_out: list[SkippedOperation]
) -> list[Tool]:
    """Compile the tools of one document.

    A tool whose cancel tool does not compile is skipped as well, which may affect others in turn.
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
            place = place_of(operation)
            if (tool := plain.get(place)) is None:
                continue
            try:
                changes: dict[str, object] = {"cancel_for": peers.tool_name(tool.cancel_for)}
                compensation = read_compensation(operation, tool, peers)
                if compensation is not None:
                    changes["compensation"] = compensation
                    changes["reference_inputs"] = reference_inputs(tool, compensation)
                whole[place] = tool.model_copy(update=changes)
            except DocumentInvalid as fault:
                faults[place] = fault
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
    """Compile one operation, without the compensation that other operations add.

    Raises:
        DocumentInvalid: with the JSON pointer of the part that cannot be compiled.
    """
    operation_keywords().check(operation.node)
    inputs = read_inputs(operation)
    server, server_variables = read_server(operation)
    success = operation.node.at(SUCCESS_WHEN)
    personal = operation.node.texts_at(PII)
    is_core = operation.node.text_at("x-orchet-load-policy") == "core"
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
        pii_fields=tuple(input_name(name, inputs.bindings) for name in personal),
        intent_tags=operation.node.texts_at("x-orchet-intent-tags"),
        examples=operation.node.texts_at("x-orqen-examples"),
        load_policy="core" if is_core else "deferred",
        deprecated=operation.node.is_true("deprecated"),
        cancel_for=operation.node.text_at("x-orchet-cancel-for"),
        success_when=read_conditions(success) if success is not None else (),
        idempotency_key=inputs.idempotency_key,
        credentials=read_credentials(operation),
    )


def _output_schema(operation: Operation) -> JsonObject | None:
    """Return the schema of the first JSON success answer, or the schema that stands for a file."""
    responses = operation.node.items("responses")
    for status, response in sorted(responses, key=lambda item: item[0]):
        media_types = dict(response.items("content")) if status.startswith("2") else {}
        content_type = choose_content_type(media_types)
        if content_type is not None and is_json(content_type):
            written = media_types[content_type].raw("schema")
            if written is None:
                return {}
            expansion = operation.schemas.outputs
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
        if content_type is not None and is_file_type(content_type):
            return ANSWER_SCHEMA
    return None
