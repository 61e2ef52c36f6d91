"""Which orders are served by what stands."""

from datetime import UTC, datetime

import pytest

from orchestrator.saga.ledger import CancelCall, Ledger, Obligation, ObligationState
from orchestrator.saga.outcome import OutcomeKind
from orchestrator.saga.served import Order, effects_of, unserved, why_unserved
from orchestrator.testing import fake_obligation

NOW = datetime(2026, 11, 22, tzinfo=UTC)
BOOK = Order(clause="book a room", tools=("book",))
AGAIN = Order(clause="book another room", tools=("book",))
CANCEL = Order(clause="cancel it", tools=("cancel",))
S = ObligationState


def booked(step: int = 1, *, state: ObligationState = S.COMMITTED, by: str = "") -> Obligation:
    stated = {"state": state, "cancelled_by": by or None}
    return fake_obligation(f"m.1-leg.{step}", **stated)


def cancel(outcome: OutcomeKind = "succeeded") -> CancelCall:
    return CancelCall(
        call_id="m.2-leg.1", tool="cancel", arguments={}, names={}, written_at=NOW, outcome=outcome
    )


def missing(orders: list[Order], ledger: Ledger) -> list[str]:
    return [order.clause for order in unserved(orders, effects_of(ledger, orders))]


@pytest.mark.parametrize("state", [S.INTENDED, S.VOID, S.CANCELLED, S.PARKED, S.ACCEPTED])
def test_only_what_stands_serves(state: ObligationState) -> None:
    """What was refused, taken back, or is unclear serves nothing."""
    assert missing([BOOK], Ledger(obligations=(booked(),))) == []
    assert missing([BOOK], Ledger(obligations=(booked(state=state),))) == ["book a room"]


def test_what_is_of_another_day_serves_nothing() -> None:
    """It stands, and is not what was ordered."""
    other = booked().model_copy(update={"differs": ("date is 2027-09-09, not 2027-03-01",)})
    effects = effects_of(Ledger(obligations=(other,)), [BOOK])

    assert [order.clause for order in unserved([BOOK], effects)] == ["book a room"]
    assert why_unserved(BOOK, effects.values()).endswith("date is 2027-09-09, not 2027-03-01")


def test_another_effect_serves_nothing() -> None:
    """An e-mail that was sent is no room that was booked."""
    sent = booked().model_copy(update={"tool": "send_email"})

    assert missing([BOOK], Ledger(obligations=(sent,))) == ["book a room"]


def test_two_orders_need_two_effects() -> None:
    """One that only says more of an earlier one may share it."""
    one = Ledger(obligations=(booked(),))
    more = AGAIN.model_copy(update={"points_back": True})

    assert missing([BOOK, AGAIN], one) == ["book another room"]
    assert missing([BOOK, AGAIN], Ledger(obligations=(booked(), booked(2)))) == []
    assert missing([BOOK, more], one) == []


def test_an_effect_goes_where_it_is_needed() -> None:
    """The one that serves either is left to the order that nothing else serves."""
    either = Order(clause="book anything", tools=("book", "rent"))
    rented = booked(2).model_copy(update={"tool": "rent"})

    assert missing([either, BOOK], Ledger(obligations=(booked(), rented))) == []


def test_a_cancel_serves_once_it_has_succeeded() -> None:
    """Also that of what another mission made, which is in no ledger."""
    assert missing([CANCEL], Ledger(cancels=(cancel(),))) == []
    assert missing([CANCEL], Ledger(cancels=(cancel("rejected"),))) == ["cancel it"]


def test_what_was_booked_and_cancelled_as_ordered_is_served() -> None:
    """Where only the booking was ordered, it is not."""
    undone = Ledger(obligations=(booked(state=S.CANCELLED, by="m.2-leg.1"),), cancels=(cancel(),))

    assert missing([BOOK, CANCEL], undone) == []
    assert missing([BOOK], undone) == ["book a room"]


def test_half_of_what_is_counted_is_not_all() -> None:
    """Each of several needs an effect of its own, also beside another order of the kind."""
    two = BOOK.model_copy(update={"count": 2})
    one, both = Ledger(obligations=(booked(),)), Ledger(obligations=(booked(), booked(2)))

    assert missing([two], one) == ["book a room"]
    assert missing([two], both) == []
    assert missing([two, AGAIN], both) == ["book another room"]
    assert why_unserved(two, effects_of(one, [two]).values()) == "done: 1 of 2"


def test_whom_an_order_names_a_call_names_as_well() -> None:
    """In one call or several; a handle of a personal field may stand for anybody."""
    share = BOOK.model_copy(update={"names": ("ann@example.com", "bob@example.com")})
    ann = booked().model_copy(update={"arguments": {"to": "Ann@example.com"}})
    bob = booked(2).model_copy(update={"arguments": {"to": ["bob@example.com"]}})
    somebody = booked().model_copy(update={"arguments": {"to": "pii:traveler_email"}})

    assert missing([share], Ledger(obligations=(ann,))) == ["book a room"]
    assert missing([share], Ledger(obligations=(ann, bob))) == []
    assert missing([share], Ledger(obligations=(somebody,))) == []
    assert why_unserved(share, effects_of(Ledger(obligations=(ann,)), [share]).values()) == (
        "no call that was made names bob@example.com"
    )


def test_who_ends_another_thing_has_not_ordered_an_end_of_this_one() -> None:
    """What was made and then ended by mistake serves neither order."""
    other = CANCEL.model_copy(update={"clause": "cancel my other room", "of_another": True})
    undone = Ledger(obligations=(booked(state=S.CANCELLED, by="m.2-leg.1"),), cancels=(cancel(),))

    assert missing([BOOK, other], undone) == ["book a room", "cancel my other room"]
    assert missing([other], Ledger(cancels=(cancel(),))) == []


def test_what_was_ended_and_made_anew_was_changed() -> None:
    """The second alone is another one, and what another order takes is not there twice."""
    move = Order(clause="move it", tools=("move",), renewed_by=(("book", "cancel"),))
    both = Ledger(obligations=(booked(),), cancels=(cancel(),))

    assert missing([move], Ledger(obligations=(booked(),))) == ["move it"]
    assert missing([move], both) == []
    assert missing([BOOK, move], both) == ["move it"]


def test_the_reason_says_what_became_of_it() -> None:
    """Of the last call that might have served, or that there is none."""
    void = booked(state=S.VOID).model_copy(update={"note": "sold out"})
    effects = effects_of(Ledger(obligations=(void,)), [BOOK]).values()

    assert why_unserved(BOOK, effects) == "book is void: sold out"
    assert why_unserved(CANCEL, effects) == "no call that was made does it"
    assert why_unserved(Order(clause="paint"), effects) == "no tool of the catalog does it"
