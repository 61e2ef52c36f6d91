"""A law firm: stretches of time as ISO 8601 has them, cents, and states that orders bring about."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.models import CallTool, GoalBrief, StepContext
from orchestrator.planning.orders import with_orders
from orchestrator.planning.route_context import route_context
from orchestrator.planning.rules.chaining import ChainingPlanner
from orchestrator.routing.router import Router
from tests.unit.planning.conftest import NOW


@pytest.fixture(scope="module")
def law_firm() -> Catalog:
    return Catalog.load(Path(__file__).with_name("lawfirm.yaml"))


async def _calls(new_mission: Callable[..., Any], catalog: Catalog, goal: str) -> list[CallTool]:
    mission = new_mission(catalog, Router(catalog))
    run = await mission.run(goal)
    decisions = run.decisions[run.plan.legs[0].leg_id]
    return [one for one in decisions if isinstance(one, CallTool)]


@pytest.mark.parametrize(
    ("said", "sent"),
    [("one and a half hours", "PT1H30M"), ("45 minutes", "PT45M"), ("two hours", "PT2H")],
)
async def test_how_long_is_sent_as_the_format_has_it(
    new_mission: Callable[..., Any], law_firm: Catalog, said: str, sent: str
) -> None:
    """And counts nothing else."""
    goal = f'Record {said} on M-1041 for yesterday with the narrative "Drafting the reply"'
    (recorded,) = await _calls(new_mission, law_firm, goal)

    assert recorded.tool == "recordTime"
    assert recorded.arguments["duration"] == sent


async def test_nothing_is_looked_for_that_is_so_already(law_firm: Catalog) -> None:
    """Of what is to be closed none is closed."""
    goal = "Close the Castellan lease matter, they settled"
    router = Router(law_firm)
    planner = ChainingPlanner(lambda _: router)
    brief = GoalBrief(mission_id="m", goal=goal, now=NOW, catalog_digest=law_firm.digest)
    plan = await planner.split_goal(brief, law_firm, ())
    (leg,) = with_orders(plan, goal, law_firm, router, now=NOW).legs
    context = StepContext(
        mission_id="m",
        leg_id=leg.leg_id,
        step=1,
        mission_goal=goal,
        leg_goal=leg.goal,
        agent=leg.agent,
        now=NOW,
        catalog_digest=law_firm.digest,
        orders=leg.orders,
    )

    selection = router.route(leg.goal, route_context(context), now=NOW)
    step = await planner.plan_step(context, selection, law_firm)

    assert isinstance(step, CallTool)
    assert (step.tool, step.arguments) == ("listMatters", {})


async def test_a_page_that_lists_the_same_is_the_last(
    new_mission: Callable[..., Any], law_firm: Catalog
) -> None:
    """Though it says each time that there is another one."""
    matter = {"matterId": "M-1042", "title": "Estate of Holm", "responsible": "Ben Achebe"}
    mission = new_mission(law_firm, Router(law_firm))
    tokens = iter(range(100))
    mission.provider.script = lambda tool, _: (
        {"items": [matter], "nextPageToken": f"t-{next(tokens)}"}
        if tool.name == "listMatters"
        else {"items": []}
    )

    run = await mission.run("Who is responsible for the Holm estate?")

    leg_id = run.plan.legs[0].leg_id
    assert len([c for c in run.calls(leg_id) if c.tool == "listMatters"]) <= 2
    assert "Ben Achebe" in run.decisions[leg_id][-1].summary
