"""Each leg goes to the planner that its agent names: over a model, by rules, or the user's own.

A profile decides first, then the mission, then the worker: the operator of the worker decides which
provider sees the data of its agents, and no mission does.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Final, Protocol

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import GoalUnread, ModelError, ModelUnusable, PlanInvalid, UsageError
from orchestrator.core.plan_origin import PlanOrigin
from orchestrator.planning.models import (
    CHAINING,
    LLM,
    RULES,
    AgentProfile,
    GoalBrief,
    LegPlan,
    MissionPlan,
    StepContext,
)
from orchestrator.planning.planner import PlannedStep, Planner, StepPlanner, as_planned
from orchestrator.routing.selection import Selection

_GENERALIST: Final = AgentProfile(name="generalist")
_NO_PLANNERS: Final[Mapping[str, StepPlanner]] = MappingProxyType({})


def _any_model(name: str | None) -> None:
    """Accept every model as one that can be asked."""


class Splitter(Protocol):
    """Splits goals with a model."""

    async def split(
        self, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile], model: str
    ) -> MissionPlan | PlanOrigin:
        """Return the plan that a model gives for a goal, or why it gives none.

        Raises:
            ModelError: the model does not answer.
        """
        ...


class PerAgentPlanner:
    """Asks a model for the legs whose agent has one, or for all if a default is set.

    An agent may have a user's own planner: only one of those that were loaded when the worker
    started, because a leg brings the name of its planner from outside.

    A goal is split by a model if one is set, else by rules. Rules never split for a model: if its
    plan is invalid, or nothing is to be split, one agent gets the whole goal, as one leg without
    orders.
    """

    def __init__(
        self,
        by_rules: Planner,
        over_model: Callable[[], StepPlanner],
        *,
        default_model: str | None = None,
        own: Mapping[str, StepPlanner] = _NO_PLANNERS,
        check_model: Callable[[str | None], None] = _any_model,
        splitter: Callable[[], Splitter] | None = None,
    ) -> None:
        """Store both planners; the one over models is created when the first leg needs it.

        Args:
            by_rules: plans without a model, and splits goals.
            over_model: returns the planner over models.
            default_model: plans for agents whose profile and mission name no planner.
            own: the user's own planners, by the names that profiles give them.
            check_model: raises UsageError for a model that this worker cannot ask; its argument is
                None if no model is named.
            splitter: splits goals with a model; None: a goal for models is one leg.
        """
        self._splitter = splitter
        self._by_rules = by_rules
        self._over_model = over_model
        self._default = default_model
        self._own = own
        self._check_model = check_model

    async def split_goal(
        self, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile]
    ) -> MissionPlan:
        """Return the legs of a mission, each with the agent that decides its steps.

        Raises:
            UsageError: this worker cannot use the planner or model of an agent or the mission.
        """
        plan = with_choice(await self._split(brief, catalog, agents), brief)
        for leg in plan.legs:
            if asks_model(leg.agent, self._default):
                self._check_model(leg.agent.model)
            elif leg.agent.planner not in (None, CHAINING):
                self._own_planner(leg.agent)
        legs = tuple(
            leg.model_copy(update={"planned_by": who_decides(leg.agent, self._default) or RULES})
            for leg in plan.legs
        )
        return plan.model_copy(update={"legs": legs})

    async def _split(
        self, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile]
    ) -> MissionPlan:
        models = self._splitting_models(brief, agents)
        if not models:
            return await self._split_by_rules(brief, catalog, agents)
        made: MissionPlan | PlanOrigin = PlanOrigin(model=models[0], fallback=brief.model_away)
        if self._splitter is not None and not brief.model_away:
            splitter, (*others, last) = self._splitter(), models
            for model in others:
                with suppress(ModelError):
                    made = await splitter.split(brief, catalog, agents, model)
                    break
            else:
                made = await splitter.split(brief, catalog, agents, last)
        if isinstance(made, MissionPlan):
            return self._in_its_words(made, brief)
        agent = self._whole_goal_to(agents, brief)
        if agent is None:
            raise PlanInvalid(
                f"{made.fallback or 'no goal is split here'}, and no agent may have the whole "
                "goal; give one agent every tool that it needs, or say the goal in fewer words"
            )
        return _one_leg(brief, agent, made)

    def _in_its_words(self, plan: MissionPlan, brief: GoalBrief) -> MissionPlan:
        """Return a model's plan in which legs for rules use the goal's own words."""
        legs = (
            leg
            if self._finds_alone(chosen(leg.agent, brief)) or not leg.serves
            else leg.model_copy(update={"goal": " ".join(" ".join(leg.serves).split())})
            for leg in plan.legs
        )
        return plan.model_copy(update={"legs": tuple(legs)})

    async def _split_by_rules(
        self, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile]
    ) -> MissionPlan:
        try:
            plan = await self._by_rules.split_goal(brief, catalog, agents)
        except GoalUnread:
            agent = self._whole_goal_to(agents, brief)
            if agent is None:
                raise
            return _one_leg(brief, agent, PlanOrigin())
        return plan.model_copy(update={"made_by": PlanOrigin(planner="rules")})

    def _splitting_models(
        self, brief: GoalBrief, agents: Sequence[AgentProfile]
    ) -> tuple[str, ...]:
        """Return the models that may split a goal, in the order in which they are asked.

        There are none if the mission or all its agents use rules.
        """
        able = [chosen(agent, brief) for agent in agents or (_GENERALIST,)]
        if brief.planner == CHAINING or not any(map(self._finds_alone, able)):
            return ()
        asking = next((agent for agent in able if asks_model(agent, self._default)), _GENERALIST)
        first = brief.model or self._default or asking.model
        return tuple(dict.fromkeys(one for one in (first, *asking.fallback) if one))

    def splits_by_rules(self, agents: Sequence[AgentProfile]) -> bool:
        """Return True if no agent has a model, so that no model splits a goal either."""
        return not any(asks_model(agent, self._default) for agent in agents) and not self._default

    async def plan_step(
        self, context: StepContext, selection: Selection, catalog: Catalog
    ) -> PlannedStep:
        """Return the next step of one leg, decided by the planner of its agent."""
        agent = context.agent
        planner: StepPlanner
        if asks_model(agent, self._default):
            planner = self._over_model()
        elif agent.planner in (None, CHAINING):
            planner = self._by_rules
        else:
            planner = self._own_planner(agent)
        return as_planned(await planner.plan_step(context, selection, catalog))

    def model_problem(self, name: str) -> str:
        """Return why this worker cannot ask a model; empty if it can."""
        try:
            self._check_model(name)
        except ModelUnusable as error:
            return error.reason
        except UsageError as error:
            return str(error)
        return ""

    def _own_planner(self, agent: AgentProfile) -> StepPlanner:
        """Return the user's own planner that an agent names.

        Raises:
            UsageError: this worker has none of that name.
        """
        planner = self._own.get(agent.planner or "")
        if planner is None:
            had = ", ".join([CHAINING, LLM, *self._own])
            raise UsageError(
                f"this worker has no planner {agent.planner!r} for the agent {agent.name}, only "
                f"{had}: name it in the file of ORCHESTRATOR_AGENTS that the worker reads"
            )
        return planner

    def _whole_goal_to(
        self, agents: Sequence[AgentProfile], brief: GoalBrief
    ) -> AgentProfile | None:
        """Return the agent with a model that can be given a whole goal; None if there is none.

        It is an agent that may use every tool, or the only agent there is. No agent is made up that
        would pass the walls of profiles, and none is chosen among several agents with walls: it is
        unknown which tools the goal needs.
        """
        able = [chosen(agent, brief) for agent in agents or (_GENERALIST,)]
        free = [agent for agent in able if agent.wall.is_open]
        if not free and len(able) > 1:
            return None
        return next(filter(self._finds_alone, free or able), None)

    def _finds_alone(self, agent: AgentProfile) -> bool:
        return asks_model(agent, self._default) or agent.planner not in (None, CHAINING)


def chosen(agent: AgentProfile, brief: GoalBrief) -> AgentProfile:
    """Return the agent for legs of this mission, which completes its profile."""
    if agent.planner not in (None, LLM) or agent.model is not None:
        return agent
    planner = agent.planner or brief.planner
    model = None if planner == CHAINING else brief.model
    return agent.model_copy(update={"planner": planner, "model": model})


def with_choice(plan: MissionPlan, brief: GoalBrief) -> MissionPlan:
    """Return the plan with the mission's choice of planner in the profiles of its legs."""
    legs = tuple(leg.model_copy(update={"agent": chosen(leg.agent, brief)}) for leg in plan.legs)
    return plan.model_copy(update={"legs": legs})


def asks_model(agent: AgentProfile, default_model: str | None) -> bool:
    """Return True if a model decides the steps of this agent, given this default of the worker."""
    if agent.planner is not None:
        return agent.planner == LLM
    return (agent.model or default_model) is not None


def who_decides(agent: AgentProfile, default_model: str | None = None) -> str:
    """Return who decides the steps of this agent, for people; empty if nothing names it.

    Args:
        agent: as it handles legs of a mission.
        default_model: of the worker, if it is known.
    """
    if asks_model(agent, default_model):
        return agent.model or default_model or "a model"
    return RULES if agent.planner == CHAINING else agent.planner or ""


def own_planners(agents: Iterable[AgentProfile]) -> tuple[str, ...]:
    """Return the user's own planners that these agents name, each once."""
    named = (agent.planner for agent in agents)
    return tuple(dict.fromkeys(one for one in named if one not in (None, CHAINING, LLM)))


def _one_leg(brief: GoalBrief, agent: AgentProfile, origin: PlanOrigin) -> MissionPlan:
    leg = LegPlan(leg_id="1-whole", goal=brief.goal, agent=agent)
    return MissionPlan(legs=(leg,), made_by=origin.model_copy(update={"planner": "one leg"}))
