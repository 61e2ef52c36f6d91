"""A step as a model sees it: its request, its tools, and its answers as decisions.

A step continues a conversation, or begins one. A conversation that would be too long is restarted
from a briefing that takes half of the room. This happens once in many steps, and the preceding
prefix stays useful in providers' caches until then.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from pydantic_ai.messages import (
    ModelMessage,
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
from orchestrator.core.record import JsonObject
from orchestrator.planning.llm.briefing import DATA_RULE, briefing, news_lines, step_lines
from orchestrator.planning.llm.conversation import LegConversation, LegExchange, tokens_of
from orchestrator.planning.llm.meta_tools import ASKED, DISCOVER, ENDED, meta_tools
from orchestrator.planning.llm.offered_tools import OfferedTools
from orchestrator.planning.llm.prompt import ToolBlock, meta_schemas, tool_schema
from orchestrator.planning.models import FINISH, Observation, StepContext
from orchestrator.planning.planner import PlannedStep
from orchestrator.planning.trimming import estimate_tokens
from orchestrator.planning.walls import is_inside
from orchestrator.routing.selection import Selection

RULES: Final = (
    "You carry out one part of a mission by calling tools. Reads may stand side by side in one "
    "answer; any other call goes alone. Take values from what is given, facts and earlier answers: "
    "never invent one, leave out what nobody asked for. pii:name is a handle: give it as it "
    "stands, it is filled in when the call is sent. Ask the user for what no tool supplies. "
    "reason: one line, why. End your part once it is reached, or cannot be."
)
_OBSERVED_AS: Final = {DISCOVER: "tools.discover", ENDED: FINISH}
"""Meta tools by the names that observations use for them."""
_NOTHING: Final = "Not done."
_ANSWERED: Final = "The user has answered: it stands below, under what is given."


@dataclass(frozen=True)
class ModelStep:
    """A step as a model sees it, and the model's answers as decisions."""

    context: StepContext
    selection: Selection
    catalog: Catalog
    tools: Mapping[str, Tool]
    """The tools with a schema, by the names that the model sees."""
    deferred: str
    """The catalog of the tools without a schema."""
    said: LegConversation | None = None
    """The conversation before this step; None: this step begins one."""
    leaves_room: bool = False
    """True if more will be appended after the beginning that this step makes."""

    @cached_property
    def request(self) -> ModelRequest:
        """The news of the step, or everything if the step begins the conversation.

        In that case, rules and catalog are the instructions, and the situation, cut to the
        remaining room, is the text.
        """
        if self.said is not None:
            return _news(self.context, self.said)
        agent = self.context.agent
        parts = (RULES, agent.instructions, DATA_RULE, self.deferred)
        instructions = "\n\n".join(part for part in parts if part)
        room = agent.context_tokens - estimate_tokens(instructions) - self._tool_tokens
        text = briefing(self.context, most_tokens=room // 2 if self.leaves_room else room)
        return ModelRequest(parts=[UserPromptPart(text)], instructions=instructions)

    @property
    def messages(self) -> list[ModelMessage]:
        """The whole conversation, with earlier messages unchanged."""
        return [*(self.said.messages if self.said is not None else ()), self.request]

    @property
    def is_too_long(self) -> bool:
        """True if it exceeds the agent's prompt limit, including the reserve for its end."""
        room = self.context.agent.context_tokens
        before = 0 if self.said is None else self.said.tokens
        fixed = estimate_tokens(self.request.instructions or "") + self._tool_tokens
        return self._tool_tokens > room // 2 or fixed + before + tokens_of([self.request]) > room

    @cached_property
    def _tool_tokens(self) -> int:
        schemas = (*meta_schemas(), *map(tool_schema, self.tools.values()))
        return estimate_tokens("\n".join(schemas))

    def exchange(self, answer: ModelResponse, model: str) -> LegExchange:
        """Return the step in the form to store, once the model has answered."""
        called = (part.tool_name for part in answer.parts if isinstance(part, ToolCallPart))
        return LegExchange(
            before=self.context.conversation if self.said is not None else "",
            step=self.context.step,
            asked=model,
            tools=tuple(tool.name for tool in self.tools.values()),
            called={name: self.tools[name].name for name in called if name in self.tools},
            inputs=self.context.inputs,
            left=_budget_left(self.context),
        )

    def parameters(self) -> ModelRequestParameters:
        """Return the tools of the step and the meta tools; an answer must call one of them."""
        tools = [
            ToolDefinition(name=name, description=about, parameters_json_schema=schema)
            for name, about, schema in self._offered.listed()
        ]
        return ModelRequestParameters(function_tools=tools, allow_text_output=False)

    def planned(self, answer: ModelResponse, usage: Usage) -> PlannedStep:
        """Return the calls of the answer as a checked decision, and the dropped calls.

        Raises:
            DecisionInvalid: the answer has no call, or none that can be carried out.
        """
        calls = [
            (part.tool_name, arguments_of(part))
            for part in answer.parts
            if isinstance(part, ToolCallPart)
        ]
        said = " ".join(part.content for part in answer.parts if isinstance(part, TextPart))
        return self._offered.planned(calls, said, usage)

    @property
    def _offered(self) -> OfferedTools:
        meta = meta_tools(self.context)
        return OfferedTools(self.context, self.selection, self.catalog, self.tools, meta)


def arguments_of(call: ToolCallPart) -> JsonObject | None:
    """Return the arguments of a model's call; None if they are no JSON object."""
    try:
        return call.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        return None


def complaint(answer: ModelResponse, reason: str) -> ModelRequest:
    """Return the defect as the answer to each call, as providers want every call answered."""
    calls = [part for part in answer.parts if isinstance(part, ToolCallPart)]
    text = f"This cannot be carried out: {reason}. Nothing was sent. Answer again."
    if not calls:
        return ModelRequest(parts=[UserPromptPart(text)])
    return ModelRequest(
        parts=[
            ToolReturnPart(call.tool_name, text, tool_call_id=call.tool_call_id) for call in calls
        ]
    )


def shown_tools(
    block: ToolBlock, context: StepContext, catalog: Catalog, said: LegConversation
) -> tuple[Tool, ...]:
    """Return the tools to show in a step; in growing lists, those of earlier steps first."""
    if context.agent.tool_list != "growing":
        return block.shown
    walls = (context.agent.wall,)
    callable_ = {*context.forwarded, *context.discovered, *(tool.name for tool in block.shown)}
    earlier = (catalog.tools[name] for name in said.last.tools if name in catalog.tools)
    kept = {
        tool.name: tool
        for tool in earlier
        if is_inside(tool, walls) and (tool.name in callable_ or tool.load_policy == "core")
    }
    return tuple({**kept, **{tool.name: tool for tool in block.shown}}.values())


def since(context: StepContext, said: LegConversation) -> StepContext:
    """Return the step with the observations since the last exchange, without its facts."""
    new = tuple(one for one in context.observations if one.step >= said.last.step)
    return context.model_copy(update={"observations": new, "facts": ()})


def _news(context: StepContext, said: LegConversation) -> ModelRequest:
    """Return the next message of a conversation: results of its calls, and other news."""
    last = said.last
    answers, rest = _answers(said, since(context, said).observations)
    given = {n: v for n, v in context.inputs.items() if n not in last.inputs or last.inputs[n] != v}
    left = _budget_left(context)
    text = news_lines(rest, given, left if left != last.left else "")
    prompts = [UserPromptPart(text)] if text else []
    return ModelRequest(parts=[*answers, *prompts], instructions=said.instructions)


def _budget_left(context: StepContext) -> str:
    return "" if context.budget_left is None else str(context.budget_left)


def _answers(
    said: LegConversation, seen: Sequence[Observation]
) -> tuple[list[ToolReturnPart], list[Observation]]:
    """Return the outcome of each call, for its answer, and the other observations."""
    left = list(seen)
    found: dict[int, Observation] = {}
    for is_same in (True, False):  # identical arguments first, as people may amend some
        for at, call in enumerate(said.calls):
            one = next((o for o in left if _is_of(call, said, o, is_same=is_same)), None)
            if at not in found and one is not None:
                found[at] = one
                left.remove(one)
    unseen = {ASKED: _ANSWERED}
    parts = [
        ToolReturnPart(
            call.tool_name,
            step_lines(found[at]) if at in found else unseen.get(call.tool_name, _NOTHING),
            call.tool_call_id,
        )
        for at, call in enumerate(said.calls)
    ]
    return parts, left


def _is_of(call: ToolCallPart, said: LegConversation, seen: Observation, *, is_same: bool) -> bool:
    name = call.tool_name
    if seen.tool not in (name, said.last.called.get(name), _OBSERVED_AS.get(name)):
        return False
    return not is_same or seen.arguments == call.args_as_dict()
