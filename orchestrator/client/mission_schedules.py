"""Missions on a schedule, which the Temporal server stores and starts.

A schedule of missions is recognised by its id and its workflow type; other schedules are left
alone.
"""

import asyncio
import hashlib
import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from temporalio.client import (
    Schedule,
    ScheduleActionExecution,
    ScheduleActionExecutionStartWorkflow,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleDescription,
    ScheduleHandle,
    ScheduleIntervalSpec,
    ScheduleListDescription,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleSpec,
    ScheduleState,
)
from temporalio.common import Priority
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.client.connection import Connection
from orchestrator.client.start import Starter
from orchestrator.core.errors import MissionNotFound, UsageError
from orchestrator.core.shown_text import markdown_summary, visible_block
from orchestrator.messages import names
from orchestrator.messages.mission import MissionInput, MissionRequest
from orchestrator.messages.schedules import (
    SCHEDULE_ID_PATTERN,
    MissionSchedule,
    Overlap,
    ScheduleShown,
    ScheduleSummary,
)

_OVERLAPS: Final[Mapping[Overlap, ScheduleOverlapPolicy]] = {
    Overlap.SKIP: ScheduleOverlapPolicy.SKIP,
    Overlap.BUFFER_ONE: ScheduleOverlapPolicy.BUFFER_ONE,
    Overlap.BUFFER_ALL: ScheduleOverlapPolicy.BUFFER_ALL,
    Overlap.ALLOW: ScheduleOverlapPolicy.ALLOW_ALL,
}
_SHORTEST: Final = timedelta(seconds=10)
"""The server's minimum catch-up window; a mission every few seconds is a mistake."""
_DIGEST: Final = "digest"
_WHEN: Final = "when"
_AT_ONCE: Final = 16
"""Schedules that are described concurrently."""


class _Kept(NamedTuple):
    """The request and the times of a schedule."""

    request: MissionRequest
    when: MissionSchedule
    digest: str


