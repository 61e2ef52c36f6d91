"""Reading legs for a rollback: what still runs is stopped and waited for, never left behind."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.api.common.v1 import Payloads
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent, WorkflowExecutionStartedEventAttributes
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.contrib.pydantic import pydantic_data_converter

from activities.legs import read_legs
from orchestrator.core.errors import LegsRunning, MissionStillRuns
from orchestrator.messages import names
from orchestrator.messages.leg import LegInput, LegResult, LegState, LegStatus
from orchestrator.messages.mission import MissionResult, MissionStatus
from orchestrator.messages.mission_policy import CatalogPin
from orchestrator.saga.ledger import Ledger, Obligation
from orchestrator.testing import fake_leg, fake_obligation


class Workflow:
    """A workflow of a server that is made up: its status, what it answers, was it asked to stop."""

    def __init__(
        self,
        status: WorkflowExecutionStatus,
        answer: Any,
        *,
        kind: str = names.LEG_WORKFLOW,
        parent: str | None = "trip",
        given: LegInput | None = None,
    ) -> None:
        self._told = SimpleNamespace(
            status=status, workflow_type=kind, parent_id=parent, id="trip.1-trip", run_id="1"
        )
        self._answer = answer
        self._given = given or leg_input()
        self.is_cancelled = False

    async def describe(self) -> SimpleNamespace:
        return self._told

    async def query(self, name: str, **options: Any) -> Any:
        return self._answer

    async def fetch_history_events(self, **options: Any) -> AsyncIterator[HistoryEvent]:
        (payload,) = await pydantic_data_converter.encode([self._given])
        started = WorkflowExecutionStartedEventAttributes(input=Payloads(payloads=[payload]))
        yield HistoryEvent(workflow_execution_started_event_attributes=started)
        yield HistoryEvent(event_type=EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED)

    async def cancel(self) -> None:
        self.is_cancelled = True


def server(**workflows: Workflow) -> Client:
    """A client of it; dots of workflow ids are written as two underscores."""
    return cast(
        Client,
        SimpleNamespace(
            get_workflow_handle=lambda wid, **_: workflows[wid.replace(".", "__")],
            data_converter=pydantic_data_converter,
        ),
    )


def leg_result(status: LegStatus, *obligations: Obligation) -> LegResult:
    return LegResult(
        leg_id="1-trip",
        agent="travel",
        goal="a trip",
        status=status,
        ledger=Ledger(obligations=obligations),
    )


def leg_input(**more: Any) -> LegInput:
    return LegInput(
        mission_id="trip",
        mission_goal="a trip",
        leg=fake_leg("1-trip"),
        catalog=CatalogPin(digest="d", size=1),
        started_at=datetime(2026, 11, 22, tzinfo=UTC),
        **more,
    )


MISSION = Workflow(
    WorkflowExecutionStatus.FAILED, ["1-trip"], kind=names.MISSION_WORKFLOW, parent=None
)


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

    (read,), notes = await read_legs(server(trip=MISSION, **{"trip__1-trip": leg}), "trip")

    assert notes == ()
    assert (read.status, read.error) == (LegStatus.FAILED, "the leg was terminated")
    assert not leg.is_cancelled


async def test_what_is_not_the_legs_own_is_passed_over() -> None:
    """Another mission's obligation, another leg's, and one under another id: none is undone."""
    own = fake_obligation("trip.1-trip.1")
    foreign = (
        fake_obligation("other.1-trip.1"),
        fake_obligation("trip.2-hotel.1"),
        fake_obligation("trip.1-trip.2", leg_id="2-hotel"),
    )
    leg = Workflow(
        WorkflowExecutionStatus.COMPLETED, leg_result(LegStatus.SUCCEEDED, own, *foreign)
    )

    (read,), notes = await read_legs(server(trip=MISSION, **{"trip__1-trip": leg}), "trip")

    assert read.ledger.obligations == (own,)
    assert [note.split()[1] for note in notes] == [o.obligation_id for o in foreign]


async def test_a_leg_that_began_with_a_ledger_is_passed_over() -> None:
    """No mission starts its legs so: somebody wrote that ledger, to have it undone."""
    obligation = fake_obligation("trip.1-trip.1")
    forged = leg_input(state=LegState(ledger=Ledger(obligations=(obligation,))))
    leg = Workflow(
        WorkflowExecutionStatus.FAILED, leg_result(LegStatus.FAILED, obligation), given=forged
    )

    legs, (note,) = await read_legs(server(trip=MISSION, **{"trip__1-trip": leg}), "trip")

    assert legs == ()
    assert "trip.1-trip was passed over" in note


async def test_what_a_leg_was_given_at_its_start_keeps_nothing_from_being_undone() -> None:
    """Its mission gives its legs the tools that others discovered: what they made is its own."""
    told = LegState(discovered=("rent_car",))
    own = fake_obligation("trip.1-trip.1")
    leg = Workflow(
        WorkflowExecutionStatus.COMPLETED,
        leg_result(LegStatus.SUCCEEDED, own),
        given=leg_input(state=told),
    )

    (read,), notes = await read_legs(server(trip=MISSION, **{"trip__1-trip": leg}), "trip")

    assert (read.ledger.obligations, notes) == ((own,), ())


async def test_the_legs_of_a_mission_under_way_are_left_alone() -> None:
    """A rollback that somebody starts beside it is refused, before any leg is looked at."""
    result = MissionResult(mission_id="trip", goal="a trip", status=MissionStatus.RUNNING)
    mission = Workflow(
        WorkflowExecutionStatus.RUNNING, result, kind=names.MISSION_WORKFLOW, parent=None
    )
    leg = Workflow(WorkflowExecutionStatus.RUNNING, leg_result(LegStatus.RUNNING))

    with pytest.raises(MissionStillRuns) as refused:
        await read_legs(server(trip=mission, **{"trip__1-trip": leg}), "trip")

    assert not leg.is_cancelled
    assert not refused.value.retryable


async def test_a_mission_that_ends_while_it_is_asked_is_read_as_over() -> None:
    """It was described as running, and answers with its end: nothing is refused for that."""
    ended = MissionResult(mission_id="trip", goal="a trip", status=MissionStatus.PARKED)

    class Ending(Workflow):
        async def query(self, name: str, **options: Any) -> Any:
            self._told.status = WorkflowExecutionStatus.FAILED
            return ended if name == names.RESULT_QUERY else ["1-trip"]

    mission = Ending(
        WorkflowExecutionStatus.RUNNING, None, kind=names.MISSION_WORKFLOW, parent=None
    )
    leg = Workflow(WorkflowExecutionStatus.FAILED, leg_result(LegStatus.FAILED))

    (read,), _ = await read_legs(server(trip=mission, **{"trip__1-trip": leg}), "trip")

    assert read.status is LegStatus.FAILED
