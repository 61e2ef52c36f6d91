"""Questions answered at a terminal, field by field."""

import io
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
import typer
from pytest import MonkeyPatch

from orchestrator.cli.answering import ask_fields, given_texts
from orchestrator.core.errors import UsageError
from orchestrator.messages.leg import Question
from tests.unit.cli.conftest import Terminal

Run = Callable[..., Any]

ASKED = Question(
    question_id="trip-1.1-flights.2",
    mission_id="trip-1",
    leg_id="1-flights",
    question="When, and in which cabin?",
    fields={
        "departure_date": {"type": "string", "format": "date", "description": "Day of departure."},
        "cabin": {"type": "string", "enum": ["economy", "premium_economy"]},
        "bags": {"type": "integer", "default": 1},
    },
    why="the search takes it",
    otherwise="the mission fails, and what it has done is rolled back",
    asked_at=datetime(2026, 11, 23, 9, tzinfo=UTC),
)


@pytest.fixture
def printed(monkeypatch: MonkeyPatch) -> list[str]:
    said: list[str] = []
    monkeypatch.setattr(
        "orchestrator.cli.answering.progress.print", lambda text, **_: said.append(str(text))
    )
    return said


def at_a_terminal(monkeypatch: MonkeyPatch, *typed: str) -> Terminal:
    screen = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal("".join(f"{line}\n" for line in typed)))
    monkeypatch.setattr(sys, "stderr", screen)
    return screen


def test_each_field_is_asked_until_it_is_read(printed: list[str], monkeypatch: MonkeyPatch) -> None:
    """What was understood is shown; an empty line takes the default where there is one."""
    screen = at_a_terminal(monkeypatch, "soon", "3 December 2026", "the second one", "")
    answer = ask_fields(ASKED)

    assert [*answer.values()] == ["3 December 2026", "the second one", "1"]
    text = "\n".join(printed)
    for part in (ASKED.question, ASKED.why, "Day of departure", "2. premium economy"):
        assert part in text
    for part in (ASKED.otherwise, "'soon'", "Thursday 3 December 2026", "premium_economy"):
        assert part in text
    assert screen.getvalue().count("departure date:") == 2


def test_who_ends_the_input_answers_nothing(printed: list[str], monkeypatch: MonkeyPatch) -> None:
    at_a_terminal(monkeypatch, "tomorrow")

    with pytest.raises(typer.Abort):
        ask_fields(ASKED)


@pytest.mark.parametrize("as_json", [True, False])
def test_without_a_terminal_the_command_is_named(as_json: bool, monkeypatch: MonkeyPatch) -> None:
    """One sentence says what each field takes and what to type; a script is never asked."""
    if as_json:
        at_a_terminal(monkeypatch)
    else:
        monkeypatch.setattr(sys, "stdin", io.StringIO())

    with pytest.raises(UsageError) as refused:
        ask_fields(ASKED, as_json=as_json)
    command = "orchestrator mission answer trip-1.1-flights.2 departure_date=<value> cabin=<value> "
    assert "a day, such as tomorrow" in str(refused.value)
    assert command in str(refused.value)


def test_what_does_not_go_with_what_was_typed_before_is_asked_for_again(
    printed: list[str], monkeypatch: MonkeyPatch
) -> None:
    at_a_terminal(monkeypatch, "2026-12-04", "2026-12-02", "2026-12-06")
    day = {"type": "string", "format": "date"}
    stay = ASKED.model_copy(update={"fields": {"check_in": day, "check_out": day}})

    assert ask_fields(stay) == {"check_in": "2026-12-04", "check_out": "2026-12-06"}
    assert any("2026-12-02 is before check in" in said for said in printed)


def test_texts_stay_as_they_were_typed() -> None:
    """None is given twice; what has no name is one text of several words."""
    assert given_texts(["a=012", "b=x=y"]) == {"a": "012", "b": "x=y"}
    with pytest.raises(UsageError, match="given twice"):
        given_texts(["a=1", "a=2"])
    with pytest.raises(UsageError, match="NAME=VALUE"):
        given_texts(["cabin=economy", "Friday"])
    assert given_texts(["next", "Friday"]) == "next Friday"
    assert not given_texts([])


class Leg:
    """A client of one mission, which keeps how its waiting legs are resumed."""

    def __init__(self) -> None:
        self.resumed: list[tuple[Any, ...]] = []

    def get(self, mission_id: str) -> "Leg":
        assert mission_id == "trip-1"
        return self

    async def resume(
        self, pause_id: str | None, *, model: str | None, give_up: bool, by: str
    ) -> list[Any]:
        self.resumed.append((pause_id, model, give_up))
        return []


@pytest.mark.parametrize(
    ("words", "resumed"),
    [
        ("trip-1 --retry", (None, None, False)),
        ("trip-1.1-flights.3-model --retry", ("trip-1.1-flights.3-model", None, False)),
        ("trip-1 --model a:b", (None, "a:b", False)),
        ("trip-1.1-flights.3-model --give-up", ("trip-1.1-flights.3-model", None, True)),
    ],
)
def test_a_pause_is_answered_by_what_comes_next(
    words: str,
    resumed: tuple[Any, ...],
    run: Run,
    connect_to: Callable[[object], None],
) -> None:
    client = Leg()
    connect_to(client)

    assert run("mission", "answer", *words.split()).exit_code == 0
    assert client.resumed == [resumed]
