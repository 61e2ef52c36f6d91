"""The router's view of a step: its text, its context, and the tools that its leg orders."""

from collections.abc import Callable, Sequence
from typing import Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.wall import Wall
from orchestrator.language.detect import foreign_in
from orchestrator.planning.models import StepContext
from orchestrator.routing.selection import RouteContext, Selection

_MOST_FEEDING: Final = 2
"""The maximum number of feeding tools that are forwarded with an ordered one, nearest first."""


def route_context(context: StepContext, *more: Wall) -> RouteContext:
    """Return the goal, the names of known values, earlier tools (last first) and last error.

    The agent's own wall applies, and `more`.
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


def route_text(context: StepContext, catalog: Catalog) -> str:
    """Return the text of a step for the router: the words of its leg.

    If the router does not read their language, it gets the titles of the tools that the leg orders.
    """
    names = (name for name in context.ordered_tools if name in catalog.tools)
    titles = dict.fromkeys(catalog.tools[name].title for name in names)
    if not titles or foreign_in(context.leg_goal) is None:
        return context.leg_goal
    return "; ".join(titles)


def with_ordered(
    selection: Selection, context: StepContext, feeders: Callable[[str], Sequence[str]]
) -> Selection:
    """Return the selection with the tools that its leg orders, and those that feed them.

    The words of a leg may be in a language that the router does not read; its orders are names.

    Args:
        selection: of the leg's words.
        context: of the step.
        feeders: returns the tools whose answers supply a tool's inputs, the nearest first.
    """
    ordered = [*context.ordered_tools]
    fed = [name for one in ordered for name in feeders(one)[:_MOST_FEEDING]]
    more = tuple(n for n in dict.fromkeys((*ordered, *fed)) if n not in selection.tools)
    if not more:
        return selection
    feeding = tuple(name for name in fed if name in more and name not in ordered)
    changes = {
        "tools": (*selection.tools, *more),
        "prerequisites": tuple(dict.fromkeys((*selection.prerequisites, *feeding))),
    }
    return selection.model_copy(update=changes)
