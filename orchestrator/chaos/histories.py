"""What histories tell of a mission: when it was undone, and whether anybody was asked meanwhile."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from temporalio.api.common.v1 import SearchAttributes
from temporalio.client import WorkflowHistory

from orchestrator import contracts
from orchestrator.mission import LegStatus, MissionStatus

_ASKS = frozenset({LegStatus.AWAITING_CONFIRMATION.value, LegStatus.AWAITING_ANSWER.value})
_UNDOES = MissionStatus.ROLLING_BACK.value


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
    """How often any part of a mission began to wait for a person after its undoing had begun."""
    shown = [showing for part in parts for showing in part]
    began = min((s.at for s in shown if s.status == _UNDOES), default=None)
    return 0 if began is None else sum(s.status in _ASKS and s.at > began for s in shown)


def rollback_seconds(rollback: list[Showing]) -> float | None:
    """From the start of a rollback until everything was tried."""
    if not rollback:
        return None
    tried = [s.at for s in rollback if s.status in ("parked", "rolled_back")]
    return (tried[0] - rollback[0].at).total_seconds() if tried else None


def _status(attributes: SearchAttributes) -> str | None:
    payload = attributes.indexed_fields.get(contracts.STATUS_ATTRIBUTE)
    if payload is None:
        return None
    value = json.loads(payload.data)
    # One keyword may be written as a list of one.
    return str(value[0] if isinstance(value, list) else value)
