"""Policies of missions: limits, waits and spending; and conditions for starting a mission."""

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Final, Literal

from pydantic import Field

from orchestrator.confirmation.policy import ConfirmationPolicy
from orchestrator.confirmation.same_again import SameAgainPolicy
from orchestrator.core.budget import OnOvercharge
from orchestrator.core.errors import UsageError
from orchestrator.core.limits import Limits, Used
from orchestrator.core.record import Record, shared_fields
from orchestrator.planning.models import GoalBrief

CALL_TIMEOUT: Final = timedelta(seconds=20)
"""The default for one attempt."""
CALL_ATTEMPTS: Final = 6
"""The default for a call that may be repeated."""
FIRST_PAUSE: Final = timedelta(milliseconds=500)
LONGEST_PAUSE: Final = timedelta(seconds=4)
"""The longest pause between two attempts; pauses double from the first on."""
WIRE_MARGIN: Final = timedelta(seconds=5)
"""Added to the time on the wire, for the work around it."""


def longest_attempt(call_timeout: timedelta) -> timedelta:
    """Return the longest time of one attempt, with its margin around the wire."""
    return call_timeout + WIRE_MARGIN


def longest_call(call_timeout: timedelta, attempts: int) -> timedelta:
    """Return the longest time of a call, with all its attempts and pauses.

    After that the call can no longer arrive, so that a rollback may act.
    """
    return attempts * (longest_attempt(call_timeout) + LONGEST_PAUSE)


OnFailure = Literal["rollback", "ask"]
UnknownPrice = Literal["ask", "refuse", "allow"]

_UNKNOWN_PRICE: Final[tuple[UnknownPrice, ...]] = ("allow", "ask", "refuse")
_ON_OVERCHARGE: Final[tuple[OnOvercharge, ...]] = ("keep", "ask", "cancel")
"""Ordered from the widest rule to the strictest."""


class SpendingPolicy(Record):
    """Rules on the money of a mission, in addition to its budget."""

    unknown_price: UnknownPrice = "ask"
    """For a call of unknown price in a mission with a budget: ask a person, refuse the call, or
    treat it like any other call."""
    overcharge_tolerance: Decimal = Field(default=Decimal(0), ge=0, le=1, allow_inf_nan=False)
    """The fraction of the approved price by which more may be charged without an overcharge: 0.05
    is 5 %."""
    fee_share: Decimal = Field(default=Decimal(0), ge=0, le=1, allow_inf_nan=False)
    """The share of a cancellable call's price to reserve for its cancel's fee, where its document
    states none: 0.1 is 10 %."""
    on_overcharge: OnOvercharge = "ask"
    """For an overcharge: ask a person, keep the effect, or cancel it."""

    def combined_with(self, other: "SpendingPolicy") -> "SpendingPolicy":
        """Return the stricter of both policies, rule by rule."""
        return SpendingPolicy(
            unknown_price=max(self.unknown_price, other.unknown_price, key=_UNKNOWN_PRICE.index),
            overcharge_tolerance=min(self.overcharge_tolerance, other.overcharge_tolerance),
            fee_share=max(self.fee_share, other.fee_share),
            on_overcharge=max(self.on_overcharge, other.on_overcharge, key=_ON_OVERCHARGE.index),
        )

    def wider_than(self, other: "SpendingPolicy") -> tuple[str, ...]:
        """Return a sentence for each rule that is wider than the other policy's.

        The stricter rule applies anyway, so a default counts as unset.
        """
        usual, found = SpendingPolicy(), []
        for name in SpendingPolicy.model_fields:
            mine = getattr(self, name)
            if mine != getattr(usual, name) and mine != getattr(self.combined_with(other), name):
                theirs = getattr(other, name)
                found.append(f"spending.{name} ({mine}) is wider than the worker's ({theirs})")
        return tuple(found)


class MissionPolicy(Record):
    """Limits and waits of a mission."""

    confirmation_expiry: timedelta = timedelta(hours=24)
    answer_expiry: timedelta = timedelta(hours=24)
    deadline: timedelta = timedelta(days=7)
    model_wait: timedelta = timedelta(days=1)
    """The longest wait for a leg's model provider, with retries."""
    call_timeout: timedelta = CALL_TIMEOUT
    """Hard limit of one attempt of one tool call."""
    call_attempts: int = Field(default=CALL_ATTEMPTS, ge=1)
    confirmation: ConfirmationPolicy = Field(default_factory=ConfirmationPolicy)
    verify_cancels: bool = True
    """A rollback queries the probe after each cancel that was answered."""
    spending: SpendingPolicy = Field(default_factory=SpendingPolicy)
    limits: Limits = Field(default_factory=Limits)
    """Limits of all legs and the planning together."""
    leg_limits: Limits = Field(default_factory=Limits)
    """Limits of each leg, in addition to its agent's own limits."""
    plan_first: bool = False
    """A person approves the plan first; in a worker's policy this applies to every mission."""
    hand_overs: int = Field(default=8, ge=0, le=50)
    """The most parts that legs may hand to other agents, in the whole mission."""
    on_failure: OnFailure = "rollback"
    """After a final failure with effects: roll them back, or ask the requester first."""
    hold_limit: timedelta = timedelta(hours=24)
    """The longest time that such a question is open."""
    same_again: SameAgainPolicy | None = None
    """The rules for later calls that an approval may make. In a worker's policy None: none at all.
    In a mission's own None: as the worker's policy permits."""


