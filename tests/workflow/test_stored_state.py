"""Stored state: observations by reference, and waits for a catalog or store that is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import pytest
from pydantic import JsonValue

from orchestrator.adapters.temporal.search_attributes import WAITING_FOR
from orchestrator.core.errors import TransportFailed
from orchestrator.messages import names
from orchestrator.messages.leg import LegResult
from orchestrator.messages.mission import MissionResult, MissionStatus
from orchestrator.messages.open_waits import WaitKind
from orchestrator.messages.tool_call import ToolCall
from orchestrator.planning.models import RULES, CallTool, CallTools
from orchestrator.saga.obligation import ObligationState
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.workflows import progress
from tests.fakes import fake_leg, states_of
from tests.workflow.replays import replay, replays_at_every_task
from tests.world import PLAN_STEP, SELECT_TOOLS, FakeWorld

if TYPE_CHECKING:
    from tests.workflow.conftest import Mission, Stage


BOOK = CallTool(tool="book_flight", arguments={})
LOOK = CallTool(tool="find_flights", arguments={})
PARCEL = CallTool(tool="send_parcel", arguments={})
WORDS = ("no catalog", "ORCHESTRATOR_STORE")


@pytest.mark.parametrize(
    ("activity", "subject"),
    [
        (SELECT_TOOLS, "trip"),
        (PLAN_STEP, "trip"),
        (names.PREPARE_CALL, "book_flight"),
        (names.INVOKE_TOOL, "book_flight"),
        (names.INVOKE_TOOL, "send_parcel"),
        (names.INVOKE_TOOL, "find_flights"),
    ],
)
async def test_a_leg_waits_for_a_worker_that_has_its_catalog(
    stage: Stage, world: FakeWorld, activity: str, subject: str
) -> None:
    """Whatever it is at: it says why, goes on by itself, and does nothing twice or less."""
    held = world.hold(activity, subject)
    mission = await stage.start_leg("trip", LOOK, BOOK, PARCEL)
    await held.reached()
    world.catalogs.lost = True
    held.release()

    waiting = await mission.eventually(_stalled(mission, "trip"))
    assert all(word in waiting.stalled for word in WORDS)
    assert not world.compensated()
    world.catalogs.lost = False
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED, result.error
    assert not result.legs[0].stalled
    assert states_of(result.ledger) == {
        "book_flight": ObligationState.COMMITTED,
        "send_parcel": ObligationState.COMMITTED,
    }
    assert not world.compensated()
    assert await replays_at_every_task(mission.handle)


def _lost(world: FakeWorld, tool: str, *, then: ToolOutcome) -> None:
    """Lose the answer of a tool's first attempt, and with it the catalog of every worker."""

    async def lost(_: ToolCall) -> ToolOutcome:
        world.catalogs.lost = True
        raise TransportFailed(tool, "the answer was lost", may_have_arrived=True)

    world.answer(tool, lost, then)


async def test_what_may_have_been_made_is_asked_about_once_the_store_is_back(
    stage: Stage, world: FakeWorld
) -> None:
    """By its own key, and with a new deadline in the ledger; nothing is cancelled for an outage."""
    _lost(world, "book_flight", then=ToolOutcome(kind="succeeded", status=201))
    mission = await stage.start_leg("trip", BOOK)
    waiting = await mission.eventually(_stalled(mission, "trip"))
    assert all(word in waiting.stalled for word in WORDS)
    world.catalogs.lost = False
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED, result.error
    assert states_of(result.ledger) == {"book_flight": ObligationState.COMMITTED}
    assert not world.compensated()
    sent = world.sent("book_flight")
    assert len({call.call_id for call in sent}) == 1
    assert [call.may_have_arrived for call in (sent[0], sent[-1])] == [False, True]
    first, last = sent[0].deadline, sent[-1].deadline
    assert first is not None
    assert last is not None
    assert first < last == result.ledger.obligations[0].deadline
    assert await replays_at_every_task(mission.handle)


