"""Rollbacks: preview, start, show; parked obligations: list, resolve."""

import asyncio
from http import HTTPStatus
from typing import Final

from pydantic import Field

from orchestrator.client.mission_rollback import RollbackPreview
from orchestrator.core import errors
from orchestrator.core.record import Record
from orchestrator.messages.rollback import ParkedRollback, RollbackReport
from orchestrator.saga.obligation import Resolution
from orchestrator.web import actions, sight
from orchestrator.web.api.list_pages import PageQuery, page_of
from orchestrator.web.api_operations import Answered, Call, Operations
from orchestrator.web.people import Right
from orchestrator.web.problem_details import ProblemError

api: Final = Operations("rollbacks")


class RollbackReason(Record):
    """Why a mission that is over is rolled back."""

    reason: str = Field(min_length=1, max_length=2_000, description="for the record")


class ResolveParked(Record):
    """An operator's decision on a parked obligation."""

    resolution: Resolution = Field(
        description="retry: try to cancel it again; cancelled: it was cancelled elsewhere; accept: "
        "it stands"
    )
    note: str = Field(default="", max_length=2_000, description="for the record")


class ParkedPage(Record):
    """Some rollbacks that wait for an operator."""

    rollbacks: tuple[ParkedRollback, ...] = ()
    next: str | None = Field(default=None, description="the cursor of the next page")


@api.get("/missions/{mission_id}/rollback-preview", problems=(HTTPStatus.BAD_REQUEST,))
async def preview_rollback(call: Call[None, None]) -> RollbackPreview:
    """Return what a rollback of a mission would cancel; nothing is started."""
    return await sight.seen_preview(call.service, call.person, call.part("mission_id"))


@api.get("/missions/{mission_id}/rollback")
async def show_rollback(call: Call[None, None]) -> RollbackReport:
    """Return the state of a mission's rollback."""
    mission_id = call.part("mission_id")
    await sight.seen_mission(call.service, call.person, mission_id)
    try:
        return await call.service.client.rollback_report(mission_id)
    except errors.UsageError:
        detail = f"{mission_id} has no rollback"
        raise ProblemError(HTTPStatus.NOT_FOUND, detail, code="RollbackUnknown") from None


@api.post(
    "/missions/{mission_id}/rollback",
    Right.START,
    description="Sent again, it joins the rollback that runs.",
    also=((HTTPStatus.ACCEPTED, "the rollback has begun, and goes on"),),
)
async def roll_back_mission(call: Call[RollbackReason, None]) -> Answered[RollbackReport]:
    """Roll back a mission that is over."""
    mission_id = call.part("mission_id")
    try:
        async with asyncio.timeout(25.0):
            report = await actions.roll_back(
                call.service, call.person, mission_id, reason=call.body.reason
            )
        return Answered(report)
    except TimeoutError:
        # It goes on by itself: nobody has to wait for it.
        report = await call.service.client.rollback_report(mission_id)
        return Answered(report, HTTPStatus.ACCEPTED)


@api.get("/parked")
async def list_parked(call: Call[None, PageQuery]) -> ParkedPage:
    """Return the rollbacks with parked obligations that the caller sees."""
    found = await sight.parked(call.service, call.person)
    page, following = page_of(sorted(found, key=_key), call.query, _key)
    return ParkedPage(rollbacks=page, next=following)


def _key(rollback: ParkedRollback) -> tuple[str, str]:
    """Return the sort key: the obligation parked longest first, unreadable rollbacks before all."""
    since = rollback.waiting[0].since if rollback.waiting else None
    return "" if since is None else since.isoformat(timespec="microseconds"), rollback.mission_id


@api.post(
    "/obligations/{obligation_id}/resolve",
    Right.OPERATE,
    name="resolveObligation",
    problems=(HTTPStatus.CONFLICT,),
)
async def resolve_parked(call: Call[ResolveParked, None]) -> RollbackReport:
    """Resolve a parked obligation."""
    return await actions.resolve(
        call.service,
        call.person,
        call.part("obligation_id"),
        call.body.resolution,
        note=call.body.note,
    )
