"""Tools for an agent of any framework, each of whose calls goes through a saga."""

import json
from collections.abc import Sequence
from typing import Protocol

from pydantic import JsonValue
from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.record import JsonObject
    from orchestrator.messages.step import OfferedTool


class ToolSource(Protocol):
    """A source of tools: a saga, or `ReadTools`."""

    async def offered(self, tools: Sequence[str], request: str) -> Sequence[OfferedTool]:
        """Return the tools of these names that fit a request; all if the request is empty."""
        ...

    async def call(self, tool: str, arguments: JsonObject, *, reason: str = "") -> JsonValue:
        """Make one call and return its answer.

        Raises:
            ToolCallFailed: the call was not made, or did not succeed.
        """
        ...


class AgentTools:
    """The tools of one agent, which can call the tools that its requests were offered."""

    def __init__(self, source: ToolSource, tools: Sequence[str], *, prune: bool) -> None:
        """Take the source and the names of tools, with * for any part of a name."""
        self._source = source
        self._tools = tuple(tools)
        self._prune = prune
        self._whole: Sequence[OfferedTool] | None = None
        self._known: dict[str, OfferedTool] = {}
        self._called: dict[str, None] = {}

    async def offered(self, request: str) -> list[OfferedTool]:
        """Return the tools of the next request; called tools stay in all later requests."""
        if self._whole is None and not (self._prune and request):
            self._whole = await self._source.offered(self._tools, "")
        if self._whole is not None and not self._prune:
            found = self._whole
        else:
            found = await self._source.offered(self._tools, request)
        self._known |= {one.name: one for one in found}
        kept = {one.name: one for one in found} | {name: self._known[name] for name in self._called}
        return list(kept.values())

    def has(self, name: str) -> bool:
        """Return True if the tool was offered."""
        return name in self._known

    async def call(self, name: str, arguments: JsonObject) -> JsonValue:
        """Make one call that the model asks for."""
        one = self._known[name]
        self._called[name] = None
        given = {key: value for key, value in arguments.items() if key != one.reason}
        reason = str(arguments.get(one.reason) or "") if one.reason else ""
        return await self._source.call(one.tool, given, reason=reason)


def as_text(answer: JsonValue) -> str:
    """Return an answer as text for a model."""
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
