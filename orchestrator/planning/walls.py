"""Walls in force: what travels with an agent, and what a worker's own profile of that name says."""

from collections import defaultdict
from collections.abc import Iterable

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import OutsideWall, PlanInvalid
from orchestrator.core.wall import Wall, admitted
from orchestrator.planning.models import AgentProfile, LegPlan, MissionPlan


class Walls:
    """The walls of a worker's profiles, by name.

    A wall travels with every leg and every call, so that each worker holds the agent to it. A leg
    that was started with a profile of its own making is held to the worker's as well: a tool must
    be inside both.
    """

    def __init__(self, agents: Iterable[AgentProfile] = ()) -> None:
        """Take the worker's profiles; without any, what travels is all that holds."""
        self._own: defaultdict[str, tuple[Wall, ...]] = defaultdict(tuple)
        for agent in agents:
            self._own[agent.name] += (agent.wall,)

    def around(self, travelling: Wall | None) -> tuple[Wall, ...]:
        """All that hold for an agent; none for a call that was made before calls named theirs."""
        if travelling is None:
            return ()
        return (travelling, *self._own.get(travelling.agent, ()))

    def check(self, travelling: Wall | None, tool: Tool) -> None:
        """Refuse a tool that is outside.

        Raises:
            OutsideWall: in a sentence for whoever planned the call.
        """
        for wall in self.around(travelling):
            if not wall.admits(tool.name, tool.domain):
                raise OutsideWall(wall.refusal(tool.name))

    def check_plan(self, plan: MissionPlan, catalog: Catalog) -> None:
        """Refuse a plan that gives an agent more than this worker's profile of it allows.

        Raises:
            PlanInvalid: it names the leg, the agent and a tool.
        """
        for leg in plan.legs:
            self._check_leg(leg, catalog)

    def _check_leg(self, leg: LegPlan, catalog: Catalog) -> None:
        own, planned = self._own.get(leg.agent.name, ()), leg.agent.wall
        for tool in catalog.tools.values():
            if planned.admits(tool.name, tool.domain) and not is_inside(tool, own):
                raise PlanInvalid(
                    f"leg {leg.leg_id} lets the agent {leg.agent.name} use {tool.name}, which its "
                    "profile does not allow; plan with the profile that the planner was given"
                )


def is_inside(tool: Tool, walls: Iterable[Wall]) -> bool:
    """Whether a tool is inside all of these walls."""
    return admitted(walls, tool.name, tool.domain)


def listed(tools: Iterable[Tool], agent: AgentProfile) -> list[Tool]:
    """Those that prompts of the agent list unasked; what it does not prefer it can discover.

    Nothing outside its wall is listed, nor ever found.
    """
    walls, prefers = (agent.wall,), agent.prefers
    return [t for t in tools if is_inside(t, walls) and (not prefers or t.domain in prefers)]
