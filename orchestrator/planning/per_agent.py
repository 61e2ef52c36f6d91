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
    """Splits goals by a model."""

    async def split(
        self, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile], model: str
    ) -> Tried:
        """Return the plan that a model gives for a goal, or why it gives none."""
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
        if not models:
            return await self._by_rules_or_whole(brief, catalog, agents)
        made = PlanOrigin(model=models[0], fallback=brief.model_away)
        if self._splitter is not None and not brief.model_away:
            tried = await _first_answer(self._splitter(), brief, catalog, agents, models)
            if tried.plan is not None:
                return self._in_its_words(tried.plan, brief)
            made = tried.origin
        agent = self._whole_goal_to(agents, brief)
        if agent is None:
            why = made.fallback or "no goal is split here"
            raise PlanInvalid(
                f"{why}, and no agent may have the whole goal; give one agent every tool that it "
                "needs, or say the goal in fewer words"
            )
        made = made.model_copy(update={"planner": "one leg"})
        return _one_leg(brief, agent).model_copy(update={"made_by": made})

    def _in_its_words(self, plan: MissionPlan, brief: GoalBrief) -> MissionPlan:
        """Return a model's plan whose legs for rules say the goal's own words."""
        legs = (
            leg
            if self._finds_alone(chosen(leg.agent, brief)) or not leg.serves
            else leg.model_copy(update={"goal": " ".join(" ".join(leg.serves).split())})
            for leg in plan.legs
        )
        return plan.model_copy(update={"legs": tuple(legs)})

    async def _by_rules_or_whole(
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
        """Return the models that may split a goal, in the order in which they are asked.

        There are none where the mission is to go by rules, and where all its agents do.
        """
        if brief.planner == CHAINING:
            return ()
        able = [chosen(agent, brief) for agent in agents or (AgentProfile(name=_GENERALIST),)]
        asking = [agent for agent in able if asks_model(agent, self._default)]
        if not any(self._finds_alone(agent) for agent in able):
            return ()
        fallback = asking[0].fallback if asking else ()
        own = asking[0].model if asking else None
        first = brief.model or self._default or own
        return tuple(dict.fromkeys(one for one in (first, *fallback) if one))

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
