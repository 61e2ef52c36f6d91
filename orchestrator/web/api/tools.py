"""The tools of the catalog that the service's settings name: list, show."""

import asyncio
import time
from typing import Final

from pydantic import Field

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.source import file_versions
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.read_once import Recent
from orchestrator.core.record import Record
from orchestrator.runtime.defaults import list_mcp_servers
from orchestrator.settings import Settings
from orchestrator.web.api_operations import Call, Operations

_catalogs: Final[Recent[object, Catalog]] = Recent(2)
api: Final = Operations("tools")


class ToolSummary(Record):
    """A tool in a list."""

    name: str = Field(description="the operationId")
    document: str = Field(description="the document that it comes from")
    domain: str
    summary: str = ""
    effect: Effect = Field(description="read, obligation (can be cancelled), write, or cancel")
    card_type: str | None = Field(default=None, description="None: a call waits for no card")
    cancel_tool: str | None = Field(default=None, description="the tool that cancels a call of it")
    irreversible: bool = Field(default=False, description="True if nothing cancels a call")


class ToolList(Record):
    """The tools of a catalog."""

    catalog_digest: str = Field(description="names the catalog by its content")
    tools: tuple[ToolSummary, ...]


@api.get("/tools")
async def list_tools(call: Call[None, None]) -> ToolList:
    """Return every tool of the catalog."""
    catalog = await catalog_of(call.service.settings)
    tools = tuple(
        ToolSummary.model_validate(
            {**dict(tool), "cancel_tool": tool.compensation and tool.compensation.cancel.tool}
        )
        for tool in catalog.tools.values()
    )
    return ToolList(catalog_digest=catalog.digest, tools=tools)


@api.get("/tools/{tool_name}")
async def show_tool(call: Call[None, None]) -> Tool:
    """Return one tool with its inputs, effect, card and compensation."""
    return (await catalog_of(call.service.settings)).tool(call.part("tool_name"))


async def catalog_of(settings: Settings) -> Catalog:
    """Return the catalog as its sources are now.

    It is compiled when a file has changed, and MCP servers are listed again after a minute.
    """

    def read() -> Catalog:
        mcp = settings.mcp
        files = file_versions([*settings.specs, *settings.overlays, *([mcp] if mcp else [])])
        sources = (files, int(time.monotonic() // 60) if mcp is not None else 0)
        if (known := _catalogs.get(sources)) is not None:
            return known
        servers = list_mcp_servers(settings)
        made = Catalog.load(*settings.specs, overlays=settings.overlays, mcp=servers)
        return _catalogs.put(sources, made)

    return await asyncio.to_thread(read)