class Schedules:
    """The schedules of missions in one namespace; new ones start missions on one task queue."""

    def __init__(self, connection: Connection, starter: Starter) -> None:
        """Take the connection and the starter that completes requests."""
        self._connection = connection
        self._client = connection.temporal
        self._starter = starter

    async def create(
        self,
        schedule_id: str,
        request: MissionRequest,
        when: MissionSchedule,
        *,
        paused: bool = False,
    ) -> None:
        """Start missions of this request on a schedule.

        Each mission's id combines the schedule's id and the time at which the mission was due.
        Creating the same schedule twice changes nothing.

        Raises:
            UsageError: the id is malformed or taken, the times are invalid, or the request brings
                personal values.
        """
        _check(schedule_id, when)
        request = await self._completed(schedule_id, request)
        digest = _digest_of(request, when)
        schedule = self._made(schedule_id, request, when, digest, paused=paused)
        try:
            with self._connection.explaining():
                await self._client.create_schedule(
                    names.schedule_workflow_id(schedule_id), schedule
                )
        except ScheduleAlreadyRunningError:
            kept = await self._read(await self._described(schedule_id))
            if kept.digest != digest:
                raise UsageError(
                    f"there is a schedule {schedule_id} of something else; see: orchestrator "
                    f"mission schedule {schedule_id}"
                ) from None
        except RPCError as error:
            if error.status is not RPCStatusCode.INVALID_ARGUMENT:
                raise
            raise UsageError(f"the server takes no such schedule: {error.message}") from None

    async def list(self) -> list[ScheduleSummary]:
        """Return all schedules of missions, by their ids."""
        with self._connection.explaining():
            found = [one async for one in await self._client.list_schedules()]
        ids = [names.schedule_id_of(one.id) for one in found if _starts_missions(one)]
        places = asyncio.Semaphore(_AT_ONCE)

        async def one(schedule_id: str) -> ScheduleSummary | None:
            async with places:
                try:
                    return await self._summary(schedule_id, await self._described(schedule_id))
                except UsageError:
                    return None  # deleted after it was listed

        shown = await asyncio.gather(*(one(schedule_id) for schedule_id in ids if schedule_id))
        return sorted(filter(None, shown), key=lambda one: one.schedule_id)

    async def show(self, schedule_id: str) -> ScheduleShown:
        """Return the current state of one schedule.

        Raises:
            UsageError: there is no such schedule.
        """
        found = await self._described(schedule_id)
        read, info = await self._read(found), found.info
        return ScheduleShown(
            **dict(await self._summary(schedule_id, found)),
            requester=read.request.requester,
            when=read.when,
            next_times=tuple(info.next_action_times[:5]),
            started=info.num_actions,
            skipped=info.num_actions_skipped_overlap,
            missed=info.num_actions_missed_catchup_window,
            running=_missions(info.running_actions),
            recent=_missions(one.action for one in info.recent_actions),
        )

    async def pause(self, schedule_id: str, *, note: str = "") -> None:
        """Pause a schedule; running missions continue."""
        handle = await self._ours(schedule_id)
        with self._connection.explaining():
            await handle.pause(note=note or "paused")

    async def resume(self, schedule_id: str, *, note: str = "") -> None:
        """Resume a schedule; missions that were due during the pause are skipped."""
        handle = await self._ours(schedule_id)
        with self._connection.explaining():
            await handle.unpause(note=note or "resumed")

    async def run(self, schedule_id: str) -> None:
        """Start a mission now, subject to the schedule's overlap policy."""
        handle = await self._ours(schedule_id)
        with self._connection.explaining():
            await handle.trigger()

    async def delete(self, schedule_id: str) -> None:
        """Delete a schedule; running missions continue."""
        handle = await self._ours(schedule_id)
        with self._connection.explaining():
            await handle.delete()

    async def _completed(self, schedule_id: str, request: MissionRequest) -> MissionRequest:
        """Return the request as it may be recorded, without an id: each mission gets its own.

        Raises:
            UsageError: the request brings personal values, which are stored for one mission alone.
        """
        named = request.model_copy(update={"mission_id": schedule_id})
        completed, brought = await self._starter.completed(named, pins=False)
        if brought.values:
            raise UsageError(
                f"{', '.join(sorted(brought.values))} is personal, and what a mission brings is "
                "kept for that mission alone; keep it for all of them: orchestrator pii set"
            )
        return completed.model_copy(update={"mission_id": None})

    def _made(
        self,
        schedule_id: str,
        request: MissionRequest,
        when: MissionSchedule,
        digest: str,
        *,
        paused: bool,
    ) -> Schedule:
        action = ScheduleActionStartWorkflow(
            names.SCHEDULED_MISSION_WORKFLOW,
            MissionInput(request=request),
            id=names.schedule_workflow_id(schedule_id),
            task_queue=self._connection.task_queue,
            # Not in the memo of the schedule, which stays under its first key forever.
            memo={_WHEN: when.model_dump(mode="json"), _DIGEST: digest},
            static_summary=markdown_summary(request.goal),
            priority=Priority(priority_key=request.priority, fairness_key=request.tenant or None),
        )
        return Schedule(
            action=action,
            spec=ScheduleSpec(
                intervals=[] if when.every is None else [ScheduleIntervalSpec(every=when.every)],
                cron_expressions=list(when.cron),
                time_zone_name=when.timezone,
            ),
            policy=SchedulePolicy(overlap=_OVERLAPS[when.overlap], catchup_window=when.catch_up),
            state=ScheduleState(paused=paused),
        )

    async def _ours(self, schedule_id: str) -> ScheduleHandle:
        """Return the handle of a schedule of missions."""
        await self._described(schedule_id)
        return self._handle(schedule_id)

    async def _described(self, schedule_id: str) -> ScheduleDescription:
        try:
            with self._connection.explaining():
                there = await self._handle(schedule_id).describe()
        except MissionNotFound:
            raise _unknown(schedule_id) from None
        action = there.schedule.action
        if getattr(action, "workflow", "") != names.SCHEDULED_MISSION_WORKFLOW:
            raise _unknown(schedule_id)
        return there

    async def _read(self, there: ScheduleDescription) -> "_Kept":
        """Return the request and the times of a schedule."""
        action = there.schedule.action
        assert isinstance(action, ScheduleActionStartWorkflow)  # `_described` returns no other
        converter, memo = self._client.data_converter, action.memo or {}
        (given,) = await converter.decode(action.args, [MissionInput])
        fields = dict(zip(memo, await converter.decode(list(memo.values())), strict=True))
        when = MissionSchedule.model_validate(fields.get(_WHEN, {}))
        return _Kept(given.request, when, str(fields.get(_DIGEST, "")))

    async def _summary(self, schedule_id: str, there: ScheduleDescription) -> ScheduleSummary:
        action, state, info = there.schedule.action, there.schedule.state, there.info
        recent = _missions(last.action for last in info.recent_actions[-1:])
        return ScheduleSummary(
            schedule_id=schedule_id,
            goal=visible_block((await self._read(there)).request.goal),
            task_queue=getattr(action, "task_queue", ""),
            paused=state.paused,
            note=state.note or "",
            next_at=next(iter(info.next_action_times), None),
            last_mission=recent[0] if recent else "",
        )

    def _handle(self, schedule_id: str) -> ScheduleHandle:
        return self._client.get_schedule_handle(names.schedule_workflow_id(schedule_id))


def _unknown(schedule_id: str) -> UsageError:
    return UsageError(
        f"there is no schedule of missions {schedule_id!r}; see: orchestrator mission schedule"
    )


def _check(schedule_id: str, when: MissionSchedule) -> None:
    """Raise UsageError for an invalid id or invalid times."""
    if not re.fullmatch(SCHEDULE_ID_PATTERN, schedule_id):
        raise UsageError(
            f"{schedule_id!r} is no id of a schedule: letters, digits, '-' and '_', at most 63"
        )
    if (when.every is None) == (not when.cron):
        raise UsageError("a schedule has either an interval (--every 1d) or times (--cron)")
    if when.every is not None and when.every < _SHORTEST:
        raise UsageError(f"every {when.every} is too often; at most every {_SHORTEST.seconds} s")
    if when.catch_up < _SHORTEST:
        raise UsageError(f"catching up takes {_SHORTEST.seconds} s at least")
    try:
        ZoneInfo(when.timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(
            f"there is no time zone {when.timezone!r}; write one such as Europe/Lisbon"
        ) from None


def _digest_of(request: MissionRequest, when: MissionSchedule) -> str:
    """Return a digest of the request and the times, encrypted like the goal."""
    return hashlib.sha256(
        f"{request.model_dump_json()}{when.model_dump_json()}".encode()
    ).hexdigest()


def _starts_missions(one: ScheduleListDescription) -> bool:
    action = one.schedule.action if one.schedule is not None else None
    return getattr(action, "workflow", "") == names.SCHEDULED_MISSION_WORKFLOW


def _missions(runs: Iterable[ScheduleActionExecution]) -> tuple[str, ...]:
    """Return the missions that these runs of a schedule started."""
    ids = (one.workflow_id for one in runs if isinstance(one, ScheduleActionExecutionStartWorkflow))
    return tuple(names.due_mission_id(one) or one for one in ids)
