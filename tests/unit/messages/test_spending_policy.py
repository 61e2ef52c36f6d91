"""Rules on money: what holds where mission and worker have one each, and what is wider."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from orchestrator.core.budget import Money
from orchestrator.core.errors import PolicyWidened
from orchestrator.core.spending_limit import limit_of
from orchestrator.messages.mission_policy import MissionPolicy, check_not_widened
from orchestrator.messages.spending_policy import SpendingPolicy
from orchestrator.messages.tool_call import ToolCall
from orchestrator.saga.ledger import Ledger, ObligationState
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.testing import fake_obligation

USUAL = SpendingPolicy()
WIDE = SpendingPolicy(
    unknown_price="allow", overcharge_tolerance=Decimal("0.5"), on_overcharge="keep"
)
STRICT = SpendingPolicy(unknown_price="refuse", on_overcharge="undo")
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
def test_of_two_rules_the_stricter_holds(
    own: SpendingPolicy, workers: SpendingPolicy, holds: SpendingPolicy
) -> None:
    """Whoever has it."""
    assert own.beside(workers) == holds


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
    """With its key, and what the worker has."""
    own = MissionPolicy(spending=SpendingPolicy.model_validate(rule))

    with pytest.raises(PolicyWidened) as refused:
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
