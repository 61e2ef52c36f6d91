"""Parking is right where the faults make cancelling impossible, and nowhere else."""

from orchestrator.chaos.verdicts.invariants import HeldRequest, why_not_parked
from orchestrator.saga.obligation import ObligationState
from tests.fakes import fake_obligation

CALL = "m.1-shop.2"
PARKED = fake_obligation(
    CALL, tool="order_book", cancel_tool="cancel_order", state=ObligationState.PARKED
).model_copy(update={"cancel_max_attempts": 3, "note": "it was refused"})


def cancel(fault: str | None, status: int | None = None) -> HeldRequest:
    return HeldRequest(
        operation="cancel_order", request_id=f"{CALL}.cancel", fault=fault, status=status
    )


def test_a_fault_that_strikes_once_excuses_nothing() -> None:
    """Nor does what uses up no attempt, or is of another; the reason names the obligation."""
    why = why_not_parked(PARKED, [cancel("gateway", 404), cancel(None, 200)])

    assert why is not None
    assert CALL in why
    assert "it was refused" in why
    assert "1 times of the 3" in why
    harmless = [cancel("rate_limit", 429), cancel("late_duplicate", 200), cancel("duplicate", 200)]
    assert why_not_parked(PARKED, harmless) is not None
    other = cancel("refuse_cancel", 409).model_copy(update={"request_id": f"{CALL}1.cancel"})
    assert why_not_parked(PARKED, [other]) is not None


def test_a_refusal_and_spent_attempts_excuse_it() -> None:
    """Only the last word of the provider does, or attempts that are spent without a clear one."""
    assert why_not_parked(PARKED, [cancel("refuse_cancel", 409)]) is None
    assert why_not_parked(PARKED, [cancel("status_before", 403)]) is None
    assert why_not_parked(PARKED, [cancel("drop_after")] * 3) is None
    assert why_not_parked(PARKED, [cancel("drop_after")] * 2) is not None
    refused, unclear = cancel("status_before", 403), cancel("drop_after")
    assert why_not_parked(PARKED, [unclear, refused]) is None
    assert why_not_parked(PARKED, [refused, unclear]) is not None
    assert why_not_parked(PARKED, [refused, cancel(None, 200)]) is not None
    assert why_not_parked(PARKED.model_copy(update={"cancel_tool": None}), []) is None


def test_an_answer_may_be_lost_on_the_way_to_a_worker_that_is_cut_off() -> None:
    """As many as there were cuts, of those that were answered."""
    requests = [cancel("drop_after"), cancel(None, 200), cancel(None, 200)]

    assert why_not_parked(PARKED, requests) is not None
    assert why_not_parked(PARKED, requests, cuts=2) is None


def test_a_refused_repetition_excuses_it_where_nothing_else_could_find_out() -> None:
    """Without a probe, and only if the call was never known to be committed."""
    unclear = HeldRequest(operation="order_book", request_id=CALL, fault="drop_before")
    again = unclear.model_copy(update={"fault": "status_before", "status": 409})
    known = PARKED.model_copy(update={"committed_at": PARKED.written_at})

    assert why_not_parked(PARKED, [unclear, again], is_probed=False) is None
    assert why_not_parked(PARKED, [unclear, again]) is not None
    assert why_not_parked(PARKED, [again, unclear], is_probed=False) is not None
    assert why_not_parked(known, [unclear, again], is_probed=False) is not None


def test_a_lost_answer_excuses_it_where_the_answer_alone_names_the_effect() -> None:
    """Without key and probe, and only if the answer was lost: by a fault, or with a worker."""
    lost = HeldRequest(operation="order_book", request_id=CALL, fault="drop_after")
    clear = lost.model_copy(update={"fault": None, "status": 200})
    known = PARKED.model_copy(update={"committed_at": PARKED.written_at})

    assert why_not_parked(PARKED, [lost], is_blind=True) is None
    assert why_not_parked(PARKED, [clear], is_blind=True, deaths=1) is None
    assert why_not_parked(PARKED, [clear], is_blind=True) is not None
    assert why_not_parked(PARKED, [lost]) is not None
    assert why_not_parked(PARKED, [clear, cancel("drop_after")], is_blind=True) is not None
    assert why_not_parked(known, [lost], is_blind=True, deaths=1) is not None
