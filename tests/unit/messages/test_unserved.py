"""What of a goal nobody served, told by leg and for the whole."""

import pytest

from orchestrator.messages.leg import LegResult, LegStatus
from orchestrator.messages.step import StepRecord
from orchestrator.messages.unserved import unserved_of
from orchestrator.planning.models import AgentProfile, LegPlan, MissionPlan
from orchestrator.saga.ledger import Ledger, ObligationState
from orchestrator.saga.served import LookedUp, Order, Proviso
from orchestrator.testing import fake_obligation

BOARD = Order(clause="board my dog", tools=("board", "walk"))
WALK = Order(clause="arrange a walk", tools=("walk",))


def test_what_one_leg_has_done_is_not_taken_for_what_another_has_left() -> None:
    """The walk was arranged, though it might have served the stay that was not."""
    legs = tuple(
        LegPlan(leg_id=leg_id, goal=order.clause, agent=AgentProfile(name="a"), orders=(order,))
        for leg_id, order in {"1-leg": BOARD, "2-leg": WALK}.items()
    )
    plan = MissionPlan(legs=legs, orders=(BOARD, WALK))
    walked = fake_obligation("m.2-leg.1", tool="walk", state=ObligationState.COMMITTED)
    results = (
        LegResult(leg_id=leg.leg_id, agent="a", goal=leg.goal, status=LegStatus.SUCCEEDED)
        for leg in legs
    )

    missing = unserved_of(plan, results, Ledger(obligations=(walked,)))

    assert [(one.clause, one.leg_id) for one in missing] == [("board my dog", "1-leg")]


@pytest.mark.parametrize(
    ("looked", "stands", "told"),
    [("", True, ["unless it rains"]), ("forecast", True, []), ("", False, ["arrange a walk"])],
)
def test_a_condition_that_nobody_looked_up_stands_in_the_result(
    looked: str, stands: bool, told: list[str]
) -> None:
    """What was done was to depend on it; where nothing was done, that is all there is to say."""
    leg = LegPlan(leg_id="1-leg", goal="walk", agent=AgentProfile(name="a"))
    rain = Proviso(clause="unless it rains", tools=("forecast",))
    state = ObligationState.COMMITTED if stands else ObligationState.VOID
    walked = fake_obligation("m.1-leg.2", tool="walk", state=state)
    step = StepRecord(
        step=1,
        tools_forwarded=(),
        catalog_size=1,
        band="high",
        did=f"call {looked}" if looked else "finish",
        outcome="succeeded",
    )
    result = LegResult(
        leg_id="1-leg", agent="a", goal="walk", status=LegStatus.SUCCEEDED, steps=(step,)
    )
    plan = MissionPlan(legs=(leg,), orders=(WALK,), conditions=(rain,))

    missing = unserved_of(plan, [result], Ledger(obligations=(walked,)))

    assert [one.clause for one in missing] == told


@pytest.mark.parametrize(
    ("is_unless", "told", "reason"),
    [
        (False, [True], ""),
        (False, [False, True], ""),
        (False, [False], "it was done, and nothing that forecast answered says that it is"),
        (True, [False], ""),
        (True, [True], "it was done, and forecast answered that it is so"),
        (False, [], "it was done, and nobody looked it up of 2026-12-04"),
    ],
)
def test_a_condition_is_met_when_an_answer_says_so(
    is_unless: bool, told: list[bool], reason: str
) -> None:
    """That its tool was called proves nothing."""
    rain = Proviso(
        clause="if it rains",
        tools=("forecast",),
        stems=("rain",),
        days=("2026-12-04",),
        is_unless=is_unless,
    )
    walked = fake_obligation("m.1-leg.2", tool="walk", state=ObligationState.COMMITTED)
    step = StepRecord(
        step=1,
        tools_forwarded=(),
        catalog_size=1,
        band="",
        did="call forecast",
        outcome="succeeded",
    )
    looked = (LookedUp(clause="if it rains", tool="forecast", is_so=so) for so in told)
    result = LegResult(
        leg_id="1-leg",
        agent="a",
        goal="walk",
        status=LegStatus.SUCCEEDED,
        steps=(step,),
        looked_up=tuple(looked),
    )
    leg = LegPlan(leg_id="1-leg", goal="walk", agent=AgentProfile(name="a"))
    plan = MissionPlan(legs=(leg,), orders=(WALK,), conditions=(rain,))

    missing = unserved_of(plan, [result], Ledger(obligations=(walked,)))

    assert [one.reason for one in missing] == ([reason] if reason else [])
