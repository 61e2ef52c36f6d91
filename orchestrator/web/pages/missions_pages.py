"""Missions: the list with its search, and one mission with its plan, timeline, money and ledger."""

from datetime import UTC, datetime
from decimal import Decimal
from http import HTTPStatus
from typing import Final

from starlette.responses import Response

from orchestrator.client.mission_list import STATUSES
from orchestrator.client.mission_pages import MissionFilter
from orchestrator.core import errors
from orchestrator.core.budget import Money, left_of
from orchestrator.messages.open_waits import WaitKind
from orchestrator.messages.receipts import reference_of
from orchestrator.web import actions, sight
from orchestrator.web.pages.page import Visit, to
from orchestrator.web.pages.timeline import timeline_of
from orchestrator.web.problem_details import ProblemError
from orchestrator.web.views import MissionView

PAGE_SIZE: Final = 25
WAITS: Final = {
    WaitKind.CONFIRMATION.value: "a decision on a card",
    WaitKind.ANSWER.value: "an answer",
    WaitKind.HOLD.value: "a decision before a rollback",
    WaitKind.MODEL.value: "a model",
    WaitKind.STORE.value: "what its workers keep",
}


async def list_missions(visit: Visit) -> Response:
    """Show a page of the missions that a search finds: running ones first, then the newest."""
    asked = {name: visit.asked(name)[:200] for name in ("q", "status", "waits")}
    wanted = MissionFilter(
        status=asked["status"] if asked["status"] in STATUSES else None,
        text=asked["q"],
        waiting=WaitKind(asked["waits"]) if asked["waits"] in WAITS else None,
    )
    cursor = visit.asked("after")[:4000]
    found = await sight.seen_missions(
        visit.service, visit.person, wanted, limit=PAGE_SIZE, cursor=cursor or None
    )
    return visit.page(
        "missions.html",
        found=found.missions,
        following=found.next,
        is_first=not cursor,
        asked=asked,
        statuses=STATUSES,
        waits=WAITS,
    )


async def show_mission(visit: Visit) -> Response:
    """Show one mission."""
    found = await sight.seen_view(visit.service, visit.person, visit.part("mission_id"))
    return _mission_page(visit, found)


def _mission_page(
    visit: Visit, found: MissionView, status: HTTPStatus = HTTPStatus.OK, problem: str = ""
) -> Response:
    result = found.result
    if result is None:
        return visit.page(
            "mission_unread.html",
            found=found,
            mission_id=visit.part("mission_id"),
            problem=problem,
            status=status,
        )
    is_over = result.finished_at is not None
    bar, budget = None, result.budget
    if budget is not None and budget.amount > 0:
        spent = result.spend.by_currency.get(budget.currency, Decimal(0))
        bar = {
            "spent": Money(amount=spent, currency=budget.currency),
            "budget": budget,
            "left": left_of(budget, result.spend),
            "share": min(100, int(spent * 100 / budget.amount)),
        }
    return visit.page(
        "mission.html",
        status=status,
        problem=problem,
        found=found,
        result=result,
        waiting=found.waits,
        bar=bar,
        timeline=timeline_of(result, found.waits, now=datetime.now(UTC)),
        references={o.obligation_id: reference_of(o) for o in result.ledger.obligations},
        is_over=is_over,
        can_roll_back=found.may_change and is_over and bool(result.ledger.live()),
    )


async def change_mission(visit: Visit) -> Response:
    """Cancel a mission that runs."""
    mission_id = visit.part("mission_id")
    if visit.sent("action") != "cancel":
        raise ProblemError(HTTPStatus.BAD_REQUEST, "The form names nothing that can be done here.")
    try:
        await actions.cancel(visit.service, visit.person, mission_id)
    except errors.MissionNotFound:
        raise
    except errors.UsageError:
        found = await sight.seen_view(visit.service, visit.person, mission_id)
        problem = "The mission was over before it could be cancelled; nothing was done."
        return _mission_page(visit, found, HTTPStatus.CONFLICT, problem)
    return to("missions", mission_id)
