"""What holds for a mission from its start to its end: its limits and waits, and its catalog."""

from datetime import timedelta

from pydantic import Field

from orchestrator.confirmation.policy import ConfirmationPolicy
from orchestrator.core.errors import PolicyWidened
from orchestrator.core.limits import Limits
from orchestrator.core.record import Record
from orchestrator.messages.call_limits import CALL_ATTEMPTS, CALL_TIMEOUT
from orchestrator.messages.spending_policy import SpendingPolicy
from orchestrator.messages.thought_here import ThoughtHere


class MissionPolicy(Record):
    """Limits and waits of a mission."""

    confirmation_expiry: timedelta = timedelta(hours=24)
    answer_expiry: timedelta = timedelta(hours=24)
    deadline: timedelta = timedelta(days=7)
    model_wait: timedelta = Field(
        default=timedelta(days=1),
        description="how long a leg waits for the provider of its model, retrying, before it fails",
    )
    call_timeout: timedelta = Field(
        default=CALL_TIMEOUT, description="hard limit of one attempt of one tool call"
    )
    call_attempts: int = Field(default=CALL_ATTEMPTS, ge=1)
    confirmation: ConfirmationPolicy = Field(default_factory=ConfirmationPolicy)
    verify_cancels: bool = Field(
        default=True, description="a rollback asks the probe after each cancel that was answered"
    )
    spending: SpendingPolicy = Field(default_factory=SpendingPolicy)
    limits: Limits = Field(
        default_factory=Limits, description="what all legs and the planning may use up together"
    )
    leg_limits: Limits = Field(
        default_factory=Limits, description="what each leg may use up, beside what its agent may"
    )
    plan_first: bool = Field(
        default=False,
        description="somebody approves the plan before anything is done; a worker's policy that "
        "wants it holds for every mission",
    )
    hand_overs: int = Field(
        default=8,
        ge=0,
        le=50,
        description="parts that legs may hand to other agents, in the whole mission",
    )
    replan: int = Field(
        default=0,
        ge=0,
        le=1,
        description="how often it is planned anew when a leg fails before anything has happened",
    )


def widenings(own: MissionPolicy, workers: MissionPolicy) -> tuple[str, ...]:
    """What a mission's own policy allows beyond its worker's, a sentence each; empty: nothing.

    Who may decide, two approvers, the requester, the plan's approval and limits are not here: there
    both policies hold, so that a mission's can only add to the worker's. An expiry or a rule on
    spending that is the default counts as not said.
    """
    found = []
    longest, default = workers.confirmation_expiry, MissionPolicy().confirmation_expiry
    if own.confirmation_expiry > longest and own.confirmation_expiry != default:
        found.append(
            f"confirmation_expiry ({own.confirmation_expiry}) is longer than the worker's "
            f"({longest})"
        )
    if own.confirmation.rounds > workers.confirmation.rounds:
        found.append(
            f"a call would be asked about {own.confirmation.rounds} times (on_expiry, max_rounds), "
            f"by the worker's policy at most {workers.confirmation.rounds}"
        )
    if own.hand_overs > workers.hand_overs and own.hand_overs != MissionPolicy().hand_overs:
        found.append(f"hand_overs ({own.hand_overs}) is more than the worker's")
    if workers.verify_cancels and not own.verify_cancels:
        found.append("verify_cancels is off, and the worker's policy verifies each cancel")
    if own.confirmation.unapproved_plans and not workers.confirmation.unapproved_plans:
        found.append("unapproved_plans is on, and the worker's policy does not have it")
    found += [
        f"the standing approval {standing.name} approves more than the worker's policy does "
        "(ORCHESTRATOR_MISSION_POLICY of the worker)"
        for standing in own.confirmation.standing
        if not any(standing.is_covered_by(other) for other in workers.confirmation.standing)
    ]
    return (*found, *own.spending.wider_than(workers.spending))


def check_not_widened(own: MissionPolicy, workers: MissionPolicy) -> None:
    """Refuse a policy of a mission that allows more than the worker's.

    Raises:
        PolicyWidened: with what it allows beyond it.
    """
    found = widenings(own, workers)
    if found:
        raise PolicyWidened(
            f"a mission's own policy may only tighten the worker's: {'; '.join(found)}"
        )


class CatalogPin(ThoughtHere):
    """The catalog that a mission began with and keeps."""

    digest: str
    size: int
    by_rules: bool = Field(
        default=False, description="whether the worker that pinned it plans without a model"
    )
