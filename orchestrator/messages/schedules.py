"""Missions on a schedule: the times at which they are due, and how they ended."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from pydantic import Field

from orchestrator.core.record import Record

SCHEDULE_ID_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$"
"""A mission id pattern with room for the time of each run."""


class Overlap(StrEnum):
    """The handling of a run that is due while an earlier mission still runs."""

    SKIP = "skip"
    BUFFER_ONE = "buffer-one"
    """Start it after that one; skip further ones."""
    BUFFER_ALL = "buffer-all"
    """Start all of them, one after the other."""
    ALLOW = "allow"
    """Start it at once."""


class MissionSchedule(Record):
    """The times at which missions start."""

    every: timedelta | None = None
    cron: tuple[str, ...] = ()
    timezone: str = Field(default="UTC", description="time zone of the cron expressions")
    overlap: Overlap = Overlap.SKIP
    catch_up: timedelta = timedelta(hours=1)
    """A run missed during a server outage starts at most this late."""


class ScheduledEnd(Record):
    """The end of a scheduled mission."""

    mission_id: str
    status: str
    error: str = ""


class ScheduleSummary(Record):
    """A line in the list of schedules."""

    schedule_id: str
    goal: str
    task_queue: str = ""
    paused: bool = False
    note: str = ""
    next_at: datetime | None = None
    last_mission: str = ""


class ScheduleShown(ScheduleSummary):
    """A schedule and its current state."""

    when: MissionSchedule
    requester: str = ""
    next_times: tuple[datetime, ...] = ()
    started: int = 0
    skipped: int = Field(
        default=0, description="starts skipped because the previous mission was running"
    )
    missed: int = Field(default=0, description="starts missed because the server was away")
    running: tuple[str, ...] = ()
    recent: tuple[str, ...] = Field(default=(), description="mission ids, the newest last")


TITLES: Final[Mapping[Overlap, str]] = {
    Overlap.SKIP: "one at a time; one that is due meanwhile is left out",
    Overlap.BUFFER_ONE: "one at a time; one that is due meanwhile waits, further ones are left out",
    Overlap.BUFFER_ALL: "one at a time; all that are due meanwhile wait",
    Overlap.ALLOW: "side by side",
}
