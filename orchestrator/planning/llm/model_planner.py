"""The planner over a model, asked through pydantic-ai's direct API: one request, one decision.

Needs the extra `llm`. The model sees the tools of the step as its own tools; what it calls is
parsed to a decision and checked like any other planner's. Nothing here retries a failed request:
that is the engine's task, which survives this process.
"""

import contextlib
import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from pydantic import ValidationError
from pydantic_ai import exceptions
from pydantic_ai.direct import model_request
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.budget import Usage
from orchestrator.core.errors import (
    DecisionInvalid,
    ModelRefused,
    ModelUnavailable,
    OrchestratorError,
    OutsideWall,
    UsageError,
)
from orchestrator.planning.llm.briefing import DATA_RULE, briefing
from orchestrator.planning.llm.meta_tools import META_TOOLS
from orchestrator.planning.llm.prompt import ToolBlock, block_of, tool_description, tool_parameters
from orchestrator.planning.llm.prompt_state import PromptState, tool_sources
from orchestrator.planning.models import CallTool, StepContext, StepDecision
from orchestrator.planning.planner import check_decision
from orchestrator.planning.trimming import cut_text, estimate_tokens
from orchestrator.planning.walls import is_inside
from orchestrator.routing.selection import Selection

RULES: Final = (
    "You carry out one part of a mission by calling tools, one call at a time. Take values from "
    "what is given, from facts and from earlier answers; never invent one. When something is "
    "missing that no tool supplies, ask the user. End your part as soon as it is reached, or when "
    "it cannot be."
)
SETTINGS: Final = ModelSettings(max_retries=0, parallel_tool_calls=False, timeout=90.0)
"""One request is one attempt: the activity around it is what retries. Time in seconds."""

_KEPT_STATES: Final = 256
_NOT_IN_A_NAME: Final = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME: Final = 64
_LONGEST_REASON: Final = 400
_PASSING: Final = (
    exceptions.ModelConnectionError,
    exceptions.ModelRateLimitError,
    exceptions.ModelRequestTimeout,
    exceptions.ModelServerError,
    exceptions.ModelUnavailableError,
)


class LlmPlanner:
    """Decides steps by asking a model.

    Between two steps it keeps rendered prompt sections and nothing else: another worker that takes
    the next step renders them again.
    """

    def __init__(
        self,
        *,
        default_model: str | None = None,
        models: Callable[[str], Model] = infer_model,
    ) -> None:
        """Take where models come from.

        Args:
            default_model: `provider:model` for agents whose profile names none.
            models: a model by its name; the default reads the provider's key from the environment.

        Raises:
            UsageError: the default model does not exist, or its provider is not set up here.
        """
        self._default = default_model
        self._models = functools.lru_cache(maxsize=16)(models)
        self._states: dict[tuple[str, str], PromptState] = {}
        if default_model is not None:
            self._model(default_model)

    async def plan_metered(
        self, context: StepContext, selection: Selection, catalog: Catalog
    ) -> tuple[StepDecision, Usage]:
        """The next step of one leg, and what asking for it took.

        An answer that cannot be carried out is told to the model once.

        Raises:
            DecisionInvalid: the second answer cannot be carried out either.
            ModelUnavailable: the model did not answer; a later attempt may meet it.
            ModelRefused: the provider does not serve the request.
            UsageError: no such model, or its provider is not set up here.
        """
        model = self._model(context.agent.model or self._default)
        block = block_of(context, selection, catalog)
        state = self._state(context, block)
        step = _Step(context, selection, catalog, wire_names(block.shown), state)
        messages: list[ModelMessage] = [step.request()]
        answer, usage = await _ask(model, messages, step.parameters())
        try:
            return step.decision(answer), usage
        except DecisionInvalid as error:
            messages += [answer, _complaint(answer, str(error))]
        answer, more = await _ask(model, messages, step.parameters())
        return step.decision(answer), usage.plus(more)

    def _model(self, name: str | None) -> Model:
        if name is None:
            raise UsageError("no model is set: set ORCHESTRATOR_PLANNER_MODEL=provider:model")
        try:
            return self._models(name)
        except (exceptions.UserError, ImportError) as error:
            reason = " ".join(str(error).split())
            raise UsageError(f"the model {name} cannot be used here: {reason}") from error

    def _state(self, context: StepContext, block: ToolBlock) -> PromptState:
        """The step's tool sections, those that did not change taken from the step before."""
        leg = (context.mission_id, context.leg_id)
        sources = tool_sources(block, context.catalog_digest)
        state, _ = self._states.pop(leg, PromptState()).refreshed(sources)
        self._states[leg] = state
        if len(self._states) > _KEPT_STATES:
            del self._states[next(iter(self._states))]
        return state


