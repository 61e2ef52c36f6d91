"""Who decides on a card: as they say or as they prove, and whether they may."""

from collections.abc import Iterable
from datetime import datetime

from orchestrator.confirmation.models import Approve, ConfirmationCard, Decision
from orchestrator.confirmation.policy import approver_problem, is_same_person
from orchestrator.confirmation.signatures import PublicKeys, named_signer, proved_signer
from orchestrator.core.errors import ApproverRefused


def check_decider(
    decision: Decision, card: ConfirmationCard, keys: PublicKeys | None, *, at: datetime
) -> None:
    """Refuse a decision of somebody who does not prove who they are, or who may not take it.

    Raises:
        SignatureRefused: decisions have to be signed, and it is not so signed.
        ApproverRefused: its approver may not decide on this card.
    """
    name = decision.approver
    if keys is not None:
        name = proved_signer(
            decision, keys, digest=card.digest, opened_at=card.opened_at, at=at
        ).subject
    approves = isinstance(decision, Approve)
    problem = approver_refusal(
        name,
        (card.approvers, card.operators_approvers),
        requester=card.requester,
        requester_may_approve=card.requester_may_approve or not approves,
    )
    if problem is None and approves and any(is_same_person(name, one) for one in card.approved_by):
        problem = f"{name} has approved this already: it needs another person's approval too"
    if problem is not None:
        raise ApproverRefused(decision.confirmation_id, problem)


def approver_refusal(
    name: str,
    patterns: Iterable[tuple[str, ...]],
    *,
    requester: str,
    requester_may_approve: bool,
) -> str | None:
    """Why somebody may not decide; None when they may.

    Args:
        name: who decides.
        patterns: of each policy that holds; the name has to fit them all.
        requester: who asked for the mission; empty when its start did not say.
        requester_may_approve: whether that may be the same person.
    """
    for of_policy in patterns:
        problem = approver_problem(name, of_policy)
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
    """A decision that was checked, under the names that are kept of it: proved ones where proved.

    Without keys nobody vouches for anybody, whatever the decision says.
    """
    if keys is None:
        return decision.model_copy(update={"issuer": ""})
    signer = named_signer(decision.signature)
    return decision.model_copy(update={"approver": signer.subject, "issuer": signer.issuer})
