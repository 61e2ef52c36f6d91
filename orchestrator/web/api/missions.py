"""Missions: start, plan, list, show, cancel, ledger, audit record, follow-up actions, files."""

import asyncio
import re
from http import HTTPStatus
from typing import Final, Literal

from pydantic import BaseModel, Field
from starlette.responses import Response

from orchestrator.chaos.rehearsal import Rehearsal, rehearse
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.client.mission_list import STATUSES
from orchestrator.client.mission_pages import MissionFilter, MissionPage
from orchestrator.core import errors
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject, Record
from orchestrator.messages.mission import MissionRequest
from orchestrator.messages.open_waits import WaitKind
from orchestrator.messages.plan_preview import PlanPreview
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.outcome import FollowUp
from orchestrator.web import actions, sight
from orchestrator.web.actions import as_requested
from orchestrator.web.api_operations import KEYED, Answered, Call, Operations, derived_id
from orchestrator.web.people import Right
from orchestrator.web.problem_details import ProblemError
from orchestrator.web.views import MissionView

_TYPE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]{0,60}/[A-Za-z0-9][A-Za-z0-9.+-]{0,80}")
api: Final = Operations("missions")


class StartedMission(Record):
    """A mission on the server, which runs as soon as a worker is there."""

    mission_id: str
    queued: str = Field(
        default="", description="why no worker has started it yet; empty if one has"
    )
    undeclared_inputs: tuple[str, ...] = Field(
        default=(), description="inputs of the request that no tool takes"
    )


def _started(handle: MissionHandle) -> Answered[StartedMission]:
    content = StartedMission(
        mission_id=handle.mission_id,
        queued=handle.queued,
        undeclared_inputs=handle.undeclared_inputs,
    )
    return Answered(content, headers={"Location": f"/api/v1/missions/{handle.mission_id}"})


class MissionQuery(BaseModel):
    """Which missions to list."""

    status: str | None = Field(
        default=None, description=f"only missions of this status: {', '.join(STATUSES)}"
    )
    requester: str | None = Field(
        default=None, max_length=200, description="only missions of this requester"
    )
    text: str = Field(
        default="",
        max_length=200,
        description="only missions with this text in their goal or id; a page may then be short",
    )
    waiting: Literal["any", "confirmation", "answer", "hold", "model", "store"] | None = Field(
        default=None, description="only missions that wait for this"
    )
    limit: int = Field(default=50, ge=1, le=200, description="missions in a page, at most")
    cursor: str | None = Field(
        default=None, max_length=20_000, description="`next` of the page before"
    )


class FollowUpTerms(Record):
    """The terms of a mission for a follow-up action."""

    budget: Money | None = Field(default=None, description="limit of its total price")


class FollowUps(Record):
    """Follow-up actions of a mission."""

    follow_ups: tuple[FollowUp, ...]


@api.get("/missions")
async def list_missions(call: Call[None, MissionQuery]) -> MissionPage:
    """Return missions that the caller sees, running ones first, then those that ended last."""
    asked = call.query
    waiting = asked.waiting == "any" or (WaitKind(asked.waiting) if asked.waiting else None)
    wanted = MissionFilter(asked.status, asked.requester, asked.text, waiting)
    return await sight.seen_missions(
        call.service, call.person, wanted, limit=asked.limit, cursor=asked.cursor
    )


@api.post("/missions", Right.START, status=HTTPStatus.CREATED, **KEYED)
async def start_mission(call: Call[MissionRequest, None]) -> Answered[StartedMission]:
    """Start a mission of the caller."""
    mission_id = derived_id(call, "mission", given=call.body.mission_id)
    request = call.body.model_copy(update={"mission_id": mission_id})
    return _started(await actions.start(call.service, call.person, request))


@api.post("/plans", Right.START, timeout_s=600.0)
async def plan_mission(call: Call[MissionRequest, None]) -> PlanPreview:
    """Return the plan for a request; nothing is started."""
    return await call.service.client.plan(actions.as_requested(call.person, call.body))


@api.get("/missions/{mission_id}")
async def show_mission(call: Call[None, None]) -> MissionView:
    """Return a mission with its plan, legs, ledger and result, and what it waits for."""
    return await sight.seen_view(call.service, call.person, call.part("mission_id"))


