"""Stores the results of finished missions, for when the server has lost them.

A worker reads them from the server from time to time, which costs a mission no event. They are
encoded like messages, and so encrypted where messages are, but never placed in the external
storage, which is pruned with the history. Every step may be repeated, by any number of processes.
"""

import asyncio
import dataclasses
import logging
import re
from collections.abc import AsyncIterator, Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from temporalio.api.common.v1 import Payload
from temporalio.client import Client, WorkflowExecution
from temporalio.converter import DataConverter

from orchestrator.adapters.temporal.payload_codec import key_id_of
from orchestrator.adapters.temporal.rollbacks import described
from orchestrator.client.connection import Connection
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.client.mission_list import MissionSummary
from orchestrator.core.errors import MissionNotFound, OrchestratorError
from orchestrator.core.record import Record
from orchestrator.messages import names
from orchestrator.messages.mission import MISSION_ID_PATTERN, MissionResult

if TYPE_CHECKING:  # imports a database library
    from orchestrator.adapters.storage.sql_observations import KeptPiece, SqlResults

_log = logging.getLogger(__name__)
_OVER: Final = "ExecutionStatus NOT IN ('Running', 'ContinuedAsNew')"


class KeptResult(Record):
    """The result of a mission that its server no longer knows."""

    result: MissionResult
    kept_as_of: datetime


@dataclasses.dataclass(frozen=True)
class KeptRound:
    """Counts of one round."""

    kept: int = 0
    unread: int = 0
    removed: int = 0


async def keep_results(
    client: Client, task_queue: str, results: "SqlResults", keep: timedelta, *, now: datetime
) -> KeptRound:
    """Store results of a task queue that are new or have changed; remove old ones."""
    connection, since = Connection(client, task_queue), now - keep
    known = await asyncio.to_thread(results.closed)
    kept, unread = 0, 0
    for mission_id, ended in (await _ends(client, task_queue, since)).items():
        if mission_id in known and known[mission_id] >= ended:
            continue
        try:
            result = await MissionHandle(connection, mission_id).result()
            piece = await _written(client, result, ended)
            await asyncio.to_thread(results.put, piece)
            kept += 1
        except OrchestratorError as error:  # the next round tries again
            _log.debug("the result of %s was not kept: %s", mission_id, error)
            unread += 1
    await _rewrite(client, results)
    removed = await asyncio.to_thread(results.prune, since)
    return KeptRound(kept, unread, removed)


async def kept_result(client: Client, results: "SqlResults", mission_id: str) -> KeptResult:
    """Return the stored result of a mission.

    Raises:
        MissionNotFound: the store has no such result.
        PayloadLocked: the key that it is encrypted with is unavailable here.
    """
    found = await asyncio.to_thread(results.find, mission_id)
    if found is None:
        raise MissionNotFound(mission_id)
    return await _read(client, found)


async def kept_summaries(
    client: Client, results: "SqlResults", *, status: str | None, limit: int, exclude: Iterable[str]
) -> list[MissionSummary]:
    """Return the newest missions that the store knows and the server does not."""
    known, found = set(exclude), list[MissionSummary]()
    async for one in _newest(results, status):
        if len(found) == limit:
            break
        if one.mission_id in known:
            continue
        if await described(client.get_workflow_handle(one.mission_id)) is None:
            found.append(
                MissionSummary(
                    mission_id=one.mission_id,
                    status=one.status,
                    goal=await _goal(client, one),
                    started_at=one.started_at,
                    is_kept=True,
                )
            )
    return found


async def _newest(results: "SqlResults", status: str | None) -> "AsyncIterator[KeptPiece]":
    pieces = results.newest(status=status)
    while (one := await asyncio.to_thread(next, pieces, None)) is not None:
        yield one


async def _ends(client: Client, task_queue: str, since: datetime) -> dict[str, datetime]:
    """Return the missions that ended after a moment, each with the end of its last workflow."""
    queue = task_queue.replace("'", "''")
    closed = f"{_OVER} AND TaskQueue = '{queue}' AND CloseTime > '{since.isoformat()}'"
    of_missions = f"WorkflowType = '{names.MISSION_WORKFLOW}' AND {closed}"
    of_rollbacks = f"WorkflowType = '{names.ROLLBACK_WORKFLOW}' AND {closed}"
    # Missions that were refused at their start have no result; their ids may be of rollbacks.
    ends = {
        one.id: _end(one)
        async for one in client.list_workflows(of_missions)
        if re.fullmatch(MISSION_ID_PATTERN, one.id)
    }
    async for one in client.list_workflows(of_rollbacks):
        mission_id = names.mission_of(one.id)
        if mission_id in ends:
            ends[mission_id] = max(ends[mission_id], _end(one))
    return ends


def _end(execution: WorkflowExecution) -> datetime:
    return execution.close_time or execution.start_time


async def _written(client: Client, result: MissionResult, ended: datetime) -> "KeptPiece":
    from orchestrator.adapters.storage.sql_observations import KeptPiece

    (payload,) = await _converter(client).encode([result])
    return KeptPiece(
        mission_id=result.mission_id,
        status=result.status,
        started_at=result.started_at or ended,
        closed_at=ended,
        key_id=key_id_of(payload) or "",
        piece=payload.SerializeToString(),
    )


async def _read(client: Client, kept: "KeptPiece") -> KeptResult:
    payload = Payload.FromString(kept.piece)
    (result,) = await _converter(client).decode([payload], [MissionResult])
    return KeptResult(result=result, kept_as_of=kept.closed_at)


async def _goal(client: Client, kept: "KeptPiece") -> str:
    """Return the goal of a stored mission; empty if its key is unavailable here."""
    try:
        return (await _read(client, kept)).result.goal
    except OrchestratorError:
        return ""


async def _rewrite(client: Client, results: "SqlResults") -> None:
    """Encrypt results of older keys with the newest, so that the older keys can be removed."""
    (payload,) = await _converter(client).encode([None])
    for mission_id in await asyncio.to_thread(results.under_other_keys, key_id_of(payload) or ""):
        try:
            kept = await asyncio.to_thread(results.find, mission_id)
            if kept is not None:
                again = await _written(client, (await _read(client, kept)).result, kept.closed_at)
                await asyncio.to_thread(results.put, again)
        except OrchestratorError as error:
            _log.warning("what is kept of %s cannot be read: %s", mission_id, error)


def _converter(client: Client) -> DataConverter:
    return dataclasses.replace(client.data_converter, external_storage=None)
