"""Each leg goes to the planner its agent names: over a model, by rules, or the user's own."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Final, Protocol

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.budget import Usage
from orchestrator.core.errors import (
    LanguageUnread,
    ModelRefused,
    ModelUnavailable,
    NothingFits,
    PlanError,
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
    StepDecision,
)
from orchestrator.planning.planner import (
    MeteredPlanner,
    ModelChooser,
    PlannedStep,
    Planner,
    StepPlanner,
    as_planned,
)
from orchestrator.planning.who_plans import asks_model, chosen, who_decides, with_choice
from orchestrator.routing.selection import Selection

_GENERALIST: Final = "generalist"
LegPlanner = StepPlanner | MeteredPlanner
_NONE: Final[Mapping[str, LegPlanner]] = MappingProxyType({})


def _any_model(name: str | None) -> None:
    """Take every model for one that can be asked."""


class Tried(Protocol):
    """What came of asking a model for a plan: the plan, or why there is none."""

    @property
    def plan(self) -> MissionPlan | None:
        """The plan, checked."""
        ...

    @property
    def origin(self) -> PlanOrigin:
        """What was asked, and what was wrong with the answers."""
        ...


class Splitter(Protocol):
    """Splits goals by a model, and tells whether another plan holds as well."""

    async def split(
        self, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile], model: str
    ) -> Tried:
        """What came of asking a model for the plan of a goal."""
        ...

    def holds(self, plan: MissionPlan, brief: GoalBrief, catalog: Catalog) -> bool:
        """Whether a plan leaves nothing of its goal undone or in doubt."""
        ...


class PerAgentPlanner:
    """Asks a model for the legs whose agent has one, or all when a default is set.

    An agent may have a planner of its own: of those that were loaded when the worker began,
    and of no others, for a leg brings the name of one from outside.

    Goals are split by rules, or by a model where there is a splitter and a model for every leg; by
    rules again where the model's plan does not hold. One that cannot be split so is one leg, where
    a model is set: it may find what the words of the goal do not name.
    """

    def __init__(
        self,
        by_rules: Planner,
        over_model: Callable[[], MeteredPlanner],
        *,
        default_model: str | None = None,
        own: Mapping[str, LegPlanner] = _NONE,
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
            splitter: splits goals by a model; None: the rules do.
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
        """The legs of a mission.

        Raises:
            UsageError: nobody here can decide the steps of a leg as its agent or its mission says.
        """
        plan = with_choice(await self._split(brief, catalog, agents), brief)
        for leg in plan.legs:
            self._check(leg.agent)
        legs = tuple(
            leg.model_copy(update={"planned_by": who_decides(leg.agent, self._default) or RULES})
            for leg in plan.legs
        )
        return plan.model_copy(update={"legs": legs})

    async def _split(
        self, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile]
    ) -> MissionPlan:
        models = self._splitting_models(brief, agents)
        if self._splitter is None or not models:
            return await self._without_model(brief, catalog, agents)
        splitter, made = self._splitter(), PlanOrigin(model=models[0], fallback=brief.model_away)
        if not brief.model_away:
            tried = await _first_answer(splitter, brief, catalog, agents, models)
            if tried.plan is not None:
                return tried.plan
            made = tried.origin
        plan = await self._without_model(brief, catalog, agents)
        agent = self._whole_goal_to(agents, brief)
        if agent is not None and not splitter.holds(plan, brief, catalog):
            plan = _one_leg(brief, agent)
        made = made.model_copy(update={"planner": plan.made_by.planner})
        return plan.model_copy(update={"made_by": made})

    async def _by_rules_or_none(
        self, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile]
    ) -> MissionPlan | None:
        try:
            plan = await self._by_rules.split_goal(brief, catalog, agents)
        except PlanError:
            return None
        return plan.model_copy(update={"made_by": PlanOrigin(planner="rules")})

    async def _without_model(
        self, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile]
    ) -> MissionPlan:
        try:
            plan = await self._by_rules.split_goal(brief, catalog, agents)
        except (LanguageUnread, NothingFits, RequestUnread):
            agent = self._whole_goal_to(agents, brief)
            if agent is None:
                raise
            return _one_leg(brief, agent)
        return plan.model_copy(update={"made_by": PlanOrigin(planner="rules")})

    def _splitting_models(
        self, brief: GoalBrief, agents: Sequence[AgentProfile]
    ) -> tuple[str, ...]:
        """The models that may split a goal, in the order in which they are asked.

        There are none unless a model decides the steps of every leg: where some legs go by rules,
        their goals have to be in the user's own words.
        """
        able = [chosen(agent, brief) for agent in agents or (AgentProfile(name=_GENERALIST),)]
        if not all(asks_model(agent, self._default) for agent in able):
            return ()
        first = brief.model or self._default or able[0].model
        return tuple(dict.fromkeys(one for one in (first, *able[0].fallback) if one))

    def splits_by_rules(self, agents: Sequence[AgentProfile]) -> bool:
        """Whether no agent has a model, so that none is asked to split a goal either."""
        return not any(asks_model(agent, self._default) for agent in agents) and not self._default

    def _whole_goal_to(
        self, agents: Sequence[AgentProfile], brief: GoalBrief
    ) -> AgentProfile | None:
        return self._generalist([chosen(agent, brief) for agent in agents], brief)

    def _check(self, agent: AgentProfile) -> None:
        """Refuse a leg whose steps nobody here could decide, before anything is begun."""
        if asks_model(agent, self._default):
            self._check_model(agent.model)
        elif agent.planner not in (None, CHAINING):
            self._own_planner(agent)

    async def plan_step(
        self, context: StepContext, selection: Selection, catalog: Catalog
    ) -> StepDecision:
        """The next step of one leg."""
        return as_planned(await self.plan_metered(context, selection, catalog)).decision

    async def plan_metered(
        self, context: StepContext, selection: Selection, catalog: Catalog
    ) -> PlannedStep | tuple[StepDecision, Usage | None]:
        """The next step of one leg, and what deciding it took."""
        agent = context.agent
        if asks_model(agent, self._default):
            return await self._over_model().plan_metered(context, selection, catalog)
        if agent.planner in (None, CHAINING):
            return await self._by_rules.plan_step(context, selection, catalog), None
        planner = self._own_planner(agent)
        if isinstance(planner, MeteredPlanner):
            return await planner.plan_metered(context, selection, catalog)
        return await planner.plan_step(context, selection, catalog), None

    def model_problem(self, name: str) -> str:
        """Why a model cannot be asked from here; empty when it can be."""
        try:
            planner = self._over_model()
        except UsageError as error:
            return str(error)
        told = "the planner of this worker takes no model by its name"
        return planner.model_problem(name) if isinstance(planner, ModelChooser) else told

    def _own_planner(self, agent: AgentProfile) -> LegPlanner:
        """The planner of its own that an agent names.

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

    def _generalist(self, agents: Sequence[AgentProfile], brief: GoalBrief) -> AgentProfile | None:
        """The agent with a model to which a whole goal can be given; None when there is none.

        One that may touch every tool, or the only one there is. None is made up beside profiles
        whose walls it would pass, and none is chosen among several of them: nobody knows which
        tools the goal needs.
        """
        if not agents:
            made_up = chosen(AgentProfile(name=_GENERALIST), brief)
            return made_up if self._finds_alone(made_up) else None
        free = [agent for agent in agents if agent.wall.is_open]
        able = (agent for agent in free or agents if self._finds_alone(agent))
        return next(able, None) if free or len(agents) == 1 else None

    def _finds_alone(self, agent: AgentProfile) -> bool:
        """Whether what decides its steps can find tools that the words of a goal do not name."""
        return asks_model(agent, self._default) or agent.planner not in (None, CHAINING)


def _one_leg(brief: GoalBrief, agent: AgentProfile) -> MissionPlan:
    """The whole goal for one agent."""
    leg = LegPlan(leg_id="1-whole", goal=brief.goal, agent=agent)
    return MissionPlan(legs=(leg,), made_by=PlanOrigin(planner="one leg"))


async def _first_answer(
    splitter: Splitter,
    brief: GoalBrief,
    catalog: Catalog,
    agents: Sequence[AgentProfile],
    models: Sequence[str],
) -> Tried:
    """What came of the first of these models that answers at all.

    Raises:
        ModelUnavailable, ModelRefused: of the last one, where none does.
    """
    *others, last = models
    for model in others:
        with suppress(ModelUnavailable, ModelRefused):
            return await splitter.split(brief, catalog, agents, model)
    return await splitter.split(brief, catalog, agents, last)
