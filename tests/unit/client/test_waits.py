"""Answers on their way to the mission that asked, in whatever form they were given."""

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import JsonValue

from orchestrator.client import waits
from orchestrator.client.waits import send_answer
from orchestrator.messages.leg import AnswerInput, Question
from tests.refusals import raises_code

ASKED = Question(
    question_id="trip-1.1-flights.2",
    mission_id="trip-1",
    leg_id="1-flights",
    question="In which cabin, with how many bags?",
    fields={
        "cabin": {"type": "string", "enum": ["economy", "premium_economy"]},
        "bags": {"type": "integer", "default": 1},
    },
)


class Connection:
    """Keeps what is sent over it."""

    def __init__(self) -> None:
        self.sent: list[Mapping[str, Any]] = []

    def workflow_of(self, _: str) -> None:
        """Nothing was noted."""

    async def update(
        self, workflow_id: str, __: str, wanted: AnswerInput, *rest: object, about: str
    ) -> str:
        """Taken by the mission itself."""
        assert workflow_id == ASKED.mission_id
        self.sent.append(wanted.values)
        return about


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Question | None]:
    """The question that is open, which a test may change."""
    found: list[Question | None] = [ASKED]

    async def open_question(*_: object) -> Question | None:
        return found[0]

    monkeypatch.setattr(waits, "open_question", open_question)
    return found


async def test_one_thing_is_told_without_its_name(opened: list[Question | None]) -> None:
    """What may be left out need not be told."""
    connection: Any = Connection()
    understood = await send_answer(connection, ASKED.question_id, "premium economy")

    assert connection.sent == [understood.values]
    assert understood.values["cabin"] == "premium_economy"


async def test_of_several_things_the_one_that_is_meant_is_named(
    opened: list[Question | None],
) -> None:
    """With the command that names them; nothing is sent."""
    fields = {"day": {"type": "string", "format": "date"}, **ASKED.fields}
    opened[0] = ASKED.model_copy(update={"fields": fields})
    connection: Any = Connection()
    with raises_code("AnswerInvalid") as refused:
        await send_answer(connection, ASKED.question_id, "next Friday")

    assert "cabin=<value>" in str(refused.value)
    assert connection.sent == []


async def test_a_question_that_is_over_takes_no_text(opened: list[Question | None]) -> None:
    """Its mission says so, and is told no value that nobody read."""
    opened[0] = None
    connection: Any = Connection()
    await send_answer(connection, ASKED.question_id, "economy")

    assert connection.sent == [{}]


@pytest.mark.parametrize("is_open", [True, False])
@pytest.mark.parametrize("typed", ["4111 1111 1111 1111", {"bags": "4111111111111111"}])
async def test_a_card_number_is_never_sent(
    opened: list[Question | None], typed: str | dict[str, JsonValue], is_open: bool
) -> None:
    """It is refused where it is typed, with the way to the vault and without the number."""
    opened[0] = ASKED if is_open else None
    connection: Any = Connection()

    if isinstance(typed, str) and not is_open:
        await send_answer(connection, ASKED.question_id, typed)  # no field is known to take it
        assert connection.sent == [{}]
        return
    with raises_code("AnswerInvalid") as refused:
        await send_answer(connection, ASKED.question_id, typed)

    assert "4111" not in str(refused.value)
    assert connection.sent == []