async def test_a_refusal_after_the_wait_leaves_what_may_have_been_made_in_doubt(
    stage: Stage, world: FakeWorld
) -> None:
    """The activity knows of the attempt before: rollback takes back what may stand."""
    _lost(world, "book_flight", then=ToolOutcome(kind="unknown", status=422, reason="no"))
    mission = await stage.start_leg("trip", BOOK)
    await mission.eventually(_stalled(mission, "trip"))
    world.catalogs.lost = False
    result = await mission.end()

    assert result.status is MissionStatus.ROLLED_BACK
    assert [o.tool for o in world.compensated()] == ["book_flight"]


async def test_cancelled_while_it_waits_what_may_have_been_made_is_taken_back(
    stage: Stage, world: FakeWorld
) -> None:
    """Nobody has asked what came of it: it is in doubt, and not taken for never sent."""
    _lost(world, "book_flight", then=ToolOutcome(kind="succeeded", status=201))
    mission = await stage.start_leg("trip", BOOK)
    await mission.eventually(_stalled(mission, "trip"))
    await mission.handle.cancel()
    world.catalogs.lost = False
    await mission.failure()

    assert [o.tool for o in world.compensated()] == ["book_flight"]
    assert len(world.sent("book_flight")) > 1
    assert not any(call.may_have_arrived for call in world.sent("book_flight"))


async def test_it_can_be_found_by_what_it_waits_for(stage: Stage, world: FakeWorld) -> None:
    """Its mission, by the search attribute that a list reads."""
    held = world.hold(names.PREPARE_CALL, "book_flight")
    mission = await stage.start_leg("trip", BOOK)
    await held.reached()
    world.catalogs.lost = True
    held.release()

    async def shown(wanted: bool) -> None:
        async def look() -> bool | None:
            shown = (await mission.handle.describe()).typed_search_attributes
            return (WaitKind.STORE in (shown.get(WAITING_FOR) or ())) is wanted or None

        await mission.eventually(look)

    await shown(True)
    world.catalogs.lost = False
    assert (await mission.end()).status is MissionStatus.SUCCEEDED
    await shown(False)


async def test_reads_at_once_wait_as_well(stage: Stage, world: FakeWorld) -> None:
    """Those that were answered are not made again."""
    world.plan(fake_leg("trip"))
    looks = tuple(CallTool(tool="find_flights", arguments={"page": n}) for n in range(3))
    world.decide("trip", CallTools(calls=looks))
    held = world.hold(names.INVOKE_TOOL, "find_flights")
    mission = await stage.start()
    await held.reached()
    world.catalogs.lost = True
    held.release()
    await mission.eventually(_stalled(mission, "trip"))
    world.catalogs.lost = False
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert [step.outcome for step in result.legs[0].steps][:3] == ["succeeded"] * 3


async def test_a_mission_waits_before_its_legs(stage: Stage, world: FakeWorld) -> None:
    """What is to plan it lacks its catalog: the mission itself says so."""
    world.plan(fake_leg("trip"))
    held = world.hold(names.SPLIT_GOAL, "")
    mission = await stage.start()
    await held.reached()
    world.catalogs.lost = True
    held.release()

    async def look() -> MissionResult | None:
        result = await mission.snapshot()
        return result if result.stalled else None

    waiting = await mission.eventually(look)
    assert waiting.status is MissionStatus.PLANNING
    assert all(word in waiting.stalled for word in WORDS)
    world.catalogs.lost = False
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert not result.stalled


async def test_a_leg_that_waits_for_its_catalog_can_be_cancelled(
    stage: Stage, world: FakeWorld
) -> None:
    """A call that was held back was never sent: nothing of it is to be cancelled."""
    held = world.hold(names.INVOKE_TOOL, "send_parcel")
    mission = await stage.start_leg("trip", PARCEL)
    await held.reached()
    world.catalogs.lost = True
    held.release()
    await mission.eventually(_stalled(mission, "trip"))

    await mission.handle.cancel()
    await mission.failure()

    result = await mission.snapshot()
    assert result.status is MissionStatus.CANCELLED
    assert states_of(result.ledger) == {"send_parcel": ObligationState.VOID}
    assert not world.compensated()


