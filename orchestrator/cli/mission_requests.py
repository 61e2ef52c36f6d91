"""What the options of `mission start`, `mission plan` and schedules ask for."""

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from orchestrator.cli.limit_options import LimitPairs, read_limits
from orchestrator.cli.options import Model, read_money, read_pairs
from orchestrator.cli.request_options import (
    Budget,
    Chosen,
    Goal,
    Inputs,
    OwnId,
    PlanFirst,
    Policy,
    ReadOnly,
    Requester,
    Tenant,
    Urgency,
)
from orchestrator.cli.signing import account_name
from orchestrator.core.errors import UsageError
from orchestrator.core.limits import Limits
from orchestrator.messages.mission import MissionRequest
from orchestrator.messages.new_requests import new_mission_id
from orchestrator.planning.models import OwnPlanner
from orchestrator.settings import load_policy, load_settings

Command = Callable[..., None]
_ID: Final = "mission_id"


def mission_request(
    goal: str,
    inputs: list[str] | None,
    budget: tuple[str, str] | None,
    policy: Path | None,
    *,
    mission_id: str | None = None,
    requester: str | None = None,
    planner: OwnPlanner | None = None,
    model: str | None = None,
    tenant: str = "",
    priority: int | None = None,
    read_only: bool = False,
) -> MissionRequest:
    """What the options of a command ask for.

    Raises:
        UsageError: one of them is not as it should be.
    """
    try:
        request = MissionRequest(
            goal=goal,
            inputs=read_pairs(inputs or []),
            budget=None if budget is None else read_money(*budget),
            # Named here, so that it can be said whatever becomes of this process.
            mission_id=_new_id(goal) if mission_id is None else mission_id,
            requester=account_name() if requester is None else requester,
            planner=planner,
            model=model,
            tenant=tenant,
            priority=priority,
            read_only=read_only,
        )
    except ValidationError as error:
        first = error.errors()[0]
        where = "".join(f"{part}: " for part in first["loc"])
        raise UsageError(f"{where}{first['msg'].removeprefix('Value error, ')}") from None
    given = load_policy(policy)
    return request if given is None else request.model_copy(update={"policy": given})


def _new_id(goal: str) -> str:
    """An id that tells nothing of the goal where the goal is encrypted: ids are not."""
    return new_mission_id(goal, tells_goal=not load_settings().encrypts)


def takes_request(*, names_it: bool = False) -> Callable[[Command], Command]:
    """Give a command, in the place of its first parameter, all options that make up a request.

    Args:
        names_it: whether an id of the caller's own is among them.
    """

    def with_options(command: Command) -> Command:
        asked = dict(inspect.signature(_asked_for).parameters)
        if not names_it:
            del asked[_ID]
        _, *own = inspect.signature(command).parameters.values()

        @functools.wraps(command)
        def run(**given: Any) -> None:
            request = _asked_for(**{name: given.pop(name) for name in asked})
            command(request, **given)

        ahead = [one for one in own if one.default is one.empty]  # what it is about comes first
        ordered = (*ahead, *asked.values(), *(one for one in own if one not in ahead))
        by_name = [one.replace(kind=one.KEYWORD_ONLY) for one in ordered]
        run.__signature__ = inspect.Signature(by_name)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in by_name}
        return run

    return with_options


def _asked_for(
    goal: Goal,
    inputs: Inputs = None,
    budget: Budget = None,
    mission_id: OwnId = None,
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
    request = mission_request(
        goal,
        inputs,
        budget,
        policy,
        mission_id=mission_id,
        requester=requester,
        planner=planner,
        model=model,
        tenant=tenant,
        priority=priority,
        read_only=read_only,
    )
    if not (plan_first or limits):
        return request
    return _tightened(request, plan_first=plan_first, limits=read_limits(limits or []))


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
