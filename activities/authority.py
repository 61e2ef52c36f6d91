"""The right to make a call: its workflow, its agent's wall, and the worker's policy and keys."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from temporalio import activity

from orchestrator.activities.again_grants import check_again_grant, counted_as, inputs_that_differ
from orchestrator.adapters.approval_keys import ApprovalKeys
from orchestrator.adapters.storage.protocols import StandingSpend
from orchestrator.adapters.telemetry.instruments import (
    RefusedAt,
    Telemetry,
    count_refusal,
    default_telemetry,
)
from orchestrator.catalog.tool import Tool
from orchestrator.confirmation.deciders import approver_refusal
from orchestrator.confirmation.models import Approve, Grant, call_digest
from orchestrator.confirmation.policy import POLICY_PREFIX, is_same_person, shortest
from orchestrator.confirmation.same_again import AgainTerms, terms_of
from orchestrator.confirmation.signatures import PublicKeys, Signer, proved_signer, unproved_sign_in
from orchestrator.core.call_ref import CallRef
from orchestrator.core.errors import GrantRefused, OrchestratorError, OutsideWall, SignatureRefused
from orchestrator.core.limits import Limits
from orchestrator.core.record import shared_fields
from orchestrator.core.wall import Wall
from orchestrator.messages import names
from orchestrator.messages.mission import BegunPlan
from orchestrator.messages.mission_policy import (
    BeginInput,
    MissionPolicy,
    SpendingPolicy,
    check_begin,
    check_policy,
)
from orchestrator.messages.tool_call import PreparedCall, PrepareInput, ToolCall
from orchestrator.planning.models import MissionPlan
from orchestrator.planning.walls import Walls
from orchestrator.saga.obligation import Obligation


def is_from_saga(call: CallRef) -> bool:
    """Return True if a workflow that is no mission makes the call under the id of its own saga."""
    return names.is_saga_of(call.mission_id, activity.info().workflow_id or "", call.origin)


def check_sender(call: CallRef, *, serves_sagas: bool = False) -> None:
    """Refuse a call that a workflow other than its mission prepares or sends.

    Raises:
        OrchestratorError: the workflow is no mission, or the ids name another mission or leg.
    """
    if not (_may_have_sagas(serves_sagas) and is_from_saga(call)):
        _check_runs_for(names.MISSION_WORKFLOW, call.mission_id, call.call_id)
    leg = names.leg_workflow_id(call.mission_id, call.leg_id)
    if names.leg_of_confirmation(call.call_id) != leg:
        raise _unowned(call.call_id, f"the id is not one of a call of {leg}")


def _may_have_sagas(serves_sagas: bool) -> bool:
    """Return True if the worker serves sagas of any workflow, or the sender is a session."""
    return serves_sagas or activity.info().workflow_type == names.SESSION_WORKFLOW


def check_compensation(obligation: Obligation, *, serves_sagas: bool = False) -> None:
    """Refuse to cancel an obligation unless the rollback of its mission asks for it.

    The mission itself may cancel an overcharged call.

    Raises:
        OrchestratorError: another workflow asks for the cancel.
    """
    mission = obligation.mission_id
    own = activity.info().workflow_id or ""
    is_of_saga = names.is_saga_of(mission, own, obligation.origin)
    if obligation.overcharged is not None and is_of_saga and _may_have_sagas(serves_sagas):
        return
    if obligation.overcharged is not None and activity.info().workflow_id == mission:
        _check_runs_for(names.MISSION_WORKFLOW, mission, obligation.obligation_id)
        return
    rollback = names.rollback_workflow_id(mission)
    _check_runs_for(names.ROLLBACK_WORKFLOW, rollback, obligation.obligation_id)


def _check_runs_for(workflow_type: str, workflow_id: str, call_id: str) -> None:
    info = activity.info()
    if (info.workflow_type, info.workflow_id) != (workflow_type, workflow_id):
        sent = f"{info.workflow_type} {info.workflow_id} sent it"
        raise _unowned(call_id, f"{sent}, not {workflow_id}")


def _unowned(call_id: str, reason: str) -> OrchestratorError:
    return OrchestratorError(f"{call_id} was not sent: {reason}", code="CallUnowned")


class WallGuard:
    """The walls of a worker's agents, with a count of refused calls."""

    def __init__(self, walls: Walls | None = None, telemetry: Telemetry | None = None) -> None:
        """Take the worker's walls; without walls, only the wall sent with each call is checked."""
        self.walls = walls or Walls()
        self._telemetry = telemetry or default_telemetry()

    def refusal(self, agent: Wall | None, tool: Tool, *, at: RefusedAt) -> str | None:
        """Return why an agent may not call a tool; None if it may."""
        try:
            self.walls.check(agent, tool)
        except OutsideWall as error:
            self.count(at)
            return str(error)
        return None

    def count(self, at: RefusedAt) -> None:
        """Count one call that was refused."""
        count_refusal(self._telemetry, at)


