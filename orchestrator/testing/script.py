"""Missions whose steps a test writes down, on real parts: a planner that reads a script."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.limits import Limits
from orchestrator.planning.models import (
    AgentProfile,
    CallTool,
    Finish,
    GoalBrief,
    LegPlan,
    MissionPlan,
    StepContext,
    StepDecision,
)
from orchestrator.planning.planner import PlannedStep, Planner
from orchestrator.routing.router import Router
from orchestrator.routing.selection import RouteContext, Selection
from orchestrator.saga.orders import Order
from orchestrator.testing.fakes import fake_selection

LEG = "1-script"
"""The id of a script's one leg."""
_GOAL = "call: "

Script = tuple[StepDecision, ...]
"""What the one leg of a mission decides, step by step; after the last one it finishes."""


class ScriptedPlanner:
    """Plans the missions that have a script by it, and all others as the usual planner does."""

    def __init__(self, usual: Planner) -> None:
        """Take the planner of missions without a script."""
        self._usual = usual
        self._scripts: dict[str, Script] = {}

    def write(self, mission_id: str, script: Script) -> None:
        """Give a mission its script, before it is started."""
        self._scripts[mission_id] = script

    async def split_goal(
        self, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile]
    ) -> MissionPlan:
        """One leg for a script, whose goal names the tools it calls."""
        script = self._scripts.get(brief.mission_id)
        if script is None:
            return await self._usual.split_goal(brief, catalog, agents)
        called = dict.fromkeys(step.tool for step in script if isinstance(step, CallTool))
        goal = _GOAL + ", ".join(called)
        # It finishes, and is told once if an order lacks its effect then.
        agent = AgentProfile(name="script", limits=Limits(steps=len(script) + 2))
        effects = Counter(
            step.tool
            for step in script
            if isinstance(step, CallTool) and catalog.tool(step.tool).is_side_effect
        )
        orders = tuple(Order(tools=(tool,), count=count) for tool, count in effects.items())
        leg = LegPlan(leg_id=LEG, goal=goal, agent=agent, orders=orders)
        return MissionPlan(legs=(leg,))

    async def plan_step(
        self, context: StepContext, selection: Selection, catalog: Catalog
    ) -> StepDecision | PlannedStep:
        """The step that the script has for this number."""
        script = self._scripts.get(context.mission_id)
        if script is None:
            return await self._usual.plan_step(context, selection, catalog)
        if context.step > len(script):
            return Finish(summary="the script is done")
        return script[context.step - 1]


class ScriptedRouter(Router):
    """Forwards the tools that the leg of a script names; routes all other legs as usual."""

    def __init__(self, catalog: Catalog, usual: Callable[[Catalog], Router]) -> None:
        """Take the catalog, and what makes its usual router when a leg first needs one."""
        self._whole = catalog
        self._usual = usual

    def route(
        self,
        text: str,
        context: RouteContext | None = None,
        *,
        now: datetime | None = None,
        limit_s: float | None = None,
    ) -> Selection:
        """The tools for a request."""
        if text.startswith(_GOAL):
            return self._named(text.removeprefix(_GOAL).split(", "))
        return self._usual(self._whole).route(text, context, now=now, limit_s=limit_s)

    def without_deadline(self) -> Router:
        """The usual router, which reads goals as well as it routes them."""
        return self._usual(self._whole).without_deadline()

    def __getattr__(self, name: str) -> object:
        """Whatever else a router holds: the usual one's, which reads goals as well as it routes."""
        if name in ("_whole", "_usual"):
            raise AttributeError(name)
        return getattr(self._usual(self._whole), name)

    def _named(self, names: list[str]) -> Selection:
        tools = [name for name in names if name in self._whole.tools]
        return fake_selection(*tools, catalog_size=len(self._whole), reason="a script names them")
