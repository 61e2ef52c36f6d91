"""Rollbacks: preview and order, what was cancelled in which order, and parked obligations."""

import asyncio
from collections.abc import Sequence
from http import HTTPStatus
from typing import Final, get_args

from starlette.responses import Response
from starlette.routing import BaseRoute

from orchestrator.core import errors
from orchestrator.messages import names
from orchestrator.messages.receipts import reference_of
from orchestrator.messages.rollback import ParkedRollback, RollbackReport, parked_of
from orchestrator.saga.obligation import Obligation, ObligationState, Resolution
from orchestrator.web import actions, sight
from orchestrator.web.pages.page import Visit, page, to
from orchestrator.web.people import Right
from orchestrator.web.problem_details import ProblemError, status_of
from orchestrator.web.web_service import Service

LONGEST_NOTE: Final = 2000
_BEGUN_S: Final = 1.0
"""Seconds for which a form waits for a rollback; then its page shows how it goes on."""


def routes(service: Service) -> list[BaseRoute]:
    """Return the routes of rollbacks and parked obligations."""
    orders = RollbackOrders()
    return [
        page(service, "/missions/{mission_id}/rollback", get=show_rollback, post=orders.begin),
        page(service, "/parked", get=list_parked, post=resolve),
    ]


# -- one rollback ---------------------------------------------------------------------------------


def in_cancel_order(obligations: Sequence[Obligation]) -> list[Obligation]:
    """Return the obligations in the order of their cancels; those that are left come last."""
    tried = [one for one in obligations if one.state is ObligationState.CANCELLED]
    tried.sort(key=lambda one: str(one.settled_at or ""))
    rest = [one for one in obligations if one.state is not ObligationState.CANCELLED]
    return [*tried, *reversed(rest)]


async def show_rollback(visit: Visit) -> Response:
    """Show a rollback as it is; if there is none, what one would cancel."""
    return await _rollback_page(visit)


async def _rollback_page(
    visit: Visit, status: HTTPStatus = HTTPStatus.OK, problem: str = ""
) -> Response:
    mission_id = visit.part("mission_id")
    service, person = visit.service, visit.person
    await sight.seen_mission(service, person, mission_id)
    may_change = person.may_change(await sight.requester_of(service, mission_id))
    common = {"mission_id": mission_id, "may_change": may_change, "problem": problem}
    report = await _report(visit, mission_id)
    if report is not None and (report.ledger.obligations or report.blocked or not report.settled):
        obligations = in_cancel_order(report.ledger.obligations)
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


async def _report(visit: Visit, mission_id: str) -> RollbackReport | None:
    try:
        return await visit.service.client.rollback_report(mission_id)
    except errors.UsageError:
        return None


class RollbackOrders:
    """Orders rollbacks; one that takes longer than a request goes on without it."""

    def __init__(self) -> None:
        self._under_way: set[asyncio.Task[RollbackReport]] = set()

    async def begin(self, visit: Visit) -> Response:
        """Begin a rollback."""
        mission_id = visit.part("mission_id")
        reason = visit.sent("reason").strip()
        if not reason or len(reason) > LONGEST_NOTE:
            problem = f"Nothing was done: say why, in at most {LONGEST_NOTE:,} characters."
            return await _rollback_page(visit, HTTPStatus.UNPROCESSABLE_ENTITY, problem)
        await sight.changeable_mission(visit.service, visit.person, mission_id, "roll it back")
        ordered = asyncio.ensure_future(
            actions.roll_back(visit.service, visit.person, mission_id, reason=reason)
        )
        self._under_way.add(ordered)
        ordered.add_done_callback(self._ended)
        done, _ = await asyncio.wait({ordered}, timeout=_BEGUN_S)
        if done and (failed := ordered.exception()) is not None:
            raise failed
        return to("missions", mission_id, "rollback")

    def _ended(self, ordered: "asyncio.Task[RollbackReport]") -> None:
        self._under_way.discard(ordered)
        if not ordered.cancelled():
            ordered.exception()  # the page shows the rollback; an error here has no reader


# -- parked obligations ---------------------------------------------------------------------------


async def list_parked(visit: Visit) -> Response:
    """Show every parked obligation that the person sees."""
    return await _parked_page(visit)


async def _parked_page(
    visit: Visit, status: HTTPStatus = HTTPStatus.OK, problem: str = ""
) -> Response:
    found: list[ParkedRollback] = await sight.parked(visit.service, visit.person)
    return visit.page(
        "parked.html",
        status=status,
        problem=problem,
        found=found,
        may_resolve=visit.person.may(Right.OPERATE),
    )


async def resolve(visit: Visit) -> Response:
    """Resolve a parked obligation: retry it, note that it was cancelled, or accept it."""
    obligation_id = visit.sent("obligation")
    note = visit.sent("note").strip()
    resolution = _resolution(visit.sent("resolution"))
    if resolution != "retry" and not note:
        problem = "Nothing was decided: say how it was cancelled, or why it may stay."
        return await _parked_page(visit, HTTPStatus.UNPROCESSABLE_ENTITY, problem)
    if len(note) > LONGEST_NOTE:
        problem = f"Nothing was decided: a note has at most {LONGEST_NOTE:,} characters."
        return await _parked_page(visit, HTTPStatus.UNPROCESSABLE_ENTITY, problem)
    mission_id = names.mission_of(obligation_id)
    await sight.seen_mission(visit.service, visit.person, mission_id)
    try:
        await actions.resolve(visit.service, visit.person, obligation_id, resolution, note=note)
    except errors.QuestionError as refused:
        return await _parked_page(visit, status_of(refused), f"Nothing was decided: {refused}")
    return to("missions", mission_id, "rollback")


def _resolution(text: str) -> Resolution:
    for one in get_args(Resolution):
        if one == text:
            decided: Resolution = one
            return decided
    raise ProblemError(HTTPStatus.BAD_REQUEST, "The form names no decision that can be made here.")
