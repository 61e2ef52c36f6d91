"""Tools of a session for graphs and agents of LangGraph; needs the extra `langgraph`."""

import hashlib
import json
from collections.abc import Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from langchain_core.tools import BaseTool, StructuredTool, ToolException

from orchestrator.messages.step import OfferedTool

if TYPE_CHECKING:
    from orchestrator.client.session_handle import SessionHandle

_CALL: Final[ContextVar[str | None]] = ContextVar("tool_call_id", default=None)
"""The id that the model gave to the call under way."""


class SessionTool(StructuredTool):
    """A tool whose calls are named by the ids that a model gives them."""

    async def arun(self, tool_input: str | dict[str, Any], *args: Any, **options: Any) -> Any:
        """Make the call; a node that runs again makes the same call."""
        before = _CALL.set(options.get("tool_call_id"))
        try:
            return await super().arun(tool_input, *args, **options)
        finally:
            _CALL.reset(before)


def session_tools(session: "SessionHandle", offered: Sequence[OfferedTool]) -> list[BaseTool]:
    """Return the tools that a session offers."""
    return [_tool(session, one) for one in offered]


def _tool(session: "SessionHandle", one: OfferedTool) -> BaseTool:
    async def call(**given: Any) -> str:
        from orchestrator.workflows.guarded_call import ToolCallFailed  # loads the workflows

        reason = str(given.pop(one.reason, "") or "") if one.reason else ""
        key = _CALL.get()  # ids of models have any form
        if key:
            key = f"tool-{hashlib.sha256(key.encode()).hexdigest()[:24]}"
        try:
            answer = await session.call(one.tool, given, reason=reason, key=key)
        except ToolCallFailed as failed:
            if failed.outcome == "unknown":
                raise  # nothing may follow the call
            raise ToolException(failed.for_model) from failed
        return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)

    return SessionTool(
        name=one.name,
        description=one.description,
        args_schema=dict(one.parameters),
        coroutine=call,
        handle_tool_error=True,  # the model reads why, and may decide on something else
    )
