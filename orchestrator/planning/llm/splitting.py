"""Splits a goal by a model: one answer is one plan, checked, and corrected if invalid.

The model sees the goal, the agents and the tools that change something; it calls nothing. This
module does not interpret the words of a goal: the plan quotes them, and shows the words that it
leaves out.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.budget import Usage
from orchestrator.core.errors import ModelRefused, PlanInvalid
from orchestrator.core.pii import as_written
from orchestrator.core.plan_origin import PlanOrigin
from orchestrator.planning.llm.model_asking import CAUSES, Models
from orchestrator.planning.llm.model_step import complaint
from orchestrator.planning.llm.plan_draft import (
    PLAN_TOOL,
    DraftPlan,
    DraftReading,
    DraftRefused,
    agent_names,
    draft_parameters,
)
from orchestrator.planning.llm.prompt import domain_label, section
from orchestrator.planning.metering import AnswerUnusable
from orchestrator.planning.models import AgentProfile, GoalBrief, MissionPlan
from orchestrator.planning.planner import check_plan
from orchestrator.planning.trimming import cut_text, estimate_tokens
from orchestrator.planning.walls import is_inside

RULES: Final = (
    "You split a goal into legs; an agent carries out each of them later, step by step. Call "
    f"{PLAN_TOOL} once.\n"
    "quotes: words of the goal as they stand, in its language. The legs together quote every word "
    "that asks for something; asides quote the rest. No two legs quote the same request.\n"
    "goal: in English, only where the quotes are not, or do not say all; no value that the goal "
    "does not state.\n"
    "orders: only what the goal asks to book, send, pay or change, each by a tool listed here. A "
    "question orders nothing: leave them out. count: how many effects, 1 if left out. each: the "
    "goal's words for a list that is read first, where there is one effect for each thing of it. "
    "when: the goal's words that an order depends on; its leg checks them itself.\n"
    "agent: the one whose tools it uses.\n"
    "needs: numbers of the legs, from 1, without whose result this one cannot begin.\n"
    "As few legs as there are separate requests: what is looked up on the way is no leg. Do what "
    "the goal asks and nothing else.\n"
    'For the goal "What is open? Cancel order 7.", legs: '
    '[{"quotes": ["What is open?"], "agent": ...}, '
    '{"quotes": ["Cancel order 7."], "orders": [{"tool": ...}], "agent": ...}]'
)
TOOLS_TITLE: Final = "# Tools for orders (those that only look something up need none)"
PLAN_DESCRIPTION: Final = "The legs of the mission."
MOST_CORRECTIONS: Final = 2
_MOST_TOOL_TOKENS: Final = 500
"""Maximum tokens for the names of tools, by `estimate_tokens`."""
_LONGEST_LINE: Final = 300
_LONGEST_FINDING: Final = 1_200

Ranking = Callable[[str, Catalog], Sequence[str]]
"""Returns names of tools for a goal, likeliest first, to select those that a model is shown."""


class ModelSplitter:
    """Splits goals by asking a model."""

    def __init__(
        self,
        models: Callable[[str], Model] = infer_model,
        settings: ModelSettings | None = None,
        ranking: Ranking | None = None,
    ) -> None:
        """Take the source of models.

        Args:
            models: returns a model by its name.
            settings: sent with each request, from `request_settings`.
            ranking: selects the tools of a large catalog to show; None: the first ones.
        """
        self._models = Models(models, settings)
        self._ranking = ranking

    async def split(
        self, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile], model: str
    ) -> MissionPlan | PlanOrigin:
        """Return a model's plan, corrected at most twice, or why there is none.

        Text of the goal that no leg quotes costs one correction; afterwards the plan shows it.

        Raises:
            ModelUnavailable: the model did not answer; a later attempt may reach it.
            ModelRefused: the provider does not serve the request, or is not set up here; or the
                model, or a content filter, withheld its first answer.
        """
        messages: list[ModelMessage] = [split_request(brief, catalog, agents, self._ranking)]
        parameters = split_parameters(catalog, agents)
        origin = PlanOrigin(model=model)
        incomplete: MissionPlan | None = None
        while True:
            answer, usage = await self._answer(model, messages, parameters)
            origin = origin.model_copy(update={"usage": origin.usage.plus(usage)})
            read = read_answer(answer, brief, catalog, agents)
            if read.plan is not None and (incomplete is not None or not read.findings):
                return _made(read.plan, origin)
            if incomplete is not None:
                return _made(incomplete, origin)
            incomplete = read.plan
            findings = tuple(cut_text(one, _LONGEST_FINDING) for one in read.findings)
            origin = origin.model_copy(update={"corrected": (*origin.corrected, findings)})
            if why := _why_not_again(origin, brief):
                fallen = origin.model_copy(update={"fallback": why})
                return fallen if incomplete is None else _made(incomplete, origin)
            if answer is not None:
                messages += [answer, complaint(answer, "; ".join(findings))]

    async def _answer(
        self, model: str, messages: Sequence[ModelMessage], parameters: ModelRequestParameters
    ) -> tuple[ModelResponse | None, Usage]:
        """Return an answer and its usage; None: the provider withheld or cut the answer."""
        is_first = len(messages) == 1
        try:
            answer, usage = await self._models.ask(model, messages, parameters)
        except AnswerUnusable as error:
            if error.is_withheld and is_first:
                raise ModelRefused(model, str(error)) from error
            return None, error.usage
        if answer.finish_reason == "content_filter" and is_first and not answer.tool_calls:
            raise ModelRefused(model, CAUSES["content_filter"])
        return answer, usage


@dataclass(frozen=True)
class ReadAnswer:
    """The plan in an answer, and its defects.

    A plan with findings can run, but omits words of its goal.
    """

    plan: MissionPlan | None
    findings: tuple[str, ...] = ()


def read_answer(
    answer: ModelResponse | None, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile]
) -> ReadAnswer:
    """Return the plan in a model's answer."""
    if answer is None:
        return ReadAnswer(None, ("the answer was held back or cut; give fewer words",))
    calls = [part for part in answer.parts if isinstance(part, ToolCallPart)]
    if len(calls) != 1 or calls[0].tool_name != PLAN_TOOL:
        return ReadAnswer(None, (f"call {PLAN_TOOL}, once, and nothing else",))
    try:
        draft = DraftPlan.model_validate(calls[0].args_as_dict(raise_if_invalid=True))
        reading = DraftReading(draft, brief.goal, _context_of(brief), catalog, agents)
        plan = MissionPlan(legs=reading.legs())
        check_plan(plan)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)[:5]
        places = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in faults)
        return ReadAnswer(None, tuple(places))
    except DraftRefused as refused:
        return ReadAnswer(None, refused.findings)
    except PlanInvalid as error:
        return ReadAnswer(None, (str(error),))
    except (ValueError, AssertionError):
        return ReadAnswer(None, (f"the arguments of {PLAN_TOOL} are not a JSON object",))
    uncovered = reading.uncovered(plan.legs)
    found = [f"{quote!r} is not in the goal word for word" for quote in reading.misquoted]
    found += [
        f"no leg serves {text!r}: quote it in the leg that does it, or under asides"
        for text in uncovered
    ]
    plan = plan.model_copy(update={"uncovered": uncovered})
    return ReadAnswer(plan, tuple(found) if uncovered else ())


