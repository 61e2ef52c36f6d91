"""The verdict: what the providers hold against what missions say."""

from typing import Any

import pytest

from orchestrator.chaos.verdicts.invariants import (
    Account,
    HeldEffect,
    HeldRequest,
    RunEvidence,
    judge,
)
from orchestrator.chaos.verdicts.report import FaultCount, Percentiles, compile_report
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import ObligationState
from tests.fakes import fake_obligation

CALL = "m.1-shop.2"


def told(status: str, *states: ObligationState, **more: Any) -> Account:
    """A mission's word, with one obligation in each state: calls m.1-shop.2, .3 and so on."""
    obligations = tuple(
        fake_obligation(
            f"m.1-shop.{number}", tool="order_book", cancel_tool="cancel_order", state=state
        )
        for number, state in enumerate(states, start=2)
    )
    ledger = Ledger(obligations=obligations)
    return Account(index=4, mission_id="m", goal="g", status=status, ledger=ledger, **more)


def made(cause: str = CALL, *, live: bool = True, key: str | None = CALL) -> HeldEffect:
    return HeldEffect(
        operation="order_book",
        kind="create",
        resource_id="o1",
        status="live" if live else "cancelled",
        idempotency_key=key,
        request_id=cause,
    )


def cancelled(key: str | None = f"{CALL}.cancel") -> HeldEffect:
    return HeldEffect(
        operation="cancel_order",
        kind="cancel",
        resource_id="o1",
        status="cancelled",
        idempotency_key=key,
        request_id=f"{CALL}.cancel",
    )


REFUSED = HeldRequest(
    operation="cancel_order", request_id=f"{CALL}.cancel", status=409, fault="refuse_cancel"
)
"""The provider does not take it back: what is parked then is parked rightly."""


def broken(account: Account, *effects: HeldEffect) -> list[str]:
    """The invariants that broke, where the provider refuses to take anything back."""
    evidence = RunEvidence(
        effects=effects, requests=(REFUSED,), keyed=frozenset({"order_book", "cancel_order"})
    )
    return [breach.invariant for breach in judge([account], evidence)]


S = ObligationState
BOOKED = told("succeeded", S.COMMITTED)
ROLLED_BACK = told("rolled_back", S.CANCELLED)
GONE, CHANGED = made(live=False), made().model_copy(update={"kind": "update"})
ORDERS = ("order_book",)

VERDICTS: dict[str, list[tuple[Account, list[HeldEffect], list[str]]]] = {
    "what is accounted for": [
        (BOOKED, [made()], []),
        (ROLLED_BACK, [GONE, cancelled()], []),
        (told("parked", S.PARKED), [made()], []),
        (told("rolled_back", S.ACCEPTED), [made()], []),
        (told("failed", S.VOID), [], []),
        (told("terminated"), [], []),
    ],
    "in no ledger, or said not to be there": [
        (told("failed"), [made()], ["orphan"]),
        (told("rolled_back", S.VOID), [made()], ["orphan"]),
        (ROLLED_BACK, [made()], ["orphan"]),
        (told("cancelled", S.COMMITTED), [made()], ["orphan"]),
        (told("succeeded", S.VOID), [made()], ["orphan"]),
        (told("parked", S.INTENDED), [made()], ["orphan"]),
    ],
    "twice, though taken back": [
        (ROLLED_BACK, [GONE, GONE, cancelled(), cancelled()], ["duplicate", "duplicate"])
    ],
    "a receipt for nothing": [(BOOKED, [], ["phantom"]), (BOOKED, [GONE], ["phantom"])],
    "a cancel without a key of its own": [
        (ROLLED_BACK, [GONE, cancelled(None)], ["keyless"]),
        (ROLLED_BACK, [GONE, cancelled(CALL)], ["keyless"]),
    ],
    "by the mission's own word": [
        (told("rolled_back", prompts_during_rollback=2), [], ["prompt"]),
        (told("stuck", error="running", seconds=480.0), [], ["stuck"]),
    ],
    "what a mission still holds is no orphan": [
        (told(status, *states), [made()], [status, *lost])
        for status in ("stuck", "slow")
        for states, lost in (
            ([S.INTENDED], []),
            ([S.COMMITTED], []),
            ([S.VOID], ["orphan"]),
            ([], ["orphan"]),
        )
    ],
    "a change of an existing thing is an effect": [
        (BOOKED, [CHANGED], []),
        (told("failed"), [CHANGED], ["orphan"]),
    ],
    "a success has effects for what it orders": [
        (told("succeeded", orders=ORDERS), [], ["unserved"]),
        (told("failed", orders=ORDERS), [], []),
    ],
    "what a restored server forgot nobody can tell it": [
        (told("failed", rewound=True), [made()], []),
        (told("failed", rewound=True), [made(), made()], ["duplicate"]),
    ],
    "of no mission, though its id begins alike": [
        (told("failed"), [made("m1.1-shop.2")], ["stray"])
    ],
}


