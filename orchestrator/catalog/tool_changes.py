"""Differences between two catalogs, by tool: added, removed, or declared otherwise."""

from typing import Final, Literal

from pydantic import Field, JsonValue

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.mcp_documents import TOOL as MCP_TOOL
from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject, Record

_NO_MEANING: Final = frozenset({"document", "domain", "name"})


class ChangedPart(Record):
    """A part of a tool that is declared otherwise."""

    part: str = Field(description="a field of the compiled tool, or the MCP server's declaration")
    before: JsonValue = None
    after: JsonValue = None


class ToolChange(Record):
    """A tool that is not what it was."""

    tool: str
    change: Literal["added", "removed", "changed"]
    parts: tuple[ChangedPart, ...] = ()


def changed_tools(before: Catalog, after: Catalog) -> tuple[ToolChange, ...]:
    """Return the tools that differ, sorted by name."""
    found: list[ToolChange] = []
    for name in sorted({*before.tools, *after.tools}):
        old, new = before.tools.get(name), after.tools.get(name)
        if old is None or new is None:
            found.append(ToolChange(tool=name, change="added" if old is None else "removed"))
            continue
        was, now = _parts(before, old), _parts(after, new)
        parts = tuple(
            ChangedPart(part=part, before=was.get(part), after=now.get(part))
            for part in sorted({*was, *now} - _NO_MEANING)
            if was.get(part) != now.get(part)
        )
        if parts:
            found.append(ToolChange(tool=name, change="changed", parts=parts))
    return tuple(found)


def _parts(catalog: Catalog, tool: Tool) -> JsonObject:
    paths = catalog.documents.get(tool.document, {}).get("paths")
    item = paths.get(tool.path) if isinstance(paths, dict) else None
    operation = item.get(tool.method.lower()) if isinstance(item, dict) else None
    declared = operation.get(MCP_TOOL) if isinstance(operation, dict) else None
    return {**tool.as_json(), "declaration": declared}
