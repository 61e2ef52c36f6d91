"""What of a goal nobody served, told by leg and for the whole."""

from orchestrator.messages.leg import LegResult, LegStatus
from orchestrator.messages.unserved import unserved_of
from orchestrator.planning.models import AgentProfile, LegPlan, MissionPlan
from orchestrator.saga.ledger import Ledger, ObligationState
from orchestrator.saga.served import Order
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
