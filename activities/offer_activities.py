"""Offer tools to agents outside this project: choose them in a catalog, and describe them."""

import asyncio
from collections.abc import Callable
from fnmatch import fnmatchcase

from temporalio import activity

from orchestrator.activities.boundary import translated_errors
from orchestrator.adapters.storage.protocols import CatalogStore
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.messages import names
from orchestrator.messages.step import OfferedTool, OfferInput, OfferOutput
from orchestrator.planning.llm.offered_tools import offered_names
from orchestrator.planning.llm.prompt import reason_input, tool_description, tool_parameters
from orchestrator.routing.router import Router

_FEW = 4
"""Largest number of tools that are all offered: leaving some out would save little."""


class OfferActivities:
    """Chooses tools for agents that talk to their model themselves."""

    def __init__(self, catalogs: CatalogStore, routers: Callable[[Catalog], Router]) -> None:
        """Take the catalogs, and a router for each."""
        self._catalogs = catalogs
        self._offers = ToolOffers(routers)

    @activity.defn(name=names.OFFER_TOOLS)
    async def offer_tools(self, wanted: OfferInput) -> OfferOutput:
        """Return the tools of these names, or the ones among them that fit the request."""
        with translated_errors():
            catalog = await asyncio.to_thread(self._catalogs.get, wanted.catalog_digest)
            return await asyncio.to_thread(self._offers.of, catalog, wanted)


class ToolOffers:
    """Descriptions of tools, and the parts of catalogs that agents are offered."""

    def __init__(self, routers: Callable[[Catalog], Router]) -> None:
        """Take the factory of routers."""
        self._routers = routers
        self._parts: dict[tuple[str, tuple[str, ...]], Catalog] = {}

    def of(self, catalog: Catalog, wanted: OfferInput) -> OfferOutput:
        """Return the requested tools of a catalog.

        Raises:
            ToolNotFound: no tool has one of the names.
        """
        key = (catalog.digest, wanted.tools)
        if key not in self._parts:
            found: dict[str, Tool] = {}
            for pattern in wanted.tools:
                fitting = [name for name in catalog.tools if fnmatchcase(name, pattern)]
                found |= {
                    name: catalog.tools[name] for name in fitting or [catalog.tool(pattern).name]
                }
            self._parts[key] = Catalog(catalog.documents, found)
        part = self._parts[key]
        chosen = list(part.tools)
        if wanted.request and len(chosen) > _FEW:
            chosen = list(self._routers(part).route(wanted.request).tools)
        offered = {tool.name: name for name, tool in offered_names(part.tools.values()).items()}
        return OfferOutput(
            tools=tuple(
                OfferedTool(
                    name=offered[tool.name],
                    tool=tool.name,
                    description=tool_description(tool),
                    parameters=tool_parameters(tool),
                    reason=reason_input(tool),
                )
                for tool in map(part.tool, chosen)
            )
        )
