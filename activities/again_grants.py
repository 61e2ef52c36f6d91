"""Grants by a person's rule: verified again where the call is sent, against the rule's own card."""

import hashlib

from orchestrator.catalog.declared_prices import PRICE
from orchestrator.catalog.expressions import parse_expression
from orchestrator.catalog.prices import place_of
from orchestrator.catalog.tool import Tool
from orchestrator.confirmation.deciders import approver_refusal
from orchestrator.confirmation.models import Grant, approval_of, is_of_card
from orchestrator.confirmation.policy import StandingApproval, shortest
from orchestrator.confirmation.same_again import (
    AgainRule,
    InputPath,
    refusal_of_limits,
    terms_of,
    why_not_again,
)
from orchestrator.confirmation.signatures import PublicKeys, Signer, proved_signer
from orchestrator.core.errors import GrantRefused
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.tool_call import ToolCall


def inputs_that_differ(tool: Tool) -> tuple[InputPath, ...]:
    """Return the inputs that differ from call to call by the contract: the price, own references.

    Nothing is read from names: an amount that no contract declares as the price stays equal.
    """
    prices = (name for name, schema in tool.properties.items() if schema.get(PRICE) is True)
    found: list[InputPath] = [(name,) for name in (*tool.reference_inputs, *prices)]
    expected = tool.price.expected if tool.price is not None else None
    place = place_of(parse_expression(expected.amount), tool) if expected is not None else None
    if place is not None and place.path:
        found.append(place.path)
    return tuple(dict.fromkeys(found))


def counted_as(rule: AgainRule) -> StandingApproval:
    """Return the name and the sum under which the store counts the calls of a rule."""
    named = hashlib.sha256(f"{rule.digest} {rule.first.origin}".encode()).hexdigest()
    return StandingApproval(
        name=f"same-again-{named[:32]}", tools=(rule.first.tool,), total=rule.again.up_to
    )


def check_again_grant(
    call: ToolCall,
    tool: Tool | None,
    card_type: str,
    workers: MissionPolicy,
    keys: PublicKeys | None,
) -> None:
    """Refuse a call whose grant does not come from a rule that covers it.

    Another check compares the grant's digest with the call; the store counts the rule's calls.

    Raises:
        GrantRefused: the rule is not one of a permitted person, or does not cover the call.
        SignatureRefused: decisions have to be signed, and the rule's approval is not.
    """
    grant = call.grant
    rule = grant.again if grant is not None else None
    if grant is None or rule is None or tool is None:
        raise GrantRefused(call.call_id, "no rule covers such a call")
    reason = _not_permitted(call, rule, card_type, workers, keys) or _not_covered(
        call, grant, rule, tool, card_type, workers
    )
    if reason is not None:
        raise GrantRefused(call.call_id, f"same again: {reason}")


def _not_permitted(
    call: ToolCall, rule: AgainRule, card_type: str, workers: MissionPolicy, keys: PublicKeys | None
) -> str | None:
    """Return why this worker does not accept the rule, whatever the call is."""
    if call.approvers:
        return "its workflow names its approvers: no rule covers it"
    if call.repeats:
        return f"it repeats {call.repeats}: no rule covers it"
    limits = terms_of((workers.same_again,), card_type=card_type, tool=call.tool)
    if limits is None:
        return f"this worker's policy lets no rule cover {call.tool}"
    if (outside := refusal_of_limits(rule.again, *limits, at=rule.at)) is not None:
        return outside
    if not is_of_card(rule):
        return "the approval of the rule is for another card"
    if rule.opened_at is not None and rule.at > rule.opened_at + workers.confirmation_expiry:
        return "its card was approved later than this worker's policy gives"
    confirmation = workers.confirmation
    theirs = confirmation.max_age_of(card_type=card_type, tool=call.tool)
    if shortest(call.max_sign_in_age, theirs) is not None:
        return "the policy asks for a fresh sign-in before each approval"
    signer = Signer("", rule.approver)
    if keys is not None:
        signer = proved_signer(
            approval_of(rule), keys, digest=rule.digest, opened_at=rule.opened_at, at=rule.at
        )
    return approver_refusal(
        signer.subject,
        [confirmation.approvers_of(card_type=card_type, tool=call.tool)],
        requester=call.requester,
        requester_may_approve=confirmation.requester_may_approve,
        groups=signer.groups,
    )


def _not_covered(
    call: ToolCall,
    grant: Grant,
    rule: AgainRule,
    tool: Tool,
    card_type: str,
    workers: MissionPolicy,
) -> str | None:
    ours = workers.confirmation.approvals_needed(
        card_type=card_type, tool=call.tool, amounts=call.amounts
    )
    differs = set(rule.again.may_differ) & set(tool.pii_fields)
    if differs:
        return f"{', '.join(sorted(differs))} is personal, and stays equal"
    return why_not_again(
        rule,
        call,
        arguments=call.arguments,
        card_type=card_type,
        amounts=call.amounts,
        approvals_needed=max(call.approvals_needed, ours),
        free=inputs_that_differ(tool),
        left=rule.again.up_to,
        at=grant.granted_at,
    )
