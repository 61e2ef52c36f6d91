"""Requests and results of missions: digests, status, receipts, size, and changes by a rollback."""

import hashlib
import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from pydantic import JsonValue, ValidationError

from orchestrator.core.budget import Money, Spend
from orchestrator.core.errors import UsageError
from orchestrator.core.plan_origin import MadeBy, PlanOrigin
from orchestrator.core.record import JsonObject
from orchestrator.messages.leg import LegResult, LegStatus
from orchestrator.messages.mission import (
    LARGEST_LEGS,
    MissionRequest,
    MissionResult,
    MissionStatus,
    after_rollback,
    as_sent,
    final_status,
    request_digest,
    status_with,
    within_size,
)
from orchestrator.messages.receipts import cancelled_of, receipts_of, reference_of
from orchestrator.messages.rollback import RollbackReport, RollbackStatus
from orchestrator.messages.step import StepRecord
from orchestrator.planning.models import Fact, WorkflowSource
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import CancelCall, ObligationState, RollbackOrder
from tests.fakes import fake_obligation

PRICE = Money(amount=Decimal(100), currency="EUR")
S = ObligationState


def ledger(*states: ObligationState, spends: bool = True) -> Ledger:
    return Ledger(
        obligations=tuple(
            fake_obligation(
                f"m.1-leg.{number}",
                title="Book a room",
                state=state,
                spends=spends,
                response={"booking_id": f"b{number}", "city": "Oslo", "seat_number": 7},
                price=PRICE,
            )
            for number, state in enumerate(states)
        )
    )


def test_a_request_that_names_nobody_is_the_one_that_it_was() -> None:
    """A mission that was started before requests named a requester can still be asked for."""
    asked = MissionRequest(goal="g", inputs={"n": 1}, budget=PRICE)
    before = json.dumps(
        {"budget": {"amount": "100", "currency": "EUR"}, "goal": "g", "inputs": {"n": 1}},
        sort_keys=True,
    )

    assert request_digest(asked) == hashlib.sha256(before.encode()).hexdigest()


def test_another_requesters_or_models_mission_is_another() -> None:
    """The first one's would else count as asked for by the second, who might approve it."""
    choices = [{}, {"requester": "ann"}, {"requester": "bob"}, {"planner": "llm"}]
    choices += [{"model": "a:b"}, {"model": "a:c"}]
    requests = [MissionRequest.model_validate({"goal": "g", **choice}) for choice in choices]

    assert len({*map(request_digest, requests)}) == len(choices)


@pytest.mark.parametrize(
    "fields",
    [
        *({"requester": name} for name in ("a\nb", "\x1b[2Jann", "ann\u202e", "a" * 201)),
        *({"mission_id": name} for name in ("a.b", "", "-x", "a b", "x" * 81)),
    ],
)
def test_a_requester_is_a_readable_name_and_an_id_keeps_ids_apart(fields: dict[str, str]) -> None:
    """One stands on cards; leg and call ids are built from the other and taken apart again."""
    with pytest.raises(ValidationError, match=next(iter(fields))):
        MissionRequest.model_validate({"goal": "g", **fields})


@pytest.mark.parametrize(
    ("failed", "cancelled", "states", "status"),
    [
        (False, False, [S.COMMITTED], MissionStatus.SUCCEEDED),
        (True, False, [], MissionStatus.FAILED),
        (True, False, [S.VOID], MissionStatus.FAILED),
        (True, False, [S.CANCELLED, S.VOID], MissionStatus.ROLLED_BACK),
        (True, False, [S.ACCEPTED], MissionStatus.ROLLED_BACK),
        (True, False, [S.CANCELLED, S.PARKED], MissionStatus.PARKED),
        (True, False, [S.INTENDED], MissionStatus.PARKED),
        (True, True, [S.CANCELLED], MissionStatus.CANCELLED),
        (True, True, [S.PARKED], MissionStatus.PARKED),
    ],
)
def test_the_final_status_follows_from_the_ledger(
    failed: bool, cancelled: bool, states: list[ObligationState], status: MissionStatus
) -> None:
    """A mission is never called rolled back or cancelled while a provider may hold something."""
    assert final_status(failed=failed, cancelled=cancelled, ledger=ledger(*states)) is status


