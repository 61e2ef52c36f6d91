"""Rollbacks: preview and order, what was cancelled in which order, and parked obligations."""

import asyncio
from contextlib import suppress
from http import HTTPStatus
from typing import Final, get_args

from starlette.responses import Response

from orchestrator.core import errors
from orchestrator.messages import names
from orchestrator.messages.receipts import reference_of
from orchestrator.messages.rollback import RollbackReport, parked_of
from orchestrator.saga.obligation import ObligationState, Resolution
from orchestrator.web import actions, sight
from orchestrator.web.pages.page import Visit, to
from orchestrator.web.people import Right
from orchestrator.web.problem_details import ProblemError, status_of

LONGEST_NOTE: Final = 2000


async def show_rollback(
    visit: Visit, status: HTTPStatus = HTTPStatus.OK, problem: str = ""
) -> Response:
    """Show a rollback as it is; if there is none, what one would cancel."""
    mission_id = visit.part("mission_id")
    service, person = visit.service, visit.person
    await sight.seen_mission(service, person, mission_id)
    may_change = person.may_change(await sight.requester_of(service, mission_id))
    common = {"mission_id": mission_id, "may_change": may_change, "problem": problem}
    report = None
    with suppress(errors.UsageError):  # there is no rollback
        report = await service.client.rollback_report(mission_id)
    if report is not None and (report.ledger.obligations or report.blocked or not report.settled):
        # In the order of their cancels; those that are left come last.
        held, done = report.ledger.obligations, ObligationState.CANCELLED
        tried = sorted(
            (one for one in held if one.state is done), key=lambda one: str(one.settled_at or "")
        )
        obligations = [*tried, *(one for one in reversed(held) if one.state is not done)]
        return visit.page(
            "rollback.html",
            status=status,
            report=report,
            obligations=obligations,
            references={one.obligation_id: reference_of(one) for one in obligations},
            parked={one.obligation_id: one for one in parked_of(report)},
            may_resolve=person.may(Right.OPERATE),
            **common,
        )
    try:
        preview = await sight.seen_preview(service, person, mission_id)
    except errors.UsageError:
        # It still runs: the mission's page has the button that cancels it.
        return to("missions", mission_id)
    return visit.page("rollback_preview.html", status=status, preview=preview, **common)


class RollbackOrders:
    """Orders rollbacks; one that takes longer than a second goes on without its request."""

    def __init__(self) -> None:
        self._under_way: set[asyncio.Task[RollbackReport]] = set()

    async def begin(self, visit: Visit) -> Response:
        """Begin a rollback."""
        mission_id = visit.part("mission_id")
        reason = visit.sent("reason").strip()
        if not reason or len(reason) > LONGEST_NOTE:
            problem = f"Nothing was done: say why, in at most {LONGEST_NOTE:,} characters."
            return await show_rollback(visit, HTTPStatus.UNPROCESSABLE_ENTITY, problem)
        await sight.changeable_mission(visit.service, visit.person, mission_id, "roll it back")
        ordered = asyncio.ensure_future(
            actions.roll_back(visit.service, visit.person, mission_id, reason=reason)
        )
        self._under_way.add(ordered)
        ordered.add_done_callback(self._ended)
        done, _ = await asyncio.wait({ordered}, timeout=1.0)
        if done and (failed := ordered.exception()) is not None:
            raise failed
        return to("missions", mission_id, "rollback")

    def _ended(self, ordered: "asyncio.Task[RollbackReport]") -> None:
        self._under_way.discard(ordered)
        if not ordered.cancelled():
            ordered.exception()  # the page shows the rollback; an error here has no reader


async def list_parked(
    visit: Visit, status: HTTPStatus = HTTPStatus.OK, problem: str = ""
) -> Response:
    """Show every parked obligation that the person sees."""
    found = await sight.parked(visit.service, visit.person)
    may_resolve = visit.person.may(Right.OPERATE)
    return visit.page(
        "parked.html", status=status, problem=problem, found=found, may_resolve=may_resolve
    )


async def resolve(visit: Visit) -> Response:
    """Resolve a parked obligation: retry it, note that it was cancelled, or accept it."""
    obligation_id = visit.sent("obligation")
    note = visit.sent("note").strip()
    known = {name: name for name in get_args(Resolution)}
    resolution: Resolution | None = known.get(visit.sent("resolution"))
    if resolution is None:
        detail = "The form names no decision that can be made here."
        raise ProblemError(HTTPStatus.BAD_REQUEST, detail)
    if resolution != "retry" and not note:
        problem = "Nothing was decided: say how it was cancelled, or why it may stay."
        return await list_parked(visit, HTTPStatus.UNPROCESSABLE_ENTITY, problem)
    if len(note) > LONGEST_NOTE:
        problem = f"Nothing was decided: a note has at most {LONGEST_NOTE:,} characters."
        return await list_parked(visit, HTTPStatus.UNPROCESSABLE_ENTITY, problem)
    mission_id = names.mission_of(obligation_id)
    await sight.seen_mission(visit.service, visit.person, mission_id)
    try:
        await actions.resolve(visit.service, visit.person, obligation_id, resolution, note=note)
    except errors.QuestionError as refused:
        return await list_parked(visit, status_of(refused), f"Nothing was decided: {refused}")
    return to("missions", mission_id, "rollback")
