"""When things are to be, in goals of several parts: what is sent, and what is asked first."""

from typing import Any

import pytest
from pydantic import JsonValue

from orchestrator.json_schema.validation import field_problems
from orchestrator.planning.models import AskUser, Observation


async def _sent(mission: Any, goal: str, leg: int) -> dict[str, Any]:
    run = await mission.run(goal)
    return dict(run.calls(run.plan.legs[leg].leg_id)[-1].arguments)


async def test_an_hour_that_is_said_by_another_is_sent(mission: Any) -> None:
    """It stood in the title, and the event had no hour."""
    sent = await _sent(
        mission,
        "Book a table in Rome on 5 December at 8 pm for 2 and schedule drinks an hour before in my "
        "calendar",
        1,
    )

    assert (sent["title"], sent["start_date"], sent["time"]) == ("Drinks", "2026-12-05", "19:00")


async def test_a_reminder_before_what_was_booked_says_what_that_is(mission: Any) -> None:
    """At the hour that is counted from the goal's."""
    goal = "Book a table in Rome on 5 December at 8 pm for 2 and remind me two hours before"
    sent = await _sent(mission, goal, 1)

    assert (sent["date"], sent["time"]) == ("2026-12-05", "18:00")
    assert "table" in sent["reminder_text"].lower()


async def test_a_time_from_now_is_of_today(mission: Any) -> None:
    """Day and hour by the clock of who asks."""
    sent = await _sent(mission, "Remind me in two hours to stretch", 0)

    assert sent["reminder_text"] == "Stretch"
    assert sent["time"][:2] == "12"


async def test_that_morning_is_no_text(mission: Any) -> None:
    """It is the day spoken of before."""
    goal = "Add a review on 5 December at 3 pm and remind me that morning at 8 to print the slides"
    sent = await _sent(mission, goal, 1)

    assert (sent["reminder_text"], sent["date"], sent["time"]) == (
        "Print the slides",
        "2026-12-05",
        "08:00",
    )


@pytest.mark.parametrize(
    ("goal", "field"),
    [
        (
            "Book a flight from Berlin to Rome on 2026-12-04 and remind me an hour before the "
            "flight to pack",
            "time_an_hour_before_the_flight",
        ),
        (
            'Create an event "review" half an hour after my standup tomorrow',
            "time_half_an_hour_after_my_standup",
        ),
    ],
)
async def test_an_hour_that_nothing_tells_is_asked(mission: Any, goal: str, field: str) -> None:
    """Before the call that would take it."""
    run = await mission.run(goal)

    last = run.last(run.plan.legs[-1].leg_id)
    assert isinstance(last, AskUser)
    assert field in last.fields


async def test_the_way_back_is_shown_by_its_day(mission: Any) -> None:
    """No day is left out for the sake of other words."""
    run = await mission.run(
        "Book a flight from Berlin to Rome on 2026-12-04 and back on 2026-12-07"
    )

    assert "2026-12-07" in run.last(run.plan.legs[0].leg_id).summary


@pytest.mark.parametrize(
    ("goal", "field", "answer", "problem"),
    [
        (
            "Book a hotel in Rome from 2026-12-04 for 2 guests",
            "check_out",
            "2026-12-02",
            "check_out cannot be before 2026-12-04, on which it starts",
        ),
        (
            "Book a hotel in Rome until 2026-12-04 for 2 guests",
            "check_in",
            "2026-12-06",
            "check_in cannot be after 2026-12-04, on which it ends",
        ),
    ],
)
async def test_an_answer_ends_nothing_before_it_starts(
    mission: Any, goal: str, field: str, answer: str, problem: str
) -> None:
    """Also where the other day stands in the goal."""
    run = await mission.run(goal)
    asked = run.last(run.plan.legs[0].leg_id)

    assert isinstance(asked, AskUser)
    assert field_problems(asked.fields, {field: answer}) == (problem,)
    assert field_problems(asked.fields, {field: "2026-12-04"}) == ()


async def test_when_a_thing_was_made_is_not_when_it_is(mission: Any) -> None:
    """Events of that day and later ones were cancelled, for they were made before it."""
    listed: list[JsonValue] = [
        {"event_id": f"evt_{n}", "title": f"Talk {n}", "start_date": day, "created_at": made}
        for n, (day, made) in enumerate(
            [
                ("2026-11-25", "2026-11-20T09:00:00Z"),
                ("2026-11-27", "2026-11-20T09:00:00Z"),
                ("2026-11-28", "2026-11-20T09:00:00Z"),
            ]
        )
    ]
    mission.outcomes = lambda tool, arguments, step: (
        Observation(
            step=step,
            tool=tool.name,
            arguments=arguments,
            outcome="succeeded",
            body={"events": listed},
        )
        if tool.name == "calendar_list_events"
        else None
    )
    run = await mission.run("Cancel my events before 2026-11-27")

    calls = run.calls(run.plan.legs[0].leg_id)
    cancelled = [c.arguments["event_id"] for c in calls if c.tool == "calendar_cancel_event"]
    assert cancelled == ["evt_0"]


@pytest.mark.parametrize(
    ("goal", "summary"),
    [
        (
            "Show my reminders between 4 December and 6 December",
            "2 of them 'between 4 December and 6 December'",
        ),
        ("Show my reminders before 6 December", "2 of them 'before 6 December'"),
        ("Show my reminders after 5 December", "2 of them 'after 5 December'"),
    ],
)
async def test_a_list_is_told_by_all_the_days_that_are_meant(
    mission: Any, goal: str, summary: str
) -> None:
    """Where one day can be sent, none is."""
    listed: list[JsonValue] = [
        {"reminder_id": f"rem_{n}", "reminder_text": text, "date": day, "time": "09:00"}
        for n, (text, day) in enumerate(
            [
                ("Pack", "2026-12-04"),
                ("Call Bo", "2026-12-05"),
                ("Swim", "2026-12-06"),
                ("Run", "2026-12-09"),
            ][(0 if "before" in goal else 1) if "between" not in goal else 1 :]
        )
    ]
    mission.outcomes = lambda tool, arguments, step: Observation(
        step=step,
        tool=tool.name,
        arguments=arguments,
        outcome="succeeded",
        body={"reminders": listed},
    )
    run = await mission.run(goal)

    assert summary in run.last(run.plan.legs[0].leg_id).summary
    assert run.calls(run.plan.legs[0].leg_id)[0].arguments == {}
