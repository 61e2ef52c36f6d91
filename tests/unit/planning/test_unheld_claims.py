"""Ids and amounts of a summary are held against what its leg was answered."""

from datetime import UTC, datetime

import pytest

from orchestrator.messages.leg import LegResult, LegStatus
from orchestrator.planning.models import FINISH, AgentProfile, Observation, StepContext
from orchestrator.planning.unheld_claims import unheld_claims

SEEN = Observation(
    step=1,
    tool="find_bills",
    outcome="succeeded",
    arguments={"status": "open"},
    body={
        "bills": [
            {"bill_id": "INV-20031", "total": 129900, "currency": "EUR", "seat": "12A"},
            {"bill_id": "res_8f31aa", "amount": {"value": "1250.5", "currency": "EUR"}},
        ]
    },
)
CLAIMED = Observation(
    step=2, tool=FINISH, outcome="refused", arguments={"summary": "INV-99999 costs 77 EUR"}
)
CONTEXT = StepContext(
    mission_id="m",
    leg_id="1-bills",
    step=3,
    mission_goal="What is open of CUSTOMER-77? My limit is 400 EUR",
    leg_goal="What is open of CUSTOMER-77?",
    agent=AgentProfile(name="bills"),
    observations=(SEEN, CLAIMED),
    now=datetime(2026, 11, 23, tzinfo=UTC),
    catalog_digest="d" * 64,
)


@pytest.mark.parametrize(
    "summary",
    [
        "INV-20031 of 1,299.00 EUR is open, and res_8f31aa of EUR 1250.50.",
        "CUSTOMER-77 has two bills above your limit of 400 EUR, due on 2026-12-03 at 10am.",
        "Seat 12A is free at 20:00 on the 3rd; flights take 2h30.",
        "",
    ],
)
def test_what_was_answered_or_said_is_held(summary: str) -> None:
    """However an amount is written; days and times are no claims of this kind."""
    assert unheld_claims(summary, CONTEXT) == ()


@pytest.mark.parametrize(
    ("summary", "claims"),
    [
        ("It is booked, reference ABC123.", ("ABC123",)),
        ("INV-20031 costs 45 EUR.", ("45 EUR",)),
        ("INV-99999 costs 77 EUR.", ("INV-99999", "77 EUR")),
        ("Paid \u20ac310 for pay_00912x.", ("pay_00912x", "\u20ac310")),
    ],
)
def test_what_stands_nowhere_is_told(summary: str, claims: tuple[str, ...]) -> None:
    """What its planner itself said before proves nothing."""
    assert unheld_claims(summary, CONTEXT) == claims


def test_an_average_is_reckoned_and_not_made_up() -> None:
    """As the sum is, to the cent."""
    bills = {"bills": [{"total": 10.0}, {"total": 20.0}, {"total": 20.0}]}
    seen = CONTEXT.model_copy(update={"observations": (SEEN.model_copy(update={"body": bills}),)})

    assert unheld_claims("On average 16.67 EUR, 50 EUR in all.", seen) == ()


def test_a_result_marks_it() -> None:
    """Beside the summary, in whatever shows it."""
    leg = LegResult(
        leg_id="1",
        agent="a",
        goal="g",
        status=LegStatus.SUCCEEDED,
        summary="Booked, reference ABC123.",
        unheld=("ABC123",),
    )

    assert leg.told == "Booked, reference ABC123. (in no answer: 'ABC123')"
