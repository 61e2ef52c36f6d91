"""Walls and limits of agents, and the colleagues to whom they may hand parts of their legs.

The wall that travels with an agent holds, and that of the worker's own profile of its name.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import OutsideWall, PlanInvalid
from orchestrator.core.wall import Wall, admitted
from orchestrator.planning.models import (
    ANYBODY,
    AgentProfile,
    Colleague,
    LegPlan,
    MissionPlan,
)
from orchestrator.planning.trimming import cut_text
from orchestrator.saga.orders import Order

_LONGEST_TOLD: Final = 200


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
        """Return all that hold for an agent; none for a call that names no agent."""
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
    """Return whether a tool is inside all of these walls."""
    return admitted(walls, tool.name, tool.domain)


def listed(tools: Iterable[Tool], agent: AgentProfile) -> list[Tool]:
    """Return those that prompts of the agent list unasked; it can discover what it does not prefer.

    Nothing outside its wall is listed, nor ever found.
    """
    walls, prefers = (agent.wall,), agent.prefers
    return [t for t in tools if is_inside(t, walls) and (not prefers or t.domain in prefers)]


def within_profiles(plan: MissionPlan, agents: Sequence[AgentProfile]) -> MissionPlan:
    """Return the plan, no agent of it allowed more than the worker's profile of its name."""
    profiles = {agent.name: agent for agent in agents}

    def held(leg: LegPlan) -> LegPlan:
        profile = profiles.get(leg.agent.name)
        if profile is None:
            return leg
        return leg.model_copy(update={"agent": leg.agent.within(profile.leg_limits)})

    return plan.model_copy(update={"legs": tuple(map(held, plan.legs))})


def colleagues_of(agent: AgentProfile, agents: Sequence[AgentProfile]) -> tuple[Colleague, ...]:
    """Return the agents to which one may hand parts of a leg.

    What its leg brings from outside and the worker's own profile of it have to say so both.
    """
    own = [one.hands_over_to for one in agents if one.name == agent.name]
    allowed = [*own, agent.hands_over_to]
    return tuple(
        Colleague(name=one.name, does=_does(one))
        for one in agents
        if own
        and one.name != agent.name
        and all(not {ANYBODY, one.name}.isdisjoint(names) for names in allowed)
    )


def _does(agent: AgentProfile) -> str:
    able = ", ".join([*agent.domains, *agent.tools]) or "any tool"
    told = " ".join(agent.instructions.split())
    return cut_text(f"uses {able}{'. ' + told if told else ''}", _LONGEST_TOLD)


def handed_over_orders(
    orders: Iterable[Order], agent: AgentProfile, catalog: Catalog
) -> tuple[Order, ...]:
    """Return the orders that a handed-over leg has: those left that its agent can serve.

    Args:
        orders: what the leg that hands over has left to do.
        agent: to which it hands over.
        catalog: the mission's.
    """
    tools = catalog.tools
    return tuple(
        order
        for order in orders
        if any(is_inside(tools[name], (agent.wall,)) for name in order.tools if name in tools)
    )
