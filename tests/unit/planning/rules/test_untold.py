"""What a goal says and its words do not tell is asked about before anything is done with it."""

from typing import Any

import pytest

from orchestrator.core.record import JsonObject
from orchestrator.planning.models import AskUser, CallTool


def _asked(run: Any) -> JsonObject:
    first = next(iter(run.decisions.values()))[0]
    return {**first.fields} if isinstance(first, AskUser) else {}


@pytest.mark.parametrize(
    ("goal", "fields"),
    [
        (
            "Reserve a table for two in Lisbon on 2026-12-04 at 8",
            {"time_8": ["08:00", "20:00"]},
        ),
        (
            "Add a meeting to my calendar on 2026-12-04 at half past seven",
            {"time_half_past_seven": ["07:30", "19:30"]},
        ),
        ("Reserve a hotel in Lisbon the weekend for two nights", {"date_the_weekend": None}),
        (
            "Reserve a hotel in Lisbon the day before the meeting for two nights",
            {"date_the_day_before_the_meeting": None},
        ),
        ("Remind me on 2026-12-04 in the evening to pack", {"time_in_the_evening": None}),
        ("Remind me tonight to pack", {"time_tonight": None}),
        ("Remind me the evening before 2026-12-04 to pack", {"time_the_evening_before": None}),
    ],
)
async def test_it_is_asked(mission: Any, goal: str, fields: dict[str, object]) -> None:
    """With what it may mean, before anything is called."""
    run = await mission.run(goal)

    asked = _asked(run)
    assert {n: s.get("enum") for n, s in asked.items() if isinstance(s, dict)} == fields


@pytest.mark.parametrize(
    "goal",
    [
        "Reserve a table for two in Lisbon on 2026-12-04 for dinner at 8",
        "Reserve a table for two in Lisbon on 2026-12-04 at 20:00",
        "Find tables in Lisbon on 2026-12-04 at 8",
        "Tell my team on general that dinner is at 8",
        "Tell my team on general that we meet tomorrow evening",
        "Remind me on 2026-12-04 at 20:00 in the evening to pack",
        "Find tables in Lisbon tomorrow evening",
        "Reserve a table for two in Lisbon on 2026-12-04 in the evening",
    ],
)
async def test_it_is_not_asked(mission: Any, goal: str) -> None:
    """The goal tells, or orders nothing, or it is said to somebody."""
    assert not [name for name in _asked(await mission.run(goal)) if name.startswith("time_")]


async def test_the_answer_is_what_was_said(mission: Any) -> None:
    """The search and the booking take it, and no default of the provider."""
    mission.answers = {"time_8": "20:00"}

    run = await mission.run("Reserve a table for two in Lisbon on 2026-12-04 at 8")

    calls = run.calls(run.plan.legs[0].leg_id)
    assert calls[0].arguments["time"] == "20:00"
    assert calls[-1].tool == "dining_reserve_table"


async def test_the_hour_of_an_evening_is_what_was_answered(mission: Any) -> None:
    """And what is to be reminded of is not the day."""
    mission.answers = {"time_on_the_evening": "19:30"}

    run = await mission.run("Remind me on the evening of 4 December to pack")

    (call,) = run.calls(run.plan.legs[0].leg_id)
    assert call.arguments == {"reminder_text": "Pack", "date": "2026-12-04", "time": "19:30"}


async def test_a_related_day_is_read_from_the_clause_before(mission: Any) -> None:
    """The other clauses of the goal tell what it is counted from."""
    run = await mission.run(
        "Book a flight from Berlin to Lisbon on 2026-12-05 and "
        "a hotel in Lisbon the day before for two nights"
    )

    (search, *_) = run.calls(run.plan.legs[1].leg_id)
    assert isinstance(search, CallTool)
    assert (search.arguments["check_in"], search.arguments["check_out"]) == (
        "2026-12-04",
        "2026-12-06",
    )


async def test_who_only_looks_is_asked_nothing(mission: Any) -> None:
    """A weekend is looked up from its first day."""
    run = await mission.run("What is the weather in Lisbon this weekend?")

    (call,) = run.calls(run.plan.legs[0].leg_id)
    assert call.arguments["date"] == "2026-11-21"


async def test_how_long_something_lasts_is_sent(mission: Any) -> None:
    """In the unit that the input takes."""
    run = await mission.run(
        "Add a meeting to my calendar on 2026-12-04 at 10:00 for an hour and a half"
    )

    (call,) = run.calls(run.plan.legs[0].leg_id)
    assert (call.arguments["time"], call.arguments["duration_minutes"]) == ("10:00", 90)


@pytest.mark.parametrize(
    ("goal", "asked"),
    [
        (
            "Rent a car in Lisbon from 2026-12-07 to 2026-12-09 and remind me of it a day before",
            "a day before",
        ),
        ("Remind me to pack the evening before", "the evening before"),
    ],
)
async def test_when_one_wants_to_be_told_is_no_part_of_what_is_told(
    mission: Any, goal: str, asked: str
) -> None:
    """Of two days nobody knows which it is before; and it is not reminded of on one of them."""
    run = await mission.run(goal)

    question = run.last(run.plan.legs[-1].leg_id)
    assert isinstance(question, AskUser)
    assert asked in question.question


async def test_an_id_of_another_clause_is_none_of_this(mission: Any) -> None:
    """The invoice's number names no channel."""
    run = await mission.run("Pay INV-7 and let the general channel know that it is paid")

    told = run.calls(run.plan.legs[1].leg_id)
    assert "INV-7" not in [call.arguments.get("channel_id") for call in told]
    assert told[0].tool == "message_find_channels"
