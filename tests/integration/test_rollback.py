"""Providers that fail: what is taken back, what is only tried again, and what nobody is asked."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.errors import UsageError
from orchestrator.messages.mission import MissionRequest, MissionResult, MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.names import rollback_workflow_id
from orchestrator.runtime.demo import DINING, DINNER, LEAVING, RETURNING, TRIP
from orchestrator.saga.obligation import ObligationState
from orchestrator.sandbox import FaultRule
from orchestrator.sandbox.faults import FaultKind
from orchestrator.testing import approve, eventually, run_to_end

if TYPE_CHECKING:
    from tests.integration.conftest import Witness

HASTY = MissionPolicy(call_timeout=timedelta(seconds=1), call_attempts=1)
"""One attempt of a second, so that its last moment on the wire is soon over."""


async def lose_the_hotel(client: MissionClient, sandbox: Witness) -> MissionResult:
    """A trip whose hotel is refused for good, once its flight is booked."""
    await sandbox.set_faults(
        [FaultRule(operation_id="hotel_book_room", kind="status_before", status=409)]
    )
    mission = await client.start(MissionRequest(goal=TRIP))

    async def hotel_last(mission: MissionHandle, card: ConfirmationCard) -> None:
        if card.tool != "hotel_book_room" or await sandbox.live(mission.mission_id):
            await approve(mission, card)

    return await run_to_end(mission, hotel_last)


async def test_a_refused_leg_takes_the_booked_one_back(
    client: MissionClient, sandbox: Witness
) -> None:
    """No hotel, so no flight: it is cancelled, the expense never filed, the refusal told."""
    result = await lose_the_hotel(client, sandbox)
    states = {o.tool: o.state for o in result.ledger.obligations}

    assert result.status is MissionStatus.ROLLED_BACK
    assert states.pop("flight_book_offer") is ObligationState.CANCELLED
    assert set(states.values()) <= {ObligationState.VOID}
    assert await sandbox.live(result.mission_id) == []
    assert await sandbox.duplicates(result.mission_id) == []
    assert result.receipts == ()
    assert result.spend.amounts() == []
    assert result.error
    assert "expense_file_report" not in {
        r["operation"] for r in await sandbox.requests(result.mission_id)
    }


async def test_everything_is_cancelled_in_reverse_order(
    client: MissionClient, sandbox: Witness
) -> None:
    """When the last leg is lost, what was made last is cancelled first."""
    await sandbox.set_faults(
        [FaultRule(operation_id="expense_file_report", kind="status_before", status=409)]
    )
    result = await run_to_end(await client.start(MissionRequest(goal=TRIP)))
    effects = await sandbox.ledger(result.mission_id)
    made = [e["resource_id"] for e in effects if e["kind"] == "create"]
    cancelled = [e["resource_id"] for e in effects if e["kind"] == "cancel"]

    assert result.status is MissionStatus.ROLLED_BACK
    assert len(made) == 2
    assert cancelled == made[::-1]
    assert await sandbox.live(result.mission_id) == []


async def test_a_rollback_asks_nobody(client: MissionClient, sandbox: Witness) -> None:
    """While it cancels, no card is open and no decision is recorded for what it does."""
    await sandbox.set_faults(
        [
            FaultRule(operation_id="message_send", kind="status_before", status=409),
            FaultRule(operation_id="dining_cancel_reservation", kind="latency", delay_s=3.0),
        ]
    )
    mission = await client.start(MissionRequest(goal=DINNER))
    seen_rolling_back = False
    finished = asyncio.create_task(run_to_end(mission))
    while not finished.done():
        if (await mission.snapshot()).status is MissionStatus.ROLLING_BACK:
            seen_rolling_back = True
            assert await mission.confirmations() == []
            assert await mission.questions() == []
        await asyncio.wait([finished], timeout=0.1)
    result = await finished
    decided = [d.confirmation_id for leg in result.legs for d in leg.decisions]

    assert seen_rolling_back
    assert result.status is MissionStatus.ROLLED_BACK
    assert set(decided) == {o.obligation_id for o in result.ledger.obligations}
    assert await sandbox.live(mission.mission_id) == []


@pytest.mark.parametrize("kind", ["status_after", "drop_after"])
async def test_an_answer_lost_once_is_asked_for_again(
    kind: FaultKind, client: MissionClient, sandbox: Witness
) -> None:
    """It happened and nobody heard: the same key again brings the answer, not a second table."""
    await sandbox.set_faults([FaultRule(operation_id="dining_reserve_table", kind=kind, times=1)])
    result = await run_to_end(await client.start(MissionRequest(goal=DINNER)))
    sent = [
        r
        for r in await sandbox.requests(result.mission_id)
        if r["operation"] == "dining_reserve_table"
    ]

    assert result.status is MissionStatus.SUCCEEDED
    assert [r["replayed"] for r in sent] == [False, True]
    assert len({r["idempotency_key"] for r in sent}) == 1
    assert await sandbox.duplicates(result.mission_id) == []
    assert len(await sandbox.live(result.mission_id)) == len(result.receipts) == 2


async def test_calls_lost_for_good_end_with_nothing_booked_and_nothing_twice(
    client: MissionClient, sandbox: Witness
) -> None:
    """What happened behind lost answers is found and cancelled; what did not happen is void.

    Side by side, for each waits until its call can no longer arrive: the request of a table is
    lost, the answers of a rental and of a hotel are, each time, and a flight is booked seconds
    after its leg has given up.
    """
    await sandbox.set_faults(
        [
            FaultRule(operation_id="dining_reserve_table", kind="drop_before"),
            FaultRule(operation_id="car_book_offer", kind="drop_after"),
            FaultRule(operation_id="hotel_book_room", kind="status_after", status=500),
            FaultRule(operation_id="flight_book_offer", kind="latency", delay_s=4.0),
        ]
    )
    started = [
        await client.start(MissionRequest(goal=goal, policy=HASTY))
        for goal in (
            f"Reserve a table for two in Lisbon on {DINING} at 20:00",
            f"Rent a car in Lisbon from {LEAVING} to {RETURNING}",
            f"Reserve a hotel in Lisbon from {LEAVING} to {RETURNING}",
            f"Book a flight from Berlin to Lisbon on {LEAVING}",
        )
    ]
    table, *happened = await asyncio.gather(*(run_to_end(mission) for mission in started))

    assert table.status is MissionStatus.FAILED
    assert [o.state for o in table.ledger.obligations] == [ObligationState.VOID]
    assert await sandbox.ledger(table.mission_id) == []
    for result in happened:
        effects = await sandbox.ledger(result.mission_id)
        (lost,) = result.ledger.obligations
        assert result.status is MissionStatus.ROLLED_BACK
        assert lost.state is ObligationState.CANCELLED
        assert [e["kind"] for e in effects] == ["create", "cancel"]
        assert effects[-1]["at"] >= f"{lost.deadline:%Y-%m-%dT%H:%M:%SZ}"
        assert await sandbox.live(result.mission_id) == []
    late = happened[-1]
    gave_up = late.legs[0].steps[-1].at
    assert gave_up is not None
    (booked, _) = await sandbox.ledger(late.mission_id)
    assert booked["at"] > f"{gave_up + timedelta(seconds=1):%Y-%m-%dT%H:%M:%SZ}"


async def test_a_provider_that_is_down_for_a_while_is_waited_for(
    client: MissionClient, sandbox: Witness
) -> None:
    """An error before the booking, a request to slow down, an error after it: one table."""
    reserve = "dining_reserve_table"
    await sandbox.set_faults(
        [
            FaultRule(operation_id=reserve, kind="status_before", status=503, times=1),
            FaultRule(operation_id=reserve, kind="rate_limit", retry_after_s=1, times=1),
            FaultRule(operation_id=reserve, kind="status_after", status=502, times=1),
        ]
    )
    result = await run_to_end(await client.start(MissionRequest(goal=DINNER)))
    sent = [r for r in await sandbox.requests(result.mission_id) if r["operation"] == reserve]

    assert result.status is MissionStatus.SUCCEEDED
    assert [r["status"] for r in sent] == [503, 429, 502, 201]
    assert len({r["idempotency_key"] for r in sent}) == 1
    assert await sandbox.duplicates(result.mission_id) == []
    assert len(await sandbox.live(result.mission_id)) == len(result.receipts) == 2


async def test_a_cancel_that_fails_for_a_while_is_tried_again(
    client: MissionClient, sandbox: Witness
) -> None:
    """Rollback goes on behind errors of the cancel tool itself, and cancels once.

    The mission succeeded, so that somebody must decide on it; the ledger keeps who and why.
    """
    cancel = "flight_cancel_booking"
    result = await run_to_end(await client.start(MissionRequest(goal=TRIP)))
    await sandbox.set_faults(
        [
            FaultRule(operation_id=cancel, kind="status_before", status=503, times=1),
            FaultRule(operation_id=cancel, kind="drop_after", times=1),
        ]
    )
    with pytest.raises(UsageError, match="succeeded, so rolling it back is a decision"):
        await client.rollback(result.mission_id, reason="wrong week")
    untouched = await sandbox.live(result.mission_id)
    report = await client.rollback(result.mission_id, reason="wrong week", approver="ann")
    shown = await client.get(result.mission_id).snapshot()
    cancels = [e for e in await sandbox.ledger(result.mission_id) if e["operation"] == cancel]

    assert len(untouched) == 3
    assert report.parked == ()
    assert {str(o.rollback) for o in shown.ledger.obligations} == {"wrong week, decided by ann"}
    assert len(cancels) == 1
    assert await sandbox.live(result.mission_id) == []


async def test_a_cancel_waits_for_the_booking_that_is_on_its_way_and_takes_it_back(
    client: MissionClient, sandbox: Witness
) -> None:
    """A request that has left cannot be called back: its answer is kept, then cancelled."""
    await sandbox.set_faults(
        [FaultRule(operation_id="dining_reserve_table", kind="latency", delay_s=1.5)]
    )
    mission = await client.start(MissionRequest(goal=DINNER))
    (card,) = await eventually(mission.confirmations)
    await approve(mission, card)

    async def on_its_way() -> bool:
        return "invoke_tool" in await pending(client, mission.mission_id)

    await eventually(on_its_way)
    await mission.cancel()
    result = await run_to_end(mission)

    assert result.status is MissionStatus.CANCELLED
    assert [e["kind"] for e in await sandbox.ledger(mission.mission_id)] == ["create", "cancel"]
    assert await sandbox.live(mission.mission_id) == []
    assert [o.state for o in result.ledger.obligations] == [ObligationState.CANCELLED]


async def test_a_terminated_mission_is_rolled_back_when_asked(
    client: MissionClient, sandbox: Witness, booked_trip: MissionHandle
) -> None:
    """A mission that had no time to clean up after itself leaves a ledger to roll back."""
    mission = booked_trip
    booked = await sandbox.live(mission.mission_id)
    await client.temporal.get_workflow_handle(mission.mission_id).terminate("chaos")
    report = await client.rollback(mission.mission_id, reason="terminated")

    assert len(booked) == 2
    assert [o.state for o in report.ledger.obligations] == [ObligationState.CANCELLED] * 2
    assert await sandbox.live(mission.mission_id) == []
    assert await mission.confirmations() == []


async def test_terminating_a_mission_does_not_stop_its_rollback(
    client: MissionClient, sandbox: Witness
) -> None:
    """The rollback outlives the mission that began it, and finishes."""
    await sandbox.set_faults(
        [
            FaultRule(operation_id="message_send", kind="status_before", status=409),
            FaultRule(operation_id="dining_cancel_reservation", kind="latency", delay_s=1.5),
        ]
    )
    mission = await client.start(MissionRequest(goal=DINNER))
    going = asyncio.create_task(run_to_end(mission))

    async def rolling_back() -> bool:
        rollback_id = rollback_workflow_id(mission.mission_id)
        return await client.connection.is_running(rollback_id, missing=False)

    await eventually(rolling_back)
    going.cancel()
    await client.temporal.get_workflow_handle(mission.mission_id).terminate("chaos")
    report = await client.rollback(mission.mission_id, reason="again")

    assert report.parked == ()
    assert [e["kind"] for e in await sandbox.ledger(mission.mission_id)] == ["create", "cancel"]
    assert await sandbox.live(mission.mission_id) == []


async def pending(client: MissionClient, mission_id: str) -> set[str]:
    """Return the activities that a mission waits for."""
    description = await client.temporal.get_workflow_handle(mission_id).describe()
    return {a.activity_type.name for a in description.raw_description.pending_activities}
