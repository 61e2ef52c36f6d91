"""From goals to legs."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import LanguageUnread, NothingAllowed, NothingFits, TooMany
from orchestrator.planning.models import AgentProfile, GoalBrief, MissionPlan
from orchestrator.planning.rules.parts import refers_back
from orchestrator.planning.rules.split import agent_for, split
from orchestrator.routing.router import Router

NOW = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)


@pytest.fixture
def plan_of(shipped: Catalog, router: Router) -> Callable[..., MissionPlan]:
    def plan(goal: str, *agents: AgentProfile) -> MissionPlan:
        brief = GoalBrief(mission_id="m-1", goal=goal, now=NOW, catalog_digest="d")
        return split(brief, shipped, agents, router)

    return plan


@pytest.mark.parametrize(
    ("clause", "back"),
    [
        ("add it to my calendar", True),
        ("message my team about that", True),
        ("send me the receipts", True),
        ("share the latest with anna@example.com", True),
        ("reserve a hotel for those nights", False),
        ("find the latest files about the budget", False),
        ("book a hotel that has a pool", False),
    ],
)
def test_clauses_that_point_back_are_known(clause: str, back: bool) -> None:
    """Pronouns and bare definite nouns point back; what the goal's own words resolve does not."""
    assert refers_back(clause) is back


def test_pointing_clause_waits_for_the_run_before_it(plan_of: Any) -> None:
    """What it is was done since the last clause that pointed back, not in the whole mission."""
    plan = plan_of(
        "Book a flight from Berlin to Lisbon on 2026-12-03, message my team about it, "
        "rent a car in Lisbon from 2026-12-03 to 2026-12-06 and add it to my calendar"
    )

    flight, message, car, event = plan.legs
    assert message.depends_on == (flight.leg_id,)
    assert car.depends_on == ()
    assert event.depends_on == (car.leg_id,)


def test_what_was_booked_may_be_told_by_another_word(plan_of: Any) -> None:
    """A stay is the hotel that was booked, and a dinner the table."""
    plan = plan_of(
        "Book a hotel in Porto from 2026-12-07 to 2026-12-09 and put the stay in my calendar"
    )

    hotel, event = plan.legs
    assert event.depends_on == (hotel.leg_id,)


def test_two_bookings_of_one_kind_do_not_share_an_offer(plan_of: Any) -> None:
    """An id that the earlier tool was itself given does not feed the later one."""
    plan = plan_of(
        "Book a flight from Berlin to Lisbon on 2026-12-03 and "
        "book a flight from Lisbon to Porto on 2026-12-06"
    )

    assert [leg.depends_on for leg in plan.legs] == [(), ()]
    assert [leg.leg_id for leg in plan.legs] == ["1-flights", "2-flights"]


TRAVEL = AgentProfile(name="travel", domains=("flights", "hotels"))
FLYER = AgentProfile(name="flyer", prefers=("flights",))
ANYONE = AgentProfile(name="anyone")
SHARER = AgentProfile(name="sharer", tools=("file_share*",))


@pytest.mark.parametrize(
    ("tool", "agents", "chosen"),
    [
        ("hotel_book_room", [ANYONE, TRAVEL], TRAVEL),
        ("flight_book_offer", [ANYONE, FLYER], FLYER),
        ("file_share_file", [FLYER, ANYONE, TRAVEL, SHARER], SHARER),
        ("file_delete_file", [FLYER, ANYONE, TRAVEL, SHARER], ANYONE),
        ("file_delete_file", [TRAVEL, FLYER], FLYER),
        ("file_delete_file", [], AgentProfile(name="files", prefers=("files",))),
    ],
)
def test_legs_go_to_an_agent_that_may_touch_their_tool(
    shipped: Catalog, tool: str, agents: list[AgentProfile], chosen: AgentProfile
) -> None:
    """The nearest to it; only where there are no profiles one is made, and it has no wall."""
    assert agent_for(shipped.tool(tool), agents, request="it") == chosen


def test_what_no_agent_may_touch_is_refused_before_anything_is_begun(plan_of: Any) -> None:
    """Although a profile could be made up, and the first of the two requests is allowed."""
    goal = "Book a hotel in Lisbon from 2026-12-03 to 2026-12-06 and settle the electricity bill"

    with pytest.raises(NothingAllowed, match="payment_pay_invoice, which no agent may use"):
        plan_of(goal, TRAVEL, SHARER)


def test_what_is_declined_is_no_leg(plan_of: Any) -> None:
    """A clause that says not to do something asks for nothing."""
    plan = plan_of(
        "Rent a car in Lisbon from 2026-12-03 to 2026-12-06. Don't book a hotel in Lisbon"
    )

    assert [leg.leg_id for leg in plan.legs] == ["1-cars"]