@dataclass(frozen=True)
class Authority:
    """The operator's policy and keys, which apply to all missions of a worker."""

    policy: MissionPolicy = field(default_factory=MissionPolicy)
    keys: ApprovalKeys | None = None
    serves_sagas: bool = False
    """True if workflows other than missions may make calls, each in the name of its own sagas."""
    may_observe: bool = False
    """True if the operator lets missions and sagas run without guards."""

    def check_observes(self) -> None:
        """Refuse a mission or a call that is not to be guarded, unless the operator allows that.

        Raises:
            OrchestratorError: this worker guards everything.
        """
        if not self.may_observe:
            raise OrchestratorError(
                "this worker guards every call: where calls may run without, start it with "
                'ORCHESTRATOR_OBSERVE=true or OrchestratorPlugin(mode="observe")',
                code="ObserveRefused",
            )

    def check_begin(self, mission: BeginInput) -> None:
        """Refuse a mission that the operator's policy does not allow to begin.

        Raises:
            UsageError: as PolicyWidened: the mission's policy allows more than this worker's.
            UsageError: the requester is missing, and the policy depends on the requester.
            OrchestratorError: it is to be observed, and this worker guards everything.
        """
        if mission.observe:
            self.check_observes()
        check_begin(mission, self.policy)

    def check_saga(self, wanted: PrepareInput) -> None:
        """Refuse a call of a saga if the operator's policy does not allow the saga's policy.

        Raises:
            UsageError: as for a mission.
        """
        check_policy(wanted.policy, self.policy, requester=wanted.requester)

    def begun(self, plan: MissionPlan, mission: BeginInput) -> BegunPlan:
        """Return a plan with its limits, marked for approval if either policy requires that."""
        wanted = mission.policy.plan_first or self.policy.plan_first
        wanted = wanted and not mission.observe
        is_shorter = self.policy.hold_limit < mission.policy.hold_limit
        return BegunPlan(
            **shared_fields(plan, MissionPlan),
            needs_approval=wanted,
            limits=self.limits(mission.policy),
            leg_limits=mission.policy.leg_limits.intersect(self.policy.leg_limits),
            hold_limit=self.policy.hold_limit if is_shorter else None,
            most=self.policy.limits,
            most_of_leg=self.policy.leg_limits,
        )

    def limits(self, missions: MissionPolicy) -> Limits:
        """Return the limits of a whole mission, intersected over both policies."""
        return missions.limits.intersect(self.policy.limits)

    def spending(self, missions: MissionPolicy) -> SpendingPolicy:
        """Return the stricter spending rules of both policies."""
        return missions.spending.combined_with(self.policy.spending)

    async def over(self, prepared: PreparedCall, wanted: PrepareInput) -> PreparedCall:
        """Return a prepared call with the operator's rules applied to its card.

        Raises:
            ServiceUnavailable: as ApprovalKeysUnavailable: the keys cannot be fetched now.
        """
        keys = await self._public_keys() if prepared.card is not None else None
        return governed(prepared, wanted, self.policy, keys)

    def again_terms(self, prepared: PreparedCall, wanted: PrepareInput, tool: Tool) -> PreparedCall:
        """Return a prepared call whose card says what a rule for later calls may cover.

        Without it, no approval of the card can make a rule, and no rule covers the call.
        """
        call, card = prepared.call, prepared.card
        if call is None or card is None or prepared.cancel is not None:
            return prepared
        # A rule would stand for approvals without a fresh sign-in.
        if call.amounts is None or call.approvals_needed > 1 or call.max_sign_in_age is not None:
            return prepared
        # They may differ where the call is the same.
        if call.stated_cancel is not None or call.approvers or call.repeats:
            return prepared
        own, ours = wanted.policy.same_again, self.policy.same_again
        limits = terms_of((ours, own or ours), card_type=card.card_type, tool=call.tool)
        if limits is None:
            return prepared
        terms = AgainTerms(
            max_amount=limits[0],
            max_time=limits[1],
            free=inputs_that_differ(tool),
            fixed=tuple(name for name in call.arguments if name in card.personal),
        )
        shown = card.model_copy(update={"again": terms})
        return prepared.model_copy(update={"card": shown})

    async def refusal_of(
        self, call: ToolCall, card_type: str | None, tool: Tool | None = None
    ) -> str | None:
        """Return the reason to refuse the grant of a call; None if it is accepted, or missing.

        Without `card_type`, the type that the call states counts; without `tool`, no person's
        rule covers the call.

        Raises:
            ServiceUnavailable: as ApprovalKeysUnavailable: the keys cannot be fetched now.
        """
        if call.grant is None:
            return None
        asked_as, keys = card_type or call.card_type or "", await self._public_keys()
        try:
            if call.grant.again is not None:
                check_again_grant(call, tool, asked_as, self.policy, keys)
            else:
                check_grant_rules(call, asked_as, self.policy, keys)
        except (GrantRefused, SignatureRefused) as refusal:
            return str(refusal)
        return None

    def standing_spend(self, call: ToolCall, card_type: str | None) -> StandingSpend | None:
        """Return the amount that a call uses of what approves it; None if nothing counts it.

        The mission's approval is part of the call; the operator's is in this worker's policy. A
        person's rule is counted under a name of its own.
        """
        if call.grant is not None and call.grant.again is not None:
            counted = (counted_as(call.grant.again),)
            return StandingSpend(counted, call.amounts[0]) if call.amounts else None
        scope = {"card_type": card_type or call.card_type or "", "tool": call.tool}
        ours = self.policy.confirmation.standing_for(**scope, amounts=call.amounts)
        rules = tuple(one for one in (call.standing, ours) if one is not None and one.counts)
        if not rules or not call.amounts:
            return None
        return StandingSpend(tuple(dict.fromkeys(rules)), call.amounts[0])

    async def _public_keys(self) -> PublicKeys | None:
        return None if self.keys is None else await self.keys.current()


