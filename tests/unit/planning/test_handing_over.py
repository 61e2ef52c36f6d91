"""Hand-overs: who may, to whom, what the model is shown, and what is ordered by them."""

from datetime import UTC, datetime
from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import DecisionInvalid, PlanInvalid
from orchestrator.planning.finishing import doubt_about_finish
from orchestrator.planning.handing_over import colleagues_of, handed_over_leg
from orchestrator.planning.llm.meta_tools import META_TOOLS, meta_tools
from orchestrator.planning.models import (
    HAND_OVER,
    AgentProfile,
    Colleague,
    Fact,
    HandOver,
    LegPlan,
    Observation,
    StepContext,
)
from orchestrator.planning.planner import check_decision
from orchestrator.planning.profile_faults import read_profiles
from orchestrator.routing.router import Router
from orchestrator.saga.served import Order
from orchestrator.testing import fake_selection

NOW = datetime(2026, 11, 23, tzinfo=UTC)
FLYER = AgentProfile(name="flyer", domains=("flights",), hands_over_to=("hotelier",))
HOTELIER = AgentProfile(name="hotelier", domains=("hotels",), instructions="Be quiet.")
CLERK = AgentProfile(name="clerk", domains=("expenses",))
EVERYBODY = (FLYER, HOTELIER, CLERK)


@pytest.mark.parametrize(
    ("travelling", "own", "names"),
    [
        (FLYER, FLYER, ["hotelier"]),
        (FLYER.model_copy(update={"hands_over_to": ("*",)}), FLYER, ["hotelier"]),
        (FLYER, FLYER.model_copy(update={"hands_over_to": ("*",)}), ["hotelier"]),
        (FLYER, FLYER.model_copy(update={"hands_over_to": ()}), []),
        (HOTELIER, FLYER, []),
    ],
    ids=["as profiled", "travels wider", "profiled wider", "not profiled", "by default"],
)
def test_a_profile_says_to_whom(
    travelling: AgentProfile, own: AgentProfile, names: list[str]
) -> None:
    """What a leg brings from outside widens nothing."""
    found = colleagues_of(travelling, (own, HOTELIER, CLERK))

    assert [one.name for one in found] == names


def test_a_model_is_shown_it_where_there_is_somebody(step_context: StepContext) -> None:
    """With what each may use; else no such tool is there."""
    among = step_context.model_copy(update={"colleagues": colleagues_of(FLYER, EVERYBODY)})

    assert meta_tools(step_context) == META_TOOLS
    assert "hotelier: uses hotels. Be quiet." in meta_tools(among)[-1].description


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (HandOver(agent="clerk", goal="pay it"), "handed over to 'clerk', only to hotelier"),
        (HandOver(agent="hotelier", goal=" "), "a hand-over needs a goal"),
    ],
)
def test_what_cannot_be_handed_over_is_told(
    step_context: StepContext, wanted: HandOver, why: str
) -> None:
    """The planner decides again."""
    among = step_context.model_copy(update={"colleagues": (Colleague(name="hotelier"),)})

    with pytest.raises(DecisionInvalid, match=why):
        check_decision(wanted, fake_selection(catalog_size=0), among, Catalog({}, {}))


def _leg(goal: str, agent: AgentProfile) -> LegPlan:
    return LegPlan(leg_id="h1", goal=goal, agent=agent, handed_over_by="1")


def test_what_it_would_change_is_held_against_what_was_ordered(
    shipped: Catalog, router: Router
) -> None:
    """By the tools that would do it."""
    leg = _leg("Book a hotel in Porto from 3 to 5 December 2026", HOTELIER)
    ordered = Order(clause="two nights in Porto", tools=("hotel_book_room",))

    _, nothing = handed_over_leg(leg, [ordered], shipped, router, now=NOW)
    _, all_of_it = handed_over_leg(leg, [], shipped, router, now=NOW)

    assert nothing == ()
    assert all_of_it == (leg.goal,)


def test_walls_are_kept(shipped: Catalog, router: Router) -> None:
    """A part that its agent may not do becomes no leg."""
    with pytest.raises(PlanInvalid, match="clerk may not use hotel_book_room"):
        handed_over_leg(_leg("Book a hotel in Porto", CLERK), [], shipped, router, now=NOW)


def test_what_another_agent_did_serves_the_order(step_context: StepContext) -> None:
    """The leg that had it done may end; another leg's effect is not its own."""
    ordered = (Order(clause="a hotel", tools=("hotel_book_room",)),)
    booked = Fact(source="h1-trip.2", tool="hotel_book_room", side_effect=True)
    handed = Observation(
        step=1, tool=HAND_OVER, arguments={"leg": "h1-trip"}, outcome="handed_over"
    )
    done: dict[str, Any] = {"orders": ordered, "facts": (booked,)}

    assert doubt_about_finish(step_context.model_copy(update=done)) is not None
    done["observations"] = (handed,)
    assert doubt_about_finish(step_context.model_copy(update=done)) is None


def test_a_file_that_names_nobody_is_told() -> None:
    """Before a worker begins."""
    _, (fault,) = read_profiles(
        [
            {"name": "flyer", "domains": ["flights"], "hands_over_to": ["hotelyer"]},
            {"name": "hotelier", "domains": ["hotels"]},
        ]
    )

    assert str(fault) == (
        "agent flyer: hands_over_to: there is no other agent 'hotelyer'; did you mean hotelier?"
    )
