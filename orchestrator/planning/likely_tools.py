"""Which tools a leg is likely to call, before it has begun: its targets, and what feeds them.

A guess for a person to read: what a leg does call, its planner decides step by step.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.planning.models import LegPlan
from orchestrator.planning.rules.target import find_target
from orchestrator.planning.walls import is_inside
from orchestrator.routing.selection import Selection


class LikelyTools(NamedTuple):
    """What a leg would call."""

    feeders: tuple[Tool, ...]
    targets: tuple[Tool, ...]


def likely_tools(
    leg: LegPlan,
    selection: Selection,
    catalog: Catalog,
    *,
    feeders: Callable[[str], Iterable[str]],
    called_before: Collection[str] = (),
    goal: str = "",
    now: datetime | None = None,
) -> LikelyTools:
    """The tools that reach a leg's goal, and those that would first have to find something out.

    Args:
        leg: with what its goal orders.
        selection: what would be forwarded at its first step.
        catalog: the tools by name.
        feeders: the tools whose answers supply what one needs, the nearest first.
        called_before: what the legs that it depends on are likely to call: it gets their facts.
        goal: the mission's.
        now: the requester's time.
    """
    fail_open = selection.band == "fail_open"
    first = None if fail_open else find_target(selection, catalog, goal=goal, now=now)
    targets = {tool.name: tool for tool in _targets(leg, first, selection, catalog)}
    fed = dict.fromkeys(name for target in targets for name in feeders(target))
    finding = [
        catalog.tool(name)
        for name in reversed(fed)
        if name not in targets and name not in called_before
    ]
    inside = tuple(tool for tool in finding if is_inside(tool, (leg.agent.wall,)))
    return LikelyTools(inside, tuple(targets.values()))


def _targets(
    leg: LegPlan, first: Tool | None, selection: Selection, catalog: Catalog
) -> Iterator[Tool]:
    """The tool that the words are for, and one for each order that it does not serve."""
    if first is not None and not ((first.is_side_effect or not leg.orders) and selection.fits):
        first = None
    if first is not None:
        yield first
    for order in leg.orders:
        if first is None or first.name not in order.tools:
            able = [catalog.tools[name] for name in order.tools if name in catalog.tools]
            inside = [tool for tool in able if is_inside(tool, (leg.agent.wall,))]
            shown = [tool for tool in inside if tool.name in selection.tools]
            yield from (shown or inside)[:1]
