"""How a step is told to a model: behind what was said before, or as the beginning of it.

A conversation that would be too long is begun anew, from a briefing that takes half of the room: so
that happens once in many steps, and what stands before it in providers' caches is of use till then.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from pydantic_ai.messages import ModelRequest, ToolCallPart, ToolReturnPart, UserPromptPart

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.planning.llm.briefing import news_lines, step_lines
from orchestrator.planning.llm.conversation import LegConversation
from orchestrator.planning.llm.meta_tools import ASKED, DISCOVER, ENDED
from orchestrator.planning.llm.prompt import ToolBlock
from orchestrator.planning.models import FINISH, Observation, StepContext
from orchestrator.planning.walls import is_inside

_SEARCH: Final = "tools.discover"
_NOTHING: Final = "Not done."
_ANSWERED: Final = "The user has answered: it stands below, under what is given."


def shown_tools(
    block: ToolBlock, context: StepContext, catalog: Catalog, said: LegConversation | None
) -> tuple[Tool, ...]:
    """The tools that a step is shown; where lists grow, those of the steps before come first."""
    if context.agent.tool_list != "growing" or said is None:
        return block.shown
    walls = (context.agent.wall,)
    callable_ = {*context.forwarded, *context.discovered, *(tool.name for tool in block.shown)}
    earlier = (catalog.tools[name] for name in said.last.tools if name in catalog.tools)
    kept = [t for t in earlier if is_inside(t, walls) and (t.name in callable_ or _is_core(t))]
    known = {tool.name for tool in kept}
    return (*kept, *(tool for tool in block.shown if tool.name not in known))


def _is_core(tool: Tool) -> bool:
    return tool.load_policy == "core"


def news(context: StepContext, said: LegConversation) -> ModelRequest:
    """What a model is told behind what was said: what its calls came to, and what else is new."""
    seen = since(context, said).observations
    answers, rest = _answers(said.calls, said.last.called, seen)
    inputs = context.inputs
    given = {
        n: v for n, v in inputs.items() if n not in said.last.inputs or said.last.inputs[n] != v
    }
    left = told_left(context)
    text = news_lines(rest, given, left if left != said.last.left else "")
    told = [UserPromptPart(text)] if text else []
    return ModelRequest(parts=[*answers, *told], instructions=said.instructions)


def since(context: StepContext, said: LegConversation) -> StepContext:
    """The step with what was seen since the last exchange alone, and no facts: those were told."""
    new = tuple(one for one in context.observations if one.step >= said.last.step)
    return context.model_copy(update={"observations": new, "facts": ()})


def told_left(context: StepContext) -> str:
    """What is left of the budget, as it is told; empty where there is none."""
    return "" if context.budget_left is None else str(context.budget_left)


def _answers(
    calls: Sequence[ToolCallPart], called: dict[str, str], seen: Sequence[Observation]
) -> tuple[list[ToolReturnPart], list[Observation]]:
    """What each call came to, for its answer, and what was seen beside."""
    left = list(seen)
    found: dict[int, Observation] = {}
    for is_same in (True, False):  # first those with the very arguments: people may amend some
        for at, call in enumerate(calls):
            one = next((o for o in left if _is_of(call, called, o, is_same=is_same)), None)
            if at not in found and one is not None:
                found[at] = one
                left.remove(one)
    parts = [
        ToolReturnPart(call.tool_name, _told(call, found.get(at)), call.tool_call_id)
        for at, call in enumerate(calls)
    ]
    return parts, left


def _told(call: ToolCallPart, seen: Observation | None) -> str:
    if seen is not None:
        return step_lines(seen)
    return _ANSWERED if call.tool_name == ASKED else _NOTHING


def _is_of(call: ToolCallPart, called: dict[str, str], seen: Observation, *, is_same: bool) -> bool:
    if seen.tool not in _names_of(call.tool_name, called):
        return False
    return not is_same or seen.arguments == call.args_as_dict()


def _names_of(tool_name: str, called: dict[str, str]) -> Iterable[str]:
    """What observations call that which a model called so."""
    ours = {DISCOVER: _SEARCH, ENDED: FINISH}
    return {tool_name, called.get(tool_name, tool_name), ours.get(tool_name, tool_name)}
