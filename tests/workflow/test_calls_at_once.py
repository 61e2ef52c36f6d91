"""Several calls of one step: made at once, recorded in order, none of them twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.core.budget import Usage
from orchestrator.core.limits import Limits
from orchestrator.messages import names
from orchestrator.messages.mission import MissionStatus
from orchestrator.planning.models import (
    AgentProfile,
    CallTool,
    CallTools,
    Dropped,
    Finish,
)
from orchestrator.planning.planner import PlannedStep
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.testing import FakeWorld, fake_leg
from tests.workflow.replays import replays_at_every_task

if TYPE_CHECKING:
    from orchestrator.messages.tool_call import ToolCall
    from tests.workflow.conftest import Stage

FIND = CallTool(tool="find_flights")
BOOK = CallTool(tool="book_flight")


def _find(*names_of: str) -> CallTools:
    return CallTools(calls=tuple(FIND.model_copy(update={"reason": n}) for n in names_of))


async def test_calls_of_one_step_are_under_way_together(stage: Stage, world: FakeWorld) -> None:
    """None waits for another to be answered; each has an id and an observation of its own."""
    world.plan(fake_leg("flight"))
    world.decide("flight", _find("a", "b", "c"), Finish(summary="Found."))
    held = world.hold(names.INVOKE_TOOL, "find_flights")

    mission = await stage.start()

    async def all_sent() -> bool | None:
        return len(world.sent("find_flights")) == 3 or None

    async with held:
        await mission.eventually(all_sent)
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    ids = [call.call_id.rpartition(".")[2] for call in world.sent("find_flights")]
    assert sorted(ids) == ["1", "1b", "1c"]
    assert [step.label for step in result.legs[0].steps] == ["1", "1b", "1c", "2"]
    seen = world.contexts("flight")[1].observations
    assert [(one.step, one.part, one.outcome) for one in seen] == [
        (1, 0, "succeeded"),
        (1, 1, "succeeded"),
        (1, 2, "succeeded"),
    ]
    await replays_at_every_task(mission.leg_handle("flight"))


async def test_they_are_recorded_in_the_order_of_the_answer(stage: Stage, world: FakeWorld) -> None:
    """Whichever is answered first; and one that fails is an observation like any other."""

    async def answered(call: ToolCall) -> ToolOutcome:
        part = call.call_id.rpartition(".")[2]
        if part == "1":
            await mission.eventually(lambda: _others_were_sent(world))
            return ToolOutcome(kind="rejected", reason="no such city")
        return ToolOutcome(kind="succeeded", body={"part": part})

    world.plan(fake_leg("flight"))
    world.answer("find_flights", answered)
    world.decide("flight", _find("a", "b", "c"), Finish(summary="Found."))
    mission = await stage.start()
    await mission.end()

    seen = world.contexts("flight")[1].observations
    assert [(one.outcome, one.error or one.body) for one in seen] == [
        ("rejected", "no such city"),
        ("succeeded", {"part": "1b"}),
        ("succeeded", {"part": "1c"}),
    ]


async def _others_were_sent(world: FakeWorld) -> bool | None:
    return len(world.sent("find_flights")) == 3 or None


async def test_an_attempt_that_died_repeats_only_its_own_call(
    stage: Stage, world: FakeWorld
) -> None:
    """The others were answered, and are in history."""
    attempts: dict[str, int] = {}

    async def dies_once(call: ToolCall) -> ToolOutcome:
        part = call.call_id.rpartition(".")[2]
        attempts[part] = attempts.get(part, 0) + 1
        if part == "1b" and attempts[part] == 1:
            raise RuntimeError("the worker died")
        return ToolOutcome(kind="succeeded", body=part)

    world.plan(fake_leg("flight"))
    world.answer("find_flights", dies_once)
    world.decide("flight", _find("a", "b", "c"), Finish(summary="Found."))
    await (await stage.start()).end()

    assert attempts == {"1": 1, "1b": 2, "1c": 1}


async def test_a_cancel_request_waits_for_what_is_under_way(stage: Stage, world: FakeWorld) -> None:
    """And what was answered is recorded."""
    world.plan(fake_leg("flight"))
    world.decide("flight", _find("a", "b"), BOOK)
    held = world.hold(names.INVOKE_TOOL, "find_flights")

    mission = await stage.start()
    async with held:
        await mission.handle.cancel()
        await mission.is_cancelling("flight")
    result = await mission.over()

    assert result.status is MissionStatus.CANCELLED
    assert [step.label for step in result.legs[0].steps] == ["1", "1b"]
    assert world.sent("book_flight") == []


async def test_what_is_dropped_is_told_to_the_planner(stage: Stage, world: FakeWorld) -> None:
    """With its reason, and shown to people; nothing of it is done."""
    beside = Dropped(tool="book_flight", arguments={"seat": "1A"}, why="do it with what was read")
    world.plan(fake_leg("flight"))
    world.decide(
        "flight",
        PlannedStep(decision=_find("a", "b"), dropped=(beside,), usage=Usage(requests=1)),
        Finish(summary="Found."),
    )

    result = await (await stage.start()).end()

    seen = world.contexts("flight")[1].observations[-1]
    assert (seen.tool, seen.outcome, seen.error) == ("book_flight", "dropped", beside.why)
    assert seen.arguments == {"seat": "1A"}
    assert world.sent("book_flight") == []
    shown = [(s.label, s.outcome, s.usage is not None) for s in result.legs[0].steps]
    assert shown == [
        ("1", "succeeded", True),
        ("1b", "succeeded", False),
        ("1c", "dropped", False),
        ("2", "done", False),
    ]


async def test_calls_at_once_keep_to_what_the_leg_has_left(stage: Stage, world: FakeWorld) -> None:
    """The rest is dropped, which ends no leg; the next call would."""
    world.plan(fake_leg("flight", agent=AgentProfile(name="scout", limits=Limits(tool_calls=2))))
    world.decide("flight", _find("a", "b", "c"), Finish(summary="Found."))

    result = await (await stage.start()).end()

    assert result.status is MissionStatus.SUCCEEDED
    assert len(world.sent("find_flights")) == 2
    assert [s.outcome for s in result.legs[0].steps] == [
        "succeeded",
        "succeeded",
        "dropped",
        "done",
    ]


async def test_calls_outside_the_wall_are_refused_each(stage: Stage, world: FakeWorld) -> None:
    """However many stand side by side; none is sent."""
    walled = AgentProfile(name="booker", tools=("book_*",))
    world.plan(fake_leg("flight", agent=walled))
    world.decide("flight", _find("a", "b"), Finish(summary="Nothing."))

    result = await (await stage.start()).end()

    assert [s.outcome for s in result.legs[0].steps] == ["refused", "refused", "done"]
    seen = world.contexts("flight")[1].observations
    assert [one.tool for one in seen] == ["find_flights"] * 2
    assert world.sent("find_flights") == []
