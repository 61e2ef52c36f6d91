"""Guarded tools as function tools of the OpenAI Agents SDK; needs the extra `openai-agents`."""

import json
from collections.abc import Sequence
from typing import Any

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from agents import FunctionTool
    from agents.tool_context import ToolContext

    from orchestrator.messages.step import OfferedTool
    from orchestrator.workflows.agent_tools import AgentTools, ToolSource, as_text
    from orchestrator.workflows.guarded_call import ToolCallFailed


async def function_tools(
    source: ToolSource, tools: Sequence[str], *, request: str = ""
) -> list[FunctionTool]:
    """Return tools whose calls are prepared, confirmed, recorded and sent by a saga.

    Args:
        source: the saga.
        tools: names, with * for any part.
        request: selects the tools that fit it; empty: all tools.
    """
    offered = AgentTools(source, tools, prune=bool(request))
    return [_function_tool(one, offered) for one in await offered.offered(request)]


def _function_tool(one: OfferedTool, offered: AgentTools) -> FunctionTool:
    async def invoke(_: ToolContext[Any], given: str) -> str:
        try:
            arguments = json.loads(given or "{}")
        except ValueError:
            arguments = None
        if not isinstance(arguments, dict):
            return "invalid: the arguments are no JSON object"
        try:
            return as_text(await offered.call(one.name, arguments))
        except ToolCallFailed as failed:
            if failed.outcome == "unknown":
                raise  # nothing may follow the call
            return failed.for_model

    return FunctionTool(
        name=one.name,
        description=one.description,
        params_json_schema=dict(one.parameters),
        on_invoke_tool=invoke,
        strict_json_schema=False,
    )
