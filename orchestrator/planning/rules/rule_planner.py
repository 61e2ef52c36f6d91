"""The planner without a model: carries out simple goals whose every word is accounted for."""

from collections.abc import Callable, Sequence

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.models import (
    AgentProfile,
    DiscoverTools,
    GiveUp,
    GoalBrief,
    MissionPlan,
    StepContext,
    StepDecision,
)
from orchestrator.planning.route_context import route_context
from orchestrator.planning.rules.clause import read_clause
from orchestrator.planning.rules.next_step import Leg
from orchestrator.planning.rules.split import Reader, Reading, routed, router_failed, split
from orchestrator.planning.rules.target import find_target
from orchestrator.planning.walls import is_inside
from orchestrator.routing.router import Router
from orchestrator.routing.selection import Selection


class RulePlanner:
    """Plans simple goals by rules: deterministic, without network access or state.

    Each step depends only on its context, its selection and the catalog.
    """

    def __init__(self, routers: Callable[[Catalog], Router]) -> None:
        """Take the source of a catalog's router, which should cache, as each split calls it."""
        self._routers = routers

    async def split_goal(
        self, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile]
    ) -> MissionPlan:
        """Return one leg for each clause of the goal; see `split`."""
        return split(brief, catalog, agents, self._router(catalog))

    async def plan_step(
        self, context: StepContext, selection: Selection, catalog: Catalog
    ) -> StepDecision:
        """Return the next step of one leg.

        Raises:
            GoalUnread: the router failed, and fails again.
        """
        if selection.band == "fail_open":
            known = route_context(context)
            selection = routed(self._router(catalog), context.leg_goal, known, now=context.now)
        reading = self._reading(context, selection, catalog)
        if reading is None:
            return _without_target(context)
        if not is_inside(reading.target, (context.agent.wall,)):
            return GiveUp(reason=context.agent.wall.refusal(reading.target.name))
        return Leg(context, catalog, frozenset(selection.tools), reading).decide()

    def _reading(
        self, context: StepContext, selection: Selection, catalog: Catalog
    ) -> Reading | None:
        """Return the leg's clause, read for the tool of its order or the best forwarded read."""
        text, walls, now = context.leg_goal, (context.agent.wall,), context.now
        reader = Reader(catalog, context.inputs, now, walls, is_resolved=bool(context.facts))
        for name in context.ordered_tools:
            if name in catalog.tools:
                return reader.read(text, catalog.tools[name])
        fits = find_target(read_clause(text, now=now), selection, catalog, walls)
        return reader.best(text, fits)

    def _router(self, catalog: Catalog) -> Router:
        try:
            return self._routers(catalog).without_deadline()
        except Exception as error:  # without a router, no request can be read, whatever the error
            raise router_failed(f"{type(error).__name__} while indexing the catalog") from error


def _without_target(context: StepContext) -> StepDecision:
    searched = [o for o in context.observations if o.outcome == "discovered"]
    if any(o.arguments.get("query") == context.leg_goal for o in searched):
        return GiveUp(reason=f"no tool that was found does {context.leg_goal!r}")
    return DiscoverTools(query=context.leg_goal)
