"""Walls and limits of agents, and the colleagues to whom they may hand parts of their legs.

Both the wall that travels with an agent and that of the worker's profile of its name apply.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import OutsideWall, PlanError, PlanInvalid
from orchestrator.core.wall import Wall, admitted
from orchestrator.planning.models import ANYBODY, AgentProfile, Colleague, LegPlan, MissionPlan
from orchestrator.planning.trimming import cut_text
from orchestrator.saga.orders import Order

_LONGEST_TEXT: Final = 200


class Walls:
    """The walls of a worker's profiles, by name.

    A wall travels with every leg and every call, so that each worker enforces it. The worker's wall
    is enforced as well for a leg that was started with its own profile: a tool must be inside both.
    """

    def __init__(self, agents: Iterable[AgentProfile] = ()) -> None:
        """Store the walls of the worker's profiles; without any, only travelling walls apply."""
        self._own: defaultdict[str, tuple[Wall, ...]] = defaultdict(tuple)
        for agent in agents:
            self._own[agent.name] += (agent.wall,)

    def around(self, travelling: Wall | None) -> tuple[Wall, ...]:
        """Return all walls that apply to an agent; none for a call that names no agent."""
        if travelling is None:
            return ()
        return (travelling, *self._own.get(travelling.agent, ()))

    def check(self, travelling: Wall | None, tool: Tool) -> None:
        """Refuse a tool that is outside.

        Raises:
            OutsideWall: in a sentence for the planner of the call.
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
            own, planned = self._own.get(leg.agent.name, ()), leg.agent.wall
            for tool in catalog.tools.values():
                if planned.admits(tool.name, tool.domain) and not is_inside(tool, own):
                    raise PlanInvalid(
                        f"leg {leg.leg_id} lets the agent {leg.agent.name} use {tool.name}, which "
                        "its profile does not allow; plan with the profile that the planner was "
                        "given"
                    )


def none_may(text: str, tool: Tool) -> PlanError:
    """Return the error for a part of a goal that needs a tool which no agent may use."""
    return PlanError(
        f"{text!r} needs {tool.name}, which no agent may use; allow it to one of them: its name "
        f"under `tools`, or {tool.domain} under `domains` (ORCHESTRATOR_AGENTS)",
        code="NothingAllowed",
    )


def is_inside(tool: Tool, walls: Iterable[Wall]) -> bool:
    """Return True if a tool is inside all of these walls."""
    return admitted(walls, tool.name, tool.domain)


def listed(tools: Iterable[Tool], agent: AgentProfile) -> list[Tool]:
    """Return the tools that prompts of the agent list unasked; it can discover the others.

    No tool outside its wall is listed, nor ever found.
    """
    walls, prefers = (agent.wall,), agent.prefers
    return [t for t in tools if is_inside(t, walls) and (not prefers or t.domain in prefers)]


def within_profiles(plan: MissionPlan, agents: Sequence[AgentProfile]) -> MissionPlan:
    """Return the plan with each agent limited to the worker's profile of its name."""
    profiles = {agent.name: agent for agent in agents}

    def held(leg: LegPlan) -> LegPlan:
        profile = profiles.get(leg.agent.name)
        if profile is None:
            return leg
        return leg.model_copy(update={"agent": leg.agent.within(profile.leg_limits)})

    return plan.model_copy(update={"legs": tuple(map(held, plan.legs))})


def colleagues_of(agent: AgentProfile, agents: Sequence[AgentProfile]) -> tuple[Colleague, ...]:
    """Return the agents to which an agent may hand parts of a leg.

    Both the profile that its leg brings from outside and the worker's own have to allow it.
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
    about = " ".join(agent.instructions.split())
    return cut_text(f"uses {able}{'. ' + about if about else ''}", _LONGEST_TEXT)


def handed_over_orders(
    orders: Iterable[Order], agent: AgentProfile, catalog: Catalog
) -> tuple[Order, ...]:
    """Return the orders of a handed-over leg: the remaining ones that its agent can serve.

    Args:
        orders: those that the handing leg still has to serve.
        agent: to which it hands over.
        catalog: the mission's.
    """
    tools = catalog.tools
    return tuple(
        order
        for order in orders
        if any(is_inside(tools[name], (agent.wall,)) for name in order.tools if name in tools)
    )