@pytest.mark.parametrize(
    ("goal", "domains"),
    [
        ("tell Alice I am late", ["messages"]),
        ("get me a taxi in Lisbon", ["cars"]),
        ("book a flihgt to Lisbon on 2026-12-03", ["flights"]),
        ("cancle my restaurant resevation", ["dining"]),
        ("shoot an email to lee@example.com about lunch", ["messages"]),
        ("settle the electricity bill", ["payments"]),
        ("call off the meeting with Sam", ["calendar"]),
        ("unshare the budget with Lee", ["files"]),
        (
            "Find the quarterly report and share it with bob@example.com",
            ["files", "files"],
        ),
    ],
)
def test_everyday_words_are_no_reason_to_refuse(
    goal: str, domains: list[str], plan_of: Any
) -> None:
    """Each request becomes a leg of the domain that was meant."""
    assert [leg.agent.prefers[0] for leg in plan_of(goal).legs] == domains


@pytest.mark.parametrize(
    "goal",
    [
        "sell my car in Lisbon",
        "paint my house",
        "tell me a joke",
        "book me a massage",
        "convert 100 USD to EUR",
    ],
)
def test_what_nobody_does_is_still_refused(goal: str, plan_of: Any) -> None:
    """A synonym or a known verb alone is not enough."""
    with pytest.raises(NothingFits):
        plan_of(goal)


@pytest.mark.parametrize(
    ("goal", "requests"),
    [
        (
            "Reserve a table for two in Lisbon on Monday at 19:00 and another one for Thursday",
            [
                "Reserve a table for two in Lisbon on Monday at 19:00",
                "Reserve a table for two in Lisbon on Thursday at 19:00",
            ],
        ),
        (
            "Message Ana that lunch is ready and do the same for Bo",
            ["Message Ana that lunch is ready", "Message Bo that lunch is ready"],
        ),
        (
            "Add an event on 2026-12-03 at 10:00 with ana@example.com and bo@example.com",
            ["Add an event on 2026-12-03 at 10:00 with ana@example.com and bo@example.com"],
        ),
        (
            "What is the weather in Oslo and Rome",
            [f"What is the weather in {p}" for p in ("Oslo", "Rome")],
        ),
    ],
)
def test_what_a_clause_joins_is_a_leg_each(goal: str, requests: list[str], plan_of: Any) -> None:
    """None waits for another; what a tool takes as a list stays one."""
    plan = plan_of(goal)

    assert [leg.goal for leg in plan.legs] == requests
    assert not any(leg.depends_on for leg in plan.legs)


def test_what_may_be_a_stretch_of_time_is_doubted(plan_of: Any) -> None:
    """Two days of one event may be its ends."""
    plan = plan_of("Add an event on 2026-12-03 and 2026-12-05 called Sprint")

    assert [doubt.kind for doubt in plan.doubts] == ["not_understood"]
    assert len(plan.legs) == 1


def test_more_than_an_agent_does_of_a_kind_is_not_begun(plan_of: Any) -> None:
    """Nothing is cut: the plan is refused."""
    names = ", ".join(f"f{n}.txt" for n in range(20))

    with pytest.raises(TooMany, match="more than 20 calls of file_delete_file"):
        plan_of(f"Delete {names} and last.txt")


def test_a_goal_in_another_language_is_refused(plan_of: Any) -> None:
    """What it says is not guessed; the refusal names the language, and what reads it."""
    with pytest.raises(LanguageUnread, match=r"German.*reads English.*ORCHESTRATOR_PLANNER_MODEL"):
        plan_of("Buche ein Hotel in Lissabon für zwei Personen")


def test_legs_are_made_of_what_is_meant(plan_of: Any) -> None:
    """What a goal takes back is in no leg."""
    plan = plan_of("Book a flight from Berlin to Rome, no, Lisbon, on 2026-12-03")

    (leg,) = plan.legs
    assert leg.goal == "Book a flight from Berlin to Lisbon, on 2026-12-03"


@pytest.mark.parametrize(
    ("goal", "requests"),
    [
        (
            "Cancel my car and my hotel bookings",
            ["Cancel my car", "Cancel my hotel bookings"],
        ),
        (
            "Cancel my flight, my hotel reservation and my table",
            ["Cancel my flight", "Cancel my hotel reservation", "Cancel my table"],
        ),
    ],
)
def test_the_noun_of_a_deed_is_no_deed(goal: str, requests: list[str], plan_of: Any) -> None:
    """What is booked already is not booked once more, because it is called a booking."""
    assert [leg.goal for leg in plan_of(goal).legs] == requests
