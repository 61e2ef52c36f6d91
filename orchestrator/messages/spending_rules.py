"""What policies make of the price of a prepared call: whom it is put before, what it may cost."""

from orchestrator.confirmation.policy import ConfirmationPolicy
from orchestrator.core.budget import Money, told_left
from orchestrator.core.spending_limit import limit_of
from orchestrator.messages.spending_policy import SpendingPolicy
from orchestrator.messages.tool_call import PreparedCall, PrepareInput


def unknown_price(budget: Money, left: Money | None, unpriced: int = 0) -> str:
    """What a person must know of a call whose price nobody knows.

    Args:
        budget: the mission's.
        left: what is left of it; None: nobody can say just now.
        unpriced: calls before it whose price nobody knows either.
    """
    if left is None:
        return f"price unknown: it may exceed the budget of {budget}"
    told = told_left(left, unpriced).rstrip(",")
    return f"price unknown: it may exceed what is left of the budget, {told}"


def limited(prepared: PreparedCall, wanted: PrepareInput, rules: SpendingPolicy) -> PreparedCall:
    """A prepared call with what it may cost; one whose price is unknown has nothing to compare.

    A budget goes by the expected price. Without one, a standing approval counts up to its amount.

    Args:
        prepared: the call, under both policies.
        wanted: what it was prepared for.
        rules: on spending, as both policies have them.
    """
    if prepared.price is None or not prepared.spends or prepared.cancel is not None:
        return prepared
    standing = None
    if wanted.budget is None and prepared.standing_approver is not None:
        standing = _most_of(wanted.policy.confirmation, prepared.standing_approver)
    limit = limit_of(
        prepared.price,
        tolerance=rules.overcharge_tolerance,
        standing=standing,
        on_overcharge=rules.on_overcharge,
    )
    return prepared.model_copy(update={"limit": limit})


def _most_of(policy: ConfirmationPolicy, approver: str) -> Money | None:
    """Up to what a standing approval approves a call."""
    return next((one.max_amount for one in policy.standing if one.approver == approver), None)
