"""Missions and rollbacks that are terminated: the sweep finds them, and nobody has to notice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from temporalio.client import ScheduleActionExecutionStartWorkflow, ScheduleActionResult

from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.messages import names
from orchestrator.messages.mission import MissionInput, MissionRequest, MissionStatus
from orchestrator.messages.rollback import FindStrandedInput, SweepReport
from orchestrator.runtime.devserver import Stack
from orchestrator.runtime.registration import schedule_sweep
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import Obligation
from orchestrator.sandbox import FaultRule
from orchestrator.testing import eventually
from tests.fakes import own_id, states_of

if TYPE_CHECKING:
    from tests.integration.conftest import Cli, SweepUntilFound, Witness


async def test_what_a_terminated_rollback_had_noted_is_taken_over(
    client: MissionClient,
    sandbox: Witness,
    cli: Cli,
    booked_trip: MissionHandle,
    sweep_until_found: SweepUntilFound,
) -> None:
    """The sweep starts a rollback, and starts it again when that is terminated, to one end.

    What an operator had accepted stays accepted, and what was cancelled is cancelled once: the
    flight is, but its provider answers that it failed, and says nothing of the booking, until the
    first rollback is broken off.
    """
    await sandbox.set_faults(
        [
            FaultRule(operation_id="hotel_cancel_booking", kind="refuse_cancel"),
            FaultRule(operation_id="flight_cancel_booking", kind="status_after"),
            FaultRule(operation_id="flight_find_booking", kind="status_before"),
        ]
    )
    mission = booked_trip
    await client.temporal.get_workflow_handle(mission.mission_id).terminate("chaos")
    await sweep_until_found(mission.mission_id)

    async def parked() -> tuple[Obligation, ...]:
        return (await client.rollback_report(mission.mission_id)).parked

    (hotel,) = await eventually(parked)
    await client.resolve(hotel.obligation_id, "accept", operator="ops")
    first = client.temporal.get_workflow_handle(names.rollback_workflow_id(mission.mission_id))
    broken_off = (await first.describe()).run_id
    await first.terminate("chaos")
    await sandbox.clear_faults()
    await sweep_until_found(mission.mission_id)
    report = await client.rollback(mission.mission_id, reason="to see its end")
    again = await cli("rollback", "sweep", "--json")
    effects = await sandbox.ledger(mission.mission_id)
    stopped = await mission.snapshot()

    assert (stopped.status, stopped.ledger) == (MissionStatus.TERMINATED, report.ledger)
    assert report.took_over == broken_off
    assert states_of(report.ledger) == {
        "flight_book_offer": "cancelled",
        "hotel_book_room": "accepted",
    }
    assert [e["operation"] for e in effects if e["kind"] == "cancel"] == ["flight_cancel_booking"]
    assert mission.mission_id not in SweepReport.model_validate(again.json).started


async def test_a_mission_terminated_before_it_began_left_nothing(client: MissionClient) -> None:
    """Its rollback ends at once, though no worker ever saw the mission."""
    mission_id = own_id("stopped-at-the-door")
    handle = await client.temporal.start_workflow(
        names.MISSION_WORKFLOW,
        MissionInput(request=MissionRequest(goal="go", mission_id=mission_id)),
        id=mission_id,
        task_queue="nobody-polls-this",
    )
    await handle.terminate("chaos")
    report = await client.rollback(mission_id, reason="to be sure")

    assert (report.settled, report.ledger, report.notes) == (True, Ledger(), ())


async def test_the_schedule_follows_the_setting(client: MissionClient) -> None:
    """Workers that start with the same setting change nothing; another one counts from then on."""
    queue = "sweeps-of-a-test"
    handle = client.temporal.get_schedule_handle(names.sweep_schedule_id(queue))

    async def interval() -> timedelta:
        return (await handle.describe()).schedule.spec.intervals[0].every

    await schedule_sweep(client.temporal, queue, timedelta(hours=5))
    await handle.pause(note="maintenance")
    await schedule_sweep(client.temporal, queue, timedelta(hours=5))
    first = await interval()
    await schedule_sweep(client.temporal, queue, timedelta(hours=7))
    second = await interval()
    paused = (await handle.describe()).schedule.state.paused
    await schedule_sweep(client.temporal, queue, timedelta(0))
    await schedule_sweep(client.temporal, queue, timedelta(0))
    left = [s.id async for s in await client.temporal.list_schedules()]

    assert (first, second) == (timedelta(hours=5), timedelta(hours=7))
    assert paused
    assert names.sweep_schedule_id(queue) not in left


async def test_a_worker_schedules_the_sweep(client: MissionClient, stack: Stack) -> None:
    """Nobody has to ask for it; and each sweep begins shortly before the end of the last one."""
    expected = timedelta(seconds=float(stack.environment["ORCHESTRATOR_SWEEP_INTERVAL"]))
    schedule_id = names.sweep_schedule_id("orchestrator")
    schedule = client.temporal.get_schedule_handle(schedule_id)
    before = len((await schedule.describe()).info.recent_actions)

    async def swept(times: int) -> list[FindStrandedInput]:
        await schedule.trigger()

        async def ran() -> list[FindStrandedInput]:
            found = await schedule.describe()
            actions = found.info.recent_actions[before:]
            if len(actions) < times or found.info.running_actions:
                return []
            return [await first_search(client, action) for action in actions]

        return await eventually(ran)

    await swept(1)
    first, second, *_ = await swept(2)
    found = await schedule.describe()

    assert [spec.every for spec in found.schedule.spec.intervals] == [expected]
    assert first.closed_after is None or before
    assert second.closed_after is not None
    assert second.closed_after < datetime.now(UTC) - timedelta(minutes=50)


async def first_search(client: MissionClient, ran: ScheduleActionResult) -> FindStrandedInput:
    """What a sweep looked for first."""
    assert isinstance(ran.action, ScheduleActionExecutionStartWorkflow)
    handle = client.temporal.get_workflow_handle(
        ran.action.workflow_id, run_id=ran.action.first_execution_run_id
    )
    async for event in handle.fetch_history_events():
        scheduled = event.activity_task_scheduled_event_attributes
        if scheduled.activity_type.name == names.FIND_STRANDED:
            return FindStrandedInput.model_validate_json(scheduled.input.payloads[0].data)
    raise AssertionError("it looked for nothing")
