"""What an order is done to: what is there, what is of another kind, and one of several."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.language.clause_reading import read_clause
from orchestrator.messages.plan_answers import asks_first
from orchestrator.planning.accounted import accounted
from orchestrator.planning.models import GoalBrief, MissionPlan
from orchestrator.planning.rules.split import split
from orchestrator.routing.router import Router

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def planned(shipped: Catalog, router: Router) -> Callable[[str], MissionPlan]:
    """The plan that rules make of a goal over the shipped documents."""

    def plan(goal: str) -> MissionPlan:
        brief = GoalBrief(mission_id="m", goal=goal, now=NOW, catalog_digest=shipped.digest)
        return accounted(split(brief, shipped, (), router), goal, shipped, router, now=NOW)

    return plan


@pytest.mark.parametrize(
    ("goal", "about"),
    [
        ("add Ben to the meeting", "to the meeting"),
        ("Add milk to the reminder", "to the reminder"),
        ("invite kim@example.com to the meeting", "to the meeting"),
        ("Add Ana and Ben to the group", "to the group"),
        ("Remove Ben from the meeting", "from the meeting"),
        ("Delete milk from the reminder", "from the reminder"),
        ("Make the meeting longer", "meeting longer"),
        ("Forward Bo's message to Ana", "Forward Bo's message to Ana"),
        ("Cancel Rome", "Cancel Rome"),
        ("Write to Ana and, if she agrees, book a table in Rome on Friday at 8 pm for 2", "Write"),
        (
            "Book Ana on the first and Ben on the second flight from Oslo to Rome tomorrow",
            "Ben on the second",
        ),
        ("Put the taxi on my expense report", "on my expense report"),
        ("move the launch meeting to Archive", "meeting"),
        ("Share my reservation with ana@example.com", "reservation"),
        ("Cancel the compartment", "compartment"),
        ("Undo what you just did", "Undo what you just did"),
        ("Cancel the call and the meeting with Will Smith", "call"),
        ("Give the car back", "Give the car back"),
        ("take the car back to the station", "take the car back to the station"),
        ("let the team book a room", "let the team book a room"),
        (
            "share plan.pdf with a@example.com and b@example.com, but only the first may edit",
            "the first may edit",
        ),
        (
            "share plan.pdf with a@example.com and bo@example.com. Only bo@example.com may edit",
            "bo@example.com may edit",
        ),
        ("share a.txt and b.txt with a@example.com and b@example.com respectively", "respectively"),
        ("share plan.pdf with a@example.com to edit and b@example.com to view", "b@example.com"),
        (
            "Book a room in Rome for 4 and 5 December",
            "Book a room in Rome for 4 and 5 December",
        ),
        ("tell #team that when Ana writes, cancel the car and pay INV-20031", "pay INV-20031"),
    ],
)
def test_what_would_be_done_to_something_else_is_asked_about(
    goal: str, about: str, planned: Callable[[str], MissionPlan]
) -> None:
    """In the words of the goal."""
    plan = planned(goal)

    assert asks_first(plan)
    assert about in [doubt.about for doubt in plan.doubts]


@pytest.mark.parametrize(
    "goal",
    [
        "Add lunch with Ben to my calendar tomorrow at 12:00",
        "Put lunch with Ben tomorrow at 12:00 into the team calendar",
        "Put the file draft.txt into the archive",
        "Remove the lunch event from the calendar",
        'Send the message "hello" to #team',
        "Move the report to Archive",
        "Share the invoice with ana@example.com",
        "Cancel tomorrow's stand-up",
        "Cancel my fligt to Rome",
        "Cancel my rentals next month",
        "put the file back where it was before",
        "take the email back",
        "Let dora@example.com view plan.pdf",
        "allow bo@example.com to edit plan.pdf",
        "Tell Ana and Bo that the second room is booked",
        "Book the first flight from Berlin to Rome and Oslo tomorrow",
        "Remind me on 4 and on 5 December at 9 am to water the plants",
    ],
)
def test_what_it_names_is_what_it_is_done_to(
    goal: str, planned: Callable[[str], MissionPlan]
) -> None:
    """And nothing is asked."""
    plan = planned(goal)

    assert not plan.doubts


@pytest.mark.parametrize(
    "told",
    [
        "that when Ana writes, cancel the car",
        "that if it rains, cancel the car",
        "that unless Ana objects, pay the invoice",
        ": as soon as Ana writes, book the room",
    ],
)
def test_half_a_sentence_that_is_told_goes_on_behind_its_comma(
    told: str, planned: Callable[[str], MissionPlan]
) -> None:
    """All of it is said, and nothing of it done."""
    plan = planned(f"tell #team {told}")

    assert [leg.goal for leg in plan.legs] == [f"tell #team {told}"]
    assert not plan.doubts


def test_who_is_let_see_something_is_given_it(planned: Callable[[str], MissionPlan]) -> None:
    """It is not looked at, and nothing that takes a share back is as good."""
    (leg,) = planned("Let dora@example.com view plan.pdf").legs

    assert [order.tools for order in leg.orders] == [("file_share_file",)]


def test_what_is_let_be_done_is_no_name() -> None:
    """What somebody is let do says how, and nothing of which file."""
    reading = read_clause("Let dora@example.com edit the budget")

    assert (reading.verb, reading.objects) == ("let", ("budget",))
