"""What the options of `mission start` and `mission plan` ask for."""

from pathlib import Path

from pydantic import ValidationError

from orchestrator.cli.options import read_money, read_pairs
from orchestrator.cli.signing import account_name
from orchestrator.core.errors import UsageError
from orchestrator.core.limits import Limits
from orchestrator.messages.mission import MissionRequest
from orchestrator.messages.new_requests import new_mission_id
from orchestrator.planning.models import OwnPlanner
from orchestrator.settings import load_policy, load_settings


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


def tightened(
    request: MissionRequest, *, plan_first: bool = False, limits: Limits | None = None
) -> MissionRequest:
    """The request, its policy tightened: a plan is approved first, no more than limits is used."""
    policy = request.policy
    if "policy" not in request.model_fields_set:
        policy = load_policy(load_settings().mission_policy) or policy
    tighter = {
        "plan_first": plan_first or policy.plan_first,
        "limits": policy.limits.beside(limits or Limits()),
    }
    return request.model_copy(update={"policy": policy.model_copy(update=tighter)})
