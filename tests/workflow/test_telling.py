"""What workflows tell the log and the meter: each thing once, and no word of anybody."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from orchestrator.planning.models import CallTool, DiscoverTools, Doubt, GiveUp
from orchestrator.saga.orders import Order
from orchestrator.saga.outcome import CompensationOutcome
from orchestrator.testing import FakeWorld, fake_leg

if TYPE_CHECKING:
    from tests.workflow.conftest import Stage

PLANTED = "Ada Lovelace 90417"


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """What is logged of missions, filled as it comes."""
    caplog.set_level(logging.INFO, "orchestrator.missions")
    told: list[str] = []

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            about = record.__dict__["temporal_workflow"]["workflow_id"].partition(".")[2]
            told.append(f"{about or 'mission'}: {record.getMessage()} {record.__dict__['told']}")

    logging.getLogger("orchestrator.missions").addHandler(handler := Lines())
    yield told
    logging.getLogger("orchestrator.missions").removeHandler(handler)


async def test_a_lost_mission_is_told_step_by_step_and_by_no_word_of_it(
    forgetful: Stage, world: FakeWorld, lines: list[str]
) -> None:
    """Each line once, though every task replays the history; what a planner says stays out."""
    world.plan(fake_leg("flight"))
    world.decide(
        "flight",
        DiscoverTools(query=f"book for {PLANTED}"),
        CallTool(tool="book_flight", arguments={"name": PLANTED}),
        GiveUp(reason=f"nothing for {PLANTED}"),
    )
    world.compensate("book_flight", CompensationOutcome(state="cancelled"))

    mission = await forgetful.start(goal=f"a flight for {PLANTED}")
    await mission.end()
    told = "\n".join(lines)

    assert told.count("flight: step 1: discover: ") == 1
    assert told.count("flight: step 2: call book_flight: succeeded") == 1
    assert told.count("flight: the leg ended failed after") == 1
    assert told.count("rollback: the rollback begins with 1 obligations") == 1
    assert told.count("'state': 'cancelled'") == 1
    assert told.count("mission: the mission ended rolled_back after") == 1
    assert PLANTED not in told


async def test_a_question_about_a_plan_is_told_when_it_opens(
    forgetful: Stage, world: FakeWorld, lines: list[str]
) -> None:
    """By its id: whoever reads the log knows that the mission waits, and for what."""
    world.plan(fake_leg("flight", orders=[Order(clause="book it", tools=("book_flight",))]))
    world.doubt(Doubt(kind="left_over", about=PLANTED, why="no tool does that"))

    mission = await forgetful.start(goal=f"book a flight for {PLANTED}")
    question = await mission.plan_question()
    await mission.handle.cancel()
    await mission.end()
    told = "\n".join(lines)

    assert told.count(f"mission: waits for answer: {question.question_id}") == 1
    assert PLANTED not in told
