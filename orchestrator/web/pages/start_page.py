"""Start a mission: the goal is planned and the plan shown; then the same request is started."""

import json
from http import HTTPStatus
from typing import Final

from pydantic import ValidationError
from starlette.responses import Response

from orchestrator.arazzo.arazzo_files import content_of
from orchestrator.chaos.rehearsal import Rehearsal, rehearse
from orchestrator.client.start import new_mission_id
from orchestrator.core import errors
from orchestrator.core.budget import Money, check_currencies
from orchestrator.core.record import JsonObject
from orchestrator.messages.mission import LONGEST_GOAL, MissionRequest
from orchestrator.messages.plan_preview import doubt_text, leg_note, order_text, tool_text
from orchestrator.planning.models import WorkflowSource
from orchestrator.saga.outcome import FollowUp
from orchestrator.web import actions, sight
from orchestrator.web.pages.page import Visit, refused_form, to, typed_amount
from orchestrator.web.people import Right
from orchestrator.web.problem_details import ProblemError, status_of

_FIELDS: Final = (
    *("goal", "inputs", "amount", "currency", "requester", "follow_up", "on_failure"),
    *("workflow", "workflow_id"),
)


async def show_start(visit: Visit) -> Response:
    """Show the empty form; for a follow-up action, its call."""
    typed = {name: visit.asked(name)[:LONGEST_GOAL] for name in _FIELDS}
    follow_up = await _follow_up(visit, typed["follow_up"])
    return _start_page(visit, typed, follow_up=follow_up)


async def plan_or_start(visit: Visit) -> Response:
    """Show the plan of a request; or start it, if that is what the form asks for."""
    typed = {name: visit.sent(name).strip() for name in (*_FIELDS, "mission_id")}
    if not visit.person.may(Right.START):
        raise ProblemError(HTTPStatus.FORBIDDEN, "None of your roles lets you start missions.")
    client = visit.service.client
    follow_up = await _follow_up(visit, typed["follow_up"])
    try:
        request = request_of(typed, is_follow_up=follow_up is not None)
        if follow_up is not None:
            request = await client.follow_up(follow_up.id, request)
        request = actions.as_requested(visit.person, request)
        if visit.sent("action") == "start":
            handle = await actions.start(visit.service, visit.person, request)
            return to("missions", handle.mission_id)
        plan = None if follow_up is not None else await client.plan(request)
        rehearsed = None
        if visit.sent("action") == "rehearse":
            rehearsed = await rehearse(request, visit.service.settings)
    except (
        *(ProblemError, errors.UsageError, errors.PlanError),
        *(errors.DocumentUnreadable, errors.DocumentInvalid),
    ) as refused:
        status = status_of(refused)
        return _start_page(
            visit, typed, status, problem=f"Nothing was started: {refused}", follow_up=follow_up
        )
    return _start_page(visit, typed, plan=plan, follow_up=follow_up, rehearsed=rehearsed)


async def _follow_up(visit: Visit, named: str) -> FollowUp | None:
    """Return the named follow-up action of a mission that the person sees; None without a name."""
    if not named:
        return None
    mission_id = named.partition(":")[0].partition(".")[0]
    handle = await sight.seen_mission(visit.service, visit.person, mission_id)
    found = (await handle.snapshot()).follow_up(named)
    if found is None:
        detail = f"{mission_id} no longer offers this action."
        raise ProblemError(HTTPStatus.NOT_FOUND, detail)
    return found


def request_of(typed: dict[str, str], *, is_follow_up: bool = False) -> MissionRequest:
    """Return the request that a form asks for; ProblemError: a field cannot be read."""
    budget, workflow = None, None
    if typed["amount"]:
        amount, currency = typed_amount(typed["amount"]), typed["currency"].upper() or "EUR"
        try:
            budget = Money.model_validate({"amount": amount, "currency": currency})
        except ValidationError:
            raise refused_form(
                "budget: give an amount such as 900 or 120.50, and a currency such as EUR"
            ) from None
    if typed["workflow"]:
        document = content_of("the document", typed["workflow"])
        workflow = WorkflowSource(document=document, workflow_id=typed["workflow_id"])
    try:
        request = MissionRequest.model_validate(
            {
                "goal": typed["goal"] or ("follow-up" if is_follow_up else ""),
                "workflow": workflow,
                "inputs": _inputs(typed["inputs"]),
                "budget": budget,
                "requester": typed["requester"],
                "on_failure": typed["on_failure"] or None,
                "mission_id": typed.get("mission_id") or None,
            }
        )
    except ValidationError as error:
        (first, *_) = error.errors(include_input=False, include_url=False)
        raise refused_form(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    check_currencies(request)
    return request


def _inputs(text: str) -> JsonObject:
    if len(text) > 20_000:
        raise refused_form("inputs: the text is too long")
    if text.startswith("{"):
        try:
            return dict(json.loads(text))
        except (ValueError, RecursionError):
            raise refused_form("inputs: this is no JSON object") from None
    inputs: JsonObject = {}
    for line in filter(str.strip, text.splitlines()):
        name, _, value = (part.strip() for part in line.partition(":"))
        if not name or not value:
            raise refused_form("inputs: write one on each line, as name: value")
        inputs[name] = value
    return inputs


def _start_page(
    visit: Visit,
    typed: dict[str, str],
    status: HTTPStatus = HTTPStatus.OK,
    *,
    problem: str = "",
    plan: object = None,
    follow_up: FollowUp | None = None,
    rehearsed: Rehearsal | None = None,
) -> Response:
    return visit.page(
        "start.html",
        status=status,
        typed=typed,
        problem=problem,
        plan=plan,
        follow_up=follow_up,
        rehearsed=rehearsed,
        is_planned=plan is not None,
        may_start=visit.person.may(Right.START),
        may_for_others=visit.person.may(Right.OPERATE),
        longest=LONGEST_GOAL,
        # Sent with the form that starts it: sent twice, it starts one mission.
        mission_id=new_mission_id(typed["goal"], names_goal=not visit.service.settings.encrypts),
        dict_of=lambda tools: {tool.name: tool for tool in tools},
        doubt_text=doubt_text,
        leg_note=leg_note,
        order_text=order_text,
        tool_text=tool_text,
    )
