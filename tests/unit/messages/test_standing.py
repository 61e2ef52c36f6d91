"""How a mission stands in view of its rollback."""

import pytest

from orchestrator.messages.mission import MissionResult, MissionStatus
from orchestrator.messages.rollback import RollbackReport, RollbackStatus
from orchestrator.messages.standing import after_rollback, status_with
from orchestrator.saga.ledger import Ledger, ObligationState, RollbackOrder
from orchestrator.testing import fake_obligation

M, R, S = MissionStatus, RollbackStatus, ObligationState


@pytest.mark.parametrize(
    ("own", "rollback", "status"),
    [
        (M.SUCCEEDED, None, M.SUCCEEDED),
        (M.SUCCEEDED, R.COLLECTING, M.ROLLING_BACK),
        (M.SUCCEEDED, R.ROLLING_BACK, M.ROLLING_BACK),
        (M.SUCCEEDED, R.PARKED, M.PARKED),
        (M.SUCCEEDED, R.ROLLED_BACK, M.ROLLED_BACK_AFTER_SUCCESS),
        (M.INCOMPLETE, None, M.INCOMPLETE),
        (M.INCOMPLETE, R.ROLLED_BACK, M.ROLLED_BACK),
        (M.ROLLING_BACK, R.PARKED, M.PARKED),
        (M.ROLLING_BACK, R.ROLLED_BACK, M.ROLLING_BACK),
        (M.PARKED, R.PARKED, M.PARKED),
        (M.PARKED, R.ROLLING_BACK, M.ROLLING_BACK),
        (M.PARKED, R.ROLLED_BACK, M.ROLLED_BACK),
        (M.TERMINATED, R.PARKED, M.PARKED),
        (M.TERMINATED, R.ROLLED_BACK, M.TERMINATED),
        (M.FAILED, R.ROLLED_BACK, M.FAILED),
        (M.CANCELLED, R.ROLLED_BACK, M.CANCELLED),
    ],
)
def test_a_mission_stands_as_its_rollback_left_it(
    own: MissionStatus, rollback: RollbackStatus | None, status: MissionStatus
) -> None:
    """What is over cannot change its own status: its rollback's says more."""
    assert status_with(own, rollback) is status


def test_a_cancelled_mission_stays_cancelled_once_nothing_is_parked() -> None:
    """Who stopped it is not forgotten over what was parked meanwhile."""
    assert status_with(M.PARKED, R.ROLLED_BACK, stopped=True) is M.CANCELLED


@pytest.mark.parametrize(
    ("settled", "states", "status"),
    [
        (False, [], R.COLLECTING),
        (False, [S.COMMITTED, S.PARKED], R.PARKED),
        (True, [S.CANCELLED, S.PARKED], R.PARKED),
        (True, [S.CANCELLED, S.COMMITTED], R.ROLLING_BACK),
        (True, [S.CANCELLED, S.ACCEPTED], R.ROLLED_BACK),
    ],
)
def test_a_report_says_what_its_rollback_does(
    settled: bool, states: list[ObligationState], status: RollbackStatus
) -> None:
    """A retry that an operator asked for is rolling back once more."""
    ledger = Ledger(
        obligations=tuple(fake_obligation(f"m.1-a.{n}", state=s) for n, s in enumerate(states))
    )

    assert RollbackReport(mission_id="m", settled=settled, ledger=ledger).status is status


def test_a_result_tells_what_its_rollback_took_back() -> None:
    """With who decided on it; nothing of it is a receipt any more."""
    made = fake_obligation(state=S.COMMITTED, response={"booking_id": "b1"}, title="Book a room")
    undone = made.model_copy(
        update={"state": S.CANCELLED, "rollback": RollbackOrder(reason="wrong", approver="ann")}
    )
    result = MissionResult(mission_id="m", goal="g", status=M.SUCCEEDED)
    result = result.on(Ledger(obligations=(made,)), M.SUCCEEDED)
    report = RollbackReport(mission_id="m", settled=True, ledger=Ledger(obligations=(undone,)))
    after = after_rollback(result, report)

    assert [r.reference for r in result.receipts] == [{"booking_id": "b1"}]
    assert after.status is M.ROLLED_BACK_AFTER_SUCCESS
    assert after.receipts == ()
    (gone,) = after.cancelled
    assert (gone.tool, gone.title, gone.confirmed_by) == ("cancel", "Book a room", "ann")
    assert (gone.reference, gone.by_rollback) == ({"booking_id": "b1"}, True)


@pytest.mark.parametrize(
    ("states", "summary"),
    [
        ([S.CANCELLED, S.CANCELLED], "Rolled back after success: 2 cancelled."),
        ([S.CANCELLED, S.ACCEPTED], "Rolled back after success: 1 cancelled, 1 left standing."),
        ([], "Rolled back after success: nothing of it stood."),
    ],
)
def test_a_summary_says_what_is_so_now(states: list[ObligationState], summary: str) -> None:
    """What it said before is kept apart, and asking twice changes nothing."""
    made = tuple(fake_obligation(f"m.1-a.{n}", state=s) for n, s in enumerate(states))
    own = MissionResult(mission_id="m", goal="g", status=M.SUCCEEDED, summary="Room booked.")
    report = RollbackReport(mission_id="m", settled=True, ledger=Ledger(obligations=made))
    after = after_rollback(own, report)

    assert (after.summary, after.summary_before) == (summary, "Room booked.")
    assert after.on(after.ledger, after.status) == after
