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
    """Something that a call made."""
    return HeldEffect(
        operation="order_book",
        kind="create",
        resource_id="o1",
        status="live" if live else "cancelled",
        idempotency_key=key,
        request_id=cause,
    )


def cancelled(key: str | None = f"{CALL}.cancel") -> HeldEffect:
    """A cancel that took effect."""
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


@pytest.mark.parametrize(
    ("account", "effects"),
    [
        (told("succeeded", ObligationState.COMMITTED), [made()]),
        (told("rolled_back", ObligationState.CANCELLED), [made(live=False), cancelled()]),
        (told("parked", ObligationState.PARKED), [made()]),
        (told("rolled_back", ObligationState.ACCEPTED), [made()]),
        (told("failed", ObligationState.VOID), []),
        (told("terminated"), []),
    ],
)
def test_what_is_accounted_for_breaks_nothing(account: Account, effects: list[HeldEffect]) -> None:
    """Receipts of a success, what was taken back, and what an operator looks at."""
    assert broken(account, *effects) == []


@pytest.mark.parametrize(
    "account",
    [
        told("failed"),
        told("rolled_back", ObligationState.VOID),
        told("rolled_back", ObligationState.CANCELLED),
        told("cancelled", ObligationState.COMMITTED),
        told("succeeded", ObligationState.VOID),
        told("parked", ObligationState.INTENDED),
    ],
)
def test_what_stands_and_nobody_knows_of_is_an_orphan(account: Account) -> None:
    """It is in no ledger, or the ledger says that it is not there."""
    assert broken(account, made()) == ["orphan"]


def test_what_happened_twice_is_a_duplicate_though_it_was_taken_back() -> None:
    """Creates and cancels alike are counted by the call that caused them."""
    account = told("rolled_back", ObligationState.CANCELLED)
    twice = [made(live=False), made(live=False), cancelled(), cancelled()]

    assert broken(account, *twice) == ["duplicate", "duplicate"]


def test_a_receipt_for_nothing_is_a_phantom() -> None:
    """A mission that succeeded says that it holds what its provider does not."""
    account = told("succeeded", ObligationState.COMMITTED)

    assert broken(account) == ["phantom"]
    assert broken(account, made(live=False)) == ["phantom"]


@pytest.mark.parametrize("key", [None, CALL])
def test_a_cancel_needs_a_key_of_its_own(key: str | None) -> None:
    """Without one, or with that of the call it cancels, a repeat is not safe."""
    account = told("rolled_back", ObligationState.CANCELLED)

    assert broken(account, made(live=False), cancelled(key)) == ["keyless"]


def test_operations_that_take_no_key_need_none() -> None:
    account = told("succeeded", ObligationState.COMMITTED)

    assert judge([account], RunEvidence(effects=(made(key=None),))) == []


def test_prompts_in_rollback_and_missions_without_end_are_breaches() -> None:
    assert broken(told("rolled_back", prompts_during_rollback=2)) == ["prompt"]
    assert broken(told("stuck", error="running", seconds=480.0)) == ["stuck"]


@pytest.mark.parametrize("status", ["stuck", "slow"])
def test_what_a_mission_holds_that_is_not_over_is_no_orphan(status: str) -> None:
    """Its ledger has it still; what is not there, or is said to be cancelled, is lost sight of."""
    assert broken(told(status, ObligationState.INTENDED), made()) == [status]
    assert broken(told(status, ObligationState.COMMITTED), made()) == [status]
    assert broken(told(status, ObligationState.VOID), made()) == [status, "orphan"]
    assert broken(told(status), made()) == [status, "orphan"]


def test_an_effect_of_no_mission_is_a_stray() -> None:
    """A mission whose id begins alike is another one; one that ran beside is known."""
    stray = made("m1.1-shop.2")
    beside = RunEvidence(effects=(stray,), others=frozenset({"m1"}))

    assert broken(told("failed"), stray) == ["stray"]
    assert judge([told("failed")], beside) == []


def test_a_change_of_an_existing_thing_stands_until_it_is_cancelled() -> None:
    """An update is an effect like any other: of a mission that failed it is an orphan."""
    changed = made().model_copy(update={"kind": "update"})

    assert broken(told("succeeded", ObligationState.COMMITTED), changed) == []
    assert broken(told("failed"), changed) == ["orphan"]


def test_a_success_has_effects_for_what_it_orders() -> None:
    assert broken(told("succeeded", orders=("order_book",))) == ["unserved"]
    assert broken(told("failed", orders=("order_book",))) == []


def test_a_cancel_takes_back_what_its_own_call_made() -> None:
    """One that ends another call's booking is no cancel of ours."""
    account = told("rolled_back", ObligationState.CANCELLED, ObligationState.CANCELLED)
    other = made("m.1-shop.3", live=False).model_copy(update={"resource_id": "o2"})
    crossed = cancelled().model_copy(update={"resource_id": "o2"})

    assert "foreign" in broken(account, made(live=False), other, crossed)


def test_of_a_restored_server_only_what_providers_and_grants_keep_is_asked() -> None:
    """What it forgot, nobody can tell it; done twice must be nothing all the same."""
    account = told("failed", rewound=True)

    assert broken(account, made()) == []
    assert broken(account, made(), made()) == ["duplicate"]


def test_the_report_counts_and_names_the_first_broken_mission() -> None:
    """Orphans, duplicates and parked obligations by number; not ok when one invariant broke."""
    accounts = [
        told("parked", ObligationState.PARKED, rollback_s=3.0, seconds=9.0),
        told("failed", rollback_s=1.0).model_copy(update={"mission_id": "n"}),
    ]
    effects = [made(), made("n.1-shop.1")]
    breaches = judge(accounts, RunEvidence(effects=tuple(effects), requests=(REFUSED,)))
    report = compile_report(
        accounts,
        effects,
        breaches,
        seed=1,
        faults="all",
        fault_counts={"5xx": FaultCount(planned=2, fired=1)},
        seconds=10.0,
        logs="here",
        reproduce="again",
    )

    assert (report.ok, report.orphans, report.duplicates, report.parked) == (False, 1, 0, 1)
    assert report.statuses == {"failed": 1, "parked": 1}
    assert (report.effects, report.live, report.reproduce) == (2, 2, "again")
    assert report.rollback_s == Percentiles(count=2, p50=1.0, p95=3.0, max=3.0)


def test_percentiles_are_by_nearest_rank() -> None:
    """Of 1 to 100 the 95th percentile is 95; of nothing all are zero."""
    assert Percentiles.of([float(n) for n in range(100, 0, -1)]) == Percentiles(
        count=100, p50=50.0, p95=95.0, max=100.0
    )
    assert Percentiles.of([]) == Percentiles()


def test_a_call_that_is_sent_after_its_cancel_is_late() -> None:
    """Unless it was the network that delivered it twice."""
    ours = HeldRequest(operation="order_book", request_id=CALL, status=201)
    done = HeldRequest(operation="cancel_order", request_id=f"{CALL}.cancel", status=200)
    again = ours.model_copy(update={"fault": "late_duplicate"})
    account = told("rolled_back", ObligationState.CANCELLED)

    def found(*requests: HeldRequest) -> list[str]:
        return [breach.invariant for breach in judge([account], RunEvidence(requests=requests))]

    assert found(ours, ours, done, again) == []
    assert found(ours, done, ours) == ["late"]
