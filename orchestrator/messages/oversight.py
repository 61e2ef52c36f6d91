"""What a worker's operator lets be decided: put on cards, asked of decisions, checked on grants."""

from datetime import datetime

from orchestrator.confirmation.deciders import approver_refusal
from orchestrator.confirmation.models import Approve, Grant, call_digest
from orchestrator.confirmation.policy import POLICY_PREFIX, is_same_person
from orchestrator.confirmation.signatures import PublicKeys, proved_signer
from orchestrator.core.errors import GrantRefused
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.tool_call import PreparedCall, PrepareInput, ToolCall


def governed(
    prepared: PreparedCall,
    wanted: PrepareInput,
    workers: MissionPolicy,
    keys: PublicKeys | None,
) -> PreparedCall:
    """A prepared call under the worker's policy as well as its mission's own.

    Args:
        prepared: the call with its card, as the mission's policy has it.
        wanted: what it was prepared for.
        workers: the policy of the worker.
        keys: those that decisions have to be signed with; None: they need not be.
    """
    call, card = prepared.call, prepared.card
    if call is None or card is None:
        return prepared
    if wanted.round > max(workers.confirmation.rounds, 1):
        return PreparedCall(problems=("this worker does not ask about a call that often",))
    scope = {"card_type": card.card_type, "tool": call.tool}
    own, ours = wanted.policy.confirmation, workers.confirmation
    needed = max(p.approvals_needed(**scope, amounts=call.amounts) for p in (own, ours))
    call = call.model_copy(update={"requester": wanted.requester, "approvals_needed": needed})
    also = ours.approvers_of(**scope)
    shown = card.model_copy(
        update={
            "opened_at": wanted.now,
            "expires_at": wanted.now
            + min(wanted.policy.confirmation_expiry, workers.confirmation_expiry),
            "requester": wanted.requester,
            "requester_may_approve": own.requester_may_approve and ours.requester_may_approve,
            "operators_approvers": () if also == card.approvers else also,
            "approvals_needed": needed,
            "signed": keys is not None,
            "digest": _digest(call, card.card_type, card.confirmation_id),
        }
    )
    is_ours = ours.standing_approver(**scope, amounts=call.amounts) is not None
    return prepared.model_copy(
        update={
            "call": call,
            "card": shown,
            "approval_keys": keys,
            "standing_approver": prepared.standing_approver if is_ours else None,
        }
    )


def check_grant_rules(
    call: ToolCall,
    card_type: str,
    workers: MissionPolicy,
    keys: PublicKeys | None,
) -> None:
    """Refuse a call whose grant those who may decide have not given, whoever says that they have.

    The grant is for exactly this call: that is checked before.

    Raises:
        GrantRefused: the worker's policy does not let it be given so.
        SignatureRefused: its approvals are not signed as they have to be.
    """
    grant = call.grant
    assert grant is not None
    scope = {"card_type": card_type, "tool": call.tool}
    if not grant.approvals and grant.approver.casefold().startswith(POLICY_PREFIX):
        if workers.confirmation.standing_approver(**scope, amounts=call.amounts) is None:
            raise _refused(call, f"no standing approval of this worker's policy covers {call.tool}")
        return
    _check_expiry(call, grant, workers)
    names = _approvers(call, grant, keys)
    patterns = workers.confirmation.approvers_of(**scope)
    for name in names:
        refusal = approver_refusal(
            name,
            [patterns],
            requester=call.requester,
            requester_may_approve=workers.confirmation.requester_may_approve,
        )
        if refusal is not None:
            raise _refused(call, refusal)
    ours = workers.confirmation.approvals_needed(**scope, amounts=call.amounts)
    if max(call.approvals_needed, ours) > 1 and not _are_two(names):
        raise _refused(call, f"{call.tool} needs the approvals of two different people")


def _approvers(call: ToolCall, grant: Grant, keys: PublicKeys | None) -> list[str]:
    """Who approved: as their signatures say where there are keys, else as they said."""
    if keys is None:
        return [one.approver for one in grant.of_people()]
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
        ).subject
        for one in grant.of_people()
    ]


def _check_expiry(call: ToolCall, grant: Grant, workers: MissionPolicy) -> None:
    times: list[datetime] = [grant.granted_at, *(one.at for one in grant.approvals)]
    opened = grant.opened_at
    if opened is not None and max(times) > opened + workers.confirmation_expiry:
        raise _refused(
            call,
            f"it was approved later than {workers.confirmation_expiry} after its card was opened, "
            "which is what this worker's policy gives",
        )


def _are_two(names: list[str]) -> bool:
    return any(not is_same_person(name, names[0]) for name in names[1:])


def _digest(call: ToolCall, card_type: str, confirmation_id: str) -> str:
    return call_digest(
        call,
        arguments=call.arguments,
        card_type=card_type,
        confirmation_id=confirmation_id,
        terms=call.approval_terms,
    )


def _refused(call: ToolCall, reason: str) -> GrantRefused:
    return GrantRefused(call.call_id, reason)
