"""What a leg cancels by itself: which obligation it means, and what the ledger makes of it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from orchestrator.core.record import JsonObject
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import CancelCall, Obligation, ObligationState
from orchestrator.saga.outcome import OutcomeKind, ToolOutcome
from orchestrator.saga.own_cancels import doubt_about
from tests.fakes import fake_obligation

S = ObligationState
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def at(second: int) -> datetime:
    return NOW + timedelta(seconds=second)


def booking(
    number: int, names: JsonObject, *, written: int = 0, tool: str = "cancel"
) -> Obligation:
    intended = fake_obligation(
        f"m.1-leg.{number}", cancel_tool=tool, written_at=at(written), deadline=at(written + 60)
    )
    outcome = ToolOutcome(kind="succeeded", cancel_inputs=names)
    return intended.answered(outcome, at=at(written + 1))


def cancel(names: JsonObject, *, written: int = 10, number: int = 7) -> CancelCall:
    named: dict[str, Any] = {"tool": "cancel", "arguments": names, "names": names}
    return CancelCall(call_id=f"m.2-leg.{number}", **named, written_at=at(written))


def outcome(ledger: Ledger, call: CancelCall, kind: OutcomeKind) -> Ledger:
    """The ledger after the call was written ahead and answered a second later."""
    answered = call.answered(ToolOutcome(kind=kind), at=call.written_at + timedelta(seconds=1))
    return ledger.cancelling(call).cancelling(answered)


def states(ledger: Ledger) -> list[ObligationState]:
    return [o.state for o in ledger.obligations]


@pytest.mark.parametrize(
    ("kind", "state"),
    [("succeeded", S.CANCELLED), ("rejected", S.COMMITTED), ("unknown", S.COMMITTED)],
)
def test_what_a_legs_cancel_comes_to_is_in_the_ledger(kind: OutcomeKind, state: S) -> None:
    """Done is cancelled; refused leaves it as it was; unclear leaves it live, with the call."""
    ledger = Ledger(obligations=(booking(1, {"id": "b1", "reference": "r1"}),))
    call = cancel({"id": "b1"})
    (after,) = outcome(ledger, call, kind).obligations

    assert after.state is state
    assert (after.cancel_call is not None) == (kind == "unknown")
    assert after.cancelled_by == (call.call_id if kind == "succeeded" else None)


def test_a_cancel_is_written_ahead() -> None:
    """Before anything is known of it, the obligation says that a cancel may have left."""
    ledger = Ledger(obligations=(booking(1, {"id": "b1"}),))
    (after,) = ledger.cancelling(cancel({"id": "b1"})).obligations

    assert after.is_live
    assert after.cancel_call is not None


@pytest.mark.parametrize(
    ("known", "names", "tool"),
    [
        ({"id": "b1"}, {"id": "b2"}, "cancel"),
        ({"reference": "r1"}, {"id": "b1"}, "cancel"),
        ({"id": "b1", "amount": 100}, {"id": "b1", "amount": 40}, "cancel"),
        ({"id": "b1"}, {}, "cancel"),
        ({"id": "b1"}, {"id": "b1"}, "cancel_hotel"),
    ],
    ids=["another", "a name that is not known", "a part of it", "no name", "another provider"],
)
def test_another_cancel_changes_nothing(known: JsonObject, names: JsonObject, tool: str) -> None:
    """In doubt it stays live: a rollback then cancels it, or an operator looks at it."""
    ledger = Ledger(obligations=(booking(1, known, tool=tool),))

    assert states(outcome(ledger, cancel(names), "succeeded")) == [S.COMMITTED]


def test_a_cancel_that_may_mean_two_means_none() -> None:
    two = (booking(1, {"order": 7}), booking(2, {"order": 7}, written=2))
    after = outcome(Ledger(obligations=two), cancel({"order": 7}), "succeeded")

    assert states(after) == [S.COMMITTED, S.COMMITTED]


def test_the_same_order_made_again_is_cancelled_again() -> None:
    """A cancel means what stood when it was sent: not what came later, not what was gone."""
    ledger = Ledger(obligations=(booking(1, {"order": 7}),))
    ledger = outcome(ledger, cancel({"order": 7}, written=10), "succeeded")
    ledger = ledger.written(booking(2, {"order": 7}, written=20))
    before = states(ledger)
    ledger = outcome(ledger, cancel({"order": 7}, written=30, number=8), "succeeded")

    assert before == [S.CANCELLED, S.COMMITTED]
    assert states(ledger) == [S.CANCELLED, S.CANCELLED]
    assert states(Ledger.merged([ledger])) == states(ledger)


def test_what_another_leg_cancelled_shows_when_the_ledgers_are_merged() -> None:
    """The leg that cancels need not be the one that booked."""
    booked = Ledger(obligations=(booking(1, {"id": "b1"}),))
    cancelled = outcome(Ledger(), cancel({"id": "b1"}), "succeeded")

    assert states(booked) == [S.COMMITTED]
    assert states(Ledger.merged([cancelled, booked])) == [S.CANCELLED]


def test_a_cancel_is_of_ones_own_when_rollback_would_say_the_same() -> None:
    """By all of its names or by one that suffices."""
    ledger = Ledger(
        obligations=(booking(1, {"id": "b1", "reference": "r1"}), booking(2, {"id": "b2"}))
    )

    assert doubt_about(ledger, cancel({"id": "b1"}), {"id"}) is None
    assert doubt_about(ledger, cancel({"id": "b1", "reference": "r1"}), {"id"}) is None
    assert doubt_about(ledger, cancel({"id": "b2", "reference": "r1"}), {"id"}) is not None
    assert "do not tell what it means" in str(doubt_about(ledger, cancel({}), {"id"}))


@pytest.mark.parametrize(
    ("names", "is_own"),
    [({"product": "p1"}, False), ({"reference": "r1"}, False), ({"reference": "m.1-leg.1"}, True)],
    ids=["a product", "a reference of the planner's choice", "the orchestrator's reference"],
)
def test_what_others_may_share_is_no_name_of_ones_own(names: JsonObject, is_own: bool) -> None:
    """Somebody else may have ordered the same; a planner may have taken their reference."""
    ledger = Ledger(obligations=(booking(1, {"id": "b1", **names}),))

    assert (doubt_about(ledger, cancel(names), {"id"}) is None) is is_own


def test_one_that_is_parked_or_being_cancelled_is_still_ones_own() -> None:
    """It stands at its provider; a later attempt of the same call finds the same obligation."""
    booked = booking(1, {"id": "b1"})
    parked = Ledger(obligations=(booked.moved(S.PARKED, at=at(5)),))
    sent = Ledger(obligations=(booked,)).cancelling(cancel({"id": "b1"}))

    assert doubt_about(parked, cancel({"id": "b1"}), {"id"}) is None
    assert doubt_about(sent, cancel({"id": "b1"}), {"id"}) is None


@pytest.mark.parametrize("state", [S.VOID, S.CANCELLED, S.ACCEPTED])
def test_what_is_over_gives_no_authority(state: ObligationState) -> None:
    """The same name may be that of somebody else's by now; when it ended does not matter."""
    over = booking(1, {"id": "b1"}).model_copy(update={"state": state, "settled_at": at(20)})

    assert "stands under that name" in str(
        doubt_about(Ledger(obligations=(over,)), cancel({"id": "b1"}), {"id"})
    )