def widenings(own: MissionPolicy, workers: MissionPolicy) -> tuple[str, ...]:
    """Return a sentence for each permission of a mission's policy beyond its worker's.

    The rules on deciders, two approvers, the requester, the plan's approval and limits are not
    compared here: there both policies apply, so that a mission's can only add to the worker's. An
    expiry or a spending rule that is the default counts as unset.
    """
    found = []
    longest, default = workers.confirmation_expiry, MissionPolicy().confirmation_expiry
    if own.confirmation_expiry > longest and own.confirmation_expiry != default:
        found.append(
            f"confirmation_expiry ({own.confirmation_expiry}) is longer than the worker's "
            f"({longest})"
        )
    if own.hold_limit > workers.hold_limit and own.hold_limit != MissionPolicy().hold_limit:
        found.append(
            f"hold_limit ({own.hold_limit}) is longer than the worker's ({workers.hold_limit})"
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
    if own.same_again is not None and (
        workers.same_again is None or own.same_again.wider_than(workers.same_again)
    ):
        found.append("same_again permits more than the worker's policy does")
    found += [
        f"the standing approval {standing.name} approves more than the worker's policy does "
        "(ORCHESTRATOR_MISSION_POLICY of the worker)"
        for standing in own.confirmation.standing
        if not any(standing.is_covered_by(other) for other in workers.confirmation.standing)
    ]
    return (*found, *own.spending.wider_than(workers.spending))


def check_not_widened(own: MissionPolicy, workers: MissionPolicy) -> None:
    """Refuse a mission's policy that allows more than the worker's, as PolicyWidened."""
    found = widenings(own, workers)
    if found:
        raise UsageError(
            f"a mission's own policy may only tighten the worker's: {'; '.join(found)}",
            code="PolicyWidened",
        )


class CatalogPin(Record):
    """The catalog that a mission was started with and uses to its end."""

    digest: str
    size: int
    by_rules: bool = False
    """True if the worker that pinned it plans without a model."""
    observes: bool = False
    """True if the worker that pinned it observes the sagas that state no mode."""


LONGEST_WAIT: Final = timedelta(days=3650)
"""The longest wait of any kind; dates beyond it overflow."""


def check_new(goal: str, policy: Record) -> None:
    """Refuse a mission that would end as soon as it begins; UsageError: names the fault."""
    if not any(c.isprintable() and not c.isspace() for c in goal):
        raise UsageError("goal: it says nothing; write in plain words what to do")
    fault = wait_fault(policy)
    if fault:
        raise UsageError(f"the mission's policy: {fault}")


def wait_fault(policy: Record) -> str:
    """Return the fault in a policy's times, as a sentence; empty without one."""
    for name, wait in _waits(policy):
        seconds = wait.total_seconds()
        is_long = abs(seconds) >= 86_400
        said = f"{seconds / 86_400:,.0f} days" if is_long else f"{seconds:g} s"
        if wait <= timedelta(0):
            return f"{name} is {said}, and must be longer than nothing, such as PT1H"
        if wait > LONGEST_WAIT:
            return f"{name} is {said}, and may be at most {LONGEST_WAIT.days} days"
    return ""


def _waits(value: object, name: str = "") -> Iterator[tuple[str, timedelta]]:
    if isinstance(value, timedelta):
        yield name, value
    elif isinstance(value, Record):
        for field in type(value).model_fields:
            yield from _waits(getattr(value, field), f"{name}.{field}" if name else field)
    elif isinstance(value, tuple):
        for number, item in enumerate(value):
            yield from _waits(item, f"{name}.{number}")


class BeginInput(GoalBrief):
    """A goal to split, with the policy that a worker checks before it accepts the mission."""

    policy: MissionPolicy = Field(default_factory=MissionPolicy)
    requester: str = ""
    used: Used = Field(default_factory=Used)
    """Usage of the mission before this planning."""
    observe: bool = False
    """Its calls are not to be guarded."""

    @property
    def brief(self) -> GoalBrief:
        """The part of the input for the planner."""
        return GoalBrief(**shared_fields(self, GoalBrief))


def check_begin(mission: BeginInput, workers: MissionPolicy) -> None:
    """Refuse a mission that the worker's policy does not allow to begin.

    Raises:
        UsageError: as `check_new` and `check_policy`; none of the project's clients sends that.
    """
    check_new(mission.goal, mission.policy)
    check_policy(mission.policy, workers, requester=mission.requester)


def check_policy(own: MissionPolicy, workers: MissionPolicy, *, requester: str) -> None:
    """Refuse a policy under which the worker makes no calls.

    Raises:
        UsageError: as PolicyWidened: the policy allows more than the worker's.
        UsageError: the requester is missing, and one of the policies depends on it.
    """
    check_not_widened(own, workers)
    rules = (own.confirmation, workers.confirmation)
    if not requester.strip() and not all(rule.requester_may_approve for rule in rules):
        raise UsageError(
            "who asks for a mission may not approve its calls here: say who asks "
            "(orchestrator mission start --requester NAME)"
        )
