"""A reset: an operator has a workflow go on from an earlier point of its history."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest

from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.messages.events import AnyEvent
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.runtime.demo import DINNER, TRIP, day_in
from orchestrator.testing import approve, eventually, run_to_end

if TYPE_CHECKING:
    from tests.integration.conftest import Witness

UNDERSTOOD_IN_PART = f"Reserve a table for four in Lisbon on {day_in(90)} at 20:00 unless it rains"
_TASK_COMPLETED = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED


async def _reset(client: MissionClient, workflow_id: str, *, task: int = -1) -> None:
    """Reset it to its last completed task, as `--type LastWorkflowTask` does, or to the nth."""
    handle = client.temporal.get_workflow_handle(workflow_id)
    tasks = [e.event_id async for e in handle.fetch_history_events() if _is_task(e)]
    await client.temporal.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace=client.temporal.namespace,
            workflow_execution=WorkflowExecution(workflow_id=workflow_id),
            reason="an operator had it go back",
            workflow_task_finish_event_id=tasks[task],
            request_id=uuid4().hex,
        )
    )


def _is_task(event: Any) -> bool:
    return bool(event.event_type == _TASK_COMPLETED)


async def _until(events: AsyncIterator[AnyEvent], kind: str) -> list[AnyEvent]:
    """The events up to the first of a kind that opens something."""
    read: list[AnyEvent] = []
    async with asyncio.timeout(60):
        async for event in events:
            read.append(event)
            if event.kind == kind and getattr(event, "state", "") == "opened":
                return read
    raise AssertionError(f"no {kind} was opened: {read}")


def _told(events: list[AnyEvent]) -> list[dict[str, Any]]:
    return [event.model_dump(mode="json", exclude={"cursor"}) for event in events]


async def _rest(mission: MissionHandle, after: str | None = None) -> list[AnyEvent]:
    return [event async for event in mission.events(after=after)]


async def test_a_mission_that_is_reset_at_a_card_is_told_on_and_nothing_of_it_twice(
    client: MissionClient, person: dict[str, str]
) -> None:
    """Its card is withdrawn and open again; whoever reads anew, or goes on, is told the same.

    A step that the reset undid is thought again, and told again.
    """
    mission = await client.start(MissionRequest(goal=DINNER))
    read = await _until(mission.events(), "card")
    await _reset(client, mission.mission_id)
    await eventually(mission.confirmations)
    await run_to_end(mission, approve)
    whole = await _rest(mission)
    went_on = await _rest(mission, after=read[-1].cursor)

    assert _told(read + went_on) == _told(whole)
    steps = Counter((e.leg_id, e.step) for e in whole if e.kind == "step")
    last = read[-1].leg_id
    cancelled = {(e.leg_id, e.step) for e in read if e.kind == "step" and e.leg_id == last}
    assert all(times == 1 for step, times in steps.items() if step not in cancelled)
    assert all(times <= 2 for times in steps.values())
    first = next(e for e in read if e.kind == "card" and e.state == "opened")
    states = [
        e.state for e in whole if e.kind == "card" and e.confirmation_id == first.confirmation_id
    ]
    assert states == ["opened", "withdrawn", "opened", "approved"]
    assert sum(e.kind == "decision" and e.leg_id == first.leg_id for e in whole) == 1
    fed = [e async for e in client.events(follow=False)]
    of_it = [
        e.state for e in fed if e.kind == "card" and e.confirmation_id == first.confirmation_id
    ]
    assert of_it == states


async def test_a_mission_that_is_reset_is_told_on(
    client: MissionClient, person: dict[str, str]
) -> None:
    """Its question is withdrawn and open again, by whichever cursor it is read."""
    mission = await client.start(MissionRequest(goal=UNDERSTOOD_IN_PART))
    read = await _until(mission.events(), "question")
    await _reset(client, mission.mission_id)

    async def asked() -> bool:
        return bool((await mission.waiting()).questions)

    await eventually(asked)
    await mission.cancel()
    await mission.result()
    whole = await _rest(mission)

    assert _told(read + await _rest(mission, after=read[-1].cursor)) == _told(whole)
    assert [e.state for e in whole if e.kind == "question"][:3] == ["opened", "withdrawn", "opened"]
    assert [e.over for e in whole if e.kind == "mission"][-1]


async def test_a_finished_mission_that_is_reset_sends_nothing_twice_and_leaves_nothing(
    client: MissionClient, sandbox: Witness, person: dict[str, str]
) -> None:
    """Its calls are refused, for their grants were used; all that it had made is cancelled."""
    policy = MissionPolicy(call_timeout=timedelta(seconds=2))
    mission = await client.start(MissionRequest(goal=TRIP, inputs={**person}, policy=policy))
    before = await run_to_end(mission)
    booked = await sandbox.live(mission.mission_id)

    await _reset(client, mission.mission_id, task=0)
    after = await run_to_end(mission, timeout_s=180)

    assert (before.status, len(booked)) == (MissionStatus.SUCCEEDED, 3)
    assert after.status is MissionStatus.ROLLED_BACK
    assert await sandbox.live(mission.mission_id) == []
    assert await sandbox.duplicates(mission.mission_id) == []
