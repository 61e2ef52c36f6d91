"""Questions that no tool answers, or that several kinds of things may be meant by, are asked."""

from datetime import UTC, datetime

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.messages.plan_answers import asks_first, gone_past, why_asked
from orchestrator.planning.accounted import accounted
from orchestrator.planning.models import RULES, GoalBrief, MissionPlan
from orchestrator.planning.rules.split import split
from orchestrator.routing.router import Router

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


def planned(goal: str, shipped: Catalog, router: Router) -> MissionPlan:
    brief = GoalBrief(mission_id="m", goal=goal, now=NOW, catalog_digest=shipped.digest)
    made = split(brief, shipped, [], router)
    legs = tuple(leg.model_copy(update={"planned_by": RULES}) for leg in made.legs)
    plan = made.model_copy(update={"legs": legs})
    return accounted(plan, goal, shipped, router, now=NOW)


@pytest.mark.parametrize(
    ("goal", "about"),
    [
        ("how many kilometres are included with rental cars in Oslo on 5 December", "kilometres"),
        ("any unread messages from Bo", "unread"),
        ("what horsepower have the rental cars in Oslo on 5 December", "horsepower"),
    ],
)
def test_what_no_tool_tells_is_asked_about(
    goal: str, about: str, shipped: Catalog, router: Router
) -> None:
    """Before anything is looked up, with what would be; whoever goes on has it unserved."""
    plan = planned(goal, shipped, router)

    assert asks_first(plan)
    assert about in plan.doubts[0].about
    assert "nothing here tells" in plan.doubts[0].why
    assert why_asked(plan) == "it asks for what no tool here is known to tell"
    assert gone_past(plan, ())


def test_a_question_beside_an_order_is_asked_about_as_well(
    shipped: Catalog, router: Router
) -> None:
    """What is looked up for what is ordered is no question."""
    asked = planned(
        "pay the invoice of Nordic Hosting. How many unread messages do I have?", shipped, router
    )
    ordered = planned("find a hotel in Rome from 3 to 6 December and book it", shipped, router)

    assert any(doubt.kind == "untold" for doubt in asked.doubts)
    assert not any(doubt.kind == "untold" for doubt in ordered.doubts)


def test_a_word_that_is_nearly_one_of_the_tools_is_offered(
    shipped: Catalog, router: Router
) -> None:
    """Nothing is put in the place of what was typed."""
    plan = planned("fligts from Berlin to Rome on 3 December", shipped, router)

    assert asks_first(plan)
    assert "is 'flights' meant?" in plan.doubts[0].why


def test_things_that_several_domains_list_are_asked_about(shipped: Catalog, router: Router) -> None:
    """One of them would be told as if there were no others."""
    plan = planned("show my bookings", shipped, router)

    assert asks_first(plan)
    assert "cars, flights, hotels" in plan.doubts[0].why


@pytest.mark.parametrize(
    "goal",
    [
        "show my flight bookings",
        "which invoices are overdue?",
        "is there a spreadsheet called budget?",
        "will I need an umbrella in Paris on Saturday",
        "has somebody said anything about the budget this year",
        "the cheapest flight from Berlin to Rome on 3 December",
        "how much is the cheapest flight from Berlin to Rome on 3 December",
        "invoices of the plumber",
        "when is Bella's meeting",
        "when do I have time for a 45 minute chat on 27 November",
    ],
)
def test_what_some_tool_tells_is_not(goal: str, shipped: Catalog, router: Router) -> None:
    """Nor is a word that may be a value of what is found."""
    assert not planned(goal, shipped, router).doubts