def split_request(
    brief: GoalBrief,
    catalog: Catalog,
    agents: Sequence[AgentProfile],
    ranking: Ranking | None = None,
) -> ModelRequest:
    """Return the request for a plan, stable part first: rules, agents, tools; then the goal."""
    parts = (
        RULES,
        section("# Agents", map(_agent_line, agents)),
        section(TOOLS_TITLE, _tool_lines(brief, catalog, agents, ranking)),
    )
    context = f"# Context, no part of the goal\n{_context_of(brief)}"
    return ModelRequest(
        parts=[UserPromptPart(f"# Goal\n{brief.goal}\n\n{context}")],
        instructions="\n\n".join(part for part in parts if part),
    )


def split_parameters(catalog: Catalog, agents: Sequence[AgentProfile]) -> ModelRequestParameters:
    """Return the only tool of a split, which every answer must call."""
    tool = ToolDefinition(
        name=PLAN_TOOL,
        description=PLAN_DESCRIPTION,
        parameters_json_schema=draft_parameters(agent_names(agents, catalog)),
    )
    return ModelRequestParameters(function_tools=[tool], allow_text_output=False)


def _context_of(brief: GoalBrief) -> str:
    lines = [f"Now: {brief.now.isoformat(timespec='minutes')}"]
    if brief.inputs:
        lines.append(f"Given: {json.dumps(as_written(brief.inputs), ensure_ascii=False)}")
    return "\n".join(lines)


def _tool_lines(
    brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile], ranking: Ranking | None
) -> list[str]:
    """Return the tools that change something, by domain; of many, the likeliest."""
    if brief.read_only:
        return ["none: the mission may change nothing"]
    walls = [agent.wall for agent in agents]
    changing = {
        tool.name: tool
        for tool in catalog.tools.values()
        if tool.is_side_effect and (not walls or any(is_inside(tool, (w,)) for w in walls))
    }
    lines = [*_by_domain([*changing.values()])]
    if estimate_tokens("\n".join(lines)) <= _MOST_TOOL_TOKENS:
        return lines
    names = [*(ranking(brief.goal, catalog) if ranking is not None else ()), *changing]
    ranked = [changing[name] for name in dict.fromkeys(names) if name in changing]
    shown: list[Tool] = []
    left = float(_MOST_TOOL_TOKENS)
    for tool in ranked:
        left -= estimate_tokens(f"{tool.name}, ")
        if left < 0:
            break
        shown.append(tool)
    return [*_by_domain(shown), f"and {len(ranked) - len(shown)} others"]


def _by_domain(tools: Sequence[Tool]) -> Iterator[str]:
    named: defaultdict[str, list[str]] = defaultdict(list)
    for tool in tools:
        named[tool.domain].append(tool.name)
    for domain, names in sorted(named.items()):
        yield f"{domain_label(domain)}: {', '.join(sorted(names))}"


def _agent_line(agent: AgentProfile) -> str:
    """Return an agent as a model sees it: its allowed tools and its instructions."""
    able = [*agent.domains, *agent.tools]
    may = "any tool" if agent.wall.is_open else f"only {', '.join(able)}"
    first = f", first those of {', '.join(agent.prefers)}" if agent.prefers else ""
    about = cut_text(" ".join(agent.instructions.split()), _LONGEST_LINE)
    return f"- {agent.name}: uses {may}{first}{'. ' + about if about else ''}"


def _why_not_again(origin: PlanOrigin, brief: GoalBrief) -> str:
    """Return why the model is not asked for a correction; empty: it is."""
    did_not = f"the plan of {origin.model} did not hold"
    if len(origin.corrected) > MOST_CORRECTIONS:
        return f"{did_not} after {MOST_CORRECTIONS} corrections"
    if brief.allowance is not None and brief.allowance.is_spent_by(origin.usage):
        return f"{did_not}, and the mission's limits let nobody correct it"
    return ""


def _made(plan: MissionPlan, origin: PlanOrigin) -> MissionPlan:
    return plan.model_copy(update={"made_by": origin.model_copy(update={"planner": "model"})})
