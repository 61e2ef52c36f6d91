"""A mission whose worker is away: what the server says of it all the same."""

from datetime import datetime

from pydantic import Field

from orchestrator.adapters.temporal.search_attributes import STATUS
from orchestrator.client.connection import Connection
from orchestrator.client.overview import MissionSummary, family_of, status_of, waits_for
from orchestrator.core.errors import WorkflowStuck
from orchestrator.core.record import Record
from orchestrator.messages import names


class KnownLeg(Record):
    """A running leg."""

    leg_id: str
    status: str
    task_queue: str


class KnownMission(MissionSummary):
    """What can be said of a mission without its worker."""

    finished_at: datetime | None = None
    task_queue: str
    legs: tuple[KnownLeg, ...] = Field(default=(), description="those that run")
    unread: str = Field(description="why the rest of it could not be read")
    is_partial: bool = True


async def stuck_in(connection: Connection, mission_id: str) -> list[WorkflowStuck]:
    """Why a mission, or a leg of it that runs, cannot go on: of each that cannot."""
    mission = await connection.mission(mission_id)
    legs = (await family_of(connection, [mission])).legs.get(mission_id, [])
    runs = [mission, *[await connection.describe(leg.id) for leg in legs]]
    return [why for run in runs if (why := await connection.stuck(run)) is not None]


async def known_mission(connection: Connection, mission_id: str, *, why: str) -> KnownMission:
    """A mission as the server has it.

    Raises:
        MissionNotFound: there is none.
    """
    mission = await connection.mission(mission_id)
    family = await family_of(connection, [mission])
    legs = family.legs.get(mission_id, [])
    return KnownMission(
        mission_id=mission_id,
        status=status_of(mission, family.rollbacks.get(mission_id)),
        goal=str((await mission.memo()).get("goal", "")),
        started_at=mission.start_time,
        finished_at=mission.close_time,
        task_queue=mission.task_queue,
        waits_for=tuple(waits_for(mission, family)),
        legs=tuple(
            KnownLeg(
                leg_id=leg.id.removeprefix(f"{names.mission_of(leg.id)}."),
                status=leg.typed_search_attributes.get(STATUS) or "",
                task_queue=leg.task_queue,
            )
            for leg in sorted(legs, key=lambda one: one.id)
        ),
        unread=why,
    )
