"""Lists of missions, all or those in one status, newest first."""

from collections.abc import AsyncIterator, Sequence
from typing import Final

from temporalio.client import WorkflowExecution

from orchestrator.client.connection import Connection
from orchestrator.client.overview import (
    LEFT,
    MissionSummary,
    summaries,
)
from orchestrator.core.errors import UsageError
from orchestrator.messages import names
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.rollback import RollbackStatus

_PAGE: Final = 50
_MISSIONS: Final = f"WorkflowType = '{names.MISSION_WORKFLOW}'"
_ROLLBACKS: Final = f"WorkflowType = '{names.ROLLBACK_WORKFLOW}'"
_OPEN: Final = "ExecutionStatus = 'Running'"
STATUSES: Final = tuple(sorted(status.value for status in MissionStatus))
"""What a list can be asked for."""


async def list_missions(
    connection: Connection, *, status: str | None = None, limit: int
) -> list[MissionSummary]:
    """The newest missions, of one status when it is named.

    The search attribute of a mission that is over says how it ended; what its rollback did since is
    looked up for those alone for which it counts.

    Raises:
        UsageError: there is no such status.
    """
    if status is not None and status not in STATUSES:
        raise UsageError(f"{status!r} is no status of a mission; use one of: {', '.join(STATUSES)}")
    found: dict[str, MissionSummary] = {}
    for source in _sources(connection, status, page=min(limit, _PAGE)):
        taken = 0
        async for page in source:
            fitting = [s for s in await summaries(connection, page) if status in (None, s.status)]
            found.update((one.mission_id, one) for one in fitting)
            taken += len(fitting)
            if taken >= limit:
                break
    newest = sorted(found.values(), key=lambda one: one.started_at, reverse=True)
    return newest[:limit]


def _sources(
    connection: Connection, status: str | None, *, page: int
) -> list[AsyncIterator[list[WorkflowExecution]]]:
    """Where missions of a status can be found: by their own attribute, by their rollbacks, both."""
    if status is None:
        return [_pages(connection, _MISSIONS, page)]
    shown = names.STATUS_ATTRIBUTE
    by_rollback = {
        MissionStatus.PARKED.value: f"{_OPEN} AND {shown} = '{RollbackStatus.PARKED.value}'",
        MissionStatus.ROLLING_BACK.value: f"{_OPEN} AND {shown} != '{RollbackStatus.PARKED.value}'",
        MissionStatus.ROLLED_BACK.value: "ExecutionStatus = 'Completed'",
        MissionStatus.ROLLED_BACK_AFTER_SUCCESS.value: "ExecutionStatus = 'Completed'",
    }
    own = {
        MissionStatus.PARKED.value: None,
        MissionStatus.ROLLED_BACK_AFTER_SUCCESS.value: None,
        MissionStatus.TERMINATED.value: "ExecutionStatus IN ('Terminated', 'TimedOut')",
        MissionStatus.ROLLING_BACK.value: _shows(status, *LEFT),
        MissionStatus.ROLLED_BACK.value: _shows(status, *LEFT),
        MissionStatus.CANCELLED.value: _shows(status, *LEFT),
    }.get(status, _shows(status))
    sources = []
    if status in by_rollback:
        sources.append(_of_rollbacks(connection, f"{_ROLLBACKS} AND {by_rollback[status]}", page))
    if own is not None:
        sources.append(_pages(connection, f"{_MISSIONS} AND {own}", page))
    return sources


def _shows(*statuses: str) -> str:
    listed = ", ".join(f"'{one}'" for one in sorted(statuses))
    return f"{names.STATUS_ATTRIBUTE} IN ({listed})"


async def _pages(
    connection: Connection, query: str, size: int
) -> AsyncIterator[list[WorkflowExecution]]:
    """What a search finds, so many at a time."""
    page: list[WorkflowExecution] = []
    with connection.explaining():
        async for execution in connection.temporal.list_workflows(query, page_size=size):
            page.append(execution)
            if len(page) == size:
                yield page
                page = []
    if page:
        yield page


async def _of_rollbacks(
    connection: Connection, query: str, size: int
) -> AsyncIterator[list[WorkflowExecution]]:
    """The missions whose rollbacks a search finds."""
    async for rollbacks in _pages(connection, query, size):
        yield await _missions(connection, [names.mission_of(one.id) for one in rollbacks])


async def _missions(connection: Connection, ids: Sequence[str]) -> list[WorkflowExecution]:
    listed = ", ".join(f"'{one}'" for one in ids if "'" not in one)
    query = f"{_MISSIONS} AND WorkflowId IN ({listed})"
    with connection.explaining():
        return [one async for one in connection.temporal.list_workflows(query)]
