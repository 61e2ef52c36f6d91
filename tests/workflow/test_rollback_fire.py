"""Rollback under fire: outages, requests to wait, its own end, and requests that come twice."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from temporalio import activity
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowExecutionStatus
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.exceptions import ApplicationError
from temporalio.worker import Replayer

from activities.boundary import heartbeats
from orchestrator.adapters.temporal.rollbacks import start_rollback
from orchestrator.adapters.temporal.workflow_runner import TaskOrderedRunner
from orchestrator.core.compensation_limits import LONGEST_DEFERRAL
from orchestrator.messages import names
from orchestrator.messages.mission import MissionStatus
from orchestrator.planning.models import CallTool
from orchestrator.saga.ledger import Obligation
from orchestrator.saga.outcome import CompensationFailure, CompensationOutcome
from orchestrator.testing import FakeWorld, fake_leg, states_of
from workflows import ALL_WORKFLOWS

if TYPE_CHECKING:
    from tests.workflow.conftest import Mission, Stage

DOWN = ApplicationError("HTTP 500", type=names.PROVIDER_BUSY)
TOO_LATE = CompensationOutcome(state="parked", note="too late to cancel")
DONE = CompensationOutcome(state="cancelled")


def asked_to_wait(seconds: float) -> ApplicationError:
    """A 429 with Retry-After."""
    failure = CompensationFailure(
        reason="HTTP 429", counts=False, arrived=False, retry_after_s=seconds
    )
    return ApplicationError("HTTP 429", failure, type=names.PROVIDER_BUSY)


# Where something is parked, no test waits for the end of its mission: the server would skip all the
# time that an operator may take.


def lost(reached: asyncio.Event) -> Callable[[Obligation], Awaitable[CompensationOutcome]]:
    """An attempt that nobody ever hears of again."""

    async def hang(_: Obligation) -> CompensationOutcome:
        reached.set()
        async with heartbeats():
            await asyncio.Event().wait()
        raise AssertionError("it was never to end")

    return hang


def tried_at(world: FakeWorld) -> list[datetime]:
    """When each attempt to take something back began, by the server's clock."""
    return [call.at for call in world.attempts(names.COMPENSATE)]


async def stop(mission: Mission) -> None:
    """Terminate its rollback, and wait until the server says that it is over."""
    await mission.rollback_handle.terminate()

    async def over() -> bool | None:
        return await mission.rollback_status() is WorkflowExecutionStatus.TERMINATED or None

    await mission.eventually(over)


async def start_again(stage: Stage, mission: Mission) -> str:
    """Ask for a rollback, as the command line and the sweep do."""
    return await start_rollback(
        stage.env.client, mission.mission_id, reason="again", task_queue=stage.task_queue
    )


async def test_an_outage_of_minutes_parks_nothing(stage: Stage, world: FakeWorld) -> None:
    """Three attempts are all that the contract gives, and they are spread over it."""
    stage.lose_after("book_flight")
    began: list[datetime] = []

    async def down_for_four_minutes(_: Obligation) -> CompensationOutcome:
        now = activity.info().started_time
        began.append(now)
        if now < began[0] + timedelta(minutes=4):
            raise DOWN.with_traceback(None)
        return DONE

    world.compensate("book_flight", down_for_four_minutes)

    result = await (await stage.start()).end()

    assert result.status is MissionStatus.ROLLED_BACK
    assert len(tried_at(world)) == 3


async def test_a_provider_that_asks_to_wait_is_waited_for(stage: Stage, world: FakeWorld) -> None:
    """More often than the contract gives attempts, for these are none; and as long as it says."""
    stage.lose_after("book_flight")
    world.compensate("book_flight", *[asked_to_wait(90)] * 5, DONE)

    result = await (await stage.start()).end()
    times = tried_at(world)

    assert result.status is MissionStatus.ROLLED_BACK
    assert len(times) == 6
    pauses = [after - before for before, after in pairwise(times)]
    assert min(pauses) >= timedelta(seconds=90)


async def test_a_provider_that_puts_off_for_ever_is_parked(stage: Stage, world: FakeWorld) -> None:
    """What waits behind it is taken back then."""
    stage.lose_after("book_flight", "book_hotel")
    world.compensate("book_hotel", asked_to_wait(120))

    result = await (await stage.start()).end()
    times = tried_at(world)

    assert states_of(result.ledger) == {"book_flight": "cancelled", "book_hotel": "parked"}
    assert times[-1] - times[0] <= LONGEST_DEFERRAL + timedelta(minutes=1)
    assert "puts it off" in result.ledger.obligations[1].note


async def test_a_terminated_rollback_is_started_again_where_it_stopped(
    stage: Stage, world: FakeWorld
) -> None:
    """The mission, which waits for it, ends with the report of the second one."""
    stage.lose_after("book_flight", "book_hotel")
    reached = asyncio.Event()
    world.compensate("book_flight", lost(reached), DONE)

    mission = await stage.start()
    await reached.wait()
    first = (await mission.rollback_handle.describe()).run_id
    await stop(mission)
    begun = await start_again(stage, mission)
    result = await mission.end()

    assert begun == "restarted"
    assert result.status is MissionStatus.ROLLED_BACK
    assert [o.tool for o in world.compensated()] == ["book_hotel", "book_flight", "book_flight"]
    assert [o.cancel_sent for o in world.compensated()] == [False, False, True]
    assert (await mission.report()).took_over == first


