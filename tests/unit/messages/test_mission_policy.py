"""Policies: a mission's own may tighten its worker's, and no wait is over before it begins."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from orchestrator.confirmation.policy import (
    ApproverRule,
    ConfirmationPolicy,
    StandingApproval,
    TwoApprovers,
)
from orchestrator.core.budget import Money, limit_of
from orchestrator.core.errors import DocumentUnreadable, UsageError
from orchestrator.messages.mission import MissionInput
from orchestrator.messages.mission_policy import (
    BeginInput,
    MissionPolicy,
    SpendingPolicy,
    check_begin,
    check_new,
    check_not_widened,
    widenings,
)
from orchestrator.messages.tool_call import ToolCall
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import ObligationState
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.settings import load_policy
from tests.fakes import fake_obligation

DAY = timedelta(hours=24)


def policy(expiry: timedelta = DAY, **rules: Any) -> MissionPolicy:
    return MissionPolicy(confirmation_expiry=expiry, confirmation=ConfirmationPolicy(**rules))


def standing(**scope: Any) -> MissionPolicy:
    return policy(standing=(StandingApproval(name="s", **scope),))


def pays(amount: int, currency: str = "EUR") -> MissionPolicy:
    return standing(tools=("pay",), max_amount=Money(amount=Decimal(amount), currency=currency))


def asks_again(rounds: int) -> MissionPolicy:
    return policy(on_expiry="ask_again", max_rounds=rounds)


ADDS = policy(
    approvers=(ApproverRule(approvers=("*",)),),
    two_approvers=(TwoApprovers(),),
    requester_may_approve=False,
    reminders=(DAY / 2,),
)


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
        (pays(5), standing(tools=("pay",))),
        (pays(5), pays(5)),
        (asks_again(2), asks_again(2)),
        (policy(max_rounds=9), policy()),
        (ADDS, policy(approvers=(ApproverRule(approvers=("cfo",)),))),
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
        (asks_again(3), asks_again(2), "max_rounds"),
        (standing(tools=("*",)), policy(), "standing approval s"),
        (standing(tools=("*",)), standing(tools=("pay",)), "standing approval s"),
        (standing(tools=("pa?",)), standing(tools=("p*",)), "standing approval s"),
        (standing(tools=("[p]ay",)), standing(tools=("?p?ay",)), "standing approval s"),
        (standing(card_types=("a",)), standing(card_types=("a",), tools=("b",)), "standing"),
        (standing(tools=("b",)), standing(card_types=("a",), tools=("b",)), "standing approval s"),
        (standing(tools=("pay",)), pays(5), "standing"),
        (pays(6), pays(5), "standing"),
        (pays(5, "USD"), pays(5), "standing"),
    ],
)
def test_a_wider_policy_is_refused(own: MissionPolicy, workers: MissionPolicy, says: str) -> None:
    with pytest.raises(UsageError, match=says) as refused:
        check_not_widened(own, workers)
    assert str(refused.value).startswith("a mission's own policy may only tighten the worker's")


BEGUN = BeginInput(
    mission_id="m", goal="g", now=datetime(2026, 11, 22, tzinfo=UTC), catalog_digest="c"
)


@pytest.mark.parametrize("of_worker", [True, False])
def test_who_asks_has_to_be_said_where_a_policy_goes_by_it(of_worker: bool) -> None:
    """Nobody could be told apart from a requester that nobody knows."""
    strict, plain = policy(requester_may_approve=False), policy()
    own, workers = (plain, strict) if of_worker else (strict, plain)
    begun = BEGUN.model_copy(update={"policy": own})
    check_begin(begun.model_copy(update={"requester": "ann"}), workers)
    for unsaid in ("", "  "):
        with pytest.raises(UsageError, match="--requester"):
            check_begin(begun.model_copy(update={"requester": unsaid}), workers)


def test_a_planner_is_told_the_goal_and_not_the_policy() -> None:
    """And what planning it may take; of the policy nothing else."""
    begun = BEGUN.model_copy(update={"requester": "ann"})
    told = {"mission_id", "goal", "inputs", "now", "catalog_digest", "planner", "model"}
    told |= {"allowance", "model_away", "read_only", "call", "workflow"}

    assert set(begun.brief.model_dump()) == told


NOTHING = timedelta(0)


@pytest.mark.parametrize("goal", [" ", "\t\n ", "\u00a0", "\u200b", "\u2063 \ufeff"])
def test_a_goal_that_says_nothing_is_refused(goal: str) -> None:
    """Also one of characters that nobody sees; whether others can be done is not judged here."""
    with pytest.raises(UsageError, match="goal: it says nothing"):
        check_new(goal, MissionPolicy())
    for said in ("?", "飛行機", " go "):
        check_new(said, MissionPolicy())


@pytest.mark.parametrize(
    "name", [n for n, f in MissionPolicy.model_fields.items() if f.annotation is timedelta]
)
@pytest.mark.parametrize(
    ("wait", "said"),
    [
        (NOTHING, "is 0 s, and must be longer"),
        (timedelta(days=-1), "is -1 days, and must be longer"),
        (timedelta(days=4_000_000), "is 4,000,000 days, and may be at most 3650 days"),
    ],
)
def test_no_wait_is_over_before_it_begins(name: str, wait: timedelta, said: str) -> None:
    """Whichever it is: those that a policy is given later, too. The sentence names it."""
    policy = MissionPolicy(**{name: wait})  # type: ignore[arg-type]

    with pytest.raises(UsageError, match=f"{name} {said}"):
        check_new("go", policy)
    rules = ConfirmationPolicy(reminders=(timedelta(hours=1), wait))
    with pytest.raises(UsageError, match=rf"confirmation\.reminders\.1 {said}"):
        check_new("go", MissionPolicy(confirmation=rules))


def test_a_file_of_such_a_policy_is_refused_and_a_recorded_mission_loads(tmp_path: Path) -> None:
    """A worker must be able to read what was taken on when nobody looked."""
    path = tmp_path / "policy.yaml"
    path.write_text("confirmation_expiry: -PT1H")

    with pytest.raises(DocumentUnreadable, match=r"policy\.yaml.*confirmation_expiry is -3600 s"):
        load_policy(path)
    old = {"goal": " ", "policy": {"confirmation_expiry": -5, "deadline": 0}}
    read = MissionInput.model_validate({"request": old})
    assert read.request.policy.confirmation_expiry == timedelta(seconds=-5)


USUAL = SpendingPolicy()
WIDE = SpendingPolicy(
    unknown_price="allow", overcharge_tolerance=Decimal("0.5"), on_overcharge="keep"
)
STRICT = SpendingPolicy(unknown_price="refuse", on_overcharge="cancel")
AT = datetime(2026, 11, 22, tzinfo=UTC)


def eur(amount: str) -> Money:
    return Money(amount=Decimal(amount), currency="EUR")


@pytest.mark.parametrize(
    ("own", "workers", "holds"),
    [
        (USUAL, WIDE, USUAL),
        (WIDE, USUAL, USUAL),
        (WIDE, STRICT, STRICT),
        (STRICT, WIDE, STRICT),
        (WIDE, WIDE, WIDE),
    ],
)
def test_the_stricter_holds(
    own: SpendingPolicy, workers: SpendingPolicy, holds: SpendingPolicy
) -> None:
    assert own.combined_with(workers) == holds


@pytest.mark.parametrize(
    ("own", "workers"),
    [(USUAL, STRICT), (STRICT, USUAL), (WIDE, WIDE), (USUAL, WIDE), (STRICT, WIDE)],
)
def test_a_stricter_rule_is_let_through(
    own: SpendingPolicy,
    workers: SpendingPolicy,
    refusal: Callable[[Callable[[], object]], Exception | None],
) -> None:
    """And so is a default, which counts as not said."""
    missions, operators = MissionPolicy(spending=own), MissionPolicy(spending=workers)

    assert refusal(lambda: check_not_widened(missions, operators)) is None


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ({"unknown_price": "allow"}, "spending.unknown_price (allow) is wider than the worker's"),
        ({"on_overcharge": "keep"}, "spending.on_overcharge (keep) is wider"),
        ({"overcharge_tolerance": "0.1"}, "spending.overcharge_tolerance (0.1) is wider"),
    ],
)
@pytest.mark.parametrize("workers", [USUAL, STRICT], ids=["usual", "strict"])
def test_a_wider_rule_is_refused(rule: dict[str, str], says: str, workers: SpendingPolicy) -> None:
    own = MissionPolicy(spending=SpendingPolicy.model_validate(rule))

    with pytest.raises(UsageError) as refused:
        check_not_widened(own, MissionPolicy(spending=workers))
    assert says in str(refused.value)


@pytest.mark.parametrize("tolerance", ["-0.1", "1.5", "NaN", "Infinity"])
def test_a_tolerance_is_a_fraction(tolerance: str) -> None:
    """5 is no five per cent."""
    with pytest.raises(ValueError, match="overcharge_tolerance"):
        SpendingPolicy.model_validate({"overcharge_tolerance": tolerance})


def test_the_price_is_among_the_terms_of_an_approval_where_it_is_known() -> None:
    """A call that was prepared before prices were among them has the digest that it had."""
    call = ToolCall(
        call_id="m.l.1", mission_id="m", leg_id="l", tool="pay", catalog_digest="d", arguments={}
    )
    priced = call.model_copy(update={"price": eur("78.00")})

    assert call.approval_terms == {}
    assert priced.approval_terms == {"price": {"amount": "78.00", "currency": "EUR"}}


@pytest.mark.parametrize(
    ("charged", "spent", "set_aside"),
    [
        (eur("97.50"), ["97.50 EUR"], []),
        (None, ["78.00 EUR"], []),
        (Money(amount=Decimal(90), currency="USD"), ["90.00 USD"], ["78.00 EUR"]),
    ],
    ids=["more", "not stated", "another currency"],
)
def test_what_stands_is_spent_as_charged_else_as_approved(
    charged: Money | None, spent: list[str], set_aside: list[str]
) -> None:
    """In another currency the approved price stays taken of the budget beside it."""
    outcome = ToolOutcome(kind="succeeded", price=charged)
    made = fake_obligation(approved_price=eur("78.00"))
    answered = made.answered(outcome, at=AT).compared(limit_of(eur("78.00")))
    ledger = Ledger(obligations=(answered,))

    assert [str(money) for money in ledger.spent.amounts()] == spent
    assert [str(money) for money in ledger.set_aside.amounts()] == set_aside


def test_what_was_cancelled_is_not_spent() -> None:
    """What was overcharged of it is kept in the ledger all the same."""
    outcome = ToolOutcome(kind="succeeded", price=eur("97.50"))
    made = fake_obligation(approved_price=eur("78.00")).answered(outcome, at=AT)
    marked = made.compared(limit_of(eur("78.00")))
    ledger = Ledger(obligations=(marked.moved(ObligationState.CANCELLED, at=AT),))

    assert ledger.spent.amounts() == []
    assert ledger.obligations[0].overcharged == eur("19.50")
