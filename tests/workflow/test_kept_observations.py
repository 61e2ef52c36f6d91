"""What a leg has seen travels by reference: no history grows by it, and nothing is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import pytest
from pydantic import JsonValue

from orchestrator.messages import names
from orchestrator.messages.leg import LegResult
from orchestrator.messages.mission import MissionStatus
from orchestrator.planning.models import CallTool, CallTools
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.testing import FakeWorld, fake_leg
from tests.workflow.replays import replays_at_every_task
from workflows import progress

if TYPE_CHECKING:
    from tests.workflow.conftest import Mission, Stage

PAGE: JsonValue = [{"id": f"F-{n}", "note": "a window seat " * 60} for n in range(24)]
"""About 20 kB."""
LOOK = CallTool(tool="find_flights", arguments={})
LOOKS = tuple(CallTool(tool="find_flights", arguments={"page": n}) for n in range(30))
BOOKINGS = tuple(CallTool(tool="book_flight", arguments={"row": n}) for n in range(6))


async def test_long_answers_are_in_no_message(stage: Stage, world: FakeWorld) -> None:
    """The planner sees all of them at each step, and so do the legs that depend on it."""
    world.plan(fake_leg("flight"), fake_leg("ticket", after=("flight",)))
    world.decide("flight", *LOOKS[:6])
    world.decide("ticket", LOOK)
    world.answer("find_flights", ToolOutcome(kind="succeeded", status=200, body=PAGE))

    mission = await stage.start()
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert [len(c.observations) for c in world.contexts("flight")] == list(range(7))
    assert all(o.body == PAGE for c in world.contexts("flight") for o in c.observations)
    assert [f.body for c in world.contexts("ticket") for f in c.facts] == [PAGE, PAGE]
    history = await mission.leg_handle("flight").fetch_history()
    assert max(event.ByteSize() for event in history.events) < 4_000
    assert await replays_at_every_task(mission.leg_handle("flight"))


async def test_what_one_step_writes_does_not_depend_on_the_leg(
    stage: Stage, world: FakeWorld
) -> None:
    """The last of many steps writes as much as the third."""
    world.plan(fake_leg("flight"))
    world.decide("flight", *LOOKS)
    world.answer("find_flights", ToolOutcome(kind="succeeded", status=200, body=PAGE))

    mission = await stage.start()
    await mission.end()

    sizes = await _step_sizes(mission, "flight")
    assert len(sizes) == 31
    assert sizes[-2] < sizes[2] + 100
    assert max(sizes[1:-1]) < 8_000


async def test_a_leg_waits_for_a_store_that_lacks_what_it_has_seen(
    stage: Stage, world: FakeWorld
) -> None:
    """It says where it was looked for, and goes on when it is there; nothing is undone."""
    world.plan(fake_leg("flight"))
    world.decide("flight", CallTool(tool="book_flight", arguments={}), LOOK)
    held = world.hold(names.INVOKE_TOOL, "book_flight")
    mission = await stage.start()
    await held.reached()
    world.observations.lost = True
    held.release()

    waiting = await mission.eventually(_held_up(mission, "flight"))
    assert "memory" in waiting.held_up
    assert "ORCHESTRATOR_STATE_DIR" in waiting.held_up
    world.observations.lost = False
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert len(world.sent("book_flight")) == 1
    assert not world.compensated()
    assert not result.legs[0].held_up


async def test_a_leg_that_lacks_what_others_found_waits_and_does_not_hurry(
    stage: Stage, world: FakeWorld
) -> None:
    """Its history grows by the look at the store, however long that lacks it."""
    world.plan(fake_leg("flight"), fake_leg("ticket", after=("flight",)))
    world.decide("flight", LOOK)
    world.decide("ticket", LOOK)
    world.answer("find_flights", ToolOutcome(kind="succeeded", status=200, body=PAGE))
    held = world.hold(names.SELECT_TOOLS, "ticket")
    mission = await stage.start()
    await held.reached()
    world.observations.lost = True
    held.release()

    await mission.eventually(_looked_twice(mission, "ticket"))
    assert (await mission.leg("ticket")).held_up
    history = await mission.leg_handle("ticket").fetch_history()
    begun = (one.activity_task_scheduled_event_attributes for one in history.events)
    assert Counter(one.activity_type.name for one in begun)[names.READ_KEPT] == 1
    world.observations.lost = False
    assert (await mission.end()).status is MissionStatus.SUCCEEDED


async def test_a_leg_waits_for_room(stage: Stage, world: FakeWorld) -> None:
    """A full disk costs a pause: what a provider has done is in the ledger, and stands."""
    world.plan(fake_leg("flight"))
    world.decide("flight", CallTool(tool="book_flight", arguments={}), LOOK)
    world.answer("book_flight", ToolOutcome(kind="succeeded", status=201, body=PAGE))
    held = world.hold(names.INVOKE_TOOL, "book_flight")
    mission = await stage.start()
    await held.reached()
    world.observations.is_full = True
    held.release()

    waiting = await mission.eventually(_held_up(mission, "flight"))
    assert "No space left" in waiting.held_up
    world.observations.is_full = False
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert [o.body for o in world.contexts("flight")[-1].observations][:1] == [PAGE]


async def test_a_leg_that_waits_for_a_store_can_be_cancelled(
    stage: Stage, world: FakeWorld
) -> None:
    """What it has booked is undone without what it has seen."""
    world.plan(fake_leg("flight"))
    world.decide("flight", CallTool(tool="book_flight", arguments={}), LOOK)
    held = world.hold(names.INVOKE_TOOL, "book_flight")
    mission = await stage.start()
    await held.reached()
    world.observations.lost = True
    held.release()
    await mission.eventually(_held_up(mission, "flight"))

    await mission.handle.cancel()
    await mission.failure()

    assert (await mission.snapshot()).status is MissionStatus.CANCELLED
    assert [o.tool for o in world.compensated()] == ["book_flight"]


def _held_up(mission: Mission, leg_id: str) -> Callable[[], Awaitable[LegResult | None]]:
    async def look() -> LegResult | None:
        leg = await mission.leg(leg_id)
        return leg if leg.held_up else None

    return look


def _looked_twice(mission: Mission, leg_id: str) -> Callable[[], Awaitable[bool | None]]:
    """Whether one look at the store is tried again: history has a single one."""

    async def look() -> bool | None:
        described = await mission.leg_handle(leg_id).describe()
        pending = described.raw_description.pending_activities
        kind = names.READ_KEPT
        return any(one.activity_type.name == kind and one.attempt > 1 for one in pending) or None

    return look


async def _step_sizes(mission: Mission, leg_id: str) -> list[int]:
    """Bytes of all events of each step."""
    sizes: list[int] = []
    for event in (await mission.leg_handle(leg_id).fetch_history()).events:
        scheduled = event.activity_task_scheduled_event_attributes
        if scheduled.activity_type.name == names.SELECT_TOOLS:
            sizes.append(0)
        if sizes:
            sizes[-1] += event.ByteSize()
    return sizes


async def test_a_leg_without_room_is_told_and_ends_by_itself(
    stage: Stage, world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another consequence is refused with the reason; what was done before stands."""
    monkeypatch.setattr(progress, "_LARGEST", 3_000)
    world.plan(fake_leg("flight"))
    world.decide("flight", *BOOKINGS, LOOK)

    result = await (await stage.start()).end()

    assert result.status is MissionStatus.SUCCEEDED
    assert 0 < len(world.sent("book_flight")) < 6
    assert len(world.sent("find_flights")) == 1
    refused = [s.error or "" for s in result.legs[0].steps if s.outcome == "refused"]
    assert all("no more than 3 kB are carried on" in error for error in refused)


