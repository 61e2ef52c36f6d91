"""Who may decide on a card: whom both policies let, and nobody by half of them."""

from contextlib import nullcontext
from datetime import UTC, datetime, timedelta

import pytest

from orchestrator.confirmation.deciders import check_decider
from orchestrator.confirmation.models import Approve
from orchestrator.core.errors import SignInTooOld, error_named
from tests.refusals import raises_code
from tests.unit.cards import open_card

ANN = "ann@finance.example.com"
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
CARD = open_card(
    "m.1-pay.2",
    "pay",
    "structured-payment",
    title="Pay",
    approvers=("ann@*", "bob@*"),
    operators_approvers=("*@finance.example.com",),
)


ANYBODYS = CARD.model_copy(update={"approvers": (), "operators_approvers": ()})


def approve(name: str) -> Approve:
    return Approve(confirmation_id=CARD.confirmation_id, digest=CARD.digest, approver=name)


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
    with nullcontext() if may else raises_code("ApproverRefused"):
        check_decider(approve(name), CARD, None, at=NOW)


@pytest.mark.parametrize(
    "name", ["Ann@Finance.example.com", "ann@ finance.example.com", "\uff41nn@finance.example.com"]
)
def test_one_person_is_not_two_by_another_spelling(name: str) -> None:
    """Case, spaces and the width of letters make nobody another person."""
    with raises_code("ApproverRefused"):
        check_decider(
            approve(name), ANYBODYS.model_copy(update={"approved_by": (ANN,)}), None, at=NOW
        )


@pytest.mark.parametrize(
    "name", ["policy:meals", " Policy:meals", "policy :meals", "\uff50olicy:meals"]
)
def test_nobody_is_recorded_as_a_standing_approval(name: str) -> None:
    """Not by a name that only looks like one either."""
    with raises_code("ApproverRefused"):
        check_decider(approve(name), ANYBODYS, None, at=NOW)


def test_a_sign_in_that_nothing_proves_is_not_fresh() -> None:
    """Where the policy asks for one, an unsigned decision of anybody is refused."""
    card = CARD.model_copy(update={"max_sign_in_age": timedelta(minutes=5)})
    with pytest.raises(SignInTooOld) as refused:
        check_decider(approve(ANN), card, None, at=NOW)
    assert refused.value.max_age_s == 300
    assert isinstance(error_named(refused.value.code, refused.value.details), SignInTooOld)
