"""Documents of one operation, for tests of what is sent to it and answered by it."""

from typing import Any

import httpx

from orchestrator.adapters.http.answer import Answer
from orchestrator.adapters.http.operation_contract import OperationContract
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.record import JsonObject
from orchestrator.saga.outcome import ToolOutcome
from tests.fakes import MemoryPii, MemorySecrets


def deviations(contract: OperationContract, answer: Answer) -> str | None:
    """Return all ways in which an answer breaks its contract, in one text."""
    found = contract.check_response(answer)
    return "; ".join(filter(None, [found.breach, found.note])) or None


def document_of(
    operation: dict[str, Any],
    *,
    path: str = "/a",
    method: str = "post",
    version: str = "3.1.0",
    server: str = "https://api.example.com",
    schemas: dict[str, Any] | None = None,
    others: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a document with this operation as the tool `thing`, and `others` as further paths."""
    tool = {
        "operationId": "thing",
        "x-orchet-tool": True,
        "responses": {"200": {"description": "ok"}},
        **operation,
    }
    return {
        "openapi": version,
        "info": {"title": "Things", "version": "1"},
        "servers": [{"url": server}],
        "paths": {path: {method: tool}, **(others or {})},
        "components": {"schemas": schemas or {}},
    }


def catalog_of(operation: dict[str, Any], **options: Any) -> Catalog:
    """Return the catalog of `document_of`."""
    return Catalog.from_documents({"d": document_of(operation, **options)})


def answering(*answers: httpx.Response) -> httpx.AsyncClient:
    """Return a client whose requests get these answers, each as one that was not read yet."""
    left = iter(answers)

    def answer(_: httpx.Request) -> httpx.Response:
        one = next(left)
        stream = httpx.ByteStream(one.content)
        return httpx.Response(one.status_code, headers=one.headers, stream=stream)

    return httpx.AsyncClient(transport=httpx.MockTransport(answer))


async def called(
    tools: ToolClient,
    catalog: Catalog,
    name: str = "thing",
    arguments: JsonObject | None = None,
    **options: Any,
) -> ToolOutcome:
    """Call a tool, by default without a key."""
    told = {"call_id": "c", "idempotency_key": None, "timeout_s": 5, **options}
    return await tools.call(catalog, catalog.tool(name), arguments or {}, **told)


async def outcomes(
    catalog: Catalog,
    *answers: httpx.Response,
    tool: str = "thing",
    arguments: JsonObject | None = None,
    personal: dict[str, str] | None = None,
    timeout_s: float = 5,
) -> list[ToolOutcome]:
    """Return what calls of a tool come to that are answered so, one after the other."""
    http, vault = answering(*answers), MemoryPii(personal or {})
    async with ToolClient(secrets=MemorySecrets({}), pii=vault, http=http) as tools:
        found = [
            await called(tools, catalog, tool, arguments, timeout_s=timeout_s) for _ in answers
        ]
        assert not http.cookies
    return found
