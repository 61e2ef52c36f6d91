"""A mission's own policy against its worker's: it may tighten it, and nothing else."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from orchestrator.confirmation.policy import (
    ApproverRule,
    ConfirmationPolicy,
    StandingApproval,
    TwoApprovers,
)
from orchestrator.core.budget import Money
from orchestrator.core.errors import PolicyWidened, RequesterMissing
from orchestrator.messages.begin import BeginInput, check_begin
from orchestrator.messages.mission_policy import MissionPolicy, check_not_widened, widenings

DAY = timedelta(hours=24)


def policy(expiry: timedelta = DAY, **rules: Any) -> MissionPolicy:
    return MissionPolicy(confirmation_expiry=expiry, confirmation=ConfirmationPolicy(**rules))


def standing(**scope: Any) -> MissionPolicy:
    return policy(standing=(StandingApproval(name="s", **scope),))


def most(amount: int, currency: str = "EUR") -> Money:
    return Money(amount=Decimal(amount), currency=currency)


@pytest.mark.parametrize(
    ("own", "workers"),
    [
        (policy(), policy()),
        (policy(), policy(timedelta(hours=1))),
        (policy(timedelta(hours=1)), policy(timedelta(hours=1))),
        (policy(timedelta(days=2)), policy(timedelta(days=3))),
        (policy(), standing(tools=("*",))),
        (standing(tools=("pay",)), standing(tools=("pay", "buy"))),
        (standing(tools=("pay",)), standing(tools=("*",))),
        (standing(tools=("PAY",)), standing(tools=("p*",))),
        (standing(tools=("p*",)), standing(tools=("p*",))),
        (standing(tools=("pay",), card_types=("a",)), standing(tools=("pay",))),
        (standing(tools=("pay",), max_amount=most(5)), standing(tools=("pay",))),
        (
            standing(tools=("pay",), max_amount=most(5)),
            standing(tools=("pay",), max_amount=most(5)),
        ),
        (
            policy(on_expiry="ask_again", max_rounds=2),
            policy(on_expiry="ask_again", max_rounds=2),
        ),
        (policy(max_rounds=9), policy()),
        (
            policy(
                approvers=(ApproverRule(approvers=("*",)),),
                two_approvers=(TwoApprovers(),),
                requester_may_approve=False,
                reminders=(DAY / 2,),
            ),
            policy(approvers=(ApproverRule(approvers=("cfo",)),)),
        ),
    ],
)
def test_a_tighter_policy_is_let_through(own: MissionPolicy, workers: MissionPolicy) -> None:
    """And one that says nothing; what only adds to the worker's is never wider."""
    assert widenings(own, workers) == ()


@pytest.mark.parametrize(
    ("own", "workers", "says"),
    [
        (policy(timedelta(hours=2)), policy(timedelta(hours=1)), "confirmation_expiry"),
        (policy(timedelta(hours=25)), policy(), "confirmation_expiry"),
        (policy(on_expiry="ask_again"), policy(), "on_expiry"),
        (
            policy(on_expiry="ask_again", max_rounds=3),
            policy(on_expiry="ask_again", max_rounds=2),
            "max_rounds",
        ),
        (standing(tools=("*",)), policy(), "standing approval s"),
        (standing(tools=("*",)), standing(tools=("pay",)), "standing approval s"),
        (standing(tools=("pa?",)), standing(tools=("p*",)), "standing approval s"),
        (standing(tools=("[p]ay",)), standing(tools=("?p?ay",)), "standing approval s"),
        (standing(card_types=("a",)), standing(card_types=("a",), tools=("b",)), "standing"),
        (standing(tools=("b",)), standing(card_types=("a",), tools=("b",)), "standing approval s"),
        (standing(tools=("pay",)), standing(tools=("pay",), max_amount=most(5)), "standing"),
        (
            standing(tools=("pay",), max_amount=most(6)),
            standing(tools=("pay",), max_amount=most(5)),
            "standing",
        ),
        (
            standing(tools=("pay",), max_amount=most(5, "USD")),
            standing(tools=("pay",), max_amount=most(5)),
            "standing",
        ),
    ],
)
def test_a_wider_policy_is_refused(own: MissionPolicy, workers: MissionPolicy, says: str) -> None:
    """In one sentence that says by what it is wider."""
    with pytest.raises(PolicyWidened, match=says) as refused:
        check_not_widened(own, workers)

    assert str(refused.value).startswith("a mission's own policy may only tighten the worker's")


@pytest.mark.parametrize("of_worker", [True, False])
def test_who_asks_has_to_be_said_where_a_policy_goes_by_it(of_worker: bool) -> None:
    """Nobody could be told apart from a requester that nobody knows."""
    strict, plain = policy(requester_may_approve=False), policy()
    own, workers = (plain, strict) if of_worker else (strict, plain)
    begun = BeginInput(
        mission_id="m",
        goal="g",
        now=datetime(2026, 11, 22, tzinfo=UTC),
        catalog_digest="c",
        policy=own,
    )

    check_begin(begun.model_copy(update={"requester": "ann"}), workers)
    for unsaid in ("", "  "):
        with pytest.raises(RequesterMissing, match="--requester"):
            check_begin(begun.model_copy(update={"requester": unsaid}), workers)


def test_a_planner_is_told_the_goal_and_not_the_policy() -> None:
    """And what planning it may take; of the policy nothing else."""
    begun = BeginInput(
        mission_id="m",
        goal="g",
        now=datetime(2026, 11, 22, tzinfo=UTC),
        catalog_digest="c",
        requester="ann",
    )

    assert set(begun.brief.model_dump()) == {
        "mission_id",
        "goal",
        "inputs",
        "now",
        "catalog_digest",
        "planner",
        "model",
        "allowance",
        "model_away",
        "failed_before",
        "read_only",
        "call",
    }
