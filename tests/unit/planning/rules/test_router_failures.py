"""A router that fails open takes nothing from a plan made without a model, or ends it honestly."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import RequestUnread
from orchestrator.planning.models import GoalBrief, StepContext
from orchestrator.planning.rules.chaining import ChainingPlanner
from orchestrator.routing.router import Router, fail_open

GOALS = (
    "Book a flight from Berlin to Lisbon on 2026-12-03, returning 2026-12-06, "
    "reserve a hotel in Lisbon for those nights and file the expense",
    "Reserve a table for four at an Italian restaurant in Lisbon on 2026-12-04 at 20:00 "
    "and message my team about it",
    "Rent a car in Lisbon from 2026-12-03 to 2026-12-06 and add it to my calendar",
    "What is the weather in Oslo tomorrow?",
)


def late(catalog: Catalog) -> Router:
    """A router for which every stage takes a second."""
    ticks: Iterator[int] = count()
    return Router(catalog, clock=lambda: next(ticks))


@pytest.mark.parametrize("goal", GOALS, ids=lambda goal: "-".join(goal.split()[:3]))
async def test_a_goal_is_planned_alike_when_every_step_is_forwarded_every_tool(
    goal: str, shipped: Catalog, router: Router, new_mission: Callable[..., Any]
) -> None:
    """The same legs and the same calls as with a router that is in time."""
    hurried = late(shipped)
    assert hurried.route(goal).band == "fail_open"

    slow, quick = new_mission(shipped, hurried), new_mission(shipped, router)

    assert await slow.run(goal) == await quick.run(goal)


def test_a_router_without_hurry_is_the_same_router(shipped: Catalog) -> None:
    """Only its clock is gone, and the hurried one keeps its own."""
    hurried = late(shipped)
    patient = hurried.without_deadline()

    assert patient.route(GOALS[0]) == Router(shipped).route(GOALS[0])
    assert hurried.route(GOALS[0]).band == "fail_open"


async def test_a_router_that_fails_again_ends_the_plan_with_its_reason(
    shipped: Catalog, step_context: StepContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No tool is taken for lack of a better one; a goal is not split blindly either."""

    def broken(*_: object, **__: object) -> None:
        raise RecursionError(GOALS[0])

    monkeypatch.setattr("orchestrator.routing.router.adaptive_k", broken)
    planner = ChainingPlanner(Router)
    selection = fail_open(shipped, "RecursionError in the router")
    brief = GoalBrief(mission_id="m", goal=GOALS[0], now=step_context.now, catalog_digest="d")

    with pytest.raises(RequestUnread, match="could not be read: RecursionError in the router;"):
        await planner.plan_step(step_context, selection, shipped)
    with pytest.raises(RequestUnread, match="RecursionError in the router"):
        await planner.split_goal(brief, shipped, ())


async def test_a_catalog_that_cannot_be_indexed_ends_the_plan(
    shipped: Catalog, step_context: StepContext
) -> None:
    """As a failing router does, without the error's own words."""

    def unindexed(catalog: Catalog) -> Router:
        raise MemoryError("secret")

    planner = ChainingPlanner(unindexed)
    selection = fail_open(shipped, "MemoryError while indexing the catalog")

    with pytest.raises(RequestUnread, match="MemoryError while indexing the catalog") as unread:
        await planner.plan_step(step_context, selection, shipped)
    assert "secret" not in str(unread.value)
