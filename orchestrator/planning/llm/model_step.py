"""One step as a model is asked for it: its request, its tools, and its answers as decisions."""

from collections.abc import Mapping
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
from orchestrator.planning.llm.briefing import briefing
from orchestrator.planning.llm.conversation import (
    LegConversation,
    LegExchange,
    called_by,
    tokens_of,
)
from orchestrator.planning.llm.going_on import news, told_left
from orchestrator.planning.llm.meta_tools import meta_tools
from orchestrator.planning.llm.offered_tools import OfferedTools
from orchestrator.planning.llm.prompt import meta_schemas, tool_schema
from orchestrator.planning.llm.prompt_state import PromptState
from orchestrator.planning.llm.tool_output import DATA_RULE
from orchestrator.planning.models import StepContext
from orchestrator.planning.planner import PlannedStep
from orchestrator.planning.trimming import estimate_tokens
from orchestrator.routing.selection import Selection

RULES: Final = (
    "You carry out one part of a mission by calling tools. Reads may stand side by side in one "
    "answer; any other call goes alone. Take values from what is given, facts and earlier answers: "
    "never invent one, leave out what nobody asked for. pii:name is a handle: give it as it "
    "stands, it is filled in when the call is sent. Ask the user for what no tool supplies. "
    "reason: one line, why. End your part once it is reached, or cannot be."
)


@dataclass(frozen=True)
class ModelStep:
    """One step as a model is asked for it, and its answers as decisions."""

    context: StepContext
    selection: Selection
    catalog: Catalog
    tools: Mapping[str, Tool]
    """Those with a schema, by the names that the model sees."""
    state: PromptState
    said: LegConversation | None = None
    """What the model was told before; None: this begins it."""
    leaves_room: bool = False
    """Whether more is to be said behind what this step begins with."""

    @cached_property
    def request(self) -> ModelRequest:
        """What is new of the step: all of it where nothing was said before.

        Then rules and catalog are the instructions, and the situation, cut to the room that is
        left, is the text.
        """
        if self.said is not None:
            return news(self.context, self.said)
        agent = self.context.agent
        parts = (RULES, agent.instructions, DATA_RULE, self.state.text("catalog"))
        instructions = "\n\n".join(part for part in parts if part)
        room = agent.context_tokens - estimate_tokens(instructions) - self._tool_tokens
        text = briefing(self.context, most_tokens=room // 2 if self.leaves_room else room)
        return ModelRequest(parts=[UserPromptPart(text)], instructions=instructions)

    @property
    def messages(self) -> list[ModelMessage]:
        """All that the model is told, what was said before as it was."""
        return [*(self.said.messages if self.said is not None else ()), self.request]

    @property
    def is_too_long(self) -> bool:
        """Whether it is more than the agent's prompts may be, with no room for its end."""
        room = self.context.agent.context_tokens
        before = 0 if self.said is None else self.said.tokens
        fixed = estimate_tokens(self.request.instructions or "") + self._tool_tokens
        return self._tool_tokens > room // 2 or fixed + before + tokens_of([self.request]) > room

    @cached_property
    def _tool_tokens(self) -> int:
        schemas = (*meta_schemas(), *map(tool_schema, self.tools.values()))
        return estimate_tokens("\n".join(schemas))

    def exchange(self, answer: ModelResponse, model: str) -> LegExchange:
        """The step as it is kept, once the model has answered."""
        named = {name: tool.name for name, tool in self.tools.items()}
        return LegExchange(
            before=self.context.conversation if self.said is not None else "",
            step=self.context.step,
            asked=model,
            tools=tuple(named.values()),
            called=called_by(answer, named),
            inputs=self.context.inputs,
            left=told_left(self.context),
        )

    def parameters(self) -> ModelRequestParameters:
        """The tools of the step and the meta tools; no answer but a call of one of them."""
        tools = [
            ToolDefinition(name=name, description=told, parameters_json_schema=schema)
            for name, told, schema in self._offered.listed()
        ]
        return ModelRequestParameters(function_tools=tools, allow_text_output=False)

    def planned(self, answer: ModelResponse, usage: Usage) -> PlannedStep:
        """The calls of the answer as a decision that was checked, and what it leaves out.

        Raises:
            DecisionInvalid: no call, or none that can be carried out.
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
    """What a model calls a tool with; None when it is no JSON object."""
    try:
        return call.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        return None


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
