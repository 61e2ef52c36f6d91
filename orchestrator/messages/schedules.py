"""Missions on a schedule: when they are due, and what became of those that were."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from pydantic import Field

from orchestrator.core.record import Record

SCHEDULE_ID_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$"
"""As that of missions, with room for the time that is put behind it."""


class Overlap(StrEnum):
    """What becomes of a mission that is due while the one before it still runs."""

    SKIP = "skip"
    """It is not started."""
    BUFFER_ONE = "buffer-one"
    """It is started after that one has ended; of several, the first alone."""
    BUFFER_ALL = "buffer-all"
    """It is started after that one has ended, however many are waiting."""
    ALLOW = "allow"
    """It is started at once, beside that one."""


class MissionSchedule(Record):
    """When missions are started."""

    every: timedelta | None = None
    cron: tuple[str, ...] = ()
    timezone: str = Field(default="UTC", description="of the cron expressions")
    overlap: Overlap = Overlap.SKIP
    catch_up: timedelta = Field(
        default=timedelta(hours=1),
        description="one that was due while no server was there is started so much later at most",
    )


class ScheduledEnd(Record):
    """How a mission ended that was due."""

    mission_id: str
    status: str
    error: str = ""


class ScheduleSummary(Record):
    """One line of a list of schedules."""

    schedule_id: str
    goal: str
    task_queue: str = ""
    paused: bool = False
    note: str = ""
    next_at: datetime | None = None
    last_mission: str = ""


class ScheduleShown(ScheduleSummary):
    """A schedule as it stands."""

    when: MissionSchedule
    requester: str = ""
    next_times: tuple[datetime, ...] = ()
    started: int = 0
    skipped: int = Field(default=0, description="that were due while one still ran")
    missed: int = Field(default=0, description="that were due while no server was there")
    running: tuple[str, ...] = ()
    recent: tuple[str, ...] = Field(default=(), description="missions, the newest last")


TITLES: Final[Mapping[Overlap, str]] = {
    Overlap.SKIP: "one at a time; one that is due meanwhile is left out",
    Overlap.BUFFER_ONE: "one at a time; one that is due meanwhile waits, further ones are left out",
    Overlap.BUFFER_ALL: "one at a time; all that are due meanwhile wait",
    Overlap.ALLOW: "side by side",
}