async def test_a_rollback_waits_for_a_catalog(stage: Stage, world: FakeWorld) -> None:
    """A lack that passes parks nothing."""
    stage.lose_after("book_flight", "book_hotel")
    held = world.hold(names.COMPENSATE, "book_hotel")
    mission = await stage.start()
    await held.reached()
    world.catalogs.lost = True
    held.release()

    async def tried() -> bool | None:
        return len(world.compensated()) > 1 or None

    await mission.eventually(tried)
    assert not (await mission.report()).parked
    world.catalogs.lost = False
    result = await mission.end()

    assert result.status is MissionStatus.ROLLED_BACK
    assert set(states_of(result.ledger).values()) == {ObligationState.CANCELLED}


async def test_a_rollback_parks_what_no_worker_can_take_back_and_takes_it_up_by_itself(
    stage: Stage, world: FakeWorld
) -> None:
    """With the true reason, within minutes for all of it; nobody has to type anything."""
    stage.lose_after("book_flight", "book_tour", "book_hotel")
    held = world.hold(names.COMPENSATE, "book_hotel")
    mission = await stage.start()
    await held.reached()
    world.catalogs.lost = True
    held.release()

    result = await mission.end()
    assert result.status is MissionStatus.PARKED
    assert set(states_of(result.ledger).values()) == {ObligationState.PARKED}
    assert all("no catalog" in o.note for o in result.ledger.obligations)
    assert not any("provider" in o.note for o in result.ledger.obligations)
    assert result.finished_at is not None
    assert (result.finished_at - min(c.at for c in world.attempts(names.COMPENSATE))).seconds < 400
    world.catalogs.lost = False
    report = await mission.rollback_handle.result()

    assert set(states_of(report.ledger).values()) == {ObligationState.CANCELLED}
    assert not any(o.resolutions for o in report.ledger.obligations)
    history = await mission.rollback_handle.fetch_history()
    assert len(history.events) < 500
    await replay(history)


async def test_a_leg_thought_through_in_its_own_task_asks_other_workers(
    stage: Stage, world: FakeWorld
) -> None:
    """What its worker lacks, any worker may have; what it has seen is in its messages."""
    leg = fake_leg("trip")
    world.plan(leg.model_copy(update={"planned_by": RULES}))
    world.decide("trip", BOOK, LOOK)
    held = world.hold(names.INVOKE_TOOL, "book_flight")
    mission = await stage.start()
    await held.reached()
    world.observations.lost = True
    world.catalogs.lost = True
    held.release()
    await mission.eventually(_stalled(mission, "trip", "no catalog"))
    world.catalogs.lost = False

    assert (await mission.end()).status is MissionStatus.SUCCEEDED
    assert await replays_at_every_task(mission.handle)


def _stalled(
    mission: Mission, leg_id: str, why: str = ""
) -> Callable[[], Awaitable[LegResult | None]]:
    async def look() -> LegResult | None:
        leg = await mission.leg(leg_id)
        return leg if leg.stalled and why in leg.stalled else None

    return look


PAGE: JsonValue = [{"id": f"F-{n}", "note": "a window seat " * 60} for n in range(24)]
"""About 20 kB."""
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
    history = await mission.handle.fetch_history()
    assert max(event.ByteSize() for event in history.events[:-1]) < 4_000
    assert await replays_at_every_task(mission.handle)


async def test_what_one_step_writes_does_not_depend_on_the_leg(
    stage: Stage, world: FakeWorld
) -> None:
    """The last of many steps writes as much as the third."""
    world.answer("find_flights", ToolOutcome(kind="succeeded", status=200, body=PAGE))

    mission = await stage.start_leg("flight", *LOOKS)
    await mission.end()

    sizes = await _step_sizes(mission)
    assert len(sizes) == 31
    assert sizes[-2] < sizes[2] + 100
    assert max(sizes[1:-1]) < 8_000


async def test_a_leg_waits_for_a_store_that_lacks_what_it_has_seen(
    stage: Stage, world: FakeWorld
) -> None:
    """It says where it was looked for, and goes on when it is there; nothing is cancelled."""
    held = world.hold(names.INVOKE_TOOL, "book_flight")
    mission = await stage.start_leg("flight", CallTool(tool="book_flight", arguments={}), LOOK)
    await held.reached()
    world.observations.lost = True
    held.release()

    waiting = await mission.eventually(_stalled(mission, "flight"))
    assert "memory" in waiting.stalled
    assert "ORCHESTRATOR_STATE_DIR" in waiting.stalled
    world.observations.lost = False
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert len(world.sent("book_flight")) == 1
    assert not world.compensated()
    assert not result.legs[0].stalled