def test_receipts_and_spend_are_for_what_stands() -> None:
    """With identifiers of answers; parked and accepted cost money, what moves none does not."""
    receipts = receipts_of(ledger(S.COMMITTED, S.CANCELLED, S.VOID))

    assert [receipt.call_id for receipt in receipts] == ["m.1-leg.0"]
    assert receipts[0].reference == {"booking_id": "b0"}
    assert ledger(*ObligationState).spent == Spend(by_currency={"EUR": Decimal(300)})
    assert ledger(S.COMMITTED, spends=False).spent == Spend()


@pytest.mark.parametrize(
    ("goal", "why"),
    [("", "says nothing"), ("Book \ud83d", "half of a character"), ("x" * 10**6, "at most 4000")],
    ids=["nothing", "half a character", "a document"],
)
def test_what_is_no_goal_is_refused_in_one_sentence(goal: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        MissionRequest(goal=goal)


def test_a_written_workflow_needs_no_goal() -> None:
    """Its own summary is the title; a goal that is given stays, and one of the two is needed."""
    document: JsonObject = {"workflows": [{"workflowId": "trip", "summary": "A trip"}]}
    written = WorkflowSource(document=document)

    assert MissionRequest(workflow=written).goal == "A trip"
    assert MissionRequest.model_validate({"workflow": {"document": document}}).goal == "A trip"
    assert MissionRequest(goal="Ann's trip", workflow=written).goal == "Ann's trip"
    with pytest.raises(UsageError, match="say what is to be done"):
        MissionRequest()


STEP = StepRecord(
    step=1,
    tools_forwarded=("book",) * 40,
    catalog_size=40,
    band="crisp",
    did="call book",
    outcome="succeeded",
)


def leg(steps: int, obligations: int = 1) -> LegResult:
    return LegResult(
        leg_id="1-a",
        agent="a",
        goal="g",
        status=LegStatus.SUCCEEDED,
        steps=(STEP,) * steps,
        facts=(Fact(source="1-a.1", tool="book"),),
        ledger=Ledger(obligations=tuple(fake_obligation(f"m.1-a.{n}") for n in range(obligations))),
    )


def test_large_legs_have_their_ledgers_and_counts() -> None:
    """Small ones stay; of large ones steps are counted, and successful calls are known."""
    told = within_size([leg(1_000)] * 3)

    assert within_size([leg(3), leg(4)]) == (leg(3), leg(4))
    assert sum(len(one.model_dump_json()) for one in told) < LARGEST_LEGS
    counts = {(one.steps, one.steps_before, one.called) for one in told}
    assert counts == {((), 1_000, ("book",))}
    assert all(one.ledger == leg(1).ledger and one.facts_before == 1 for one in told)


def succeeded(**fields: Any) -> MissionResult:
    return MissionResult(mission_id="m", goal="g", status=MissionStatus.SUCCEEDED, **fields)


def test_a_result_is_sent_with_its_ledger_once() -> None:
    """That of the mission, with every obligation; large legs have their counts."""
    legs = (leg(1, obligations=1_000), leg(5_000))
    result = succeeded(legs=legs, ledger=legs[0].ledger)
    sent = as_sent(result)

    assert sent.ledger == result.ledger
    assert [one.ledger for one in sent.legs] == [Ledger()] * 2
    assert sent.legs[1].steps_before == 5_000
    assert len(sent.model_dump_json()) < LARGEST_LEGS + len(result.ledger.model_dump_json())


def test_a_result_is_sent_with_each_answer_once_and_read_whole() -> None:
    """The ledger has the answer of an effect; one that differs from it stays with its fact."""
    result = MissionResult(mission_id="m", goal="g", status=MissionStatus.SUCCEEDED)
    (made,) = leg(1).ledger.obligations
    made = made.model_copy(update={"obligation_id": "m.l.1", "response": {"id": "b1"}})
    facts = (
        Fact(source="l.1", tool="book", body={"id": "b1"}),
        Fact(source="l.2", tool="find", body=[1]),
    )
    whole = result.model_copy(
        update={
            "ledger": Ledger(obligations=(made,)),
            "legs": (leg(1).model_copy(update={"ledger": Ledger(), "facts": facts}),),
        }
    )
    sent = as_sent(whole)

    assert [one.body for one in sent.legs[0].facts] == [None, [1]]
    assert MissionResult.model_validate_json(sent.model_dump_json(exclude_defaults=True)) == whole


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
    # Who stopped it is not forgotten over what was parked meanwhile.
    assert status_with(M.PARKED, R.ROLLED_BACK, stopped=True) is M.CANCELLED


@pytest.mark.parametrize(
    ("planner", "states", "unchecked"),
    [("one leg", [], True), ("one leg", [S.COMMITTED], False), ("model", [], False)],
)
def test_a_goal_without_orders_that_only_read_says_so(
    planner: MadeBy, states: list[ObligationState], unchecked: bool
) -> None:
    """Orders that a plan states are checked; where a split gave none, the result says so."""
    made_by: dict[str, Any] = {"plan_made_by": PlanOrigin(planner=planner)}
    result = succeeded(ledger=ledger(*states), **made_by)

    assert bool(result.unchecked) is unchecked
    assert not result.model_copy(update={"status": M.FAILED}).unchecked


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
    cancelled = made.model_copy(
        update={"state": S.CANCELLED, "rollback": RollbackOrder(reason="wrong", approver="ann")}
    )
    result = succeeded().on(Ledger(obligations=(made,)), M.SUCCEEDED)
    report = RollbackReport(mission_id="m", settled=True, ledger=Ledger(obligations=(cancelled,)))
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
    own = succeeded(summary="Room booked.")
    report = RollbackReport(mission_id="m", settled=True, ledger=Ledger(obligations=made))
    after = after_rollback(own, report)

    assert (after.summary, after.summary_before) == (summary, "Room booked.")
    assert after.on(after.ledger, after.status) == after


NOW = datetime(2026, 11, 22, tzinfo=UTC)


@pytest.mark.parametrize(
    ("answer", "undo", "reference"),
    [
        ({"booking_id": "b1", "city": "Oslo"}, {}, {"booking_id": "b1"}),
        ({"id": "b1"}, {}, {"id": "b1"}),
        ({"id": 17, "guest_number": 4}, {}, {"id": 17}),
        ({"bookingId": "b1", "paid": "yes"}, {}, {"bookingId": "b1"}),
        ({"locator": "XK7", "city": "Oslo"}, {"pnr": "XK7"}, {"pnr": "XK7"}),
        ({"booking": {"id": "b1", "room": {"size": 2}}}, {}, {"booking_id": "b1"}),
        ({"data": {"order_reference": "r"}}, {}, {"order_reference": "r"}),
        ({"city": "Oslo"}, {"client_reference": "c1"}, {"client_reference": "c1"}),
        ({"traveler_id": "pii:traveler_id"}, {}, {}),
        ([], {}, {}),
        (None, {}, {}),
    ],
)
def test_a_receipt_names_what_its_provider_knows_it_by(
    answer: JsonValue, undo: dict[str, Any], reference: dict[str, Any]
) -> None:
    """What its cancel takes from the answer, and the answer's identifiers wherever they stand."""
    made = fake_obligation(
        arguments={"client_reference": "c1"}, response=answer, cancel_inputs=undo
    )

    assert reference_of(made) == reference


CANCEL = CancelCall(
    call_id="m.2-leg.1",
    tool="cancel",
    arguments={"booking_id": "b1", "reason": "x"},
    names={"booking_id": "b1"},
    written_at=NOW,
    settled_at=NOW,
    outcome="succeeded",
    confirmed_by="ann",
)


def test_the_cancel_of_anothers_booking_is_told() -> None:
    """By what it named, and who approved it; one that was refused is not."""
    refused = CANCEL.model_copy(update={"call_id": "m.1-leg.2", "outcome": "rejected"})
    (told,) = cancelled_of(Ledger(cancels=(CANCEL, refused)))
    assert (told.tool, told.reference) == ("cancel", {"booking_id": "b1"})
    assert (told.at, told.confirmed_by) == (NOW, "ann")
    made = fake_obligation(state=S.CANCELLED, cancelled_by=CANCEL.call_id, title="Book a room")
    (told,) = cancelled_of(Ledger(obligations=(made,), cancels=(CANCEL,)))
    assert (told.title, told.by_rollback) == ("Book a room", False)
