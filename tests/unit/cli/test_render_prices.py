"""What people read of charges: in the ledger and the receipts of a mission."""

from datetime import UTC, datetime
from decimal import Decimal
from io import StringIO

import pytest
from rich.console import Console

from orchestrator.cli import render_missions
from orchestrator.core.budget import Money
from orchestrator.core.spending_limit import limit_of
from orchestrator.messages.mission import MissionResult, MissionStatus, told_of
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.testing import fake_obligation

APPROVED = Money(amount=Decimal("78.00"), currency="EUR")


def shown(charged: Money | None) -> str:
    """What `mission show` prints of a mission that was charged so."""
    outcome = ToolOutcome(kind="succeeded", price=charged)
    made = fake_obligation(approved_price=APPROVED)
    kept = made.answered(outcome, at=datetime(2026, 11, 22, tzinfo=UTC))
    ledger = Ledger(obligations=(kept.compared(limit_of(APPROVED)),))
    result = MissionResult.model_validate(
        {"mission_id": "m", "goal": "g", "status": MissionStatus.SUCCEEDED, **told_of(ledger)}
    )
    written = StringIO()
    render_missions.mission(Console(file=written, width=200), result)
    return written.getvalue()


@pytest.mark.parametrize(
    ("charged", "told"),
    [
        ("97.50", "97.50 EUR (19.50 EUR more than the 78.00 EUR approved)"),
        ("78.00", "78.00 EUR"),
        (None, "78.00 EUR approved (charged price not stated)"),
    ],
)
def test_receipt_and_ledger_say_what_was_charged(charged: str | None, told: str) -> None:
    """Beside what was approved, where that is not the same."""
    text = shown(None if charged is None else Money(amount=Decimal(charged), currency="EUR"))

    assert text.count(told) >= 2
    assert ("more than" in text) is (charged == "97.50")


def test_a_charge_in_another_currency_is_no_difference_of_the_two() -> None:
    """All of it counts as more, and nobody knows by how much it is."""
    text = shown(Money(amount=Decimal("78"), currency="USD"))

    assert "78.00 USD (in another currency than the 78.00 EUR approved)" in text
    assert "more than the" not in text
