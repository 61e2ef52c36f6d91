"""What a leg does when a call is refused, stays unclear or finds nothing."""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from orchestrator.catalog.tool import Tool
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject
from orchestrator.planning.models import FINISH, AskUser, Finish, GiveUp, Observation
from orchestrator.planning.rules.chaining import _stopped


def failing(
    name: str, outcome: str, *, times: int = 99, **also: object
) -> Callable[[Tool, JsonObject, int], Observation | None]:
    """Outcomes in which the first calls of one tool fail."""
    left = [times]

    def outcomes(tool: Tool, arguments: JsonObject, step: int) -> Observation | None:
        if tool.name != name or left[0] == 0:
            return None
        left[0] -= 1
        return Observation.model_validate(
            {
                "step": step,
                "tool": name,
                "arguments": arguments,
                "outcome": outcome,
                "error": f"{name} said no",
                "side_effect": tool.is_side_effect,
                **also,
            }
        )

    return outcomes


async def test_offer_that_is_refused_gives_way_to_the_next(mission: Any) -> None:
    """A rejection is no end while another offer is there."""
    mission.outcomes = failing("flight_book_offer", "rejected", times=2)

    run = await mission.run("Book a flight from Berlin to Lisbon on 2026-12-03")

    leg_id = run.plan.legs[0].leg_id
    tried = [c.arguments["offer_id"] for c in run.calls(leg_id)[1:]]
    assert len(tried) == len(set(tried)) == 3
    assert isinstance(run.last(leg_id), Finish)


async def test_leg_gives_up_when_every_offer_was_refused(mission: Any) -> None:
    """The reason carries the provider's words."""
    mission.outcomes = failing("flight_book_offer", "rejected")

    run = await mission.run("Book a flight from Berlin to Lisbon on 2026-12-03")

    leg_id = run.plan.legs[0].leg_id
    assert run.names(leg_id).count("flight_book_offer") == 3
    assert "each of the 3 that were found was refused" in str(run.last(leg_id))
    assert "flight_book_offer said no" in str(run.last(leg_id))


@pytest.mark.parametrize("outcome", ["unknown", "refused"])
async def test_unclear_or_refused_side_effect_is_never_tried_again(
    mission: Any, outcome: str
) -> None:
    """A second attempt could book twice, or overrule the person who said no."""
    mission.outcomes = failing("flight_book_offer", outcome)

    run = await mission.run("Book a flight from Berlin to Lisbon on 2026-12-03")

    leg_id = run.plan.legs[0].leg_id
    assert run.names(leg_id) == ["flight_search_offers", "flight_book_offer", "give_up"]
    assert "flight_book_offer said no" in str(run.last(leg_id))


async def test_what_a_person_refused_is_followed_by_another_offer(mission: Any) -> None:
    """One that fits the request as well; the same is never proposed again."""
    mission.outcomes = failing("flight_book_offer", "refused", times=1, refused_by="ann", hint="no")

    run = await mission.run("Book a flight from Berlin to Lisbon on 2026-12-03")

    leg_id = run.plan.legs[0].leg_id
    first, second = (c for c in run.calls(leg_id) if c.tool == "flight_book_offer")
    assert first.arguments["offer_id"] != second.arguments["offer_id"]
    assert second.reason
    assert isinstance(run.last(leg_id), Finish)


async def test_who_does_not_want_what_was_named_wants_no_other(mission: Any) -> None:
    """The one channel that fits is refused: the words go nowhere else."""
    mission.provider.script = lambda tool, arguments: (
        {
            "channels": [
                {"channel_id": "c1", "channel_name": "team"},
                {"channel_id": "c2", "channel_name": "board"},
            ]
        }
        if tool.name == "message_find_channels"
        else None
    )
    mission.outcomes = failing("message_send", "refused", times=1, refused_by="ann", hint="no")

    run = await mission.run("Send a message to my team that I am late")

    leg_id = run.plan.legs[0].leg_id
    assert run.names(leg_id).count("message_send") == 1
    assert "message_send said no" in str(run.last(leg_id))


