"""Which legs goals are split into, which wait for which, and which are run only if something is."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.models import GoalBrief, LegPlan, MissionPlan
from orchestrator.planning.planner import check_plan
from orchestrator.planning.rules.split import split
from orchestrator.routing.router import Router

NOW: Final = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
GOALS: Final[list[dict[str, Any]]] = yaml.safe_load(
    Path(__file__).with_name("legs.yaml").read_text(encoding="utf-8")
)


def plan_of(goal: str, catalog: Catalog, router: Router) -> MissionPlan:
    brief = GoalBrief(mission_id="m-1", goal=goal, now=NOW, catalog_digest="d")
    return split(brief, catalog, (), router.without_deadline())


def told(leg: LegPlan) -> str:
    """A leg in one line."""
    line = f"{leg.leg_id}: {leg.goal}"
    if leg.depends_on:
        line += f" <- {', '.join(leg.depends_on)}"
    for wanted in leg.only_if:
        line += f" [{'if' if wanted.met else 'else'} {wanted.leg_id}]"
    for one in leg.decides:
        line += f" [decides: {'not ' if one.is_unless else ''}{one.told}]"
    return line


@pytest.mark.parametrize("goal", GOALS, ids=lambda one: one["goal"][:60])
def test_a_goal_is_split_by_what_depends_on_what(
    goal: dict[str, Any], shipped: Catalog, router: Router
) -> None:
    """Every clause is in one leg, in a condition that a leg decides, or in doubt."""
    plan = plan_of(goal["goal"], shipped, router)
    check_plan(plan)

    assert [*map(told, plan.legs), *(f"? {doubt.about}" for doubt in plan.doubts)] == goal["legs"]


def test_what_only_looks_may_touch_nothing_but_reads(shipped: Catalog, router: Router) -> None:
    """Of one domain, whatever its words are mistaken for."""
    plan = plan_of("If my flight FL-123 is cancelled, book a hotel in Oslo", shipped, router)
    wall = plan.legs[0].agent.wall
    inside = [t for t in shipped.tools.values() if wall.admits(t.name, t.domain)]

    assert plan.legs[0].only_looks
    assert {tool.domain for tool in inside} == {"flights"}
    assert not any(tool.is_side_effect for tool in inside)