def governed(
    prepared: PreparedCall, wanted: PrepareInput, workers: MissionPolicy, keys: PublicKeys | None
) -> PreparedCall:
    """Return a prepared call under the worker's policy and its mission's policy.

    With `keys`, decisions on its card have to be signed.
    """
    call, card = prepared.call, prepared.card
    if call is None or card is None:
        return prepared
    if wanted.round > max(workers.confirmation.rounds, 1):
        return PreparedCall(problems=("this worker does not ask about a call that often",))
    scope = {"card_type": card.card_type, "tool": call.tool}
    own, ours = wanted.policy.confirmation, workers.confirmation
    needed = max(p.approvals_needed(**scope, amounts=call.amounts) for p in (own, ours))
    max_age = shortest(own.max_age_of(**scope), ours.max_age_of(**scope))
    about = {"requester": wanted.requester, "approvals_needed": needed, "max_sign_in_age": max_age}
    call = call.model_copy(update=about)
    also = ours.approvers_of(**scope)
    shown = card.model_copy(
        update={
            "opened_at": wanted.now,
            "expires_at": wanted.now
            + min(wanted.policy.confirmation_expiry, workers.confirmation_expiry),
            **about,
            "requester_may_approve": own.requester_may_approve and ours.requester_may_approve,
            "operators_approvers": () if also == card.approvers else also,
            "signed": keys is not None,
            "digest": call_digest(
                call,
                arguments=call.arguments,
                card_type=card.card_type,
                confirmation_id=card.confirmation_id,
                terms=call.approval_terms,
            ),
        }
    )
    is_ours = ours.standing_for(**scope, amounts=call.amounts) is not None
    return prepared.model_copy(
        update={
            "call": call,
            "card": shown,
            "approval_keys": keys,
            "standing_approver": prepared.standing_approver if is_ours else None,
        }
    )


