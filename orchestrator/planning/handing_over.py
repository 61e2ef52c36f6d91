"""Who may hand a part of a leg to whom, and the leg that it becomes: pure."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import PlanInvalid
from orchestrator.planning.models import ANYBODY, AgentProfile, Colleague, LegPlan, MissionPlan
from orchestrator.planning.orders import with_orders
from orchestrator.planning.trimming import cut_text
from orchestrator.planning.walls import is_inside
from orchestrator.routing.router import Router
from orchestrator.saga.served import Order

_LONGEST_TOLD = 200


def colleagues_of(agent: AgentProfile, agents: Sequence[AgentProfile]) -> tuple[Colleague, ...]:
    """The agents to which one may hand parts of a leg.

    What its leg brings from outside and the worker's own profile of it have to say so both.
    """
    own = [one.hands_over_to for one in agents if one.name == agent.name]
    allowed = [*own, agent.hands_over_to]
    return tuple(
        Colleague(name=one.name, does=_does(one))
        for one in agents
        if own and one.name != agent.name and all(_holds(names, one.name) for names in allowed)
    )


def handed_over_leg(
    leg: LegPlan,
    orders: Iterable[Order],
    catalog: Catalog,
    router: Router | None,
    *,
    now: datetime,
) -> tuple[LegPlan, tuple[str, ...]]:
    """A handed-over leg with what it orders, and what of that nothing has ordered so far.

    Args:
        leg: for its agent, as that is profiled.
        orders: of the mission and of its legs.
        catalog: the mission's.
        router: of that catalog; None: it has none, and words alone decide.
        now: the requester's time.

    Raises:
        PlanInvalid: its agent may use none of the tools for something that it orders.
    """
    (read,) = with_orders(MissionPlan(legs=(leg,)), leg.goal, catalog, router, now=now).legs
    for order in read.orders:
        tools = [catalog.tools[name] for name in order.tools if name in catalog.tools]
        if tools and not any(is_inside(tool, (read.agent.wall,)) for tool in tools):
            raise PlanInvalid(
                f"{read.agent.name} may not use {' or '.join(order.tools[:3])} for {order.clause!r}"
            )
    return read, tuple(_beyond(read, orders))


def _beyond(leg: LegPlan, orders: Iterable[Order]) -> Iterator[str]:
    ordered = {
        name
        for order in orders
        for name in (*order.tools, *(one for pair in order.renewed_by for one in pair))
    }
    return (order.clause for order in leg.orders if not ordered & {*order.tools})


def _holds(names: Iterable[str], name: str) -> bool:
    return any(one in (ANYBODY, name) for one in names)


def _does(agent: AgentProfile) -> str:
    able = ", ".join([*agent.domains, *agent.tools]) or "any tool"
    told = " ".join(agent.instructions.split())
    return cut_text(f"uses {able}{'. ' + told if told else ''}", _LONGEST_TOLD)
