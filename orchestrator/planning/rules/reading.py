"""How a planner that needs no model reads a request: by the router, which may take its time here.

A router that fails open forwards every tool, and nothing of what was asked. A model can choose
among them; planning by rules has only the reading to go by, and reads the request again.
"""

from datetime import datetime

from orchestrator.core.errors import RequestUnread
from orchestrator.planning.models import StepContext
from orchestrator.routing.router import Router
from orchestrator.routing.selection import RouteContext, Selection


def read(router: Router, text: str, context: RouteContext, *, now: datetime) -> Selection:
    """What a text asks for, and the tools for it.

    Raises:
        RequestUnread: the router failed open.
    """
    selection = router.route(text, context, now=now)
    if selection.band == "fail_open":
        raise RequestUnread(selection.reason)
    return selection


def route_context(context: StepContext) -> RouteContext:
    """What the router may know of a step beside the text of its leg."""
    known = set(context.inputs)
    for fact in context.facts:
        known |= set(fact.body) if isinstance(fact.body, dict) else set()
    return RouteContext(
        goal=context.mission_goal,
        known=tuple(sorted(known)),
        earlier=_earlier(context),
        last_error=context.last_error,
        domains=context.agent.domains,
    )


def _earlier(context: StepContext) -> tuple[str, ...]:
    """The tools that were called before this step, the last first."""
    own = (seen.tool for seen in reversed(context.observations))
    return tuple(dict.fromkeys((*own, *(fact.tool for fact in reversed(context.facts)))))
