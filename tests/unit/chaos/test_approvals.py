"""What arrived and what was taken, against what was approved."""

from decimal import Decimal
from typing import Any

from orchestrator.chaos.verdicts.invariants import (
    Account,
    ApprovedCall,
    HeldEffect,
    HeldRequest,
    InvariantBreach,
    RunEvidence,
    judge,
)
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import ObligationState
from tests.fakes import fake_obligation

CALL = "m.1-shop.2"
HANDLE = f"pii:email@{'a' * 32}"
APPROVED = ApprovedCall(
    call_id=CALL,
    tool="order_book",
    card_type="structured-order",
    arguments={"book": "b1", "email": HANDLE},
    price=Money(amount=Decimal("78.00"), currency="EUR"),
)
MADE = HeldEffect(
    operation="order_book",
    kind="create",
    resource_id="o1",
    status="live",
    request_id=CALL,
    amount=78.0,
    currency="EUR",
)


def found(
    status: str = "succeeded",
    amount: float = 78.0,
    spending: frozenset[str] = frozenset({"order_book"}),
    approved: tuple[ApprovedCall, ...] = (APPROVED,),
    more: tuple[HeldRequest, ...] = (),
    **arrived: Any,
) -> list[InvariantBreach]:
    """What breaks when the provider got these arguments and took this amount."""
    obligation = fake_obligation(
        CALL, tool="order_book", cancel_tool="x", state=ObligationState.COMMITTED
    )
    told = Account(
        index=0, mission_id="m", goal="g", status=status, ledger=Ledger(obligations=(obligation,))
    )
    received: JsonObject = {"book": "b1", "email": "kim@example.com", "copies": 1, **arrived}
    evidence = RunEvidence(
        effects=(MADE.model_copy(update={"amount": amount}),),
        requests=(HeldRequest(operation="order_book", request_id=CALL, arguments=received), *more),
        reads=frozenset({"find_books"}),
        approved=approved,
        values={HANDLE: "kim@example.com"},
        defaults={"order_book": {"copies": 1}},
        spending=spending,
    )
    return judge([told], evidence)


def test_other_arguments_than_approved_are_found_by_name() -> None:
    """Another value, another default, more or less than was approved; never the values."""
    breaches = [*found(book="b2"), *found(copies=2), *found(note="x"), *found(email="lee@x.org")]

    assert [breach.invariant for breach in breaches] == ["unapproved"] * 4
    assert [breach.what.split(": ")[1].split()[0] for breach in breaches] == [
        "book",
        "copies",
        "note",
        "email",
    ]
    assert "lee" not in breaches[-1].what
    assert found() == []


def test_a_call_that_a_reset_has_approved_again_matches_one_of_its_approvals() -> None:
    """It was sent under the first; what matches neither is found."""
    again = APPROVED.model_copy(update={"arguments": {"book": "b2", "email": HANDLE}})
    twice = (APPROVED, again)

    assert found(approved=twice) == found(approved=twice, book="b2") == []
    assert [breach.invariant for breach in found(approved=twice, book="b3")] == ["unapproved"]


def test_a_read_of_a_new_branch_may_have_the_number_of_an_approved_call() -> None:
    """After a reset steps may come otherwise; a change under that number is found."""
    read = HeldRequest(operation="find_books", request_id=CALL, arguments={"query": "b1"})
    change = HeldRequest(operation="order_gift", request_id=CALL, arguments={"book": "b1"})

    assert found(more=(read,)) == []
    assert {breach.invariant for breach in found(more=(change,))} == {"unapproved"}


def test_a_higher_price_must_be_noticed() -> None:
    """A quarter more than the card said, and the mission ends as if nothing were."""
    (breach,) = found(amount=97.5)

    assert breach.invariant == "overcharge"
    assert "19.50" in breach.what
    assert found(amount=60.0) == []
    assert found(amount=97.5, spending=frozenset()) == []
