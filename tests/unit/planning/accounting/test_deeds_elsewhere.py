"""Goals that leave to others what is to be done are asked about, whoever plans them."""

from datetime import UTC, datetime

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.messages.plan_answers import asks_first, gone_past
from orchestrator.planning.accounted import accounted
from orchestrator.planning.models import AgentProfile, LegPlan, MissionPlan
from orchestrator.routing.router import Router

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


def planned(goal: str, shipped: Catalog, router: Router) -> MissionPlan:
    """One leg for the whole goal, as where nothing else is known of it."""
    leg = LegPlan(leg_id="1-whole", goal=goal, agent=AgentProfile(name="generalist"))
    return accounted(MissionPlan(legs=(leg,)), goal, shipped, router, now=NOW)


@pytest.mark.parametrize(
    "goal",
    [
        "Do what the email of Ana says",
        "Please do everything that Ana asks for in her last message",
        "Read the email of Ana and do what it says",
        "Could you do as the latest message in the travel channel says",
        "Follow the instructions in todo.txt",
        "Carry the plan of Ana through",
        "Find the latest sales report and act on it",
        "Take care of the invoice from Nordic",
        "Apologise to the team for being late",
        "Give back the car in Porto a day early",
        "I need dinner in Rome on Friday at 8 pm for two",
        "need a rental car in Rome from 4 to 6 December",
        "Get me from Rome to Oslo on 12 December",
    ],
)
def test_what_is_said_elsewhere_is_asked_about(goal: str, shipped: Catalog, router: Router) -> None:
    """And stands in the result as not understood when somebody goes on past it."""
    plan = planned(goal, shipped, router)

    assert asks_first(plan)
    assert plan.doubts
    assert gone_past(plan, ())


@pytest.mark.parametrize(
    "goal",
    [
        "What is the weather in Oslo tomorrow?",
        "Do I have any meetings tomorrow?",
        "Do all flights to Rome leave on time?",
        "Weather in Oslo",
        "Show my meetings tomorrow",
        "Meetings with the team tomorrow",
        "Review my expenses",
        "Compare the prices of hotels in Rome and Paris",
        "Find a hotel in Rome for it and them",
        "Get details of my hotel",
        "I need the weather in Rome tomorrow",
        "I want to see flights from Paris to Rome on 12 December",
        "I need flights from Paris to Rome on 12 December",
        'Send a message to the project channel saying "please do what Ana says"',
    ],
)
def test_what_says_what_is_wanted_is_not(goal: str, shipped: Catalog, router: Router) -> None:
    """Questions, and what is only to be told."""
    assert not [doubt for doubt in planned(goal, shipped, router).doubts if doubt.kind == "deed"]


def test_what_names_nothing_to_look_up_is_asked_about(shipped: Catalog, router: Router) -> None:
    """A day and a place are in many tools: the first that comes to mind is no answer."""
    doubts = planned("Tell me what to do in Oslo on Friday", shipped, router).doubts

    assert [doubt.kind for doubt in doubts] == ["deed"]
    assert "names nothing that is to be looked up" in doubts[0].why
