"""The ledger: legal moves, what is live, and the order that takes it back."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.core.budget import Money, limit_of
from orchestrator.core.record import JsonObject
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import CancelCall, IllegalTransition, Obligation, ObligationState
from orchestrator.saga.outcome import CompensationOutcome, ToolOutcome
from tests.fakes import fake_obligation

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
S = ObligationState
FINAL = (S.VOID, S.CANCELLED, S.ACCEPTED)
states = st.sampled_from(list(ObligationState))


def obligation(number: int = 1, *, written: int = 0) -> Obligation:
    at = NOW + timedelta(seconds=written)
    return fake_obligation(f"m.1-leg.{number}", written_at=at, deadline=at + timedelta(minutes=1))


@given(st.lists(states))
def test_a_final_state_is_never_left(moves: Sequence[ObligationState]) -> None:
    """Void, cancelled and accepted refuse every move; live is exactly what is not final."""
    current = obligation()
    for move in moves:
        before = current.state
        try:
            current = current.moved(move, at=NOW)
        except IllegalTransition:
            assert current.state is before
        else:
            assert before not in FINAL
        assert current.is_live == (current.state not in FINAL)


@pytest.mark.parametrize(
    ("kind", "state"), [("succeeded", S.COMMITTED), ("rejected", S.VOID), ("unknown", S.INTENDED)]
)
def test_an_outcome_settles_its_obligation(kind: str, state: ObligationState) -> None:
    """Succeeded commits, rejected voids, unknown leaves it intended."""
    outcome = ToolOutcome.model_validate({"kind": kind, "body": {"booking_id": "b1"}})

    assert obligation().answered(outcome, at=NOW).state is state


def test_a_commitment_keeps_what_its_cancel_needs() -> None:
    """The answer's body and headers are kept with the obligation."""
    body, headers = {"booking_id": "b1"}, {"location": "/bookings/b1"}
    outcome = ToolOutcome.model_validate({"kind": "succeeded", "body": body, "headers": headers})
    committed = obligation().answered(outcome, at=NOW)

    assert (committed.response, committed.response_headers) == (body, headers)


@given(st.lists(st.tuples(states, st.integers(0, 1000)), max_size=12))
def test_rollback_goes_backwards_over_the_live(made: Sequence[tuple[ObligationState, int]]) -> None:
    """Exactly the live ones, the last committed first; one never known counts as written."""
    ledger = Ledger(
        obligations=tuple(
            obligation(number).model_copy(
                update={
                    "state": state,
                    "committed_at": NOW + timedelta(seconds=seconds) if number % 2 else None,
                    "settled_at": NOW + timedelta(seconds=1000 - seconds),
                    "written_at": NOW + timedelta(seconds=seconds),
                }
            )
            for number, (state, seconds) in enumerate(made)
        )
    )
    order = ledger.compensation_order()
    times = [o.committed_at or o.written_at for o in order]
    assert times == sorted(times, reverse=True)
    live = {o.obligation_id for o in ledger.obligations if o.is_live}
    assert {o.obligation_id for o in order} == live


@given(st.lists(st.integers(0, 5)))
def test_writing_never_loses_an_obligation(numbers: Sequence[int]) -> None:
    """Each id ever written is there once, in the order of its first writing."""
    ledger = Ledger()
    for number in numbers:
        ledger = ledger.written(obligation(number))
    ids = [o.obligation_id for o in ledger.obligations]
    assert ids == list(dict.fromkeys(f"m.1-leg.{number}" for number in numbers))


def test_merging_orders_by_the_time_of_writing() -> None:
    """The ledgers of several legs become one, in the order things were written."""
    first, second, third = (obligation(n, written=n) for n in (1, 2, 3))
    merged = Ledger.merged([Ledger(obligations=(first, third)), Ledger(obligations=(second,))])

    assert merged.obligations == (first, second, third)


@pytest.mark.parametrize("body", [None, {"booking_id": "b1"}], ids=["no answer", "an answer"])
def test_a_retry_goes_back_to_what_it_was_before_it_was_parked(body: JsonObject | None) -> None:
    """Committed stays committed, though its answer was empty; unclear stays unclear."""
    committed = obligation().answered(ToolOutcome(kind="succeeded", body=body), at=NOW)
    unclear = obligation().answered(ToolOutcome(kind="unknown"), at=NOW)

    for before in (committed, unclear):
        parked = before.given_up(at=NOW, note="refused")
        assert parked.resolved("retry", at=NOW, operator="ops").state is before.state


def test_what_was_committed_is_parked_or_let_go_as_the_contract_says() -> None:
    """It is never called nothing, and only once it is parked an operator resolves it."""
    committed = obligation().moved(S.COMMITTED, at=NOW)
    for resolution in ("retry", "accept"):
        with pytest.raises(IllegalTransition):
            committed.resolved(resolution, at=NOW, operator="ops")
    committed = obligation().moved(S.COMMITTED, at=NOW)
    with pytest.raises(IllegalTransition):
        committed.moved(S.VOID, at=NOW)
    committed = obligation().moved(S.COMMITTED, at=NOW)
    lenient = committed.model_copy(update={"on_failure": "continue"})
    assert committed.given_up(at=NOW, note="refused").state is S.PARKED
    let_go = lenient.given_up(at=NOW, note="refused")
    assert let_go.state is S.ACCEPTED
    assert "refused" in let_go.note


