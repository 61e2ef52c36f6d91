"""One ledger of several records of a mission's calls, and the arithmetic of one call."""

from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest

from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import CancelCall, Obligation, ObligationState
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.saga.own_cancels import cancellable, doubt_about
from tests.fakes import fake_obligation

S = ObligationState
NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
DONE = ToolOutcome(kind="succeeded", cancel_inputs={"id": "b1"}, answered_ids={"id": "b1"})


def record(state: S, at: datetime = NOW, **more: Any) -> Obligation:
    settled = None if state is S.INTENDED else at
    written = at if state is S.INTENDED else NOW
    return fake_obligation(state=state, written_at=written, settled_at=settled, **more)


@pytest.mark.parametrize(
    ("records", "state"),
    [
        ([record(S.INTENDED), record(S.COMMITTED)], S.COMMITTED),
        ([record(S.INTENDED), record(S.VOID)], S.VOID),
        ([record(S.VOID), record(S.INTENDED, LATER)], S.INTENDED),
        ([record(S.CANCELLED), record(S.INTENDED, LATER)], S.INTENDED),
        ([record(S.COMMITTED), record(S.INTENDED, LATER)], S.COMMITTED),
        ([record(S.COMMITTED), record(S.VOID, LATER)], S.COMMITTED),
        ([record(S.COMMITTED), record(S.CANCELLED, LATER)], S.CANCELLED),
        ([record(S.PARKED, LATER), record(S.COMMITTED)], S.PARKED),
    ],
)
def test_of_two_records_of_a_call_one_counts(records: list[Obligation], state: S) -> None:
    for order in permutations(records):
        united = Ledger.united(Ledger(obligations=(one,)) for one in order)

        assert [o.state for o in united.obligations] == [state]


def test_two_calls_of_one_id_are_both_kept() -> None:
    """The earlier under an id that is the same each time; one that came to nothing is dropped."""
    first = record(S.COMMITTED, arguments={"to": "Oslo"})
    second = record(S.INTENDED, LATER, arguments={"to": "Rome"})
    void = record(S.VOID, arguments={"to": "Bern"})
    ledgers = [Ledger(obligations=(one,)) for one in (first, second, void)]
    united = Ledger.united(ledgers)

    assert [o.arguments["to"] for o in united.obligations] == ["Oslo", "Rome"]
    assert Ledger.united(reversed(ledgers)) == united
    assert Ledger.united([united, *ledgers]) == united


def test_a_call_is_written_sent_and_answered() -> None:
    """What it may leave, and what it cancels, in one step each."""
    made = fake_obligation("m.1-trip.1")
    cancel = CancelCall(
        call_id="m.1-trip.2", tool="cancel", arguments={}, names={"id": "b1"}, written_at=LATER
    )
    sent = Ledger().sending(made, None)
    booked = sent.answered(made, None, DONE, at=NOW)
    cancelled = booked.sending(None, cancel).answered(None, cancel, DONE, at=LATER)

    assert [o.state for o in sent.obligations] == [S.INTENDED]
    assert [o.state for o in booked.obligations] == [S.COMMITTED]
    assert [o.state for o in cancelled.obligations] == [S.CANCELLED]


def test_an_answer_with_ids_of_another_obligation_is_unclear() -> None:
    """A provider that answers twice with one id has done the work once."""
    first, second = fake_obligation("m.1-trip.1"), fake_obligation("m.1-trip.2")
    ledger = Ledger().sending(first, None).answered(first, None, DONE, at=NOW)

    assert ledger.doubted(first, DONE) == DONE
    assert ledger.doubted(None, DONE) == DONE
    assert ledger.doubted(second, DONE).kind == "unknown"


def test_what_can_be_cancelled_is_told_short() -> None:
    made = fake_obligation(
        state=S.COMMITTED,
        arguments={"to": "Oslo"},
        response={"large": "x" * 1000},
        cancel_inputs={"id": "b1"},
    )
    ledger = Ledger(obligations=(made, fake_obligation("m.1-leg.2", cancel_tool=None)))
    named: dict[str, Any] = {"tool": "cancel", "arguments": {"id": "b1"}, "names": {"id": "b1"}}
    cancel = CancelCall(call_id="m.1-leg.3", **named, written_at=made.written_at)
    (short,) = cancellable(ledger).obligations

    assert (short.arguments, short.response) == ({}, None)
    assert doubt_about(cancellable(ledger), cancel, ["id"]) is None
