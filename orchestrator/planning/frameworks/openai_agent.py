"""An agent of the OpenAI Agents SDK that is run for a step: every call waits for approval.

Nobody approves there, so the run ends at its first calls. Needs the extra `openai-agents`.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from agents import (
    Agent,
    FunctionTool,
    ItemHelpers,
    ModelSettings,
    RunConfig,
    RunContextWrapper,
    Runner,
)
from agents.exceptions import MaxTurnsExceeded, ModelBehaviorError
from agents.items import ToolApprovalItem, TResponseInputItem

from orchestrator.core.budget import Usage
from orchestrator.core.errors import DecisionInvalid, UsageError
from orchestrator.core.record import JsonObject
from orchestrator.planning import metering
from orchestrator.planning.frameworks.agent_prompt import (
    AgentAnswer,
    AgentPrompt,
    PastCall,
    PromptTool,
    WantedCall,
)

_MOST_MODEL_TURNS: Final = 1
_ACTING: Final = ("tools", "mcp_servers", "handoffs", "prompt", "capabilities")
"""What of an agent would act, or bring what does, without anybody's confirmation."""


class OpenAIAgent:
    """Runs an agent of the OpenAI Agents SDK for one step.

    Its instructions, model, settings and guardrails hold. Tools of its own, MCP servers, hand-offs
    and stored prompts are refused, for they would act without anybody's confirmation. Its runs are
    not traced: the SDK would send the prompts to OpenAI, whichever model is asked.
    """

    def __init__(
        self, agent: Agent[Any], *, context: Any = None, config: RunConfig | None = None
    ) -> None:
        """Take the agent, the context of its runs, and their settings.

        Raises:
            UsageError: it could act by itself.
        """
        self.name = agent.name
        self._agent = agent
        self._context = context
        self._config = config or RunConfig(tracing_disabled=True)
        if own := [key for key in _ACTING if getattr(agent, key, None)]:
            raise UsageError(
                f"the agent {self.name} has {', '.join(own)} of its own, which would act without a "
                "card: mark operations of a document as tools instead, and give another part of a "
                "goal to another agent by the profiles"
            )

    async def answer(self, prompt: AgentPrompt) -> AgentAnswer:
        """What the agent calls first, or its last word.

        Raises:
            DecisionInvalid: its model calls what is not there, or goes on and on.
        """
        try:
            result = await Runner.run(
                self._for(prompt),
                list(_history(prompt)),
                context=self._context,
                max_turns=_MOST_MODEL_TURNS,
                run_config=self._config,
            )
        except (ModelBehaviorError, MaxTurnsExceeded) as error:
            if error.run_data is not None:
                metering.count(_usage(error.run_data.context_wrapper))
            raise DecisionInvalid(f"the answer is no call ({type(error).__name__})") from error
        usage = _usage(result.context_wrapper)
        calls = [WantedCall(item.name or "", _arguments(item)) for item in result.interruptions]
        if not calls:
            return AgentAnswer(text=_text(result.final_output), usage=usage)
        return AgentAnswer(calls, ItemHelpers.text_message_outputs(result.new_items), usage)

    def _for(self, prompt: AgentPrompt) -> Agent[Any]:
        """The agent with the tools of the prompt and no others, one call at a time."""
        return self._agent.clone(
            tools=[_tool(tool) for tool in prompt.tools],
            mcp_servers=[],
            handoffs=[],
            model_settings=self._agent.model_settings.resolve(
                ModelSettings(parallel_tool_calls=False)
            ),
        )


def _usage(run: RunContextWrapper[Any]) -> Usage:
    return Usage(
        requests=run.usage.requests,
        input_tokens=run.usage.input_tokens,
        cached_tokens=run.usage.input_tokens_details.cached_tokens,
        output_tokens=run.usage.output_tokens,
        reasoning_tokens=run.usage.output_tokens_details.reasoning_tokens,
        unpriced=run.usage.requests,
    )


def _tool(tool: PromptTool) -> FunctionTool:
    async def never(*_: Any) -> str:
        raise AssertionError("a call that nobody has approved here was made")

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=tool.parameters,
        on_invoke_tool=never,
        strict_json_schema=False,
        needs_approval=True,
    )


def _history(prompt: AgentPrompt) -> Iterator[TResponseInputItem]:
    """The prompt as items; its instructions come first, beside the agent's own."""
    yield {"role": "system", "content": prompt.instructions}
    yield {"role": "user", "content": prompt.opening}
    for past in prompt.past:
        if isinstance(past, PastCall):
            yield {
                "type": "function_call",
                "call_id": past.call_id,
                "name": past.tool,
                "arguments": json.dumps(past.arguments),
            }
            yield {"type": "function_call_output", "call_id": past.call_id, "output": past.result}
        else:
            yield {"role": "assistant", "content": past.said}
            yield {"role": "user", "content": past.objection}


def _arguments(item: ToolApprovalItem) -> JsonObject | None:
    try:
        given = json.loads(item.arguments or "{}")
    except ValueError:
        return None
    return given if isinstance(given, dict) else None


def _text(output: Any) -> str:
    """The last word of an agent, whatever type it gives it."""
    if isinstance(output, str):
        return output
    return json.dumps(output, default=lambda held: getattr(held, "model_dump", vars)(), indent=None)