async def test_old_steps_and_facts_make_room(
    stage: Stage, world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest are there, the others are counted."""
    monkeypatch.setattr(progress, "_MOST_STEPS", 3)
    monkeypatch.setattr(progress, "_MOST_FACTS", 2)
    world.plan(fake_leg("flight"), fake_leg("ticket", after=("flight",)))
    world.decide("flight", LOOK, *BOOKINGS[:4])

    result = await (await stage.start()).end()

    leg = result.legs[0]
    assert (leg.steps_before, [s.step for s in leg.steps]) == (3, [4, 5, 6])
    assert leg.called == ("find_flights", "book_flight")
    assert (leg.facts_before, [f.source for f in leg.facts]) == (2, ["flight.4", "flight.5"])
    assert [f.source for f in world.contexts("ticket")[0].facts] == ["flight.4", "flight.5"]


async def test_long_answers_of_several_calls_at_once_are_in_no_message(
    stage: Stage, world: FakeWorld
) -> None:
    """Each is kept, and all are seen in their order."""
    world.plan(fake_leg("flight"))
    world.decide("flight", CallTools(calls=LOOKS[:3]), LOOK)
    world.answer("find_flights", ToolOutcome(kind="succeeded", status=200, body=PAGE))

    mission = await stage.start()
    await mission.end()

    assert [o.arguments for o in world.contexts("flight")[1].observations] == [
        one.arguments for one in LOOKS[:3]
    ]
    assert all(o.body == PAGE for c in world.contexts("flight") for o in c.observations)
    history = await mission.leg_handle("flight").fetch_history()
    assert max(event.ByteSize() for event in history.events) < 4_000
