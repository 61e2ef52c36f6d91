"""What a ledger says of calls whose price nobody knew when they were approved."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from orchestrator.core.budget import Money, Spend
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import Obligation
from orchestrator.saga.outcome import ToolOutcome
from tests.fakes import fake_obligation

NOW = datetime(2026, 11, 22, tzinfo=UTC)
CHARGED = Money(amount=Decimal("37.50"), currency="EUR")


def made(charged: Money | None, **more: object) -> Obligation:
    """What a call left whose price was not known before it."""
    written = fake_obligation().model_copy(update={"has_price": True, **more})
    return written.answered(ToolOutcome(kind="succeeded", price=charged), at=NOW).compared(None)


def test_what_nobody_knows_the_cost_of_is_counted_apart() -> None:
    """It is not nothing."""
    unknown = made(None)

    assert unknown.note == "what it cost is unknown: no price was approved, and none was stated"
    assert str(Ledger(obligations=(unknown,)).spent) == "1 call of unknown price"
    both = Ledger(obligations=(unknown, made(CHARGED, obligation_id="m.1.2")))
    assert str(both.spent) == "37.50 EUR and 1 call of unknown price"


def test_a_charge_that_nobody_approved_is_noted() -> None:
    """The person who approved the call has not seen this amount."""
    known = made(CHARGED)

    assert known.note == "its price was not known when it was approved; 37.50 EUR was charged"
    assert str(Ledger(obligations=(known,)).spent) == "37.50 EUR"


@pytest.mark.parametrize("more", [{"has_price": False}, {"spends": False}])
def test_what_has_no_price_costs_nothing(more: dict[str, object]) -> None:
    """A place in a calendar, a claim."""
    free = made(None, **more)

    assert free.note == ""
    assert str(Ledger(obligations=(free,)).spent) == "nothing"


def test_what_was_taken_back_is_counted_no_more() -> None:
    """Whatever it may have cost."""
    gone = made(None).model_copy(update={"state": "cancelled"})

    assert Ledger(obligations=(gone,)).spent == Spend()


def test_totals_count_what_has_no_known_price() -> None:
    """Of all legs, beside the amounts."""
    one, two = Spend(unpriced=1).plus(CHARGED), Spend(unpriced=2)

    assert str(Spend.total([one, two])) == "37.50 EUR and 3 calls of unknown price"
