"""Each leg goes to the planner its agent names: the one over a model, or the one by rules."""

from collections.abc import Callable, Sequence

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.budget import Usage
from orchestrator.core.errors import LanguageUnread, NothingFits, RequestUnread
from orchestrator.planning.models import (
    AgentProfile,
    GoalBrief,
    LegPlan,
    MissionPlan,
    StepContext,
    StepDecision,
)
from orchestrator.planning.planner import MeteredPlanner, Planner
from orchestrator.routing.selection import Selection


class PerAgentPlanner:
    """Asks a model for the legs whose agent has one, or all when a default is set.

    Goals are split by rules. One that cannot be is one leg, where a model is set: it may find what
    the words of the goal do not name.
    """

    def __init__(
        self,
        by_rules: Planner,
        over_model: Callable[[], MeteredPlanner],
        *,
        default_model: str | None = None,
    ) -> None:
        """Take both planners; the one over models is made when the first leg needs it."""
        self._by_rules = by_rules
        self._over_model = over_model
        self._default = default_model

    async def split_goal(
        self, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile]
    ) -> MissionPlan:
        """The legs of a mission."""
        try:
            return await self._by_rules.split_goal(brief, catalog, agents)
        except (LanguageUnread, NothingFits, RequestUnread):
            agent = self._generalist(agents)
            if agent is None:
                raise
            return MissionPlan(legs=(LegPlan(leg_id="1-whole", goal=brief.goal, agent=agent),))

    async def plan_step(
        self, context: StepContext, selection: Selection, catalog: Catalog
    ) -> StepDecision:
        """The next step of one leg."""
        decision, _ = await self.plan_metered(context, selection, catalog)
        return decision

    async def plan_metered(
        self, context: StepContext, selection: Selection, catalog: Catalog
    ) -> tuple[StepDecision, Usage | None]:
        """The next step of one leg, and what deciding it took."""
        if context.agent.model or self._default:
            return await self._over_model().plan_metered(context, selection, catalog)
        return await self._by_rules.plan_step(context, selection, catalog), None

    def _generalist(self, agents: Sequence[AgentProfile]) -> AgentProfile | None:
        """The agent with a model to which a whole goal can be given; None when there is none.

        One that may touch every tool, or the only one there is. None is made up beside profiles
        whose walls it would pass, and none is chosen among several of them: nobody knows which
        tools the goal needs.
        """
        if not agents:
            return AgentProfile(name="generalist") if self._default is not None else None
        free = [agent for agent in agents if agent.wall.is_open]
        able = (agent for agent in free or agents if agent.model or self._default)
        return next(able, None) if free or len(agents) == 1 else None
