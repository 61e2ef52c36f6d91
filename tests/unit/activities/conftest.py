"""A small provider's contract, and a tool client that answers from a script."""

from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest
from temporalio.client import Client

from orchestrator.activities.rollback_activities import RollbackActivities
from orchestrator.adapters.http.personal_arguments import PinnedArguments
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.storage.protocols import CatalogStore
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.messages.rollback import CompensateInput
from orchestrator.saga.obligation import Obligation
from orchestrator.saga.outcome import CompensationOutcome, ToolOutcome
from tests.fakes import MemoryCatalogs, MemoryGrants
from tests.unit.activities.environments import of_rollback


def _operation(name: str, properties: list[str], **more: object) -> dict[str, Any]:
    schema = {"type": "object", "properties": {p: {"type": "string"} for p in properties}}
    return {
        "operationId": name,
        "summary": name.replace("_", " ").capitalize(),
        "x-orchet-tool": True,
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
        "responses": {"200": {"description": "done"}},
        **more,
    }


def _keyed(operation: dict[str, Any]) -> dict[str, Any]:
    key = {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}
    return {**operation, "parameters": [key]}


def document(
    *,
    by_reference: bool = True,
    by_book: bool = False,
    probe: bool = True,
    key: bool = True,
    can_verify_gone: bool = False,
    gone_when: str | None = None,
) -> JsonObject:
    """A bookshop whose orders can be cancelled in more or fewer ways.

    Args:
        by_reference: the cancel also takes the client reference that the order was sent with.
        by_book: the cancel takes the ordered book instead, as anybody else may have ordered it.
        probe: an order can be looked up by that reference.
        key: ordering takes an idempotency key.
        can_verify_gone: the document says how the lookup answers when there is no such order.
        gone_when: how it shows an order that is none any more.
    """
    compensation = {"order_id": "$response.body#/order_id"}
    if by_book:
        compensation = {"book_id": "$request.body#/book_id"}
    elif by_reference:
        compensation["client_reference"] = "$request.body#/client_reference"
    probing: dict[str, Any] = {
        "operationId": "find_order",
        "args": {"client_reference": "$request.body#/client_reference"},
    }
    if gone_when:
        probing["gone-when"] = gone_when
    order = _operation(
        "order_book",
        ["book_id", "client_reference"],
        **{
            "x-orchet-requires-confirmation": "structured-order",
            "x-orchet-cancels": "cancel_order",
            "x-orchet-compensation-args": compensation,
            **({"x-orchet-compensation-probe": probing} if probe else {}),
        },
    )
    cancel = _operation(
        "cancel_order",
        ["order_id", "client_reference", "book_id"],
        **{"x-orchet-requires-confirmation": False, "x-orchet-cancel-for": "order_book"},
    )
    schema = cancel["requestBody"]["content"]["application/json"]["schema"]
    schema["anyOf"] = [{"required": [way]} for way in compensation]
    parameter = {"name": "client_reference", "in": "query", "required": True}
    gone = {"404": {"description": "no such order"}} if can_verify_gone else {}
    lookup = {
        "operationId": "find_order",
        "x-orchet-tool": True,
        "parameters": [{**parameter, "schema": {"type": "string"}}],
        "responses": {"200": {"description": "found"}, **gone},
    }
    made = {
        "openapi": "3.1.0",
        "info": {"title": "Bookshop", "version": "1"},
        "servers": [{"url": "http://127.0.0.1:9/shop"}],
        "paths": {
            "/orders": {"post": _keyed(order) if key else order},
            "/cancel": {"post": _keyed(cancel)},
            "/lookup": {"get": lookup},
        },
    }
    return cast(JsonObject, made)


class ScriptedClient:
    """Answers each tool from its list, the last answer for ever; remembers what was called."""

    def __init__(self, script: dict[str, list[ToolOutcome | Exception]]) -> None:
        self._script = script
        self.calls: list[tuple[str, JsonObject, str | None]] = []

    async def call(
        self,
        catalog: Catalog,
        tool: Tool,
        arguments: JsonObject,
        *,
        idempotency_key: str | None,
        **_: object,
    ) -> ToolOutcome:
        """The next answer for this tool."""
        self.calls.append((tool.name, arguments, idempotency_key))
        answers = self._script[tool.name]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def pin(
        self, catalog: Catalog, tool: Tool, arguments: JsonObject, **_: object
    ) -> PinnedArguments:
        """The same arguments: this provider takes nothing personal."""
        return PinnedArguments(arguments)

    async def obstacles(self, catalog: Catalog, tool: Tool) -> tuple[str, ...]:
        """None."""
        return ()

    @property
    def as_client(self) -> ToolClient:
        """The same, where a ToolClient is asked for: it has the methods that are used."""
        return cast(ToolClient, self)

    @property
    def called(self) -> list[str]:
        """Names of the tools that were called, in order."""
        return [name for name, _, _ in self.calls]


@pytest.fixture
def scripted() -> type[ScriptedClient]:
    """The class of clients that answer from a script."""
    return ScriptedClient


@pytest.fixture
def shop(store: CatalogStore) -> Callable[..., Catalog]:
    """Makes and stores the catalog of a bookshop; see `document` for what can be chosen."""

    def make(**options: Any) -> Catalog:
        catalog = Catalog.from_documents({"shop": document(**options)})
        store.put(catalog)
        return catalog

    return make


Compensate = Callable[[ScriptedClient, Obligation], Awaitable[CompensationOutcome]]


@pytest.fixture
def grants() -> MemoryGrants:
    """What was used and taken back in a test."""
    return MemoryGrants()


@pytest.fixture
def compensate(store: CatalogStore, grants: MemoryGrants) -> Compensate:
    """Runs the activity that compensates an obligation once, with a client that a test scripted."""

    async def run(client: ScriptedClient, obligation: Obligation) -> CompensationOutcome:
        activities = RollbackActivities(store, client.as_client, cast(Client, None), grants)
        environment = of_rollback(obligation.mission_id)
        outcome = await environment.run(
            activities.compensate, CompensateInput(obligation=obligation)
        )
        assert isinstance(outcome, CompensationOutcome)
        return outcome

    return run


@pytest.fixture
def store() -> CatalogStore:
    """An empty store of catalogs."""
    return MemoryCatalogs()
