"""A catalog that no worker has for a while costs a wait that can be seen, and nothing else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import pytest
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer

from orchestrator.adapters.temporal.search_attributes import WAITING_FOR
from orchestrator.core.errors import TransportFailed
from orchestrator.messages import names
from orchestrator.messages.leg import LegResult
from orchestrator.messages.mission import MissionResult, MissionStatus
from orchestrator.messages.news import WaitKind
from orchestrator.messages.tool_call import ToolCall
from orchestrator.planning.models import RULES, CallTool, CallTools
from orchestrator.saga.ledger import ObligationState
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.testing import FakeWorld, fake_leg, states_of
from tests.workflow.replays import replays_at_every_task
from workflows import ALL_WORKFLOWS

if TYPE_CHECKING:
    from tests.workflow.conftest import Mission, Stage

BOOK = CallTool(tool="book_flight", arguments={})
LOOK = CallTool(tool="find_flights", arguments={})
PARCEL = CallTool(tool="send_parcel", arguments={})
WORDS = ("no catalog", "ORCHESTRATOR_STORE")


@pytest.mark.parametrize(
    ("activity", "subject"),
    [
        (names.SELECT_TOOLS, "trip"),
        (names.PLAN_STEP, "trip"),
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
    world.plan(fake_leg("trip"))
    world.decide("trip", LOOK, BOOK, PARCEL)
    held = world.hold(activity, subject)
    mission = await stage.start()
    await held.reached()
    world.catalogs.lost = True
    held.release()

    waiting = await mission.eventually(_held_up(mission, "trip"))
    assert all(word in waiting.held_up for word in WORDS)
    assert not world.compensated()
    world.catalogs.lost = False
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED, result.error
    assert not result.legs[0].held_up
    assert states_of(result.ledger) == {
        "book_flight": ObligationState.COMMITTED,
        "send_parcel": ObligationState.COMMITTED,
    }
    assert not world.compensated()
    assert await replays_at_every_task(mission.leg_handle("trip"))


def _lost(world: FakeWorld, tool: str, *, then: ToolOutcome) -> None:
    """Lose the answer of a tool's first attempt, and with it the catalog of every worker."""

    async def lost(_: ToolCall) -> ToolOutcome:
        world.catalogs.lost = True
        raise TransportFailed(tool, "the answer was lost", may_have_arrived=True)

    world.answer(tool, lost, then)


async def test_what_may_have_been_made_is_asked_about_once_the_store_is_back(
    stage: Stage, world: FakeWorld
) -> None:
    """By its own key, and with a new deadline in the ledger; nothing is undone for an outage."""
    world.plan(fake_leg("trip"))
    world.decide("trip", BOOK)
    _lost(world, "book_flight", then=ToolOutcome(kind="succeeded", status=201))
    mission = await stage.start()
    waiting = await mission.eventually(_held_up(mission, "trip"))
    assert all(word in waiting.held_up for word in WORDS)
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
    assert await replays_at_every_task(mission.leg_handle("trip"))


async def test_a_refusal_after_the_wait_leaves_what_may_have_been_made_in_doubt(
    stage: Stage, world: FakeWorld
) -> None:
    """Whatever worker says so: rollback takes back what may stand."""
    world.plan(fake_leg("trip"))
    world.decide("trip", BOOK)
    _lost(world, "book_flight", then=ToolOutcome(kind="rejected", status=422, reason="no"))
    mission = await stage.start()
    await mission.eventually(_held_up(mission, "trip"))
    world.catalogs.lost = False
    result = await mission.end()

    assert result.status is MissionStatus.ROLLED_BACK
    assert [o.tool for o in world.compensated()] == ["book_flight"]


async def test_cancelled_while_it_waits_what_may_have_been_made_is_taken_back(
    stage: Stage, world: FakeWorld
) -> None:
    """Nobody has asked what came of it: it is in doubt, and not taken for never sent."""
    world.plan(fake_leg("trip"))
    world.decide("trip", BOOK)
    _lost(world, "book_flight", then=ToolOutcome(kind="succeeded", status=201))
    mission = await stage.start()
    await mission.eventually(_held_up(mission, "trip"))
    await mission.handle.cancel()
    world.catalogs.lost = False
    await mission.failure()

    assert [o.tool for o in world.compensated()] == ["book_flight"]
    assert len(world.sent("book_flight")) > 1
    assert not any(call.may_have_arrived for call in world.sent("book_flight"))


async def test_it_can_be_found_by_what_it_waits_for(stage: Stage, world: FakeWorld) -> None:
    """The leg and its mission, by the search attribute that a list reads."""
    world.plan(fake_leg("trip"))
    world.decide("trip", BOOK)
    held = world.hold(names.PREPARE_CALL, "book_flight")
    mission = await stage.start()
    await held.reached()
    world.catalogs.lost = True
    held.release()

    async def shown(wanted: bool) -> None:
        async def look() -> bool | None:
            found = [
                (await one.describe()).typed_search_attributes.get(WAITING_FOR) or ()
                for one in (mission.leg_handle("trip"), mission.handle)
            ]
            return all((WaitKind.STORE in waits) is wanted for waits in found) or None

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
    await mission.eventually(_held_up(mission, "trip"))
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
        return result if result.held_up else None

    waiting = await mission.eventually(look)
    assert waiting.status is MissionStatus.PLANNING
    assert all(word in waiting.held_up for word in WORDS)
    world.catalogs.lost = False
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert not result.held_up


async def test_a_leg_that_waits_for_its_catalog_can_be_cancelled(
    stage: Stage, world: FakeWorld
) -> None:
    """A call that was held back was never sent: nothing of it is to be undone."""
    world.plan(fake_leg("trip"))
    world.decide("trip", PARCEL)
    held = world.hold(names.INVOKE_TOOL, "send_parcel")
    mission = await stage.start()
    await held.reached()
    world.catalogs.lost = True
    held.release()
    await mission.eventually(_held_up(mission, "trip"))

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
    await Replayer(workflows=ALL_WORKFLOWS, data_converter=pydantic_data_converter).replay_workflow(
        history
    )


async def test_a_leg_thought_through_in_its_own_task_asks_other_workers(
    stage: Stage, world: FakeWorld
) -> None:
    """What its worker lacks, be it the catalog or what it has seen, any worker may have."""
    leg = fake_leg("trip")
    world.plan(leg.model_copy(update={"planned_by": RULES}))
    world.decide("trip", BOOK, LOOK)
    held = world.hold(names.INVOKE_TOOL, "book_flight")
    mission = await stage.start()
    await held.reached()
    world.observations.lost = True
    held.release()
    waiting = await mission.eventually(_held_up(mission, "trip"))
    assert "memory" in waiting.held_up
    world.catalogs.lost = True
    world.observations.lost = False
    await mission.eventually(_held_up(mission, "trip", "no catalog"))
    world.catalogs.lost = False

    assert (await mission.end()).status is MissionStatus.SUCCEEDED
    assert await replays_at_every_task(mission.leg_handle("trip"))


def _held_up(
    mission: Mission, leg_id: str, why: str = ""
) -> Callable[[], Awaitable[LegResult | None]]:
    async def look() -> LegResult | None:
        leg = await mission.leg(leg_id)
        return leg if leg.held_up and why in leg.held_up else None

    return look
