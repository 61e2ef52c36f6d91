"""Turning in circles: noticed, told once, and ended; a poll whose answer changes is no circle."""

from typing import Any

from orchestrator.messages.step import Repeats
from orchestrator.planning.models import ANSWER, Observation


def seen(tool: str = "find_flights", body: Any = None, **more: Any) -> Observation:
    given = {"outcome": "succeeded", "body": body, "step": 1, **more}
    return Observation.model_validate({"tool": tool, **given})


def after(*steps: Observation, most: int = 3) -> tuple[Repeats, list[int]]:
    """What all of it comes to, and at which of the steps, from 1, the planner was told."""
    repeats, told = Repeats(), []
    for number, step in enumerate(steps, start=1):
        repeats, sentence = repeats.after(step, most=most)
        if sentence:
            told.append(number)
    return repeats, told


def test_the_third_time_is_told_and_the_fourth_ends() -> None:
    three, told = after(*[seen(body=["a"])] * 3)
    four, again = after(*[seen(body=["a"])] * 4)

    assert (told, three.ended_by) == ([3], "")
    assert again == [3]
    assert four.ended_by == (
        "the leg turns in circles: find_flights with the same arguments came to the same 4 times, "
        "with nothing new in between"
    )


def test_arguments_and_answers_are_compared_as_json() -> None:
    """Neither the order of keys nor the way of a number counts; a changing poll is no circle."""
    one = seen(body={"a": 1, "b": [2]}, arguments={"x": 1, "y": "z"}, step=1)
    other = seen(body={"b": [2.0], "a": 1.0}, arguments={"y": "z", "x": 1.0}, step=2)

    assert after(one, other, one)[1] == [3]
    busy, done = seen(body={"status": "busy"}), seen(body={"status": "done"})
    assert after(*[busy, done] * 10) == (after(*[busy, done] * 10)[0], [])
    assert after(busy, busy, done, done, busy, busy, done)[1] == []


def test_refusals_faults_and_searches_count() -> None:
    """Whatever keeps a call from being made, and the same search for tools."""
    refused = seen(outcome="refused", error="it is not for the agent scout")
    invalid = seen(outcome="invalid", error="day: is missing")
    search = seen("tools.discover", outcome="discovered", body=["a"], arguments={"query": "cars"})

    for step in (refused, invalid, search):
        assert after(*[step] * 4)[1] == [3]
        assert after(*[step] * 4)[0].ended_by
    assert "the same search for tools" in after(*[search] * 4)[0].ended_by
    assert after(*[refused, search] * 5)[0].ended_by  # in turns, and nothing new comes of either


def test_what_is_new_begins_the_count_again() -> None:
    """A consequence, another search, or a person's word."""
    look = seen("list_bookings", body=[])
    book = seen("book_flight", body={"ok": True}, side_effect=True)

    assert after(look, look, book, look, look, book, look, look)[1] == []
    assert after(look, look, seen("find_flights"), look, look, seen("find_cars"), look)[1] == []
    repeats, _ = after(look, look)
    assert repeats.afresh().after(look, most=3)[1] == ""


def test_who_begins_again_after_being_told_is_ended() -> None:
    """It is told once: something else in between buys as many tries again, and no more."""
    look, else_ = seen("list_bookings", body=[]), seen("find_flights", body=[1])
    steps = [look] * 3 + [else_] + [look] * 3

    assert after(*steps)[1] == [3]
    assert after(*steps)[0].ended_by
    assert not after(*steps[:-1])[0].ended_by


def test_answers_of_no_use_and_dropped_calls_are_none() -> None:
    """A model in trouble has a limit of its own; three coffees are three calls."""
    useless = seen(ANSWER, outcome="refused", error="it calls no tool")
    dropped = seen("find_flights", outcome="dropped", error="one consequence at a time")

    assert after(*[useless] * 9) == (Repeats(), [])
    assert after(*[dropped] * 9) == (Repeats(), [])
    coffee = seen("order_coffee", body={"ok": True}, side_effect=True)
    assert after(*[coffee] * 9)[1] == []


def test_what_is_kept_is_bounded() -> None:
    """It travels with every run of the leg."""
    steps = [seen(f"tool_{n}", body=n) for n in range(1_000)]

    assert len(after(*steps)[0].last) == 300
    assert len(after(*steps)[0].since) == 1
