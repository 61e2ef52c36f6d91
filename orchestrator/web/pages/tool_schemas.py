"""Schemas of tools' inputs, for forms: from the catalog that the store has pinned for a mission."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from orchestrator.client.stores import store_of
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.read_once import Recent
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import resolve, with_definitions
from orchestrator.settings import Settings

_log: Final = logging.getLogger(__name__)

Fields = Mapping[str, JsonObject]
"""JSON Schemas of a tool's inputs, by name."""


class ToolSchemas:
    """Reads each catalog once: its digest names its content."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: Recent[str, Mapping[str, Fields]] = Recent(8)

    async def of(self, mission_id: str, tool: str) -> Fields:
        """Return the inputs of a tool of a mission; none if its catalog is not available here."""
        try:
            catalog = await asyncio.to_thread(self._catalog_of, mission_id)
        except OrchestratorError as missing:
            _log.warning("forms of %s take JSON, as its schemas are unknown: %s", tool, missing)
            return {}
        return catalog.get(tool, {})

    def _catalog_of(self, mission_id: str) -> Mapping[str, Fields]:
        with store_of(self._settings) as store:
            digest = store.catalogs.pinned_by(mission_id)
            if digest is None:
                return {}
            if (known := self._known.get(digest)) is not None:
                return known
            fields: dict[str, Fields] = {}
            for name, tool in store.catalogs.get(digest).tools.items():
                held = {
                    n: with_definitions(s, tool.input_schema) for n, s in tool.properties.items()
                }
                fields[name] = {n: resolve(schema, schema) for n, schema in held.items()}
            return self._known.put(digest, fields)
