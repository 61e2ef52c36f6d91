"""Check the approver of a decision: the proved or stated name, and whether it may decide."""

from collections.abc import Iterable
from datetime import datetime

from orchestrator.confirmation.models import Approve, ConfirmationCard, Decision
from orchestrator.confirmation.policy import approver_problem, is_same_person
from orchestrator.confirmation.signatures import (
    PublicKeys,
    Signer,
    named_signer,
    proved_signer,
    unproved_sign_in,
)
from orchestrator.core.errors import ConfirmationError


def check_decider(
    decision: Decision, card: ConfirmationCard, keys: PublicKeys | None, *, at: datetime
) -> None:
    """Refuse a decision by a person who is not proved, or who may not make it.

    Raises:
        SignatureRefused: decisions have to be signed, and this one has no valid signature.
        SignInTooOld: its signature proves no sign-in as fresh as the policies require.
        ConfirmationError: its approver may not decide on this card.
    """
    signer = Signer("", decision.approver)
    if keys is not None:
        signer = proved_signer(
            decision,
            keys,
            digest=card.digest,
            opened_at=card.opened_at,
            at=at,
            max_age=card.max_sign_in_age,
        )
    elif card.max_sign_in_age is not None:
        raise unproved_sign_in(decision.confirmation_id, card.max_sign_in_age)
    name = signer.subject
    approves = isinstance(decision, Approve)
    problem = approver_refusal(
        name,
        (card.approvers, card.operators_approvers),
        requester=card.requester,
        requester_may_approve=card.requester_may_approve or not approves,
        groups=signer.groups,
    )
    if problem is None and approves and any(is_same_person(name, one) for one in card.approved_by):
        problem = f"{name} has approved this already: it needs another person's approval too"
    if problem is not None:
        raise ConfirmationError(decision.confirmation_id, problem, code="ApproverRefused")


def approver_refusal(
    name: str,
    patterns: Iterable[tuple[str, ...]],
    *,
    requester: str,
    requester_may_approve: bool,
    groups: tuple[str, ...] = (),
) -> str | None:
    """Return why a person may not decide; None if they may.

    The name has to match the patterns of each policy; a signature proves the groups. The requester
    is empty if the start of the mission did not say who it is.
    """
    for of_policy in patterns:
        problem = approver_problem(name, of_policy, groups=groups)
        if problem is not None:
            return problem
    if requester_may_approve:
        return None
    if not requester:
        return (
            "who asked for a mission may not approve its calls, and this one does not say who "
            "asked: start it with a requester"
        )
    if is_same_person(name, requester):
        return f"{name} asked for this mission, and may not approve its calls"
    return None


def as_named(decision: Decision, keys: PublicKeys | None) -> Decision:
    """Return a checked decision under the recorded names: the proved ones if it was signed.

    Without keys no issuer vouches for anybody, whatever the decision says.
    """
    if keys is None:
        return decision.model_copy(update={"issuer": ""})
    signer = named_signer(decision.signature)
    return decision.model_copy(update={"approver": signer.subject, "issuer": signer.issuer})
