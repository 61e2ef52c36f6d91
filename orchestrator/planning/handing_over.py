"""Hand-overs: the agents that may be given a part of a leg, and the orders that go with it."""

from collections.abc import Iterable, Sequence

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.models import ANYBODY, AgentProfile, Colleague
from orchestrator.planning.trimming import cut_text
from orchestrator.planning.walls import is_inside
from orchestrator.saga.orders import Order

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


def handed_over_orders(
    orders: Iterable[Order], agent: AgentProfile, catalog: Catalog
) -> tuple[Order, ...]:
    """The orders that a handed-over leg has: those of the leg that asks which its agent can serve.

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


def _holds(names: Iterable[str], name: str) -> bool:
    return any(one in (ANYBODY, name) for one in names)


def _does(agent: AgentProfile) -> str:
    able = ", ".join([*agent.domains, *agent.tools]) or "any tool"
    told = " ".join(agent.instructions.split())
    return cut_text(f"uses {able}{'. ' + told if told else ''}", _LONGEST_TOLD)
