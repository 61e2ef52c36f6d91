"""What the router may know of a step beside the text of its leg."""

from orchestrator.core.wall import Wall
from orchestrator.planning.models import StepContext
from orchestrator.routing.selection import RouteContext


def route_context(context: StepContext, *more: Wall) -> RouteContext:
    """The mission's goal, the names of known values, earlier tools, the last first, and errors.

    The agent's own wall holds, and `more`.
    """
    known = set(context.inputs)
    for fact in context.facts:
        known |= set(fact.body) if isinstance(fact.body, dict) else set()
    own = (seen.tool for seen in reversed(context.observations))
    earlier = (*own, *(fact.tool for fact in reversed(context.facts)))
    return RouteContext(
        goal=context.mission_goal,
        known=tuple(sorted(known)),
        earlier=tuple(dict.fromkeys(earlier)),
        last_error=context.last_error,
        domains=context.agent.prefers or context.agent.domains,
        walls=tuple(dict.fromkeys((context.agent.wall, *more))),
    )
