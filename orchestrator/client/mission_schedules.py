"""Missions on a schedule: kept by the Temporal server, and started by it whoever is there.

A schedule of missions is told from others by its id on the server and by what it starts; no other
is shown, or touched.
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
"""What the server takes for catching up, and a mission every few seconds was meant otherwise."""
_DIGEST: Final = "digest"
_WHEN: Final = "when"
_AT_ONCE: Final = 16
"""Schedules that the server is asked about at the same time."""


class _Kept(NamedTuple):
    """What a schedule was made of."""

    request: MissionRequest
    when: MissionSchedule
    digest: str


class Schedules:
    """The schedules of missions in one namespace; new ones start missions on one task queue."""

    def __init__(self, connection: Connection, starter: Starter) -> None:
        """Take the connection to speak through, and what makes requests ready to be recorded."""
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
        """Have the server start a mission of this request again and again, from now on.

        Each has the id of the schedule with the time at which it was due. The same schedule again
        is the same schedule.

        Raises:
            UsageError: an id that none can have or another schedule has, times that are none, or
                a request that brings personal values.
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
            there = await self._read(await self._described(schedule_id))
            if there.digest != digest:
                raise UsageError(
                    f"there is a schedule {schedule_id} of something else; see: orchestrator "
                    f"mission schedule show {schedule_id}"
                ) from None
        except RPCError as error:
            if error.status is not RPCStatusCode.INVALID_ARGUMENT:
                raise
            raise UsageError(f"the server takes no such schedule: {error.message}") from None

    async def list(self) -> list[ScheduleSummary]:
        """All schedules of missions, by their ids."""
        with self._connection.explaining():
            found = [one async for one in await self._client.list_schedules()]
        ids = [names.schedule_id_of(one.id) for one in found if _starts_missions(one)]
        places = asyncio.Semaphore(_AT_ONCE)

        async def one(schedule_id: str) -> ScheduleSummary | None:
            async with places:
                try:
                    return await self._summary(schedule_id, await self._described(schedule_id))
                except UsageError:
                    return None  # deleted since it was listed

        shown = await asyncio.gather(*(one(schedule_id) for schedule_id in ids if schedule_id))
        return sorted(filter(None, shown), key=lambda one: one.schedule_id)

    async def show(self, schedule_id: str) -> ScheduleShown:
        """One schedule as it stands.

        Raises:
            UsageError: there is none.
        """
        there = await self._described(schedule_id)
        read, info = await self._read(there), there.info
        return ScheduleShown(
            **dict(await self._summary(schedule_id, there)),
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
        """Start no mission by it until it is resumed; those that run go on."""
        handle = await self._ours(schedule_id)
        with self._connection.explaining():
            await handle.pause(note=note or "paused")

    async def resume(self, schedule_id: str, *, note: str = "") -> None:
        """Start missions by it again; what was due meanwhile is left out."""
        handle = await self._ours(schedule_id)
        with self._connection.explaining():
            await handle.unpause(note=note or "resumed")

    async def run(self, schedule_id: str) -> None:
        """Start a mission as if one were due now: the schedule's rule about one that runs holds."""
        handle = await self._ours(schedule_id)
        with self._connection.explaining():
            await handle.trigger()

    async def delete(self, schedule_id: str) -> None:
        """Take it away; missions that run go on."""
        handle = await self._ours(schedule_id)
        with self._connection.explaining():
            await handle.delete()

    async def _completed(self, schedule_id: str, request: MissionRequest) -> MissionRequest:
        """The request as it may be recorded, without an id: each mission gets its own.

        Raises:
            UsageError: it brings personal values, which are kept for one mission and its time.
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
            # Not the memo of the schedule: that is never written anew, whatever key it is under.
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
        """The handle of a schedule that is one of missions."""
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
        """What a schedule was made of."""
        action = there.schedule.action
        assert isinstance(action, ScheduleActionStartWorkflow)  # `_described` gives no other
        converter, memo = self._client.data_converter, action.memo or {}
        (given,) = await converter.decode(action.args, [MissionInput])
        told = dict(zip(memo, await converter.decode(list(memo.values())), strict=True))
        when = MissionSchedule.model_validate(told.get(_WHEN, {}))
        return _Kept(given.request, when, str(told.get(_DIGEST, "")))

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
        f"there is no schedule of missions {schedule_id!r}; see: orchestrator mission schedule list"
    )


def _check(schedule_id: str, when: MissionSchedule) -> None:
    """Refuse what no schedule can be.

    Raises:
        UsageError: with what is wrong.
    """
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
    """Of all that a schedule is made of; it is encrypted like the goal."""
    return hashlib.sha256(
        f"{request.model_dump_json()}{when.model_dump_json()}".encode()
    ).hexdigest()


def _starts_missions(one: ScheduleListDescription) -> bool:
    action = one.schedule.action if one.schedule is not None else None
    return getattr(action, "workflow", "") == names.SCHEDULED_MISSION_WORKFLOW


def _missions(runs: Iterable[ScheduleActionExecution]) -> tuple[str, ...]:
    """The missions that these runs of a schedule have started."""
    ids = (one.workflow_id for one in runs if isinstance(one, ScheduleActionExecutionStartWorkflow))
    return tuple(names.due_mission_id(one) or one for one in ids)
