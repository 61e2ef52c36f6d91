"""Reading legs for a rollback: what still runs is stopped and waited for, never left behind."""

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowExecutionStatus

from activities.legs import read_legs
from orchestrator.core.errors import LegsRunning
from orchestrator.messages.leg import LegResult, LegStatus


class Workflow:
    """A workflow of a server that is made up: its status, what it answers, was it asked to stop."""

    def __init__(self, status: WorkflowExecutionStatus, answer: Any) -> None:
        self._status = status
        self._answer = answer
        self.is_cancelled = False

    async def describe(self) -> SimpleNamespace:
        return SimpleNamespace(status=self._status)

    async def query(self, name: str, **options: Any) -> Any:
        return self._answer

    async def fetch_history_events(self, **options: Any) -> AsyncIterator[SimpleNamespace]:
        yield SimpleNamespace(event_type=EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED)

    async def cancel(self) -> None:
        self.is_cancelled = True


def server(**workflows: Workflow) -> Client:
    """A client of it; dots of workflow ids are written as two underscores."""
    return cast(
        Client,
        SimpleNamespace(get_workflow_handle=lambda wid, **_: workflows[wid.replace(".", "__")]),
    )


def leg_result(status: LegStatus) -> LegResult:
    return LegResult(leg_id="1-trip", agent="travel", goal="a trip", status=status)


MISSION = Workflow(WorkflowExecutionStatus.FAILED, ["1-trip"])


async def test_a_leg_that_still_runs_is_asked_to_stop_and_waited_for() -> None:
    """It would go on booking behind the rollback; the reading is tried again until it has ended."""
    leg = Workflow(WorkflowExecutionStatus.RUNNING, leg_result(LegStatus.RUNNING))

    with pytest.raises(LegsRunning) as waiting:
        await read_legs(server(trip=MISSION, **{"trip__1-trip": leg}), "trip")

    assert leg.is_cancelled
    assert waiting.value.retryable


async def test_a_leg_that_was_terminated_is_read_as_failed() -> None:
    """It could not note its end itself; how it ended is said."""
    leg = Workflow(WorkflowExecutionStatus.TERMINATED, leg_result(LegStatus.RUNNING))

    (read,) = await read_legs(server(trip=MISSION, **{"trip__1-trip": leg}), "trip")

    assert (read.status, read.error) == (LegStatus.FAILED, "the leg was terminated")
    assert not leg.is_cancelled