def test_one_id_is_that_of_the_first_obligation() -> None:
    """Across legs too; in any case or type, and as long as the first one stands."""
    uuid = "6F9619FF-8B86-D011-B42D-00CF4FC964FF"
    first, second, other = (obligation(n, written=n) for n in (1, 2, 3))
    ours = answered(first, {"id": uuid})
    theirs = answered(second, {"id": uuid.lower()})
    others = answered(other, {"id": 7})
    merged = Ledger.merged([Ledger(obligations=(theirs, others)), Ledger(obligations=(ours,))])

    assert [o.namesake for o in merged.obligations] == ["", first.obligation_id, ""]
    ledger = Ledger(obligations=(ours, others))
    assert ledger.namesake("cancel", {"id": uuid.lower()}, of="x") == ours
    assert ledger.namesake("cancel", {"id": "7"}, of="x") == others
    assert ledger.namesake("cancel", {"id": 7}, of=others.obligation_id) is None
    assert ledger.namesake("another", {"id": 7}, of="x") is None
    assert ledger.namesake("cancel", {}, of="x") is None
    over = ours.moved(ObligationState.CANCELLED, at=ours.written_at)
    assert Ledger(obligations=(over,)).namesake("cancel", {"id": uuid}, of="x") is None


def answered(intended: Obligation, ids: JsonObject) -> Obligation:
    """It after a success with these ids."""
    outcome = ToolOutcome(kind="succeeded", status=201, cancel_inputs=ids, answered_ids=ids)
    committed = intended.answered(outcome, at=intended.written_at)
    return committed.model_copy(update={"cancel_tool": "cancel"})


def _eur(amount: str) -> Money:
    return Money(amount=Decimal(amount), currency="EUR")


@pytest.mark.parametrize(
    ("refund", "fee", "kept"),
    [
        ("10.00", "90.00", "90.00"),
        (None, "90.00", "90.00"),
        ("10.00", None, "90.00"),
        ("100.00", None, None),
        (None, None, None),
    ],
)
def test_what_a_cancel_keeps_is_spent(
    refund: str | None, fee: str | None, kept: str | None
) -> None:
    """The fee of its answer, else what of the price was not paid back; nothing that is unsaid."""
    made = fake_obligation(state=ObligationState.COMMITTED, price=_eur("100.00"), fee=_eur("5"))
    outcome = CompensationOutcome(
        state="cancelled",
        refund=None if refund is None else _eur(refund),
        fee=None if fee is None else _eur(fee),
    )
    ledger = Ledger().written(made.compensated(outcome, at=NOW))
    spent = {} if kept is None else {"EUR": Decimal(kept)}
    assert ledger.spent.by_currency == spent
    aside = {"EUR": Decimal("5")} if kept is None else {}
    assert ledger.set_aside.by_currency == aside


@pytest.mark.parametrize(
    ("approved", "stated", "named", "price", "more"),
    [
        ("10.00", "10.00", "400.00", "400.00", "390.00"),
        ("10.00", None, "400.00", "400.00", "390.00"),
        ("10.00", "10.00", "10.00", "10.00", None),
        (None, None, "400.00", "400.00", None),
        (None, "10.00", "400.00", "400.00", None),
    ],
)
def test_the_largest_amount_that_an_answer_names_counts_as_its_charge(
    approved: str | None, stated: str | None, named: str, price: str, more: str | None
) -> None:
    """Above an approved price it is an overcharge, with a note of both; without one it is spent."""
    made = fake_obligation(state=ObligationState.COMMITTED).model_copy(
        update={"price": None if stated is None else _eur(stated)}
    )
    limit = None if approved is None else limit_of(_eur(approved))
    done = made.compared(limit, (_eur(named),))

    assert done.price == _eur(price)
    assert done.overcharged == (None if more is None else _eur(more))
    assert ("the answer names 400.00 EUR" in done.note) is (more is not None)


@pytest.mark.parametrize(
    ("named", "kept"),
    [(("100.00", "90.00", "10.00"), "90.00"), (("100.00",), None), (("7.00",), "7.00"), ((), None)],
)
def test_an_amount_that_an_answer_to_a_cancel_names_counts_as_kept(
    named: tuple[str, ...], kept: str | None
) -> None:
    """Below the price, where the answer calls nothing a refund or a fee; the note says so."""
    made = fake_obligation(state=ObligationState.COMMITTED).model_copy(
        update={"approved_price": _eur("100.00")}
    )
    outcome = CompensationOutcome(state="cancelled", named=tuple(map(_eur, named)))
    done = made.compensated(outcome, at=NOW)

    assert done.kept_fee == (None if kept is None else _eur(kept))
    assert ("counts as kept" in done.note) is (kept is not None)
    refunded = CompensationOutcome(state="cancelled", refund=_eur("90.00"))
    assert made.compensated(refunded, at=NOW).kept_fee == _eur("10.00")


def test_a_legs_own_cancel_keeps_its_fee_too() -> None:
    made = fake_obligation(state=ObligationState.COMMITTED, cancel_inputs={"id": "b1"})
    sent = CancelCall(
        call_id="m.1-leg.9",
        tool=made.cancel_tool or "",
        arguments={"id": "b1"},
        names={"id": "b1"},
        written_at=NOW + timedelta(days=9),
    )
    answer = ToolOutcome(kind="succeeded", status=200, fee=_eur("7.00"))
    ledger = Ledger(obligations=(made,)).cancelling(sent.answered(answer, at=NOW))

    assert ledger.spent.by_currency == {"EUR": Decimal("7.00")}


def test_what_no_attempt_can_add_to_may_be_cancelled_at_once() -> None:
    """The deadline is for attempts that are on their way."""
    made = obligation()
    doubted = ToolOutcome(kind="unknown", status=201, doubted=True, alone=True)

    assert made.answered(doubted, at=made.written_at).deadline == made.written_at
    left = doubted.model_copy(update={"alone": False})
    assert made.answered(left, at=made.written_at).deadline == made.deadline
