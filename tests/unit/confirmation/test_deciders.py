"""Who may decide on a card: whom both policies let, and nobody by half of them."""

from datetime import UTC, datetime

import pytest

from orchestrator.confirmation.deciders import check_decider
from orchestrator.confirmation.models import Approve, ConfirmationCard
from orchestrator.core.errors import ApproverRefused

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
CARD = ConfirmationCard(
    confirmation_id="m.1-pay.2",
    mission_id="m",
    leg_id="1-pay",
    card_type="structured-payment",
    title="Pay",
    tool="pay",
    digest="d" * 64,
    approvers=("ann@*", "bob@*"),
    operators_approvers=("*@finance.example.com",),
)


@pytest.mark.parametrize(
    ("name", "may"),
    [
        ("ann@finance.example.com", True),
        ("ann@example.com", False),
        ("cfo@finance.example.com", False),
        ("eve@example.com", False),
    ],
)
def test_a_name_has_to_fit_both_policies(name: str, may: bool) -> None:
    """The mission's patterns, and those of its worker."""
    approve = Approve(confirmation_id=CARD.confirmation_id, digest=CARD.digest, approver=name)
    if may:
        check_decider(approve, CARD, None, at=NOW)
        return
    with pytest.raises(ApproverRefused, match="may not decide on this"):
        check_decider(approve, CARD, None, at=NOW)
