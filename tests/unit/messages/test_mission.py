"""Results of missions: final status, receipts and spend from a ledger."""

import hashlib
import json
from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from orchestrator.core.budget import Money, Spend
from orchestrator.core.errors import UsageError
from orchestrator.messages.mission import (
    MissionRequest,
    MissionStatus,
    final_status,
    request_digest,
)
from orchestrator.messages.receipts import receipts_of, spend_of
from orchestrator.saga.ledger import Ledger, ObligationState
from orchestrator.testing import fake_obligation

PRICE = Money(amount=Decimal(100), currency="EUR")
S = ObligationState


def ledger(*states: ObligationState, spends: bool = True) -> Ledger:
    """A ledger with one obligation in each state, each at 100 EUR."""
    return Ledger(
        obligations=tuple(
            fake_obligation(
                f"m.1-leg.{number}",
                title="Book a room",
                state=state,
                spends=spends,
                response={"booking_id": f"b{number}", "city": "Oslo", "seat_number": 7},
                price=PRICE,
            )
            for number, state in enumerate(states)
        )
    )


def test_a_request_that_names_nobody_is_the_one_that_it_was() -> None:
    """A mission that was started before requests named a requester can still be asked for."""
    asked = MissionRequest(goal="g", inputs={"n": 1}, budget=PRICE)
    before = json.dumps(
        {"budget": {"amount": "100", "currency": "EUR"}, "goal": "g", "inputs": {"n": 1}},
        sort_keys=True,
    )

    assert request_digest(asked) == hashlib.sha256(before.encode()).hexdigest()


def test_another_requesters_mission_is_another() -> None:
    """The first one's would else count as asked for by the second, who might approve it."""
    digests = {
        request_digest(MissionRequest(goal="g", requester=name)) for name in ("", "ann", "bob")
    }

    assert len(digests) == 3


@pytest.mark.parametrize("name", ["a\nb", "\x1b[2Jann", "ann\u202e", "a" * 201])
def test_a_requester_is_a_readable_name(name: str) -> None:
    """It stands on cards."""
    with pytest.raises(ValidationError, match="requester"):
        MissionRequest(goal="g", requester=name)


@pytest.mark.parametrize(
    ("failed", "cancelled", "states", "status"),
    [
        (False, False, [S.COMMITTED], MissionStatus.SUCCEEDED),
        (True, False, [], MissionStatus.FAILED),
        (True, False, [S.VOID], MissionStatus.FAILED),
        (True, False, [S.CANCELLED, S.VOID], MissionStatus.ROLLED_BACK),
        (True, False, [S.ACCEPTED], MissionStatus.ROLLED_BACK),
        (True, False, [S.CANCELLED, S.PARKED], MissionStatus.PARKED),
        (True, False, [S.INTENDED], MissionStatus.PARKED),
        (True, True, [S.CANCELLED], MissionStatus.CANCELLED),
        (True, True, [S.PARKED], MissionStatus.PARKED),
    ],
)
def test_the_final_status_follows_from_the_ledger(
    failed: bool, cancelled: bool, states: list[ObligationState], status: MissionStatus
) -> None:
    """A mission is never called rolled back or cancelled while a provider may hold something."""
    assert final_status(failed=failed, cancelled=cancelled, ledger=ledger(*states)) is status


def test_receipts_are_for_what_stands() -> None:
    """One receipt per committed obligation, with the identifiers of its answer."""
    receipts = receipts_of(ledger(S.COMMITTED, S.CANCELLED, S.VOID))

    assert [receipt.call_id for receipt in receipts] == ["m.1-leg.0"]
    assert receipts[0].reference == {"booking_id": "b0"}


def test_spend_is_what_still_stands() -> None:
    """Committed, parked and accepted obligations cost money; what was taken back does not."""
    everything = ledger(*ObligationState)

    assert spend_of(everything) == Spend(by_currency={"EUR": Decimal(300)})


def test_a_claim_spends_nothing() -> None:
    """An obligation that moves no money, an expense report say, is no spend."""
    assert spend_of(ledger(S.COMMITTED, spends=False)) == Spend()


@pytest.mark.parametrize("mission_id", ["a.b", "", "-x", "a b", "x" * 81])
def test_a_mission_id_keeps_ids_apart(mission_id: str) -> None:
    """No dots, no spaces: leg and call ids are built from it and taken apart again."""
    with pytest.raises(ValidationError):
        MissionRequest(goal="book", mission_id=mission_id)


@pytest.mark.parametrize("wrong", [{"tenant": "x" * 65}, {"tenant": "a\nb"}, {"priority": 6}])
def test_whose_work_it_is_fits_what_the_server_keeps(wrong: dict[str, Any]) -> None:
    """A name of 64 bytes, and one of five priorities."""
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        MissionRequest(goal="g", **wrong)


def test_how_urgent_a_mission_is_makes_it_no_other() -> None:
    """Started again with another priority, it is the one that was started."""
    urgent = MissionRequest(goal="g", tenant="acme", priority=1)

    assert request_digest(urgent) == request_digest(MissionRequest(goal="g"))


def test_a_document_for_a_goal_is_refused_in_one_sentence() -> None:
    """Without a word of it."""
    with pytest.raises(UsageError, match="at most 4000 characters are taken, and it has 1,000,000"):
        MissionRequest(goal="x" * 1_000_000)