@dataclass(frozen=True)
class _Step:
    """One step as a model is asked for it, and its answers as decisions."""

    context: StepContext
    selection: Selection
    catalog: Catalog
    tools: Mapping[str, Tool]
    """Those with a schema, by the names that the model sees."""
    state: PromptState

    def request(self) -> ModelRequest:
        """Rules and catalog as instructions; the situation, cut to what is left, as the text."""
        agent = self.context.agent
        parts = (RULES, agent.instructions, DATA_RULE, self.state.text("catalog"))
        instructions = "\n\n".join(part for part in parts if part)
        taken = estimate_tokens(instructions) + estimate_tokens(
            self.state.text("core", "discovered", "step")
        )
        text = briefing(self.context, most_tokens=agent.context_tokens - taken)
        return ModelRequest(parts=[UserPromptPart(text)], instructions=instructions)

    def parameters(self) -> ModelRequestParameters:
        """The tools of the step and the meta tools; no answer but a call of one of them."""
        shown = [
            *((meta.name, meta.description, meta.parameters) for meta in META_TOOLS),
            *((n, tool_description(tool), tool_parameters(tool)) for n, tool in self.tools.items()),
        ]
        tools = [
            ToolDefinition(name=name, description=told, parameters_json_schema=schema)
            for name, told, schema in shown
        ]
        return ModelRequestParameters(function_tools=tools, allow_text_output=False)

    def decision(self, answer: ModelResponse) -> StepDecision:
        """The first call of the answer as a decision that was checked.

        A call outside the agent's wall is no mistake to be corrected here: the engine refuses it,
        and keeps a record of that, before the model is asked again.

        Raises:
            DecisionInvalid: no call, or one that cannot be carried out.
        """
        call = next((part for part in answer.parts if isinstance(part, ToolCallPart)), None)
        if call is None:
            raise DecisionInvalid("the answer calls no tool; call exactly one")
        decision = self._parsed(call)
        if isinstance(decision, CallTool):
            decision = decision.model_copy(update={"reason": _said_beside(answer)})
        with contextlib.suppress(OutsideWall):
            check_decision(decision, self.selection, self.context, self.catalog)
        return decision

    def _outside(self, name: str) -> Tool | None:
        """The tool of that name, if it is one that the agent may not touch."""
        tool = self.catalog.tools.get(name)
        return None if tool is None or is_inside(tool, (self.context.agent.wall,)) else tool

    def _parsed(self, call: ToolCallPart) -> StepDecision:
        try:
            arguments = call.args_as_dict(raise_if_invalid=True)
            meta = next((meta for meta in META_TOOLS if meta.name == call.tool_name), None)
            if meta is not None:
                return meta.decision(arguments)
            tool = self.tools.get(call.tool_name) or self._outside(call.tool_name)
            if tool is None:
                raise DecisionInvalid(
                    f"{call.tool_name} is not among the {len(self.tools)} tools shown; "
                    "discover it first"
                )
            return CallTool(tool=tool.name, arguments=arguments)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            raise DecisionInvalid(f"{call.tool_name}: {place}: {first['msg']}") from error
        except (ValueError, AssertionError) as error:
            raise DecisionInvalid(
                f"the arguments of {call.tool_name} are not a JSON object"
            ) from error


def _said_beside(answer: ModelResponse) -> str:
    """What the model says beside its call: why it wants it, as far as it tells."""
    said = " ".join(part.content for part in answer.parts if isinstance(part, TextPart))
    return cut_text(" ".join(said.split()), _LONGEST_REASON)


def wire_names(tools: Iterable[Tool]) -> dict[str, Tool]:
    """The tools by names that every provider of models takes, none twice, none a meta tool's."""
    taken = {meta.name for meta in META_TOOLS}
    named: dict[str, Tool] = {}
    for tool in tools:
        base = _NOT_IN_A_NAME.sub("_", tool.name)[:_LONGEST_NAME]
        name, number = base, 1
        while name in taken:
            number += 1
            ending = f"_{number}"
            name = base[: _LONGEST_NAME - len(ending)] + ending
        taken.add(name)
        named[name] = tool
    return named


async def _ask(
    model: Model, messages: Sequence[ModelMessage], parameters: ModelRequestParameters
) -> tuple[ModelResponse, Usage]:
    try:
        answer = await model_request(
            model,
            messages,
            model_settings=SETTINGS,
            model_request_parameters=parameters,
            instrument=False,
        )
    except exceptions.AgentRunError as error:
        raise _translated(error, model.model_name) from error
    except exceptions.UserError as error:
        raise UsageError(f"the model {model.model_name} cannot be used: {error}") from error
    counted = answer.usage
    usage = Usage(
        requests=1,
        input_tokens=counted.input_tokens,
        output_tokens=counted.output_tokens,
        cost_usd=_cost(answer),
    )
    return answer, usage


def _translated(error: exceptions.AgentRunError, model: str) -> OrchestratorError:
    """Our error for the library's; its text stays out, for it may quote the prompt."""
    status = getattr(error, "status_code", None)
    reason = type(error).__name__.lstrip("_") + (f", status {status}" if status else "")
    if isinstance(error, _PASSING):
        return ModelUnavailable(model, reason)
    return ModelRefused(model, reason)


def _cost(answer: ModelResponse) -> Decimal:
    """The list price of the answer; 0 where the price list does not hold the model."""
    try:
        return answer.cost().total_price
    except (LookupError, ValueError, AssertionError):
        return Decimal(0)


def _complaint(answer: ModelResponse, reason: str) -> ModelRequest:
    """What was wrong, as the answer to each call: providers want every call answered."""
    calls = [part for part in answer.parts if isinstance(part, ToolCallPart)]
    text = f"This cannot be carried out: {reason}. Nothing was sent. Answer again."
    if not calls:
        return ModelRequest(parts=[UserPromptPart(text)])
    return ModelRequest(
        parts=[
            ToolReturnPart(call.tool_name, text, tool_call_id=call.tool_call_id) for call in calls
        ]
    )
