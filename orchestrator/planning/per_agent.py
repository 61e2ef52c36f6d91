"""Each leg goes to the planner its agent names: over a model, by rules, or the user's own.

A profile decides first, then the mission, then the worker: which provider sees what its agent
handles is the decision of whoever runs the worker, and no mission's.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Final, Protocol

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import (
    LanguageUnread,
    ModelRefused,
    ModelUnavailable,
    ModelUnusable,
    NothingFits,
    PlanInvalid,
    RequestUnread,
    UsageError,
)
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
    """Take every model for one that can be asked."""


class Splitter(Protocol):
    """Splits goals by a model."""

    async def split(
        self, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile], model: str
    ) -> MissionPlan | PlanOrigin:
        """Return the plan that a model gives for a goal, or why it gives none.

        Raises:
            ModelUnavailable, ModelRefused: it does not answer.
        """
        ...


class PerAgentPlanner:
    """Asks a model for the legs whose agent has one, or all when a default is set.

    An agent may have a planner of its own: of those that were loaded when the worker began,
    and of no others, for a leg brings the name of one from outside.

    A goal is split by a model where one is set, else by rules. Rules never split for a model: where
    its plan does not hold, or nothing is to be split, one agent has the whole goal, as one leg
    without orders.
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
        """Take both planners; the one over models is made when the first leg needs it.

        Args:
            by_rules: plans without a model, and splits goals.
            over_model: gives the planner over models.
            default_model: plans for agents of which neither profile nor mission says who does.
            own: planners of the user's own, by the names that profiles give them.
            check_model: raises UsageError for one that cannot be asked from here; of None, where
                none is named.
            splitter: splits goals by a model; None: a goal for models is one leg.
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
            UsageError: nobody here can decide the steps of a leg as its agent or its mission says.
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
            made = await _first_answer(self._splitter(), brief, catalog, agents, models)
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
        """Return a model's plan whose legs for rules say the goal's own words."""
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
        except (LanguageUnread, NothingFits, RequestUnread):
            agent = self._whole_goal_to(agents, brief)
            if agent is None:
                raise
            return _one_leg(brief, agent, PlanOrigin())
        return plan.model_copy(update={"made_by": PlanOrigin(planner="rules")})

    def _splitting_models(
        self, brief: GoalBrief, agents: Sequence[AgentProfile]
    ) -> tuple[str, ...]:
        """Return the models that may split a goal, in the order in which they are asked.

        There are none where the mission is to go by rules, and where all its agents do.
        """
        able = [chosen(agent, brief) for agent in agents or (_GENERALIST,)]
        if brief.planner == CHAINING or not any(map(self._finds_alone, able)):
            return ()
        asking = next((agent for agent in able if asks_model(agent, self._default)), _GENERALIST)
        first = brief.model or self._default or asking.model
        return tuple(dict.fromkeys(one for one in (first, *asking.fallback) if one))

    def splits_by_rules(self, agents: Sequence[AgentProfile]) -> bool:
        """Return whether no agent has a model, so that none is asked to split a goal either."""
        return not any(asks_model(agent, self._default) for agent in agents) and not self._default

    async def plan_step(
        self, context: StepContext, selection: Selection, catalog: Catalog
    ) -> PlannedStep:
        """Return the next step of one leg, as the planner of its agent decides it."""
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
        """Return why a model cannot be asked from here; empty when it can be."""
        try:
            self._check_model(name)
        except ModelUnusable as error:
            return error.reason
        except UsageError as error:
            return str(error)
        return ""

    def _own_planner(self, agent: AgentProfile) -> StepPlanner:
        """Return the planner of its own that an agent names.

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
        """Return the agent with a model to which a whole goal can be given; None: there is none.

        It is one that may touch every tool, or the only one there is. None is made up where
        profiles have walls that it would pass, and none is chosen among several of them: nobody
        knows which tools the goal needs.
        """
        able = [chosen(agent, brief) for agent in agents or (_GENERALIST,)]
        free = [agent for agent in able if agent.wall.is_open]
        if not free and len(able) > 1:
            return None
        return next(filter(self._finds_alone, free or able), None)

    def _finds_alone(self, agent: AgentProfile) -> bool:
        """Return whether its planner can find tools that the words of a goal do not name."""
        return asks_model(agent, self._default) or agent.planner not in (None, CHAINING)


def chosen(agent: AgentProfile, brief: GoalBrief) -> AgentProfile:
    """Return the agent as it handles legs of this mission, which says what its profile does not."""
    if agent.planner not in (None, LLM) or agent.model is not None:
        return agent
    planner = agent.planner or brief.planner
    model = None if planner == CHAINING else brief.model
    return agent.model_copy(update={"planner": planner, "model": model})


def with_choice(plan: MissionPlan, brief: GoalBrief) -> MissionPlan:
    """Return the plan with what the mission says of who decides in the profiles of its legs."""
    legs = tuple(leg.model_copy(update={"agent": chosen(leg.agent, brief)}) for leg in plan.legs)
    return plan.model_copy(update={"legs": legs})


def asks_model(agent: AgentProfile, default_model: str | None) -> bool:
    """Return whether a model decides the steps of this agent, with this default of the worker."""
    if agent.planner is not None:
        return agent.planner == LLM
    return (agent.model or default_model) is not None


def who_decides(agent: AgentProfile, default_model: str | None = None) -> str:
    """Return who decides the steps of this agent, as a person reads it; empty: nothing names it.

    Args:
        agent: as it handles legs of a mission.
        default_model: of the worker, where it is known.
    """
    if asks_model(agent, default_model):
        return agent.model or default_model or "a model"
    return RULES if agent.planner == CHAINING else agent.planner or ""


def own_planners(agents: Iterable[AgentProfile]) -> tuple[str, ...]:
    """Return the planners of a user's own that these agents name, each once."""
    named = (agent.planner for agent in agents)
    return tuple(dict.fromkeys(one for one in named if one not in (None, CHAINING, LLM)))


def _one_leg(brief: GoalBrief, agent: AgentProfile, origin: PlanOrigin) -> MissionPlan:
    """Return the plan that gives the whole goal to one agent."""
    leg = LegPlan(leg_id="1-whole", goal=brief.goal, agent=agent)
    return MissionPlan(legs=(leg,), made_by=origin.model_copy(update={"planner": "one leg"}))


async def _first_answer(
    splitter: Splitter,
    brief: GoalBrief,
    catalog: Catalog,
    agents: Sequence[AgentProfile],
    models: Sequence[str],
) -> MissionPlan | PlanOrigin:
    """Return what the first of these models that answers makes of a goal.

    Raises:
        ModelUnavailable, ModelRefused: of the last one, where none does.
    """
    *others, last = models
    for model in others:
        with suppress(ModelUnavailable, ModelRefused):
            return await splitter.split(brief, catalog, agents, model)
    return await splitter.split(brief, catalog, agents, last)
