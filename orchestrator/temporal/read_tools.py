"""ReadTools: tools of agents without a workflow, which may only read."""

import asyncio
import uuid
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Self

from pydantic import JsonValue

from orchestrator.activities.offer_activities import ToolOffers
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.catalog.catalog import Catalog
from orchestrator.client.stores import store_of
from orchestrator.core.errors import ArgumentsInvalid, OrchestratorError, UsageError
from orchestrator.core.record import JsonObject
from orchestrator.messages.step import OfferedTool, OfferInput
from orchestrator.runtime.defaults import default_routers, default_tools
from orchestrator.settings import Settings, load_settings
from orchestrator.workflows.guarded_call import ToolCallFailed

if TYPE_CHECKING:
    from agents import FunctionTool

    from orchestrator.workflows.pydantic_ai_tools import GuardedToolset


class ReadTools:
    """Offers the tools that only read to an agent that runs in no workflow.

    async with ReadTools(Catalog.load("specs/")) as reads:
        await agent.run("Which flights go to Lisbon?", toolsets=[reads.toolset(tools=["*"])])
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        settings: Settings | None = None,
        client: ToolClient | None = None,
    ) -> None:
        """Take the tools.

        Args:
            catalog: the tools.
            settings: None: those of the ORCHESTRATOR_* variables.
            client: makes the calls; None: a client made from the settings, with their store.
        """
        self._catalog = catalog
        self._settings = settings or load_settings()
        self._client = client
        self._offers = ToolOffers(default_routers(self._settings))
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Self:
        if self._client is None:
            store = await self._open.enter_async_context(store_of(self._settings))
            client = default_tools(self._settings, store, self._catalog)
            self._client = await self._open.enter_async_context(client)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the store and the connections, if this instance opened them."""
        await self._open.aclose()

    def toolset(self, *, tools: Sequence[str], prune: bool = True) -> "GuardedToolset":
        """Return tools for an agent of pydantic-ai, as `ToolSaga.toolset` does."""
        from orchestrator.workflows.pydantic_ai_tools import GuardedToolset

        return GuardedToolset(self, tools, prune=prune)

    async def function_tools(
        self, *, tools: Sequence[str], request: str = ""
    ) -> "list[FunctionTool]":
        """Return tools for an agent of the OpenAI Agents SDK, as `ToolSaga.function_tools` does."""
        from orchestrator.workflows.openai_agents_tools import function_tools

        return await function_tools(self, tools, request=request)

    async def offered(self, tools: Sequence[str], request: str) -> Sequence[OfferedTool]:
        """Return the tools of these names that only read.

        Raises:
            UsageError: a full name is that of a tool that changes something.
            ToolNotFound: no tool has one of the names.
        """
        for name in tools:
            self._check(name)
        wanted = OfferInput(
            catalog_digest=self._catalog.digest, tools=tuple(tools), request=request
        )
        found = await asyncio.to_thread(self._offers.of, self._catalog, wanted)
        return [one for one in found.tools if not self._catalog.tool(one.tool).is_side_effect]

    async def call(self, tool: str, arguments: JsonObject, *, reason: str = "") -> JsonValue:
        """Make one call and return its answer.

        Raises:
            UsageError: the call would change something.
            ToolCallFailed: the call did not succeed.
        """
        self._check(tool)
        if self._client is None:
            raise UsageError("tools are called inside of `async with ReadTools(...) as reads`")
        try:
            outcome = await self._client.call(
                self._catalog,
                self._catalog.tool(tool),
                arguments,
                call_id=f"read.{uuid.uuid4()}",
                idempotency_key=None,
                timeout_s=20,
            )
        except ArgumentsInvalid as error:
            raise ToolCallFailed(tool, "invalid", str(error)) from error
        except OrchestratorError as error:
            raise ToolCallFailed(tool, "rejected", str(error)) from error
        if outcome.kind != "succeeded":
            raise ToolCallFailed(tool, "rejected", outcome.reason or "no reason was given")
        return outcome.body

    def _check(self, name: str) -> None:
        tool = self._catalog.tools.get(name)
        if tool is not None and tool.is_side_effect:
            raise UsageError(
                f"{name} changes something, and nothing here would confirm, record or cancel it: "
                "run the agent in a Temporal workflow, with ToolSaga.toolset"
            )
