"""Which orders the effects of a ledger serve, and what excuses an order without any."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import CancelCall, ObligationState
from orchestrator.saga.orders import (
    Effect,
    Order,
    WhenRead,
    covered_orders,
    done_though_unmet,
    effects_of,
    has_room,
    served_by,
    unserved,
    why_unserved,
)
from tests.fakes import fake_obligation

S = ObligationState
NOW = datetime(2026, 12, 1, tzinfo=UTC)
TOOLS = ("a", "b", "c")


def effect(tool: str, number: int = 1, why_not: str = "") -> Effect:
    return Effect(call_id=f"m.l.{number}", leg_id="l", tool=tool, why_not=why_not)


def order(*tools: str, **more: Any) -> Order:
    return Order(tools=tools, clause=" or ".join(tools), **more)


def cancel(call_id: str, tool: str = "cancel", outcome: Any = "succeeded") -> CancelCall:
    return CancelCall(
        call_id=call_id, tool=tool, arguments={}, names={}, written_at=NOW, outcome=outcome
    )


orders = st.lists(
    st.builds(
        Order,
        tools=st.lists(st.sampled_from(TOOLS), min_size=1, max_size=2, unique=True).map(tuple),
        count=st.integers(1, 3),
    ),
    max_size=3,
)
effects = st.lists(st.sampled_from(TOOLS), max_size=4)


@given(orders, effects)
def test_as_many_effects_serve_as_can(ordered: list[Order], tools: list[str]) -> None:
    """Each serves one order, none more than it takes; no other assignment serves more."""
    made = [effect(tool, n) for n, tool in enumerate(tools)]
    served = served_by(ordered, made)
    used = [at for own in served.values() for at in own]
    assert len(used) == len(set(used))
    for number, own in served.items():
        assert len(own) <= ordered[number].count
        assert all(made[at].tool in ordered[number].tools for at in own)
    assert len(used) == _most(ordered, tools, [one.count for one in ordered])


def _most(ordered: list[Order], tools: list[str], room: list[int]) -> int:
    """The most effects that any assignment serves, by trying all."""
    if not tools:
        return 0
    best = _most(ordered, tools[1:], room)
    for n, one in enumerate(ordered):
        if tools[0] in one.tools and room[n]:
            left = [r - (k == n) for k, r in enumerate(room)]
            best = max(best, 1 + _most(ordered, tools[1:], left))
    return best


@pytest.mark.parametrize(
    ("ordered", "made", "missing"),
    [
        ([order("a")], [], ["a"]),
        ([order("a")], ["a"], []),
        ([order("a", count=2)], ["a"], ["a"]),
        ([order("a"), order("a")], ["a"], ["a"]),
        ([order("a", "b"), order("a")], ["a", "b"], []),
        ([order("a", each="all of them")], ["a", "a", "a"], []),
        ([order("a", each="all of them")], [], ["a"]),
    ],
)
def test_orders_need_effects(ordered: list[Order], made: list[str], missing: list[str]) -> None:
    """One effect is not counted for two; of `each` thing of a list there is at least one."""
    found = unserved(ordered, [effect(tool, n) for n, tool in enumerate(made)])

    assert [str(one) for one in found] == missing


@pytest.mark.parametrize(
    ("when", "holds", "excused"),
    [
        ("if it rains", False, True),
        ("If it rains.", False, True),
        ("if it rains", True, False),
        ("if it snows", False, True),
    ],
    ids=["said", "written-otherwise", "holds", "the-only-one"],
)
def test_a_condition_that_fails_excuses_its_order(when: str, holds: bool, excused: bool) -> None:
    """By its words; where one order is conditional, what is read is of that one."""
    read = [WhenRead(when=when, holds=holds, read="0 mm")]

    assert (not unserved([order("a", when="if it rains"), order("b")], [effect("b")], read)) is (
        excused
    )


def test_with_two_conditions_each_is_excused_by_its_own_words() -> None:
    """A list without anything excuses its order too; one without a condition nothing does."""
    both = [order("a", when="if it rains"), order("b", when="if it is dry")]

    assert unserved(both, [], [WhenRead(when="if it snows", holds=False, read="no")]) == both
    assert unserved(both, [], [WhenRead(when="if it rains", holds=False, read="no")]) == both[1:]
    none = [WhenRead(when="each overdue one", holds=False, read="0 invoices are overdue")]
    assert unserved([order("a", each="each overdue one")], [], none) == []
    assert unserved([order("a")], [], none) != []


def test_an_effect_serves_an_order_whose_condition_holds_before_one_whose_does_not() -> None:
    """Two orders of one tool: what is not done is the one that was excused."""
    first, second = order("a", when="the first is free"), order("a", when="else")
    gone = WhenRead(when="the first is free", holds=False, read="409")

    assert not unserved([first, second], [effect("a")], [gone])
    assert not done_though_unmet([first, second], [effect("a")], [gone])
    assert unserved([first, second], [], [gone]) == [second]
    two = [effect("a", 1), effect("a", 2)]
    assert done_though_unmet([first, second], two, [gone]) == [(first, gone)]
    wet = WhenRead(when="if dry", holds=False, read="80 %")
    assert done_though_unmet([order("a", when="if dry")], [effect("a")], [wet])
    assert not done_though_unmet([order("a", when="if dry")], [], [wet])


def test_a_request_lists_as_many_orders_as_it_says() -> None:
    """Of two legs that order the same, one is covered by one that is listed."""
    legs = {"x": [order("a")], "y": [order("a"), order("b")], "z": [order("a", each="all")]}

    assert covered_orders(legs, [order("a")]) == {"x": (order("a"),), "y": (), "z": ()}
    assert covered_orders(legs, [order("a", each="all"), order("b")]) == {
        name: tuple(own) for name, own in legs.items()
    }


def test_room_is_left_until_each_has_its_effects() -> None:
    """Another tool finds none, and a list has no more than its things."""
    assert has_room([order("a")], [], "a")
    assert not has_room([order("a")], [effect("a")], "a")
    assert not has_room([order("a")], [], "b")
    assert has_room([order("a", each="all")], [effect("a")], "a", most_each=2)
    assert not has_room([order("a", each="all")], [effect("a")], "a", most_each=1)
    often = order("a", count=3, at_most=True)
    assert unserved([often], []) == [often]
    assert unserved([often], [effect("a")]) == []
    assert not has_room([often], [effect("a", number) for number in range(3)], "a")


@pytest.mark.parametrize("state", [s for s in S if s is not S.COMMITTED])
def test_what_does_not_stand_is_no_effect(state: ObligationState) -> None:
    (found,) = effects_of(Ledger(obligations=(fake_obligation(state=state),)))

    assert state.value in found.why_not


def test_a_cancel_is_an_effect_of_its_leg_and_takes_one_away() -> None:
    """Once, where it stands as an obligation; booked and cancelled as ordered are two effects."""
    (found,) = effects_of(Ledger(cancels=(cancel("m.1-leg.2"),)))
    noted = fake_obligation("m.1-leg.2", tool="cancel", state=S.COMMITTED)
    recorded = effects_of(Ledger(obligations=(noted,), cancels=(cancel("m.1-leg.2"),)))
    (failed,) = effects_of(Ledger(cancels=(cancel("m.1-leg.2", outcome="rejected"),)))

    assert (found.tool, found.leg_id, found.why_not) == ("cancel", "1-leg", "")
    assert len(recorded) == 1
    assert failed.why_not
    made = fake_obligation(state=S.CANCELLED, cancelled_by="m.1-leg.2")
    ledger = Ledger(obligations=(made,), cancels=(cancel("m.1-leg.2"),))
    assert [e.tool for e in effects_of(ledger) if not e.why_not] == []
    both = effects_of(ledger, [order("book"), order("cancel")])
    assert [e.tool for e in both if not e.why_not] == ["book", "cancel"]


@pytest.mark.parametrize(
    ("ordered", "made", "why"),
    [
        (order("a"), [], "no call that was made does it"),
        (order("a", count=3), ["", ""], "done: 2 of 3"),
        (order("a"), ["a is void: sold out"], "a is void: sold out"),
    ],
)
def test_why_an_order_is_unserved(ordered: Order, made: list[str], why: str) -> None:
    """What failed last, how many there are, or that nothing was tried."""
    assert why_unserved(ordered, [effect("a", n, text) for n, text in enumerate(made)]) == why