@api.post("/missions/{mission_id}/cancel", Right.START, problems=(HTTPStatus.BAD_REQUEST,))
async def cancel_mission(call: Call[None, None]) -> None:
    """Stop a mission, and have its effects cancelled."""
    await actions.cancel(call.service, call.person, call.part("mission_id"))


@api.get("/missions/{mission_id}/ledger")
async def show_ledger(call: Call[None, None]) -> Ledger:
    """Return the obligations of a mission, in the order of their calls."""
    view = await sight.seen_view(call.service, call.person, call.part("mission_id"))
    if view.result is None:
        raise errors.EventsUnreadable(call.part("mission_id"), "its history is of another release")
    return view.result.ledger


@api.get("/missions/{mission_id}/record", problems=(HTTPStatus.BAD_REQUEST,))
async def show_record(call: Call[None, None]) -> JsonObject:
    """Return the audit record of a mission that is over."""
    return await sight.seen_record(call.service, call.person, call.part("mission_id"))


@api.get("/missions/{mission_id}/follow-ups")
async def list_follow_ups(call: Call[None, None]) -> FollowUps:
    """Return the calls that the effects and answers of a mission make possible next."""
    view = await sight.seen_view(call.service, call.person, call.part("mission_id"))
    return FollowUps(follow_ups=view.follow_ups)


@api.post(
    "/missions/{mission_id}/follow-ups/{follow_up_id}",
    Right.START,
    status=HTTPStatus.CREATED,
    **KEYED,
)
async def start_follow_up(call: Call[FollowUpTerms, None]) -> Answered[StartedMission]:
    """Start a mission that makes only the one call of a follow-up action."""
    named = call.part("follow_up_id")
    mission_id = derived_id(call, "mission", also=named)
    request = MissionRequest(goal=named, budget=call.body.budget, mission_id=mission_id)
    follows = call.part("mission_id")
    handle = await actions.follow_up(call.service, call.person, follows, named, request)
    return _started(handle)


@api.get(
    "/missions/{mission_id}/files/{file_id}",
    name="downloadFile",
    media_type="application/octet-stream",
)
async def show_file(call: Call[None, None]) -> Response:
    """Return the bytes of a file that a mission received, as an attachment."""
    mission_id, handle = call.part("mission_id"), call.part("file_id")
    await sight.seen_mission(call.service, call.person, mission_id)
    try:
        found = await call.service.client.file(mission_id, handle)
    except errors.UsageError as missing:
        raise ProblemError(HTTPStatus.NOT_FOUND, str(missing), code="FileUnknown") from None
    plain = re.sub(r"[^A-Za-z0-9._ -]", "_", found.name)[:100].strip(" .") or "file"
    stated = found.content_type.partition(";")[0].strip()
    return Response(
        found.content,
        # A provider's file is never shown as a page of this service.
        media_type=stated if _TYPE.fullmatch(stated) else "application/octet-stream",
        headers={
            "Content-Disposition": f'attachment; filename="{plain}"',
            "Content-Security-Policy": "default-src 'none'; sandbox",
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-store",
        },
    )


class RehearsedPlan(Rehearsal):
    """A rehearsal, with its counts in words."""

    outcome: str = Field(description="such as `4 made, 3 cancelled, 1 cannot be cancelled`")


@api.post("/plans/rehearsals", Right.START)
async def rehearse_plan(call: Call[MissionRequest, None]) -> RehearsedPlan:
    """Run a request and its rollback on a private sandbox with made data."""

    async def hangs_up() -> None:  # the body was read before
        while (await call.request.receive())["type"] != "http.disconnect":
            pass

    request = as_requested(call.person, call.body)
    running = asyncio.create_task(rehearse(request, call.service.settings))
    gone = asyncio.create_task(hangs_up())
    try:
        await asyncio.wait({running, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            running.cancel()
        found = await running
    finally:
        gone.cancel()
        running.cancel()
    fields = {name: getattr(found, name) for name in Rehearsal.model_fields}
    return RehearsedPlan(**fields, outcome=found.summary)