async def test_what_was_parked_stays_parked_when_its_rollback_is_terminated(
    stage: Stage, world: FakeWorld
) -> None:
    """The operator finds it again, with its reason, and nothing was tried without being asked."""
    stage.lose_after("book_flight", "book_hotel", "book_car")
    world.compensate("book_hotel", TOO_LATE)
    world.compensate("book_car", TOO_LATE)
    mission = await stage.start()
    car = next(o for o in await mission.parked(2) if o.tool == "book_car")
    await mission.resolve(car.obligation_id, "accept")
    before = len(world.compensated())

    await stop(mission)
    await start_again(stage, mission)
    (hotel,) = await mission.parked()
    await mission.resolve(hotel.obligation_id, "cancelled")
    report = await mission.rollback_handle.result()

    assert hotel.note == "too late to cancel"
    assert len(world.compensated()) == before
    assert states_of(report.ledger) == {
        "book_flight": "cancelled",
        "book_hotel": "cancelled",
        "book_car": "accepted",
    }


async def test_a_rollback_terminated_twice_still_knows_what_the_first_had_noted(
    stage: Stage, world: FakeWorld
) -> None:
    """The second one was stopped before any worker had seen it."""
    stage.lose_after("book_flight")
    world.compensate("book_flight", TOO_LATE)
    mission = await stage.start()
    await mission.parked()
    await stop(mission)
    await start_rollback(
        stage.env.client, mission.mission_id, reason="in vain", task_queue="nobody-polls-this"
    )
    await stop(mission)

    await start_again(stage, mission)
    (flight,) = await mission.parked()

    assert flight.note == "too late to cancel"
    assert len(world.compensated()) == 1
    await stop(mission)


async def test_what_is_taken_up_keeps_the_decision_that_it_began_with(
    stage: Stage, world: FakeWorld
) -> None:
    """Whoever takes it up, a sweep for instance: who decided and why stands in the ledger."""
    world.plan(fake_leg("flight"))
    world.decide("flight", CallTool(tool="book_flight"))
    mission = await stage.start()
    await mission.end()
    await start_rollback(
        stage.env.client,
        mission.mission_id,
        reason="wrong week",
        task_queue="nobody-polls-this",
        approver="ann",
        asked_at=datetime(2026, 11, 22, tzinfo=UTC),
    )
    await stop(mission)

    await start_again(stage, mission)
    report = await mission.rollback_handle.result()
    (flight,) = report.ledger.obligations

    assert flight.rollback == report.order
    assert (report.order.reason, report.order.approver) == ("wrong week", "ann")
    assert report.order.asked_at == datetime(2026, 11, 22, tzinfo=UTC)


async def test_a_second_request_joins_the_rollback_that_runs(
    stage: Stage, world: FakeWorld
) -> None:
    """And one that comes after its end repeats nothing."""
    world.plan(fake_leg("flight"))
    world.decide("flight", CallTool(tool="book_flight"))
    compensation = world.hold(names.COMPENSATE, "book_flight")
    mission = await stage.start()
    await mission.end()

    begun = [await start_again(stage, mission)]
    async with compensation:
        begun.append(await start_again(stage, mission))
    await mission.rollback_handle.result()
    begun.append(await start_again(stage, mission))

    assert begun == ["started", "running", "completed"]
    assert len(world.compensated()) == 1


async def test_a_mission_that_finished_yesterday_is_rolled_back(
    stage: Stage, world: FakeWorld
) -> None:
    """Its legs are read from their histories, in reverse order as ever."""
    world.plan(fake_leg("trip"))
    world.decide("trip", CallTool(tool="book_flight"), CallTool(tool="book_hotel"))
    mission = await stage.start()
    await mission.end()
    ended = (await mission.handle.describe()).close_time
    assert ended is not None

    await stage.env.sleep(timedelta(days=1))
    report = await (await mission.start_rollback()).result()

    assert [o.tool for o in world.compensated()] == ["book_hotel", "book_flight"]
    assert set(states_of(report.ledger).values()) == {"cancelled"}
    assert tried_at(world)[0] >= ended + timedelta(days=1)


@pytest.mark.parametrize("together", [True, False], ids=["together", "one after the other"])
async def test_operators_are_served_in_the_order_in_which_they_ask(
    stage: Stage, world: FakeWorld, together: bool
) -> None:
    """Two retries that arrive at once lead to what they lead to one after the other."""
    stage.lose_after("book_flight", "book_hotel")
    world.compensate("book_flight", TOO_LATE, DONE)
    world.compensate("book_hotel", TOO_LATE, DONE)
    mission = await stage.start()
    parked = {o.tool: o.obligation_id for o in await mission.parked(2)}
    first, second = parked["book_flight"], parked["book_hotel"]

    if together:
        await asyncio.gather(mission.resolve(first, "retry"), mission.resolve(second, "retry"))
    else:
        await mission.resolve(first, "retry")
        await mission.resolve(second, "retry")
    await mission.rollback_handle.result()
    history = await mission.rollback_handle.fetch_history()
    wanted = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED
    asked = [
        str(e.workflow_execution_update_accepted_event_attributes.accepted_request.input.args)
        for e in history.events
        if e.event_type == wanted
    ]
    order = ["book_flight" if first in args else "book_hotel" for args in asked]

    assert [o.tool for o in world.compensated()][2:] == order
    assert await mission.rollback_status() is WorkflowExecutionStatus.COMPLETED
    replayer = Replayer(
        workflows=ALL_WORKFLOWS,
        data_converter=pydantic_data_converter,
        workflow_runner=TaskOrderedRunner(),
    )
    await replayer.replay_workflow(history)
