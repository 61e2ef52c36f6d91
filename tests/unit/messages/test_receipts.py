"""By what providers know what they hold, and what was cancelled."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import JsonValue

from orchestrator.messages.receipts import cancelled_of, reference_of
from orchestrator.saga.ledger import CancelCall, Ledger, ObligationState
from orchestrator.testing import fake_obligation

NOW = datetime(2026, 11, 22, tzinfo=UTC)


@pytest.mark.parametrize(
    ("answer", "undo", "reference"),
    [
        ({"booking_id": "b1", "city": "Oslo"}, {}, {"booking_id": "b1"}),
        ({"id": "b1"}, {}, {"id": "b1"}),
        ({"id": 17, "guest_number": 4}, {}, {"id": 17}),
        ({"bookingId": "b1", "paid": "yes"}, {}, {"bookingId": "b1"}),
        ({"locator": "XK7", "city": "Oslo"}, {"pnr": "XK7"}, {"pnr": "XK7"}),
        ({"booking": {"id": "b1", "room": {"size": 2}}}, {}, {"booking_id": "b1"}),
        ({"data": {"order_reference": "r"}}, {}, {"order_reference": "r"}),
        ({"city": "Oslo"}, {"client_reference": "c1"}, {"client_reference": "c1"}),
        ({"traveler_id": "pii:traveler_id"}, {}, {}),
        ([], {}, {}),
        (None, {}, {}),
    ],
)
def test_a_receipt_names_what_its_provider_knows_it_by(
    answer: JsonValue, undo: dict[str, Any], reference: dict[str, Any]
) -> None:
    """What its cancel takes from the answer, and the answer's identifiers wherever they stand."""
    made = fake_obligation(
        arguments={"client_reference": "c1"}, response=answer, undo_arguments=undo
    )

    assert reference_of(made) == reference


def test_the_cancel_of_anothers_booking_is_told() -> None:
    """By what it named, and who approved it; one that was refused is not."""
    call = CancelCall(
        call_id="m.1-leg.1",
        tool="cancel",
        arguments={"booking_id": "b1", "reason": "x"},
        names={"booking_id": "b1"},
        written_at=NOW,
        settled_at=NOW,
        outcome="succeeded",
        confirmed_by="ann",
    )
    refused = call.model_copy(update={"call_id": "m.1-leg.2", "outcome": "rejected"})

    (told,) = cancelled_of(Ledger(cancels=(call, refused)))
    assert (told.tool, told.reference, told.at, told.confirmed_by) == (
        "cancel",
        {"booking_id": "b1"},
        NOW,
        "ann",
    )


def test_what_a_leg_took_back_is_told_once() -> None:
    """As the leg's own cancel, with what it was."""
    made = fake_obligation(
        state=ObligationState.CANCELLED, cancelled_by="m.2-leg.1", title="Book a room"
    )
    call = CancelCall(
        call_id="m.2-leg.1",
        tool="cancel",
        arguments={"booking_id": "b1"},
        names={"booking_id": "b1"},
        written_at=NOW,
        outcome="succeeded",
    )

    (told,) = cancelled_of(Ledger(obligations=(made,), cancels=(call,)))
    assert (told.title, told.by_rollback) == ("Book a room", False)
