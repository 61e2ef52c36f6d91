"""Endpoints: the parts of an operation that are the same for each of its calls."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from pydantic import JsonValue

from orchestrator.adapters.http.credentials import Alternative, read_alternatives
from orchestrator.adapters.http.destinations import (
    Origin,
    ServerVariables,
    base_url,
    declared_origins,
)
from orchestrator.catalog.call_templates import response_headers_read
from orchestrator.catalog.catalog import Catalog, version_reader
from orchestrator.catalog.mcp_documents import REFUSAL as MCP_REFUSAL
from orchestrator.catalog.mcp_documents import TOOL as MCP_TOOL
from orchestrator.catalog.operations import Operation, operations
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.saga.answer_names import given_back

if TYPE_CHECKING:
    from orchestrator.adapters.http.operation_contract import OperationContract

_STYLE_KEYS = frozenset({"style", "explode", "allowReserved"})
_MAX_ENDPOINTS = 1024
_MAX_DOCUMENTS = 256
_T = TypeVar("_T")


@dataclass(frozen=True)
class Endpoint:
    """The address of a tool's calls, their contract, and the parts of answers that are read."""

    key: str
    """Catalog and tool: the same for the same endpoint in every process."""
    tool: Tool
    base_url: str
    origins: frozenset[Origin]
    contract: "OperationContract"
    credentials: tuple[Alternative, ...]
    body_required: bool
    encoding: Mapping[str, JsonObject]
    """OpenAPI's encoding object of each field of a form, if the document has one."""
    reserved: frozenset[str]
    """Query parameters with `allowReserved`."""
    kept_headers: frozenset[str]
    """Names, in lower case, of the answer's headers that an outcome stores."""
    mcp_tool: JsonObject | None = None
    """The tool as an MCP server declared it, with `has_refusal`; None over HTTP."""
    given_back: Mapping[str, str] = field(default_factory=dict)
    """Properties in which an answer repeats inputs, mapped to the names of those inputs."""

    def is_styled(self, field: str) -> bool:
        """Return True if the document declares the style of a field of a form."""
        return not _STYLE_KEYS.isdisjoint(self.encoding.get(field, {}))


class Endpoints:
    """Endpoints of tools, each compiled at its first call."""

    def __init__(self, server_variables: ServerVariables) -> None:
        self._server_variables = dict(server_variables)
        self._operations: dict[tuple[str, str], dict[tuple[str, str], Operation]] = {}
        self._endpoints: dict[tuple[str, str], Endpoint] = {}

    def of(self, catalog: Catalog, tool: Tool) -> Endpoint:
        """Return the endpoint of a tool.

        Raises:
            DocumentInvalid: the tool comes from no document of this catalog, or the document needs
                something that this client cannot send.
            EgressRefused: its server names no host.
            UsageError: the value of a server variable does not fit into a URL.
        """
        key = (catalog.digest, tool.name)
        if (kept := self._endpoints.get(key)) is not None:
            return kept
        # The import takes a tenth of a second, which a starting worker and most commands do not
        # need.
        from orchestrator.adapters.http.operation_contract import OperationContract

        operation = self._operation(catalog, tool)
        body = operation.node.at("requestBody")
        fields = body.items("content", tool.body_content_type or "", "encoding") if body else ()
        base = base_url(tool, self._server_variables)
        declared = operation.node.at(MCP_TOOL)
        has_refusal = operation.node.at("responses", MCP_REFUSAL) is not None
        compiled = Endpoint(
            key=f"{catalog.digest} {tool.name}",
            tool=tool,
            base_url=base,
            origins=declared_origins(operation, self._server_variables),
            contract=OperationContract(operation, tool),
            credentials=read_alternatives(operation, base),
            body_required=body is not None and body.is_true("required"),
            encoding={name: _object(entry.value) for name, entry in fields},
            reserved=frozenset(
                parameter.require("name").text()
                for parameter in operation.parameters()
                if parameter.require("in").text() == "query" and parameter.is_true("allowReserved")
            ),
            kept_headers=frozenset(
                name.lower()
                for reader in (tool, *_read_for(catalog, tool))
                for name in response_headers_read(reader)
            ),
            given_back=given_back(catalog, tool),
            mcp_tool={**_object(declared.value), "has_refusal": has_refusal} if declared else None,
        )
        _keep(self._endpoints, key, compiled, limit=_MAX_ENDPOINTS)
        return compiled

    def _operation(self, catalog: Catalog, tool: Tool) -> Operation:
        key = (catalog.digest, tool.document)
        if key not in self._operations:
            document = catalog.documents.get(tool.document)
            if document is None:
                raise DocumentInvalid(
                    tool.document, "", f"{tool.name} has no document, so no address"
                )
            # Once per document, because its operations share the schemas.
            root = DocumentNode.of(tool.document, _object(_without_notices(document)))
            found = {(o.path, o.method): o for o in operations(root)}
            _keep(self._operations, key, found, limit=_MAX_DOCUMENTS)
        operation = self._operations[key].get((tool.path, tool.method))
        if operation is None:
            raise DocumentInvalid(tool.document, "/paths", f"no operation is called {tool.name!r}")
        return operation


def _keep(cache: dict[tuple[str, str], _T], key: tuple[str, str], value: _T, *, limit: int) -> None:
    if len(cache) >= limit:
        cache.pop(next(iter(cache)))
    cache[key] = value


def _read_for(catalog: Catalog, tool: Tool) -> Iterator[Tool]:
    """Yield the tools whose probe this one is, or whose cancel reads its version from it."""
    for other in catalog.tools.values():
        if (contract := other.compensation) is None:
            continue
        cancel = catalog.tools.get(contract.cancel.tool)
        is_probe = contract.probe is not None and contract.probe.tool == tool.name
        if is_probe or (
            cancel is not None and version_reader(catalog.tools.values(), cancel) is tool
        ):
            yield other


def _without_notices(value: JsonValue) -> JsonValue:
    """Remove the flags for which openapi-core issues a warning at every answer."""
    if isinstance(value, list):
        return [_without_notices(element) for element in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _without_notices(held)
        for key, held in value.items()
        if not (key == "deprecated" and held is True)
    }


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}
