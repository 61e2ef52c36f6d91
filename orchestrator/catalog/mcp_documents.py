"""The tools that an MCP server lists, as operations of one OpenAPI document with its contract.

An overlay over that document adds what the server does not declare: pairs, probes, prices.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final
from urllib.parse import quote

from pydantic import JsonValue

from orchestrator.catalog.functions import changes_anything
from orchestrator.catalog.operations import Operation, UnreadFile
from orchestrator.catalog.overlay import IdleAction, Overlaid, apply_overlays, parse_overlay
from orchestrator.core.record import JsonObject
from orchestrator.core.shown_text import visible, visible_block
from orchestrator.json_schema.canonical import canonical_text
from orchestrator.json_schema.references import format_reference
from orchestrator.json_schema.walker import KEYWORDS, properties_of, with_subschemas

HOSTS: Final = ".mcp.invalid"
"""Suffix of the hosts of these documents, which no name service resolves: see `McpTransport`."""
TOOL: Final = "x-mcp-tool"
"""Keyword of an operation: the tool as its server listed it, without its schemas and its text."""
KEY_HEADER: Final = "Idempotency-Key"
"""The parameter whose value goes into the `_meta` of a call, under the same name."""
REFUSAL: Final = "422"
"""The answer that stands for a tool's own error, where it says that nothing was done."""
_JSON: Final = "application/json"
_KEY: Final[JsonObject] = {
    "name": KEY_HEADER,
    "in": "header",
    "description": "A repeated call has no further effect, as the server declares.",
    "schema": {"type": "string"},
}
_OWN_IDENTITY: Final = frozenset({"$schema", "$id", "$anchor"})
_LONGEST_TEXT: Final = 4_000
_LONGEST_TITLE: Final = 200
_SENTENCE_ENDS: Final = (". ", "\n")
_RECOVERY: Final = "recovery"
"""Field by SEP-3172, an open proposal, in annotations or in `_meta`: the compensating operation."""
_CANCELS: Final = "x-orchet-cancels"
_PAIR: Final = "x-compensation-pair"
"""Annotation of servers that follow FastMCP's convention: the name of the cancel tool."""
_DECLARED: Final = (
    _CANCELS,
    "x-orchet-cancel-for",
    "x-orchet-compensation-",
    "x-orchet-idempotency-key",
    "x-orchet-intent-tags",
    "x-orchet-irreversible",
    "x-orchet-minor-units",
    "x-orchet-pii-required",
    "x-orchet-price",
    "x-orchet-success-when",
    "x-orqen-examples",
)
"""Keys of the contract that a server may declare itself, in `_meta` or in its annotations.

A server cannot declare that nobody is asked, nor by these keys that it only reads.
"""


@dataclass(frozen=True)
class McpListing:
    """The tools that a server listed, and the user's overlay over the document made of them."""

    server: str
    """The name of the server in the settings, which is the document's."""
    tools: Sequence[JsonObject]
    """As the protocol writes them."""
    overlay: JsonObject | None = None
    overlay_name: str = ""
    fault: str = ""
    """The reason why the server could not be listed; it contributes nothing then."""

    @property
    def document(self) -> JsonObject:
        """The OpenAPI document, with the overlay applied.

        Raises:
            DocumentInvalid: the overlay is at fault.
        """
        return self._overlaid.documents[self.server]

    @property
    def left_out(self) -> UnreadFile:
        """The server as something that was left out."""
        return UnreadFile(
            document=self.server,
            file=f"MCP server {self.server}",
            reason=self.fault,
            remedy="start it, or correct its entry",
        )

    @property
    def idle(self) -> tuple[IdleAction, ...]:
        """Actions of the overlay that changed nothing."""
        return self._overlaid.idle

    @cached_property
    def _overlaid(self) -> Overlaid:
        documents = {self.server: mcp_document(self.server, self.tools)}
        if self.overlay is None:
            return Overlaid(documents, ())
        overlay = parse_overlay(self.overlay_name, self.overlay)
        return apply_overlays(documents, [overlay.model_copy(update={"extends": None})])


def check_is_called(operation: Operation) -> None:
    """Refuse a tool that its MCP server runs as a task alone.

    Raises:
        DocumentInvalid: a call would be refused by the server.
    """
    tool = operation.node.at(TOOL)
    if tool is not None and _object(tool.value).get("as_task") is True:
        reason = "its server runs it as a task alone, and this client only calls tools"
        fix = "ask for the tool as a call, or leave it out of the `tools` of its server"
        raise tool.invalid(reason, fix)


def declaration_digest(tool: Mapping[str, Any]) -> str:
    """Return the SHA-256 of everything that a server declares of a tool."""
    return hashlib.sha256(canonical_text(dict(tool)).encode("utf-8", "surrogatepass")).hexdigest()


