"""How a question is shown, and that the command it shows is one that the CLI takes."""

from collections.abc import Callable

import pytest

from orchestrator.cli import render_waiting
from orchestrator.messages.leg import Question


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
