"""Read from a server that dies at times: retries, histories, and whether missions still move."""

import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from temporalio.client import Client, WorkflowHistory
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.chaos.scenarios.points import KillPoint
from orchestrator.core.errors import NoWorker, ServerUnreachable
from orchestrator.messages import names
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.rollback import RollbackStatus

T = TypeVar("T")

_TRANSIENT = frozenset(
    {
        RPCStatusCode.UNAVAILABLE,
        RPCStatusCode.DEADLINE_EXCEEDED,
        RPCStatusCode.CANCELLED,
        RPCStatusCode.RESOURCE_EXHAUSTED,
        RPCStatusCode.ABORTED,
        RPCStatusCode.INTERNAL,
        RPCStatusCode.UNKNOWN,
        RPCStatusCode.FAILED_PRECONDITION,
    }
)
"""Statuses while a server stops or starts, or while there is no worker."""


def is_transient(error: Exception) -> bool:
    """Return True if a retry may succeed."""
    if isinstance(error, RPCError):
        return error.status in _TRANSIENT
    return isinstance(error, NoWorker | ServerUnreachable)


async def end_tasks(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks and raise the error of the first one that failed."""
    ending = list(tasks)
    for task in ending:
        task.cancel()
    for ended in await asyncio.gather(*ending, return_exceptions=True):
        if isinstance(ended, Exception):
            raise ended


async def retry_transient(ask: Callable[[], Awaitable[T]]) -> T:
    """Retry while the server is away; the caller sets the time limit."""
    while True:
        try:
            return await ask()
        except (RPCError, NoWorker, ServerUnreachable) as error:
            if not is_transient(error):
                raise
        await asyncio.sleep(0.2)


class Movement:
    """Growth of the histories of a mission and its rollback since the last look.

    It distinguishes a slow mission from a stuck one: retries of an activity leave no events.
    """

    def __init__(self, client: Client, mission_id: str) -> None:
        """Create a watch of a mission, which need not have begun."""
        self._client = client
        self._parts = {mission_id, names.rollback_workflow_id(mission_id)}
        self._seen: dict[str, tuple[str | None, int]] = {}
        self._moved_at = time.monotonic()

    @property
    def still_s(self) -> float:
        """Seconds since the last event was seen."""
        return time.monotonic() - self._moved_at

    def __str__(self) -> str:
        events = sum(length for _, length in self._seen.values())
        load = f"load {os.getloadavg()[0]:.0f} on {os.cpu_count()} processors"
        return f"{events} events, the last {self.still_s:.0f} s ago; {load}"

    async def look(self) -> bool:
        """Return True if events were recorded since the last look.

        Raises:
            RPCError: the server is away.
        """
        seen: dict[str, tuple[str | None, int]] = {}
        for part in sorted(self._parts):
            try:
                found = await self._client.get_workflow_handle(part).describe()
            except RPCError as error:
                if error.status is RPCStatusCode.NOT_FOUND:
                    continue
                raise
            seen[part] = (found.run_id, found.history_length or 0)
            children = found.raw_description.pending_children
            self._parts |= {child.workflow_id for child in children}
        has_moved, self._seen = seen != self._seen, seen
        if has_moved:
            self._moved_at = time.monotonic()
        return has_moved


@dataclass(frozen=True)
class Showing:
    """A status of a workflow and its time."""

    at: datetime
    status: str


def showings(history: WorkflowHistory) -> list[Showing]:
    """Return all statuses of a workflow in order; waiting for a person is one of them."""
    found = []
    for event in history.events:
        started = event.workflow_execution_started_event_attributes
        changed = event.upsert_workflow_search_attributes_event_attributes
        for attributes in (started.search_attributes, changed.search_attributes):
            payload = attributes.indexed_fields.get(names.STATUS_ATTRIBUTE)
            if payload is not None:
                value = json.loads(payload.data)
                # A keyword may be written as a list of one.
                status = str(value[0] if isinstance(value, list) else value)
                found.append(Showing(event.event_time.ToDatetime(tzinfo=UTC), status))
    return found


def prompts_during_rollback(parts: Iterable[Iterable[Showing]]) -> int:
    """Return how often a mission began to wait for a person after its rollback had begun."""
    shown = [showing for part in parts for showing in part]
    began = min((s.at for s in shown if s.status == MissionStatus.ROLLING_BACK), default=None)
    asks = (MissionStatus.AWAITING_CONFIRMATION, MissionStatus.AWAITING_ANSWER)
    return 0 if began is None else sum(s.status in asks and s.at > began for s in shown)


def rollback_seconds(rollback: list[Showing]) -> float | None:
    """Return the seconds from the start of a rollback until everything was tried, or None."""
    over = (RollbackStatus.PARKED, RollbackStatus.ROLLED_BACK)
    tried = [s.at for s in rollback if s.status in over]
    return (tried[0] - rollback[0].at).total_seconds() if tried else None


async def runs_of(client: Client, workflow_id: str) -> list[WorkflowHistory]:
    """Return the histories of a workflow's runs, the first one first.

    Raises:
        RPCError: there is no such workflow, or the server is away.
    """
    runs = [await client.get_workflow_handle(workflow_id).fetch_history()]
    while before := _continues(runs[0]):
        earlier = client.get_workflow_handle(workflow_id, run_id=before)
        runs.insert(0, await earlier.fetch_history())
    return runs


async def whole_history(client: Client, workflow_id: str) -> WorkflowHistory:
    """Return the events of all runs of a workflow as one history."""
    runs = await runs_of(client, workflow_id)
    return WorkflowHistory(workflow_id, [event for run in runs for event in run.events])


def _continues(history: WorkflowHistory) -> str:
    """Return the run that this one continues as new; empty for the first run."""
    return history.events[0].workflow_execution_started_event_attributes.continued_execution_run_id


def kill_points(history: WorkflowHistory, part: str, *, run: int = 0) -> list[KillPoint]:
    """Return the points of a history at which the death of a worker makes a difference.

    Unreported work of a workflow task is lost as a whole, so each task is one point. The task is
    the first to see the events since the previous task.
    """
    points = []
    for event in history.events:
        if event.HasField("workflow_task_started_event_attributes"):
            at = str(event.event_id)
            points.append(KillPoint(part=part, run=run, when="task", at=at, what=f"event {at}"))
        scheduled = event.activity_task_scheduled_event_attributes
        at, name = scheduled.activity_id, scheduled.activity_type.name
        marker = event.marker_recorded_event_attributes
        if marker.marker_name == "core_local_activity":
            # A local activity has only a marker of the SDK, after its end.
            detail = json.loads(marker.details["data"].payloads[0].data)
            at, name = str(detail["activity_id"]), str(detail["activity_type"])
        if at:
            points.append(KillPoint(part=part, run=run, when="before", at=at, what=name))
            points.append(KillPoint(part=part, run=run, when="after", at=at, what=name))
    return points
