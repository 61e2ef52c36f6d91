"""A pydantic-ai agent that is run for a step: its tools are external, so that a call ends the run.

Needs the extra `llm`.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from pydantic_ai import Agent, AgentRunResult, DeferredToolRequests, exceptions
from pydantic_ai.capabilities import ReinjectSystemPrompt
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import ExternalToolset, FunctionToolset
from pydantic_ai.usage import RunUsage, UsageLimits

from orchestrator.core.budget import Usage
from orchestrator.core.errors import DecisionInvalid, UsageError
from orchestrator.planning import metering
from orchestrator.planning.frameworks.agent_prompt import (
    AgentAnswer,
    AgentPrompt,
    PastCall,
    PromptTool,
    WantedCall,
)
from orchestrator.planning.llm.model_asking import usage_of
from orchestrator.planning.llm.model_providers import trouble_with
from orchestrator.planning.llm.model_step import arguments_of

_SETTINGS: Final = ModelSettings(max_retries=0, parallel_tool_calls=False)
"""One request is one attempt: the activity around it is what retries."""
_MOST_REQUESTS: Final = 3
"""Of one step: the library tells a model itself when it calls what is not there."""


class PydanticAIAgent:
    """Runs a pydantic-ai agent for one step.

    Its instructions, system prompts, model and settings hold. Tools of its own are refused, for
    they would act without anybody's confirmation, and its output is its last word, a text.
    """

    def __init__(self, agent: Agent[Any, Any], *, deps: Any = None) -> None:
        """Take the agent, and its dependencies where it has some.

        Raises:
            UsageError: it has tools of its own, or validates what it puts out.
        """
        self.name = agent.name or "pydantic-ai"
        self._agent = agent
        self._deps = deps
        if own := list(_own_tools(agent)):
            raise UsageError(
                f"the agent {self.name} has tools of its own ({', '.join(own)}), which would act "
                "without a card: mark operations of a document as tools instead"
            )
        if getattr(agent, "_output_validators", ()):
            raise UsageError(
                f"the agent {self.name} validates its output, which is a text here: leave the "
                "output validators out"
            )

    async def answer(self, prompt: AgentPrompt) -> AgentAnswer:
        """What the agent calls first, or its last word.

        Raises:
            DecisionInvalid: its model goes on answering with what is no call and no text.
        """
        taken = RunUsage()
        toolset = ExternalToolset[Any]([_definition(tool) for tool in prompt.tools])
        try:
            # Whatever the agent has come by since it was looked at is not there for the run.
            with self._agent.override(tools=[], toolsets=[toolset], native_tools=[]):
                run: AgentRunResult[Any] = await self._agent.run(
                    message_history=list(_history(prompt)),
                    instructions=prompt.instructions,
                    output_type=[str, DeferredToolRequests],
                    deps=self._deps,
                    model_settings=_SETTINGS,
                    usage=taken,
                    usage_limits=UsageLimits(request_limit=_MOST_REQUESTS),
                    capabilities=[ReinjectSystemPrompt()],
                )
        except exceptions.ModelAPIError as error:
            raise trouble_with(_model_of(self._agent) or self.name, error) from error
        except (exceptions.UnexpectedModelBehavior, exceptions.UsageLimitExceeded) as error:
            metering.count(
                Usage(
                    requests=taken.requests,
                    input_tokens=taken.input_tokens,
                    output_tokens=taken.output_tokens,
                    unpriced=taken.requests,
                )
            )
            raise DecisionInvalid(f"the answer is no call ({type(error).__name__})") from error
        answers = [m for m in run.new_messages() if isinstance(m, ModelResponse)]
        if not isinstance(run.output, DeferredToolRequests):
            return AgentAnswer(text=str(run.output), usage=Usage.total(map(usage_of, answers)))
        calls = [WantedCall(call.tool_name, arguments_of(call)) for call in run.output.calls]
        return AgentAnswer(calls, _said(answers), Usage.total(map(usage_of, answers)))


def _own_tools(agent: Agent[Any, Any]) -> Iterator[str]:
    """What the agent could call besides what it is given, by names as far as there are any."""
    for toolset in agent.toolsets:
        if isinstance(toolset, FunctionToolset):
            yield from toolset.tools
        else:
            yield type(toolset).__name__


def _model_of(agent: Agent[Any, Any]) -> str:
    """Its model as `provider:model`, by which errors name the variables that help."""
    model = agent.model
    if isinstance(model, Model):
        return f"{model.system}:{model.model_name}"
    return model if isinstance(model, str) else ""


def _definition(tool: PromptTool) -> ToolDefinition:
    return ToolDefinition(
        name=tool.name, description=tool.description, parameters_json_schema=tool.parameters
    )


def _history(prompt: AgentPrompt) -> Iterator[ModelMessage]:
    yield ModelRequest(parts=[UserPromptPart(prompt.opening)])
    for past in prompt.past:
        if isinstance(past, PastCall):
            yield ModelResponse(parts=[ToolCallPart(past.tool, past.arguments, past.call_id)])
            yield ModelRequest(parts=[ToolReturnPart(past.tool, past.result, past.call_id)])
        else:
            yield ModelResponse(parts=[TextPart(past.said)])
            yield ModelRequest(parts=[UserPromptPart(past.objection)])


def _said(answers: Iterable[ModelResponse]) -> str:
    parts = (part for answer in answers for part in answer.parts)
    return " ".join(part.content for part in parts if isinstance(part, TextPart))
