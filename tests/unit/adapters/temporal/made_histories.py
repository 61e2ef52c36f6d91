"""Histories made of Temporal's own events, and a server that holds them."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

from temporalio.api.common.v1 import ActivityType, Payloads
from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause
from temporalio.api.failure.v1 import ApplicationFailureInfo, Failure
from temporalio.api.history.v1 import (
    ActivityTaskCompletedEventAttributes,
    ActivityTaskFailedEventAttributes,
    ActivityTaskScheduledEventAttributes,
    ActivityTaskTimedOutEventAttributes,
    HistoryEvent,
    SignalExternalWorkflowExecutionInitiatedEventAttributes,
    WorkflowExecutionContinuedAsNewEventAttributes,
    WorkflowExecutionStartedEventAttributes,
    WorkflowTaskFailedEventAttributes,
)
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.converter import DataConverter
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.messages import names

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
_T = EventType


class Run:
    """One run of a workflow: its events, added one by one, a second apart."""

    def __init__(self, run_id: str, *, first: str = "", converter: DataConverter | None = None):
        self.run_id = run_id
        self.first = first or run_id
        self.events: list[HistoryEvent] = []
        self.converter = converter or pydantic_data_converter
        self.started_at = NOW

    async def start(self, given: Any = None, *, continued: str = "") -> "Run":
        attributes = WorkflowExecutionStartedEventAttributes(
            first_execution_run_id=self.first,
            continued_execution_run_id=continued,
            input=await self._payloads(given),
        )
        self._add(_T.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, attributes)
        return self

    async def schedule(self, activity: str, given: Any) -> int:
        attributes = ActivityTaskScheduledEventAttributes(
            activity_type=ActivityType(name=activity), input=await self._payloads(given)
        )
        return self._add(_T.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, attributes)

    async def complete(self, scheduled: int, result: Any) -> None:
        attributes = ActivityTaskCompletedEventAttributes(
            scheduled_event_id=scheduled, result=await self._payloads(result)
        )
        self._add(_T.EVENT_TYPE_ACTIVITY_TASK_COMPLETED, attributes)

    async def fail(self, scheduled: int, detail: Any = None) -> None:
        details = await self._payloads(*([] if detail is None else [detail]))
        info = ApplicationFailureInfo(type="Failed", details=details)
        attributes = ActivityTaskFailedEventAttributes(
            scheduled_event_id=scheduled,
            failure=Failure(message="it failed", application_failure_info=info),
        )
        self._add(_T.EVENT_TYPE_ACTIVITY_TASK_FAILED, attributes)

    def time_out(self, scheduled: int) -> None:
        attributes = ActivityTaskTimedOutEventAttributes(scheduled_event_id=scheduled)
        self._add(_T.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT, attributes)

    def reset_from(self, base: "Run") -> None:
        attributes = WorkflowTaskFailedEventAttributes(
            cause=WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW,
            base_run_id=base.run_id,
        )
        self._add(_T.EVENT_TYPE_WORKFLOW_TASK_FAILED, attributes)

    def continue_as(self, run_id: str) -> None:
        attributes = WorkflowExecutionContinuedAsNewEventAttributes(new_execution_run_id=run_id)
        self._add(_T.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW, attributes)

    async def signal(self, name: str, given: Any) -> None:
        attributes = SignalExternalWorkflowExecutionInitiatedEventAttributes(
            signal_name=name, input=await self._payloads(given)
        )
        kind = _T.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED
        self._add(kind, attributes)

    def _add(self, kind: EventType.ValueType, attributes: Any) -> int:
        number = len(self.events) + 1
        name = f"{EventType.Name(kind).removeprefix('EVENT_TYPE_').lower()}_event_attributes"
        event = HistoryEvent(event_id=number, event_type=kind, **{name: attributes})
        event.event_time.FromDatetime(NOW + timedelta(seconds=number))
        self.events.append(event)
        return number

    async def _payloads(self, *values: Any) -> Payloads:
        return Payloads(payloads=await self.converter.encode(values))


class Server:
    """The runs that it keeps of workflows, by workflow id, the newest last."""

    def __init__(self, converter: DataConverter | None = None) -> None:
        self.runs: dict[str, list[Run]] = {}
        self.status: dict[str, WorkflowExecutionStatus] = {}
        self.parents: dict[str, str] = {}
        self.memos: dict[str, Any] = {}
        self.closed: dict[str, datetime] = {}
        self.attributes: dict[str, Any] = {}
        self._converter = converter or pydantic_data_converter

    def keep(self, workflow_id: str, *runs: Run) -> "Server":
        self.runs[workflow_id] = list(runs)
        return self

    @property
    def client(self) -> Client:
        """A client of it."""
        made = SimpleNamespace(
            get_workflow_handle=self._handle,
            list_workflows=self._listed,
            data_converter=self._converter,
        )
        return cast("Client", made)

    def _handle(self, workflow_id: str, *, run_id: str | None = None) -> Any:
        kept = [run for run in self.runs.get(workflow_id, []) if run_id in (None, run.run_id)]

        async def describe() -> Any:
            return self._description(workflow_id, _last(kept))

        async def fetch_history_events(**_: Any) -> AsyncIterator[HistoryEvent]:
            for event in _last(kept).events:
                yield event

        return SimpleNamespace(describe=describe, fetch_history_events=fetch_history_events)

    def _description(self, workflow_id: str, run: Run) -> Any:
        async def memo_value(name: str, default: Any, **_: Any) -> Any:
            return self.memos.get(workflow_id, {}).get(name, default)

        is_rollback = workflow_id.endswith(".rollback")
        first_run = _last(self.runs[workflow_id][:1]).run_id
        return SimpleNamespace(
            id=workflow_id,
            run_id=run.run_id,
            raw_description=SimpleNamespace(
                workflow_execution_info=SimpleNamespace(first_run_id=first_run)
            ),
            workflow_type=names.ROLLBACK_WORKFLOW if is_rollback else names.MISSION_WORKFLOW,
            status=self.status.get(workflow_id, WorkflowExecutionStatus.TERMINATED),
            parent_id=self.parents.get(workflow_id),
            memo_value=memo_value,
            start_time=run.started_at,
            close_time=self.closed.get(workflow_id),
            task_queue="queue",
            typed_search_attributes=self.attributes.get(workflow_id, {}),
        )

    async def _listed(self, query: str) -> AsyncIterator[Any]:
        wanted = query.split("'")[1]
        for run in self.runs.get(wanted, []):
            yield self._description(wanted, run)


def _last(runs: Sequence[Run]) -> Run:
    if not runs:
        raise RPCError("not found", RPCStatusCode.NOT_FOUND, b"")
    return runs[-1]
