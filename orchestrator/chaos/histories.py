"""What histories tell of a mission: when it rolled back, who was asked, where a worker can die."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from temporalio.api.common.v1 import SearchAttributes
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory

from orchestrator.chaos.scenarios.points import KillPoint
from orchestrator.messages import names
from orchestrator.messages.leg import LegStatus
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.rollback import RollbackStatus

_ASKS = frozenset({LegStatus.AWAITING_CONFIRMATION.value, LegStatus.AWAITING_ANSWER.value})
_LOCAL_ACTIVITY = "core_local_activity"
_ROLLS_BACK = MissionStatus.ROLLING_BACK.value
_TRIED = frozenset({RollbackStatus.PARKED, RollbackStatus.ROLLED_BACK})


@dataclass(frozen=True)
class Showing:
    """A status that a workflow showed, and since when."""

    at: datetime
    status: str


def showings(history: WorkflowHistory) -> list[Showing]:
    """Every status that a workflow showed, in order.

    Whoever waits for a person shows it this way: it is how cards and questions are found.
    """
    found = []
    for event in history.events:
        started = event.workflow_execution_started_event_attributes
        changed = event.upsert_workflow_search_attributes_event_attributes
        for attributes in (started.search_attributes, changed.search_attributes):
            status = _status(attributes)
            if status is not None:
                found.append(Showing(event.event_time.ToDatetime(tzinfo=UTC), status))
    return found


def prompts_during_rollback(parts: Iterable[Iterable[Showing]]) -> int:
    """How often any part of a mission began to wait for a person after its rollback had begun."""
    shown = [showing for part in parts for showing in part]
    began = min((s.at for s in shown if s.status == _ROLLS_BACK), default=None)
    return 0 if began is None else sum(s.status in _ASKS and s.at > began for s in shown)


def rollback_seconds(rollback: list[Showing]) -> float | None:
    """From the start of a rollback until everything was tried."""
    if not rollback:
        return None
    tried = [s.at for s in rollback if s.status in _TRIED]
    return (tried[0] - rollback[0].at).total_seconds() if tried else None


def kill_points(history: WorkflowHistory, part: str) -> list[KillPoint]:
    """Every point of one history at which the death of a worker can make a difference.

    What a worker had computed and not reported is lost however far it had come, so each workflow
    task is one point. All events since the task before are first seen in it.
    """
    points = []
    for event in history.events:
        if event.HasField("workflow_task_started_event_attributes"):
            at = str(event.event_id)
            points.append(KillPoint(part=part, when="task", at=at, what=f"event {at}"))
        if (found := _activity(event)) is not None:
            at, name = found
            points.append(KillPoint(part=part, when="before", at=at, what=name))
            points.append(KillPoint(part=part, when="after", at=at, what=name))
    return points


def _activity(event: HistoryEvent) -> tuple[str, str] | None:
    """The id and the name of the activity that an event is about, where it is the first of it.

    A local one is in history once it is over: by a marker of the SDK, in its JSON.
    """
    if event.HasField("activity_task_scheduled_event_attributes"):
        scheduled = event.activity_task_scheduled_event_attributes
        return scheduled.activity_id, scheduled.activity_type.name
    marker = event.marker_recorded_event_attributes
    if marker.marker_name != _LOCAL_ACTIVITY:
        return None
    told = json.loads(marker.details["data"].payloads[0].data)
    return str(told["activity_id"]), str(told["activity_type"])


def _status(attributes: SearchAttributes) -> str | None:
    payload = attributes.indexed_fields.get(names.STATUS_ATTRIBUTE)
    if payload is None:
        return None
    value = json.loads(payload.data)
    # One keyword may be written as a list of one.
    return str(value[0] if isinstance(value, list) else value)