async def test_a_leg_that_lacks_what_others_found_waits_and_does_not_hurry(
    stage: Stage, world: FakeWorld
) -> None:
    """Its history grows by the look at the store, however long that lacks it."""
    world.plan(fake_leg("flight"), fake_leg("ticket", after=("flight",)))
    world.decide("flight", LOOK)
    world.decide("ticket", LOOK)
    world.answer("find_flights", ToolOutcome(kind="succeeded", status=200, body=PAGE))
    held = world.hold(SELECT_TOOLS, "ticket")
    mission = await stage.start()
    await held.reached()
    world.observations.lost = True
    held.release()

    await mission.eventually(_looked_twice(mission))
    assert (await mission.leg("ticket")).stalled
    history = await mission.handle.fetch_history()
    begun = (one.activity_task_scheduled_event_attributes for one in history.events)
    assert Counter(one.activity_type.name for one in begun)[names.READ_KEPT] == 1
    world.observations.lost = False
    assert (await mission.end()).status is MissionStatus.SUCCEEDED


async def test_a_leg_waits_for_room(stage: Stage, world: FakeWorld) -> None:
    """A full disk costs a pause: what a provider has done is in the ledger, and stands."""
    world.answer("book_flight", ToolOutcome(kind="succeeded", status=201, body=PAGE))
    held = world.hold(names.INVOKE_TOOL, "book_flight")
    mission = await stage.start_leg("flight", CallTool(tool="book_flight", arguments={}), LOOK)
    await held.reached()
    world.observations.is_full = True
    held.release()

    waiting = await mission.eventually(_stalled(mission, "flight"))
    assert "No space left" in waiting.stalled
    world.observations.is_full = False
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert [o.body for o in world.contexts("flight")[-1].observations][:1] == [PAGE]


async def test_a_leg_that_waits_for_a_store_can_be_cancelled(
    stage: Stage, world: FakeWorld
) -> None:
    """What it has booked is cancelled without what it has seen."""
    held = world.hold(names.INVOKE_TOOL, "book_flight")
    mission = await stage.start_leg("flight", CallTool(tool="book_flight", arguments={}), LOOK)
    await held.reached()
    world.observations.lost = True
    held.release()
    await mission.eventually(_stalled(mission, "flight"))

    await mission.handle.cancel()
    await mission.failure()

    assert (await mission.snapshot()).status is MissionStatus.CANCELLED
    assert [o.tool for o in world.compensated()] == ["book_flight"]


def _looked_twice(mission: Mission) -> Callable[[], Awaitable[bool | None]]:
    """Whether one look at the store is tried again: history has a single one."""

    async def look() -> bool | None:
        described = await mission.handle.describe()
        pending = described.raw_description.pending_activities
        kind = names.READ_KEPT
        return any(one.activity_type.name == kind and one.attempt > 1 for one in pending) or None

    return look


async def _step_sizes(mission: Mission) -> list[int]:
    """Bytes of all events of each step."""
    sizes: list[int] = []
    for event in (await mission.handle.fetch_history()).events:
        scheduled = event.activity_task_scheduled_event_attributes
        if scheduled.activity_type.name == names.THINK:
            sizes.append(0)
        if sizes:
            sizes[-1] += event.ByteSize()
    return sizes


async def test_a_leg_without_room_is_told_and_ends_by_itself(
    stage: Stage, world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another consequence is refused with the reason; what was done before stands."""
    monkeypatch.setattr(progress, "_LARGEST", 3_000)

    result = await stage.run_leg("flight", *BOOKINGS, LOOK)

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
    world.answer("find_flights", ToolOutcome(kind="succeeded", status=200, body=PAGE))

    mission = await stage.start_leg("flight", CallTools(calls=LOOKS[:3]), LOOK)
    await mission.end()

    assert [o.arguments for o in world.contexts("flight")[1].observations] == [
        one.arguments for one in LOOKS[:3]
    ]
    assert all(o.body == PAGE for c in world.contexts("flight") for o in c.observations)
    history = await mission.handle.fetch_history()
    assert max(event.ByteSize() for event in history.events) < 4_000
