"""Guarded tools as a toolset of pydantic-ai; needs the extra `llm`."""

from collections.abc import Sequence
from typing import Any, Final

from pydantic import JsonValue
from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from pydantic_ai import ModelRetry, RunContext, ToolFailed
    from pydantic_ai.messages import ModelRequest, UserPromptPart
    from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolDefinition
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
    from pydantic_core import SchemaValidator, core_schema

    from orchestrator.workflows.agent_tools import AgentTools, ToolSource
    from orchestrator.workflows.guarded_call import ToolCallFailed

_OBJECT: Final = SchemaValidator(
    core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema())
)
"""Accepts any object: arguments are checked against the contract before a call is prepared."""
_RETRIES: Final = 3


class GuardedToolset(AbstractToolset[Any]):
    """Tools whose calls are prepared, confirmed, recorded and sent by a saga.

    A model reads why a call failed and may decide on something else; a call whose outcome is
    unknown ends the run, because nothing may follow it.
    """

    def __init__(self, source: ToolSource, tools: Sequence[str], *, prune: bool = True) -> None:
        """Offer tools of a source.

        Args:
            source: the saga.
            tools: names, with * for any part.
            prune: True if each request has only the tools that fit it.
        """
        self._tools = AgentTools(source, tools, prune=prune)

    @property
    def id(self) -> str | None:
        """No id, because the toolset's calls are durable by themselves, and belong to one run."""
        return None

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Return the tools of the next request."""
        sent = [one for one in ctx.messages if isinstance(one, ModelRequest)]
        parts = [part for one in sent for part in one.parts if isinstance(part, UserPromptPart)]
        said = [ctx.prompt, *(part.content for part in parts)]
        asked = "\n".join(dict.fromkeys(text for text in said if isinstance(text, str)))
        return {
            one.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=one.name,
                    description=one.description,
                    parameters_json_schema=dict(one.parameters),
                    strict=False,
                ),
                max_retries=_RETRIES,
                args_validator=_OBJECT,
            )
            for one in await self._tools.offered(asked)
        }

    def answer(self, ctx: RunContext[Any], requests: DeferredToolRequests) -> DeferredToolResults:
        """Approve its own calls that the framework has deferred, because a card asks about each.

        Other deferred calls stay open. Use it as `HandleDeferredToolCalls(handler=tools.answer)`.
        """
        own = [one.tool_call_id for one in requests.approvals if self._tools.has(one.tool_name)]
        return requests.build_results(approvals=dict.fromkeys(own, True))

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> JsonValue:
        """Make one call.

        Raises:
            ModelRetry: its arguments do not fit.
            ToolFailed: the call was refused, or nobody approved it in time.
            ToolCallFailed: it is unknown if the call had its effect.
        """
        try:
            return await self._tools.call(name, tool_args)
        except ToolCallFailed as failed:
            if failed.outcome == "unknown":
                raise
            kind = ModelRetry if failed.outcome == "invalid" else ToolFailed
            raise kind(failed.for_model) from failed
