"""A step of a leg as a prompt of an agent of one's own, made from the leg's observations alone."""

from dataclasses import dataclass
from typing import Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.budget import Usage
from orchestrator.core.errors import DecisionInvalid
from orchestrator.planning.frameworks.agent_prompt import (
    AgentAnswer,
    AgentPrompt,
    Past,
    PastCall,
    PastEnding,
    PromptTool,
)
from orchestrator.planning.llm.briefing import (
    DATA_RULE,
    as_json,
    briefing,
    error_of,
    of_provider,
)
from orchestrator.planning.llm.meta_tools import DISCOVER, ENDED, meta_tools
from orchestrator.planning.llm.offered_tools import OfferedTools, offered_names, wire_name
from orchestrator.planning.llm.prompt import block_of, catalog_row, catalog_section
from orchestrator.planning.models import (
    FINISH,
    Finish,
    Observation,
    StepContext,
)
from orchestrator.planning.planner import PlannedStep
from orchestrator.planning.projection import shown_to_models
from orchestrator.planning.trimming import estimate_tokens
from orchestrator.routing.selection import Selection

RULES: Final = (
    "You carry out one part of a mission by calling tools, one call at a time; the result of a "
    "call is there when you are asked again. Take values from what is given, from facts and from "
    "earlier results: never invent one, and leave out what nobody asked for. A value pii:name is a "
    "handle: give it as it stands, it is filled in when the call is sent. When something is "
    "missing that no tool supplies, call user_ask. reason: one line, why this call. When your part "
    "is reached, call nothing and say in a sentence what was reached; call part_lost when it "
    "cannot be."
)
_DISCOVERED: Final = "tools.discover"
_OLD_BODY: Final = 1_000
"""Characters that are told of a body which is not the newest."""
_NEWEST_SHARE: Final = 2
"""The newest result may take one part in so many of what is left for the past."""
_CHARACTERS: Final = 3
"""About so many to an estimated token: see `estimate_tokens`."""


@dataclass(frozen=True)
class AgentStep:
    """A prompt, and the tools by which its answer becomes a decision."""

    prompt: AgentPrompt
    offered: OfferedTools

    def planned(self, answer: AgentAnswer, usage: Usage) -> PlannedStep:
        """The calls of an answer, or its last word, as a decision that was checked.

        Raises:
            DecisionInvalid: it cannot be carried out.
        """
        if answer.calls:
            calls = [(call.tool, call.arguments) for call in answer.calls]
            return self.offered.planned(calls, answer.text, usage)
        if not answer.text.strip():
            raise DecisionInvalid("the answer is empty: call a tool, or say what was reached")
        return PlannedStep(decision=Finish(summary=answer.text.strip()), usage=usage)


def agent_step(context: StepContext, selection: Selection, catalog: Catalog) -> AgentStep:
    """What an agent is told for a step: within its `context_tokens`, newest results first."""
    context = shown_to_models(context, catalog)
    block = block_of(context, selection, catalog)
    # An agent of a framework ends by its answer, unless it has to say of conditions what it read.
    is_conditional = any(order.is_conditional for order in context.orders)
    meta = tuple(one for one in meta_tools(context) if is_conditional or one.name != ENDED)
    offered = OfferedTools(context, selection, catalog, offered_names(block.shown), meta)
    deferred = catalog_section(map(catalog_row, block.deferred), most_tokens=block.catalog_tokens)
    parts = (RULES, context.agent.instructions, DATA_RULE, deferred)
    instructions = "\n\n".join(part for part in parts if part)
    tools = tuple(PromptTool(*tool) for tool in offered.listed())
    taken = estimate_tokens(instructions) + sum(estimate_tokens(str(tool)) for tool in tools)
    room = context.agent.context_tokens - taken
    opening = briefing(context.model_copy(update={"observations": ()}), most_tokens=room)
    past, left_out = _past(context, offered, room - estimate_tokens(opening))
    if left_out:
        opening += f"\n\n({left_out} earlier calls are left out.)"
    return AgentStep(AgentPrompt(instructions, opening, past, tools), offered)


def _past(context: StepContext, offered: OfferedTools, room: int) -> tuple[tuple[Past, ...], int]:
    """The newest steps that find room, oldest first, and how many are left out.

    The newest is always told, and longer than the others.
    """
    names = {tool.name: name for name, tool in offered.tools.items()}
    told: list[Past] = []
    for number, seen in reversed(list(enumerate(context.observations, start=1))):
        most = _OLD_BODY if told else max(_OLD_BODY, room // _NEWEST_SHARE * _CHARACTERS)
        one = _one(number, seen, names, most)
        room -= estimate_tokens(str(one))
        if told and room < 0:
            return tuple(reversed(told)), number
        told.append(one)
    return tuple(reversed(told)), 0


def _one(number: int, seen: Observation, names: dict[str, str], most: int) -> Past:
    if seen.tool == FINISH:
        return PastEnding(str(seen.arguments.get("summary") or FINISH), _result(seen, most))
    name = DISCOVER if seen.tool == _DISCOVERED else names.get(seen.tool, wire_name(seen.tool))
    return PastCall(f"call-{number}", name, dict(seen.arguments), _result(seen, most))


def _result(seen: Observation, most: int) -> str:
    """What a call came to: the outcome in our words, all else as data of whoever said it."""
    parts: list[str] = [seen.outcome]
    if seen.error:
        parts.append(error_of(seen, most))
    if seen.body is not None:
        parts.append(of_provider(seen.tool, as_json(seen.body, most)))
    return "\n".join(parts)