def mcp_document(server: str, tools: Sequence[JsonObject]) -> JsonObject:
    """Return the OpenAPI document of the tools that a server listed."""
    listed = {str(tool["name"]) for tool in tools}
    cancels: dict[str, str] = {}
    for tool in tools:
        cancel = _declared(tool).get(_CANCELS)
        if isinstance(cancel, str) and cancel in listed:
            cancels.setdefault(cancel, str(tool["name"]))
    return {
        "openapi": "3.1.0",
        "info": {"title": f"MCP server {server}", "version": "1"},
        "servers": [{"url": f"https://{server}{HOSTS}"}],
        "paths": {
            path: {"post": _operation(path, tool, cancels)}
            for tool in tools
            if (path := f"/{quote(str(tool['name']), safe='')}")
        },
    }


def _operation(path: str, tool: JsonObject, cancels: Mapping[str, str]) -> JsonObject:
    name, hints = str(tool["name"]), _object(tool.get("annotations"))
    schema, contract = _object(tool.get("inputSchema")), _declared(tool)
    text = visible_block(str(tool.get("description") or ""))[:_LONGEST_TEXT]
    ends = [at for end in _SENTENCE_ENDS if (at := text.find(end)) > 0]
    first_sentence = text[: min(ends)] if ends else text.removesuffix(".")
    title = str(tool.get("title") or hints.get("title") or "") or first_sentence
    reads = (
        hints.get("readOnlyHint") is True
        and _CANCELS not in contract
        and not changes_anything(tool, properties_of(schema)).changes
    )
    body = _within(schema, "paths", path, "post", "requestBody", "content", _JSON, "schema")
    answer = _within(
        _object(tool.get("outputSchema")),
        *("paths", path, "post", "responses", "200", "content", _JSON, "schema"),
    )
    # Without an output schema, any JSON or file may come.
    content: JsonObject = {_JSON: {"schema": answer}, **({} if answer else {"*/*": {}})}
    answers: JsonObject = {"200": {"description": "The result of the tool.", "content": content}}
    if reads:
        # A read has had no effect when it reports an error. Of another tool nobody knows, unless an
        # overlay declares the 422.
        answers[REFUSAL] = {"description": "The tool reported an error."}
    operation: JsonObject = {
        "operationId": name,
        "summary": visible(title)[:_LONGEST_TITLE] or name.replace("_", " "),
        "description": text or name.replace("_", " "),
        "x-orchet-tool": True,
        "x-orchet-requires-confirmation": not reads and name not in cancels,
        "responses": answers,
        TOOL: {
            "name": name,
            "declaration": declaration_digest(tool),
            "annotations": hints,
            "hidden": any(visible_block(text) != text for text in _texts(tool)),
            "as_task": _object(tool.get("execution")).get("taskSupport") == "required",
        },
    }
    if properties_of(schema):
        operation["requestBody"] = {"required": True, "content": {_JSON: {"schema": body}}}
    if reads:
        operation["x-orchet-read-only"] = True
    elif hints.get("idempotentHint") is True:
        operation["parameters"] = [_KEY]
    if name in cancels:
        operation["x-orchet-cancel-for"] = cancels[name]
    return {**operation, **contract}


def _declared(tool: JsonObject) -> JsonObject:
    """Return the part of the contract that a server declares itself."""
    hints = _object(tool.get("annotations"))
    found = {
        key: value
        for source in (hints, _object(tool.get("_meta")))
        for key, value in source.items()
        if key.startswith(_DECLARED)
    }
    for source in (_object(tool.get("_meta")), hints):
        operation = _object(_object(source.get(_RECOVERY)).get("compensatingOperation"))
        if _CANCELS not in found and isinstance(operation.get("operationId"), str):
            found[_CANCELS] = operation["operationId"]
            if filled := _object(operation.get("parameters")):
                found.setdefault("x-orchet-compensation-args", filled)
    if isinstance(pair := hints.get(_PAIR), str) and pair:
        found.setdefault(_CANCELS, pair)
    return found


def _within(schema: JsonObject, *place: str) -> JsonObject:
    """Return a schema at a place of the document, with references that lead there."""
    place_of_it = format_reference(*place)

    def moved(inner: JsonObject) -> JsonObject:
        inner = {key: held for key, held in inner.items() if key not in _OWN_IDENTITY}
        for text in ("title", "description"):
            if isinstance(inner.get(text), str):
                inner[text] = visible_block(str(inner[text]))[:_LONGEST_TEXT]
        reference = inner.get("$ref")
        if isinstance(reference, str) and reference.startswith("#"):
            inner["$ref"] = place_of_it + reference[1:]
        return with_subschemas(inner, moved, KEYWORDS)

    return moved(schema)


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value.replace("\r\n", "\n")
    elif isinstance(value, dict):
        yield from value
        for held in value.values():
            yield from _texts(held)
    elif isinstance(value, list):
        for held in value:
            yield from _texts(held)


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}
