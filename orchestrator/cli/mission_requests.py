"""What the options of `mission start`, `mission plan` and schedules ask for."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, Final

from pydantic import ValidationError

from orchestrator.cli.asking import ask
from orchestrator.cli.drawing import line
from orchestrator.cli.options import (
    Budget,
    Chosen,
    FollowUpId,
    Goal,
    Inputs,
    LimitPairs,
    Model,
    Orders,
    OwnId,
    PlanFirst,
    Policy,
    ReadOnly,
    Requester,
    Tenant,
    Urgency,
    read_limits,
    read_money,
    read_pairs,
)
from orchestrator.cli.output import progress
from orchestrator.cli.signing import account_name
from orchestrator.core.errors import UsageError
from orchestrator.core.limits import Limits
from orchestrator.messages.mission import MissionRequest
from orchestrator.messages.new_requests import new_mission_id
from orchestrator.saga.orders import Order
from orchestrator.settings import load_policy, load_settings

Command = Callable[..., None]
_OF_ONE_START: Final = ("mission_id", "follow_up")
"""Options that only a single start has."""


def takes_request(*, names_it: bool = False) -> Callable[[Command], Command]:
    """Give a command, in the place of its first parameter, all options that make up a request.

    Args:
        names_it: whether an id of the caller's own is among them.
    """

    def with_options(command: Command) -> Command:
        asked = dict(inspect.signature(asked_for).parameters)
        for name in () if names_it else _OF_ONE_START:
            del asked[name]
        _, *own = inspect.signature(command).parameters.values()

        @functools.wraps(command)
        def run(**given: Any) -> None:
            request = asked_for(**{name: given.pop(name) for name in asked})
            command(request, **given)

        ahead = [one for one in own if one.default is one.empty]  # what it is about comes first
        ordered = (*ahead, *asked.values(), *(one for one in own if one not in ahead))
        by_name = [one.replace(kind=one.KEYWORD_ONLY) for one in ordered]
        run.__signature__ = inspect.Signature(by_name)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in by_name}
        return run

    return with_options


def asked_for(
    goal: Goal = "",
    inputs: Inputs = None,
    budget: Budget = None,
    mission_id: OwnId = None,
    follow_up: FollowUpId = None,
    orders: Orders = None,
    policy: Policy = None,
    requester: Requester = None,
    plan_first: PlanFirst = False,
    limits: LimitPairs = None,
    planner: Chosen = None,
    model: Model = None,
    tenant: Tenant = "",
    priority: Urgency = None,
    read_only: ReadOnly = False,
) -> MissionRequest:
    """The request, its policy tightened where the options say so."""
    if bool(goal.strip()) == bool(follow_up):
        raise UsageError("say what to do: a goal in words, or --follow-up ID:N in its place")
    goal = goal or f"follow-up {follow_up}"
    try:
        request = MissionRequest(
            goal=goal,
            inputs=read_pairs(inputs or []),
            budget=None if budget is None else read_money(*budget),
            # Named here, so that it can be said whatever becomes of this process. An id tells
            # nothing of a goal that is encrypted.
            mission_id=mission_id or new_mission_id(goal, tells_goal=not load_settings().encrypts),
            requester=account_name() if requester is None else requester,
            planner=planner,
            model=model,
            tenant=tenant,
            priority=priority,
            read_only=read_only,
            orders=tuple(map(_order, orders or ())),
        )
    except ValidationError as error:
        first = error.errors()[0]
        where = "".join(f"{part}: " for part in first["loc"])
        raise UsageError(f"{where}{first['msg'].removeprefix('Value error, ')}") from None
    if (given := load_policy(policy)) is not None:
        request = request.model_copy(update={"policy": given})
    if plan_first or limits:
        request = _tightened(request, plan_first=plan_first, limits=read_limits(limits or []))
    return request if follow_up is None else _following(follow_up, request)


def _following(named: str, request: MissionRequest) -> MissionRequest:
    """The request of a follow-up; it is shown before it begins."""
    following = ask(lambda client: client.follow_up(named, request))
    progress.print(line(f"{named}: {following.goal}"), soft_wrap=True)
    return following


def _order(text: str) -> Order:
    """`TOOL`, or `TOOL=N`."""
    tool, _, count = text.partition("=")
    try:
        return Order(tools=(tool.strip(),), count=int(count or 1), clause=text)
    except ValueError:
        raise UsageError(f"--order {text!r} is not TOOL or TOOL=N, such as pay_invoice=2") from None


def _tightened(request: MissionRequest, *, plan_first: bool, limits: Limits) -> MissionRequest:
    """The request, its policy tightened: a plan is approved first, no more than limits is used."""
    policy = request.policy
    if "policy" not in request.model_fields_set:
        policy = load_policy(load_settings().mission_policy) or policy
    tighter = {
        "plan_first": plan_first or policy.plan_first,
        "limits": policy.limits.beside(limits),
    }
    return request.model_copy(update={"policy": policy.model_copy(update=tighter)})