def check_grant_rules(
    call: ToolCall, card_type: str, workers: MissionPolicy, keys: PublicKeys | None
) -> None:
    """Refuse a call whose grant does not come from permitted approvers.

    An earlier check has compared the grant's digest with the call.

    Raises:
        GrantRefused: the worker's policy does not allow this grant.
        SignatureRefused: an approval has no valid signature, or no sign-in as fresh as required.
    """
    grant = call.grant
    assert grant is not None
    scope = {"card_type": card_type, "tool": call.tool}
    if is_standing(grant):
        if call.approvers:
            raise _refused(call, "its workflow names its approvers: no standing approval covers it")
        if call.repeats:
            raise _refused(call, f"it repeats {call.repeats}: no standing approval covers it")
        if workers.confirmation.standing_for(**scope, amounts=call.amounts) is None:
            raise _refused(call, f"no standing approval of this worker's policy covers {call.tool}")
        return
    times: list[datetime] = [grant.granted_at, *(one.at for one in grant.approvals)]
    opened = grant.opened_at
    if opened is not None and max(times) > opened + workers.confirmation_expiry:
        late = f"it was approved later than {workers.confirmation_expiry} after its card was opened"
        raise _refused(call, f"{late}, which is what this worker's policy gives")
    max_age = shortest(call.max_sign_in_age, workers.confirmation.max_age_of(**scope))
    signers = _approvers(grant, keys, max_age)
    patterns = workers.confirmation.approvers_of(**scope)
    for signer in signers:
        refusal = approver_refusal(
            signer.subject,
            [patterns, call.approvers],
            requester=call.requester,
            requester_may_approve=workers.confirmation.requester_may_approve,
            groups=signer.groups,
        )
        if refusal is not None:
            raise _refused(call, refusal)
    ours = workers.confirmation.approvals_needed(**scope, amounts=call.amounts)
    are_two = any(not is_same_person(one.subject, signers[0].subject) for one in signers[1:])
    if max(call.approvals_needed, ours) > 1 and not are_two:
        raise _refused(call, f"{call.tool} needs the approvals of two different people")


def is_standing(grant: Grant) -> bool:
    """Return True if a policy, not a person, gave the grant."""
    return (
        grant.again is None
        and not grant.approvals
        and grant.approver.casefold().startswith(POLICY_PREFIX)
    )


def _approvers(grant: Grant, keys: PublicKeys | None, max_age: timedelta | None) -> list[Signer]:
    """Return the approvers; with keys, their names come from verified signatures."""
    if keys is None:
        if max_age is not None:
            raise unproved_sign_in(grant.confirmation_id, max_age)
        return [Signer("", one.approver) for one in grant.of_people()]
    return [
        proved_signer(
            Approve(
                confirmation_id=grant.confirmation_id,
                digest=grant.digest,
                approver=one.approver,
                issuer=one.issuer,
                signature=one.signature,
            ),
            keys,
            digest=grant.digest,
            opened_at=grant.opened_at,
            at=one.at,
            max_age=max_age,
        )
        for one in grant.of_people()
    ]


def _refused(call: ToolCall, reason: str) -> GrantRefused:
    return GrantRefused(call.call_id, reason)
