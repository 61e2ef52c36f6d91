"""Splitting a goal by a model: one answer is one plan, checked, and told what is wrong with it.

The model sees the goal, the agents and the names of their tools; it calls nothing. What it gives is
a plan like any other planner's, and held to more: it serves every word of the goal.
"""

import functools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError
from pydantic_ai import exceptions
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
from orchestrator.core.budget import Usage
from orchestrator.core.errors import ModelRefused, PlanInvalid
from orchestrator.core.model_errors import AnswerUnusable
from orchestrator.core.pii import as_written
from orchestrator.core.plan_origin import PlanOrigin
from orchestrator.planning.llm.model_asking import ask, request_settings
from orchestrator.planning.llm.model_names import why_unusable
from orchestrator.planning.llm.model_step import complaint
from orchestrator.planning.llm.plan_draft import (
    PLAN_TOLD,
    PLAN_TOOL,
    DraftPlan,
    draft_parameters,
    offered,
)
from orchestrator.planning.llm.prompt import catalog_row, catalog_section, section
from orchestrator.planning.llm.tool_output import as_line, of_provider
from orchestrator.planning.models import AgentProfile, GoalBrief, MissionPlan
from orchestrator.planning.plan_findings import findings_of_orders, findings_of_words
from orchestrator.planning.planner import check_plan
from orchestrator.planning.trimming import cut_text

RULES: Final = (
    "You split a goal into legs: parts that one agent each carries out with its tools, later and "
    "step by step. Call plan_mission once. Every word of the goal that asks for something is "
    "quoted, word for word, by the leg that does it. A leg's goal says all that it quotes and all "
    "values it needs (where, when, for how many); it says no value that the goal does not: what is "
    "missing is looked up or asked by the leg. A leg needs another one only when it cannot begin "
    "without what that one finds or makes. Do what the goal asks, and nothing beside it. As few "
    "legs as there are separate deeds, none for what another leg looks up on its way."
)
MOST_CORRECTIONS: Final = 2
_CATALOG_TOKENS: Final = 6_000
_LONGEST_TOLD: Final = 300
_LONGEST_FINDING: Final = 400


Account = Callable[[MissionPlan, GoalBrief, Catalog], MissionPlan]
"""The plan with what the engine itself reads of its goal, whoever made the plan."""


@dataclass(frozen=True)
class ModelTry:
    """What came of asking a model for a plan: the plan, or why there is none."""

    plan: MissionPlan | None
    origin: PlanOrigin


class ModelSplitter:
    """Splits goals by asking a model."""

    def __init__(
        self,
        account: Account,
        models: Callable[[str], Model] = infer_model,
        settings: ModelSettings | None = None,
    ) -> None:
        """Take what reads what a goal orders and which leg takes it up.

        Args:
            account: reads that.
            models: a model by its name.
            settings: what goes along with each request, as `request_settings` makes it.
        """
        self._settings = settings or request_settings()
        self._account = account
        self._models = functools.lru_cache(maxsize=16)(models)

    async def split(
        self, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile], model: str
    ) -> ModelTry:
        """The plan of a model, corrected at most twice.

        Raises:
            ModelUnavailable: the model did not answer; a later attempt may meet it.
            ModelRefused: the provider does not serve the request, or is not set up here.
        """
        judge = PlanJudge(brief, catalog, agents, self._account)
        messages: list[ModelMessage] = [_request(brief, catalog, agents)]
        usage, refused = Usage(), list[tuple[str, ...]]()
        while True:
            answer, more = await self._answer(model, messages)
            usage = usage.plus(more)
            plan, findings = judge.judged(answer)
            if plan is not None:
                made = _origin("model", model, usage, refused)
                return ModelTry(plan.model_copy(update={"made_by": made}), made)
            refused.append(tuple(cut_text(one, _LONGEST_FINDING) for one in findings))
            why = _why_not_again(model, refused, usage, brief)
            if why:
                origin = _origin("", model, usage, refused)
                return ModelTry(None, origin.model_copy(update={"fallback": why}))
            if answer is not None:
                messages += [answer, complaint(answer, "; ".join(refused[-1]))]

    async def _answer(
        self, name: str, messages: Sequence[ModelMessage]
    ) -> tuple[ModelResponse | None, Usage]:
        """An answer, and what it took; None: it was held back or cut."""
        try:
            return await ask(
                self._model(name), messages, _parameters(), name=name, settings=self._settings
            )
        except AnswerUnusable as error:
            return None, error.usage

    def _model(self, name: str) -> Model:
        try:
            return self._models(name)
        except (exceptions.UserError, ImportError) as error:
            reason = why_unusable(name, error)
            raise ModelRefused(name, f"it cannot be used here: {reason}") from error

    def holds(self, plan: MissionPlan, brief: GoalBrief, catalog: Catalog) -> bool:
        """Whether a plan that no model made leaves nothing of its goal undone or in doubt."""
        whole = self._account(plan, brief, catalog)
        return not (findings_of_orders(whole, catalog) or whole.doubts)


