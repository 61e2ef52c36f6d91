"""A hand-over and a model's pause, while the worker of each activity dies twice at it.

Each attempt dies where it hurts: what only thinks, before it answers; a call once it was made, so
that its answer is lost. Nothing is done twice, forgotten, or asked twice for it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from temporalio import activity

from orchestrator.core.errors import ModelRefused
from orchestrator.core.record import Record
from orchestrator.messages import names
from orchestrator.messages.failure_details import ModelPause, ResumeInput
from orchestrator.messages.leg import LegResult
from orchestrator.messages.mission import MissionStatus
from orchestrator.planning.models import (
    AgentProfile,
    AskUser,
    CallTool,
    Finish,
    HandOver,
    StepContext,
    StepDecision,
)
from orchestrator.saga.outcome import ToolOutcome
from tests.fakes import fake_leg
from tests.workflow.replays import replays_at_every_task
from tests.world import SELECT_TOOLS, FakeWorld

if TYPE_CHECKING:
    from orchestrator.messages.tool_call import ToolCall
    from tests.workflow.conftest import Stage

HOTEL = CallTool(tool="book_hotel", arguments={})
FLYER = AgentProfile(name="flyer", hands_over_to=("*",))
HOTELIER = AgentProfile(name="hotelier", tools=("book_hotel",))
ASK = AskUser(
    question="Which room?",
    fields={"room": {"type": "string"}},
)
_DEATHS = 2


class Deaths:
    """Ends the first attempts of every activity, and loses the first answers of a tool."""

    def __init__(self, world: FakeWorld) -> None:
        self.at: Counter[str] = Counter()
        self._enter = world._enter
        self._left = _DEATHS

    async def enter(self, activity_name: str, subject: str, message: Record) -> None:
        await self._enter(activity_name, subject, message)
        thinks = activity_name not in (names.INVOKE_TOOL, names.COMPENSATE)
        if thinks and activity.info().attempt <= _DEATHS:
            self._die(activity_name)

    async def call(self, _: ToolCall) -> ToolOutcome:
        """The call is made; the worker dies before it says so."""
        if self._left:
            self._left -= 1
            self._die(names.INVOKE_TOOL)
        return ToolOutcome(kind="succeeded", status=201)

    def _die(self, at: str) -> None:
        self.at[at] += 1
        raise RuntimeError("its worker died")


@pytest.fixture
def deaths(world: FakeWorld, monkeypatch: pytest.MonkeyPatch) -> Deaths:
    """A world whose workers die."""
    made = Deaths(world)
    monkeypatch.setattr(world, "_enter", made.enter)
    world.answer("book_hotel", *[made.call] * 9)
    return made


def _one_room(world: FakeWorld) -> None:
    """It was asked for under one key, however often, and stands."""
    assert len({call.call_id for call in world.sent("book_hotel")}) == 1
    assert len(world.sent("book_hotel")) == 1 + _DEATHS
    assert not world.compensated()


async def test_a_part_is_handed_over_once_and_its_question_is_asked_once(
    stage: Stage, world: FakeWorld, deaths: Deaths
) -> None:
    """One new leg; its question survives, and its answer is what it goes on with."""
    world.staff(FLYER, HOTELIER)
    world.plan(fake_leg("trip", agent=FLYER))
    part = HandOver(agent="hotelier", goal="the hotel near the airport", reason="mine cannot")
    world.decide("trip", part, Finish(summary="There."))
    world.decide("h1-trip", ASK, HOTEL, Finish(summary="A room."))
    mission = await stage.start()
    question = await mission.question("h1-trip")
    await mission.answer(question, {"room": "12"})
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED, result.error
    assert [leg.leg_id for leg in result.legs] == ["trip", "h1-trip"]
    assert [receipt.tool for receipt in result.receipts] == ["book_hotel"]
    assert deaths.at[names.PLAN_HAND_OVER] == _DEATHS
    assert deaths.at[names.INVOKE_TOOL] == _DEATHS
    _one_room(world)
    assert await replays_at_every_task(mission.handle)


async def test_a_leg_that_is_resumed_goes_on_where_it_was(
    stage: Stage, world: FakeWorld, deaths: Deaths
) -> None:
    """One pause, ended by one word; what was booked before it is not booked again."""
    refused = [ModelRefused("openai:gpt-5", "401, it does not take the key", "set a key", 3600)]

    def mind(_: StepContext) -> StepDecision:
        if refused:
            raise refused.pop()
        return Finish(summary="done")

    agent = AgentProfile(name="trip", model="openai:gpt-5")
    mission = await stage.start_leg("trip", HOTEL, *[mind] * 5, agent=agent)

    async def paused() -> ModelPause | None:
        return (await mission.waiting("trip")).pause

    pause = await mission.eventually(paused)
    leg: LegResult = await mission.leg("trip")
    await mission.handle.execute_update(
        names.RESUME_UPDATE, ResumeInput(pause_id=pause.pause_id, by="ada"), result_type=ModelPause
    )
    result = await mission.end()

    assert pause.attempts == 1
    assert leg.steps[0].did == "call book_hotel"
    assert result.status is MissionStatus.SUCCEEDED, result.error
    assert deaths.at[SELECT_TOOLS] == 3 * _DEATHS
    _one_room(world)
    assert await replays_at_every_task(mission.handle)