@pytest.mark.parametrize("why", VERDICTS)
def test_a_verdict_compares_what_is_held_with_what_is_said(why: str) -> None:
    for account, effects, breaches in VERDICTS[why]:
        assert broken(account, *effects) == breaches, (account, effects)


def test_operations_without_a_key_and_missions_beside_are_known() -> None:
    """The documents say which operations take one."""
    beside = RunEvidence(effects=(made("m1.1-shop.2"),), others=frozenset({"m1"}))

    assert judge([BOOKED], RunEvidence(effects=(made(key=None),))) == []
    assert judge([told("failed")], beside) == []


def test_a_cancel_takes_back_what_its_own_call_made() -> None:
    """One that ends another call's booking is no cancel of ours."""
    account = told("rolled_back", ObligationState.CANCELLED, ObligationState.CANCELLED)
    other = made("m.1-shop.3", live=False).model_copy(update={"resource_id": "o2"})
    crossed = cancelled().model_copy(update={"resource_id": "o2"})

    assert "foreign" in broken(account, made(live=False), other, crossed)


def test_the_report_counts_and_names_the_first_broken_mission() -> None:
    """Orphans, duplicates and parked obligations by number; not ok when one invariant broke."""
    accounts = [
        told("parked", ObligationState.PARKED, rollback_s=3.0, seconds=9.0),
        told("failed", rollback_s=1.0).model_copy(update={"mission_id": "n"}),
    ]
    effects = [made(), made("n.1-shop.1")]
    breaches = judge(accounts, RunEvidence(effects=tuple(effects), requests=(REFUSED,)))
    run: dict[str, Any] = {"seed": 1, "faults": "all", "seconds": 10.0, "logs": "here"}
    run |= {"fault_counts": {"5xx": FaultCount(planned=2, fired=1)}, "reproduce": "again"}
    report = compile_report(accounts, effects, breaches, **run)

    assert (report.ok, report.orphans, report.duplicates, report.parked) == (False, 1, 0, 1)
    assert report.statuses == {"failed": 1, "parked": 1}
    assert (report.effects, report.live, report.reproduce) == (2, 2, "again")
    assert report.rollback_s == Percentiles(count=2, p50=1.0, p95=3.0, max=3.0)


def test_percentiles_are_by_nearest_rank() -> None:
    """Of 1 to 100 the 95th percentile is 95; of nothing all are zero."""
    hundred = Percentiles(count=100, p50=50.0, p95=95.0, max=100.0)
    assert Percentiles.of([float(n) for n in range(100, 0, -1)]) == hundred
    assert Percentiles.of([]) == Percentiles()


def test_a_call_that_is_sent_after_its_cancel_is_late() -> None:
    """Unless it was the network that delivered it twice."""
    ours = HeldRequest(operation="order_book", request_id=CALL, status=201)
    done = HeldRequest(operation="cancel_order", request_id=f"{CALL}.cancel", status=200)
    again = ours.model_copy(update={"fault": "late_duplicate"})

    def found(*requests: HeldRequest) -> list[str]:
        return [breach.invariant for breach in judge([ROLLED_BACK], RunEvidence(requests=requests))]

    assert found(ours, ours, done, again) == []
    assert found(ours, done, ours) == ["late"]
