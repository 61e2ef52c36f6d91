"""Waits for people and models as they are shown: what for, until when, what to type."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from orchestrator.cli import render_waiting
from orchestrator.messages.failure_details import ModelPause
from orchestrator.messages.leg import LegWaiting, Question
from orchestrator.messages.open_waits import WaitKind, wait_of


def _question(**more: object) -> Question:
    given = {"question_id": "trip-1.1-flights.2", "mission_id": "trip-1", "leg_id": "1-flights"}
    asked: dict[str, object] = {"question": "What now?", "fields": {}, **more}
    return Question.model_validate({**given, **asked})


@pytest.mark.parametrize(
    ("question", "lines"),
    [
        (
            _question(fields={"city": {}, "day": {"format": "date"}}),
            [
                "- city: in your own words",
                "- day: a day, such as tomorrow, next Friday or 2026-12-03",
                "orchestrator mission answer trip-1.1-flights.2 city=<value> day=<value>",
            ],
        ),
        (
            _question(personal=["phone", "traveler_id"]),
            [
                "orchestrator pii phone",
                "orchestrator pii traveler_id",
                "orchestrator mission answer trip-1.1-flights.2",
            ],
        ),
    ],
    ids=["values", "personal"],
)
def test_a_question_shows_how_to_answer_it(
    question: Question, lines: list[str], parse_command: Callable[[list[str]], None]
) -> None:
    """With values, or after storing personal fields without any."""
    shown = [text.plain.strip() for text in render_waiting.entry(question)]

    assert shown == ["trip-1.1-flights.2  asks", "What now?", *lines]
    parse_command(shown[-1].split())


AT = datetime(2026, 11, 23, 14, 4, tzinfo=UTC)
PAUSE = ModelPause(
    pause_id="m.trip.3-model",
    mission_id="m",
    leg_id="trip",
    model="openai:gpt-5",
    reason="401, it does not take the key",
    remedy="set OPENAI_API_KEY",
    since=AT,
    retried_at=AT + timedelta(minutes=1),
    deadline=AT + timedelta(days=1),
)


def test_a_pause_is_told_in_a_sentence() -> None:
    """Why, what to set, when it is asked again, when it is given up."""
    assert PAUSE.sentence == (
        "waits for the model provider: openai:gpt-5: 401, it does not take the key; set "
        "OPENAI_API_KEY; retried at 2026-11-23 14:05:00 UTC, given up at 2026-11-24 14:04:00 UTC"
    )
    late = PAUSE.model_copy(update={"retried_at": None, "remedy": "", "model": ""})
    assert late.sentence == (
        "waits for the model provider: 401, it does not take the key; not retried by itself before "
        "it is given up at 2026-11-24 14:04:00 UTC"
    )


def test_its_mission_hears_all_of_it_however_long_the_reason_is() -> None:
    """The news of legs are cut: the time and the variable are parts of their own."""
    wait = wait_of(LegWaiting(pause=PAUSE.model_copy(update={"reason": "x" * 500})))

    assert wait is not None
    assert wait.waits_for is WaitKind.MODEL
    assert wait.takes[0] == "set OPENAI_API_KEY"
    assert wait.takes[1].startswith("retried at 2026-11-23 14:05:00 UTC")
    assert wait.commands[0] == "orchestrator mission answer m.trip.3-model --retry"
    assert wait.commands[2].endswith("--give-up")