async def test_empty_search_is_repeated_once_with_fewer_filters(mission: Any) -> None:
    """Then the leg gives up in plain words."""
    mission.provider.script = lambda tool, arguments: (
        {"offers": []} if tool.name == "flight_search_offers" else None
    )

    run = await mission.run("Book a direct flight from Berlin to Lisbon on 2026-12-03")

    leg_id = run.plan.legs[0].leg_id
    first, second = run.calls(leg_id)
    assert first.arguments["direct_only"] is True
    assert "direct_only" not in second.arguments
    assert run.last(leg_id) == GiveUp(
        reason="flight_search_offers found nothing that fits the request"
    )


async def test_search_without_an_answer_is_repeated_once(mission: Any) -> None:
    """A read may be repeated; a second silence ends the leg."""
    mission.outcomes = failing("flight_search_offers", "unknown", times=1)
    once = await mission.run("Book a flight from Berlin to Lisbon on 2026-12-03")
    mission.outcomes = failing("flight_search_offers", "unknown")
    always = await mission.run("Book a flight from Berlin to Lisbon on 2026-12-03")

    leg_id = once.plan.legs[0].leg_id
    assert isinstance(once.last(leg_id), Finish)
    assert always.names(leg_id) == ["flight_search_offers", "flight_search_offers", "give_up"]


async def test_stated_limit_and_budget_are_kept(mission: Any) -> None:
    """Nothing dearer than allowed is put before a person."""
    goal = "Book a flight from Berlin to Lisbon on 2026-12-03"
    limited = await mission.run(f"{goal}, under 20 EUR")
    mission.budget = Money(amount=Decimal(20), currency="EUR")
    budgeted = await mission.run(goal)

    assert "at most 20.00 EUR" in str(limited.last(limited.plan.legs[0].leg_id))
    assert "budget" in str(budgeted.last(budgeted.plan.legs[0].leg_id))
    assert "flight_book_offer" not in limited.names(limited.plan.legs[0].leg_id)


@pytest.mark.parametrize(
    "goal",
    [
        "Find flights from Vienna to Oslo on 2026-12-03",
        "Show the reviews of a hotel in Lisbon from 2026-12-03 to 2026-12-06",
        "What is the status of my order at Roma?",
    ],
)
async def test_nothing_found_is_an_answer(mission: Any, goal: str) -> None:
    """Also where it is what the answer would have been about that was not found."""
    mission.provider.listed = 0
    run = await mission.run(goal)

    ended = run.last(run.plan.legs[0].leg_id)
    assert isinstance(ended, Finish)
    assert re.match("No .* were found", ended.summary)


async def test_an_end_that_follows_from_its_start_is_not_asked_for(mission: Any) -> None:
    """Who says for how many nights is asked when they begin; who does not is asked for both."""
    two_nights = await mission.run("Find a hotel in Lisbon for two nights")
    no_nights = await mission.run("Find a hotel in Lisbon")

    asked, both = two_nights.last("1-hotels"), no_nights.last("1-hotels")
    assert isinstance(asked, AskUser)
    assert set(asked.fields) == {"check_in"}
    assert isinstance(both, AskUser)
    assert set(both.fields) == {"check_in", "check_out"}


async def test_nothing_found_books_nothing(mission: Any) -> None:
    """What was ordered cannot be done, and the leg says so."""
    mission.provider.listed = 0
    run = await mission.run("Book a flight from Vienna to Oslo on 2026-12-03")

    ended = run.last(run.plan.legs[0].leg_id)
    assert isinstance(ended, GiveUp)
    assert "found nothing" in ended.reason


def test_a_refused_ending_is_said_again() -> None:
    """The planner without a model has nothing else to do: the leg ends unproved."""
    claimed = Observation(step=1, tool=FINISH, outcome="refused", error="nothing was done")
    rejected = Observation(step=1, tool="book", outcome="refused", error="no")

    assert _stopped([claimed]) is None
    assert isinstance(_stopped([rejected]), GiveUp)


async def test_cancelling_by_an_unknown_id_touches_nothing_else(mission: Any) -> None:
    """When the provider knows no such id, the booking that happens to be there is left alone."""
    mission.provider.listed = 1
    mission.outcomes = failing("car_cancel_booking", "rejected")

    run = await mission.run("Cancel my car booking CB-12345")

    leg_id = run.plan.legs[0].leg_id
    cancels = [c for c in run.calls(leg_id) if c.tool == "car_cancel_booking"]
    assert [c.arguments["car_booking_id"] for c in cancels] == ["CB-12345"]
    assert "'CB-12345'" in str(run.last(leg_id))