@dataclass(frozen=True)
class PlanJudge:
    """Holds the answers of a model to the goal, the catalog and the agents."""

    brief: GoalBrief
    catalog: Catalog
    agents: Sequence[AgentProfile]
    account: Account

    def judged(self, answer: ModelResponse | None) -> tuple[MissionPlan | None, tuple[str, ...]]:
        """The plan that an answer gives; or what is wrong with it."""
        if answer is None:
            return None, ("the answer was held back or cut; give fewer words",)
        calls = [part for part in answer.parts if isinstance(part, ToolCallPart)]
        draft, findings = self.read(calls)
        return self.plan(draft) if draft is not None else (None, findings)

    def read(self, calls: Sequence[ToolCallPart]) -> tuple[DraftPlan | None, tuple[str, ...]]:
        """The plan that an answer gives; or what is wrong with the answer."""
        if len(calls) != 1 or calls[0].tool_name != PLAN_TOOL:
            return None, (f"call {PLAN_TOOL}, once, and nothing else",)
        try:
            return DraftPlan.model_validate(calls[0].args_as_dict(raise_if_invalid=True)), ()
        except ValidationError as error:
            return None, tuple(
                f"{'.'.join(map(str, one['loc']))}: {one['msg']}"
                for one in error.errors(include_url=False, include_input=False)[:5]
            )
        except (ValueError, AssertionError):
            return None, (f"the arguments of {PLAN_TOOL} are not a JSON object",)

    def plan(self, draft: DraftPlan) -> tuple[MissionPlan | None, tuple[str, ...]]:
        """The plan of a draft; or what is wrong with it."""
        try:
            plan = MissionPlan(legs=draft.legs_of(self.agents, self.catalog))
            check_plan(plan)
        except (ValueError, PlanInvalid) as error:
            return None, (str(error),)
        inputs = as_written(self.brief.inputs)
        found = findings_of_words(
            plan.legs, draft.asides, self.brief.goal, inputs, now=self.brief.now
        )
        if found:
            return None, found
        whole = self.account(plan, self.brief, self.catalog)
        found = findings_of_orders(whole, self.catalog)
        return (None, found) if found else (plan, ())


def _why_not_again(
    model: str, refused: Sequence[tuple[str, ...]], usage: Usage, brief: GoalBrief
) -> str:
    """Why the model is not told what is wrong once more; empty: it is."""
    if len(refused) > MOST_CORRECTIONS:
        return f"the plan of {model} did not hold after {MOST_CORRECTIONS} corrections"
    if brief.allowance is not None and brief.allowance.is_spent_by(usage):
        return f"the plan of {model} did not hold, and the mission's limits let nobody correct it"
    return ""


def _origin(
    planner: str, model: str, usage: Usage, refused: Sequence[tuple[str, ...]]
) -> PlanOrigin:
    told = {"planner": planner, "model": model, "usage": usage, "corrected": tuple(refused)}
    return PlanOrigin.model_validate(told)


def _parameters() -> ModelRequestParameters:
    tool = ToolDefinition(
        name=PLAN_TOOL, description=PLAN_TOLD, parameters_json_schema=draft_parameters()
    )
    return ModelRequestParameters(function_tools=[tool], allow_text_output=False)


def _request(brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile]) -> ModelRequest:
    """The stable part first: rules, agents, tools; then the goal."""
    rows = map(catalog_row, catalog.tools.values())
    told = (
        RULES,
        section("# Agents", [*map(_agent_line, offered(agents, catalog).values())]),
        catalog_section(rows, most_tokens=_CATALOG_TOKENS),
    )
    goal = [
        f"# Goal\n{brief.goal}",
        f"Now: {brief.now.isoformat(timespec='minutes')}",
    ]
    tried = [
        of_provider("an earlier plan", as_line(told, _LONGEST_TOLD)) for told in brief.failed_before
    ]
    if tried:
        goal += ["Tried before, in vain; plan it otherwise, or as it was if nothing else is there:"]
        goal += tried
    if brief.inputs:
        goal.append(f"Given: {json.dumps(as_written(brief.inputs), ensure_ascii=False)}")
    return ModelRequest(
        parts=[UserPromptPart("\n".join(goal))],
        instructions="\n\n".join(part for part in told if part),
    )


def _agent_line(agent: AgentProfile) -> str:
    """An agent as a model reads it: what it may use, and what it is told."""
    wall = agent.wall
    able = [*agent.domains, *agent.tools]
    may = "any tool" if wall.is_open else f"only {', '.join(able)}"
    first = f", first those of {', '.join(agent.prefers)}" if agent.prefers else ""
    told = cut_text(" ".join(agent.instructions.split()), _LONGEST_TOLD)
    return f"- {agent.name}: uses {may}{first}{'. ' + told if told else ''}"
