"""One step as a model is asked for it: its request, its tools, and its answers as decisions."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.budget import Usage
from orchestrator.core.errors import (
    DecisionInvalid,
    OutsideWall,
)
from orchestrator.planning.llm.briefing import briefing
from orchestrator.planning.llm.meta_tools import META_TOOLS
from orchestrator.planning.llm.prompt import tool_description, tool_parameters
from orchestrator.planning.llm.prompt_state import PromptState
from orchestrator.planning.llm.tool_output import DATA_RULE
from orchestrator.planning.models import CallTool, Dropped, StepContext, StepDecision
from orchestrator.planning.planner import PlannedStep, check_decision, only_reads
from orchestrator.planning.side_by_side import bounded, chosen
from orchestrator.planning.trimming import cut_text, estimate_tokens
from orchestrator.planning.walls import is_inside
from orchestrator.routing.selection import Selection

RULES: Final = (
    "You carry out one part of a mission by calling tools. Calls that only read may stand "
    "side by side in one answer; any other goes alone. Take values from what is given, from facts "
    "and from earlier answers; never invent one. When something is "
    "missing that no tool supplies, ask the user. End your part as soon as it is reached, or when "
    "it cannot be."
)
_LONGEST_REASON: Final = 400


@dataclass(frozen=True)
class ModelStep:
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

    def planned(self, answer: ModelResponse, usage: Usage) -> PlannedStep:
        """The calls of the answer as a decision that was checked, and what it leaves out.

        A call outside the agent's wall is no mistake to be corrected here: the engine refuses it,
        and keeps a record of that, before the model is asked again. One mistake among several calls
        is told beside what the others came to.

        Raises:
            DecisionInvalid: no call, or none that can be carried out.
        """
        asked = [part for part in answer.parts if isinstance(part, ToolCallPart)]
        if not asked:
            raise DecisionInvalid("the answer calls no tool; call exactly one")
        said = _said_beside(answer)
        wanted: dict[int, StepDecision] = {}
        wrong: dict[int, DecisionInvalid] = {}
        for at, call in enumerate(asked):
            try:
                wanted[at] = self._checked(call, said)
            except DecisionInvalid as error:
                wrong[at] = error
        if not wanted:
            raise wrong[0]
        decision, waits = chosen([*wanted.values()], self._only_reads)
        why = {at: f"it cannot be carried out: {error}" for at, error in wrong.items()}
        why |= {[*wanted][at]: reason for at, reason in waits.items()}
        dropped = [_dropped(asked[at], wanted.get(at), why[at]) for at in sorted(why)]
        return PlannedStep(decision=decision, usage=usage, dropped=bounded(dropped))

    def _checked(self, call: ToolCallPart, said: str) -> StepDecision:
        decision = self._parsed(call)
        if isinstance(decision, CallTool):
            decision = decision.model_copy(update={"reason": said})
        with contextlib.suppress(OutsideWall):
            check_decision(decision, self.selection, self.context, self.catalog)
        return decision

    def _only_reads(self, call: CallTool) -> bool:
        return only_reads(self.catalog.tool(call.tool))

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


def _dropped(call: ToolCallPart, wanted: StepDecision | None, why: str) -> Dropped:
    """What is told of a call that is not carried out; arguments that were not checked are not."""
    if isinstance(wanted, CallTool):
        return Dropped(tool=wanted.tool, arguments=wanted.arguments, why=why)
    return Dropped(tool=cut_text(call.tool_name, _LONGEST_NAME), why=why)


def _said_beside(answer: ModelResponse) -> str:
    """What the model says beside its call: why it wants it, as far as it tells."""
    said = " ".join(part.content for part in answer.parts if isinstance(part, TextPart))
    return cut_text(" ".join(said.split()), _LONGEST_REASON)


def complaint(answer: ModelResponse, reason: str) -> ModelRequest:
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
