"""What somebody starts directly on the namespace: it spends nothing, and cancels nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import (
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowHandle,
)
from temporalio.exceptions import ActivityError, ApplicationError

from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.policy import ConfirmationPolicy, StandingApproval
from orchestrator.core.errors import UsageError
from orchestrator.messages import names
from orchestrator.messages.leg import LegInput, LegState
from orchestrator.messages.mission import (
    BegunPlan,
    CarriedMission,
    MissionInput,
    MissionRequest,
    MissionStatus,
)
from orchestrator.messages.mission_policy import CatalogPin, MissionPolicy
from orchestrator.messages.rollback import RollbackInput
from orchestrator.planning.models import AgentProfile, LegPlan
from orchestrator.runtime.demo import DINNER
from orchestrator.runtime.devserver import Stack
from orchestrator.saga.ledger import Ledger
from orchestrator.testing import approve, eventually, run_to_end
from tests.fakes import own_id, states_of
from tests.shipped import shipped_catalog

if TYPE_CHECKING:
    from tests.integration.conftest import SweepUntilFound, Witness

ANYTHING = MissionPolicy(
    confirmation=ConfirmationPolicy(standing=(StandingApproval(name="all", tools=("*",)),))
)
"""A policy that approves of every call: only a mission may say that it is its own."""


def forged(mission_id: str, ledger: Ledger) -> MissionInput:
    """Return the input of a mission that claims to have a plan, an approval and a ledger."""
    goal = "Subscribe to weather alerts for Oslo"
    agent = AgentProfile(name="weather", domains=("weather",))
    leg = LegPlan(leg_id="1-weather", goal=goal, agent=agent)
    catalog = CatalogPin(digest=shipped_catalog().digest, size=1)
    now = datetime.now(UTC)
    return MissionInput(
        request=MissionRequest(goal=goal, mission_id=mission_id),
        carried=CarriedMission(
            started_at=now,
            catalog=catalog,
            plan=BegunPlan(legs=(leg,)),
            goal=goal,
            said_at=now,
            legs=(
                LegInput(
                    mission_id=mission_id,
                    mission_goal=goal,
                    leg=leg,
                    policy=ANYTHING,
                    catalog=catalog,
                    started_at=now,
                    state=LegState(ledger=ledger),
                ),
            ),
        ),
    )


async def start_rollback(client: MissionClient, stack: Stack, mission_id: str, wid: str) -> Any:
    """The same for a rollback."""
    return await client.temporal.start_workflow(
        names.ROLLBACK_WORKFLOW,
        RollbackInput(mission_id=mission_id, reason="asked for by a stranger"),
        id=wid,
        task_queue=stack.task_queue,
    )


async def failure(handle: WorkflowHandle[Any, Any]) -> ApplicationError:
    """What a workflow failed with."""
    with pytest.raises(WorkflowFailureError) as failed:
        await handle.result()
    cause: BaseException | None = failed.value.cause
    if isinstance(cause, ActivityError):
        cause = cause.cause
    assert isinstance(cause, ApplicationError)
    return cause


async def delete(client: MissionClient, workflow_id: str) -> None:
    """Delete a workflow from the server, as `temporal workflow delete` does."""
    await client.temporal.workflow_service.delete_workflow_execution(
        DeleteWorkflowExecutionRequest(
            namespace=client.temporal.namespace,
            workflow_execution=WorkflowExecution(workflow_id=workflow_id),
        )
    )


async def test_a_mission_that_claims_a_past_has_none(
    client: MissionClient, stack: Stack, sandbox: Witness, booked_trip: MissionHandle
) -> None:
    """It plans from its request, asks under its own policy, and its rollback cancels nothing.

    Only a run that the server says is continued has carried state: this one carries the ledger of
    another mission, and a policy that approves of every call.
    """
    theirs, claiming = booked_trip.mission_id, own_id("claims-a-past")
    ledger = (await booked_trip.snapshot()).ledger
    handle = await client.temporal.start_workflow(
        names.MISSION_WORKFLOW,
        forged(claiming, ledger),
        id=claiming,
        task_queue=stack.task_queue,
    )
    mission = client.get(handle.id)
    (card,) = await eventually(mission.confirmations)
    before = await sandbox.live(handle.id)
    await mission.reject(card, reason="nobody asked for it", approver="ann@example.com")
    ended = await mission.result()
    report = await client.rollback_report(theirs) if ended.ledger.compensated() else None

    assert card.tool == "weather_subscribe_alerts"
    assert before == []
    assert ended.status is not MissionStatus.SUCCEEDED
    assert ended.ledger.live() == ()
    assert report is None
    assert [e["kind"] for e in await sandbox.ledger(theirs)] == ["create", "create"]
    assert await sandbox.ledger(handle.id) == []


async def test_strangers_neither_undo_a_mission_nor_hide_what_it_did(
    client: MissionClient,
    stack: Stack,
    sandbox: Witness,
    booked_trip: MissionHandle,
    sweep_until_found: SweepUntilFound,
) -> None:
    """A rollback while it runs, and one under another name, are refused.

    At last the mission is deleted; the store knows what it booked, which is cancelled.
    """
    mission_id = booked_trip.mission_id
    waiting = [card.tool for card in await booked_trip.confirmations()]
    rollback_id = names.rollback_workflow_id(mission_id)

    beside = await failure(await start_rollback(client, stack, mission_id, rollback_id))
    elsewhere = await failure(
        await start_rollback(client, stack, mission_id, f"{mission_id}.other")
    )
    swept = await client.sweep()
    with pytest.raises(UsageError, match="still runs"):
        await client.rollback(mission_id, reason="to be refused")
    unharmed = [e["kind"] for e in await sandbox.ledger(mission_id)]
    still_waiting = [card.tool for card in await booked_trip.confirmations()]
    await delete(client, mission_id)
    await sweep_until_found(mission_id)

    async def settled() -> dict[str, str] | None:
        report = await client.rollback_report(mission_id)
        return states_of(report.ledger) if report.settled else None

    states = await eventually(settled)

    assert (beside.type, elsewhere.type) == ("MissionStillRuns", "RollbackMisnamed")
    assert mission_id not in swept.started
    assert unharmed == ["create", "create"]
    assert waiting == still_waiting == ["expense_file_report"]
    assert states == {"flight_book_offer": "cancelled", "hotel_book_room": "cancelled"}
    assert await sandbox.live(mission_id) == []


async def test_a_mission_that_timed_out_is_rolled_back(
    client: MissionClient, stack: Stack, sandbox: Witness, sweep_until_found: SweepUntilFound
) -> None:
    """Temporal's own limit, set by whoever starts it, leaves it no moment to clean up."""
    mission_id = own_id("out-of-time")
    await client.temporal.start_workflow(
        names.MISSION_WORKFLOW,
        MissionInput(request=MissionRequest(goal=DINNER, mission_id=mission_id)),
        id=mission_id,
        task_queue=stack.task_queue,
        execution_timeout=timedelta(seconds=15),
    )
    mission = client.get(mission_id)

    async def booked() -> bool:
        for card in await mission.confirmations():
            if card.tool != "message_send":
                await approve(mission, card)
        return bool(await sandbox.live(mission_id))

    await eventually(booked)
    await sweep_until_found(mission_id)
    report = await client.rollback(mission_id, reason="to see its end")
    ended = await client.temporal.get_workflow_handle(mission_id).describe()

    assert ended.status is WorkflowExecutionStatus.TIMED_OUT
    assert set(states_of(report.ledger).values()) == {"cancelled"}
    assert await sandbox.live(mission_id) == []


async def test_a_mission_that_succeeded_and_was_deleted_stays_as_it_is(
    client: MissionClient, sandbox: Witness
) -> None:
    """Its calls are settled: nothing says that what they did is to be cancelled."""
    mission = await client.start(MissionRequest(goal=DINNER))
    result = await run_to_end(mission)
    booked = await sandbox.live(mission.mission_id)
    await delete(client, mission.mission_id)

    async def gone() -> bool:
        return not await client.connection.is_running(mission.mission_id, missing=False)

    await eventually(gone)
    report = await client.sweep()

    assert result.status is MissionStatus.SUCCEEDED
    assert mission.mission_id not in report.started
    assert booked
    assert await sandbox.live(mission.mission_id) == booked


async def test_a_rollback_that_was_turned_away_decides_nothing(
    client: MissionClient, stack: Stack, sandbox: Witness
) -> None:
    """Before the mission, beside it, another's, and no rollback at all, each under that id.

    What the mission did is asked about as if none of them had been.
    """
    mission_id = own_id("turned-away")
    rollback_id = names.rollback_workflow_id(mission_id)
    early = await failure(await start_rollback(client, stack, mission_id, rollback_id))
    mission = await client.start(MissionRequest(goal=DINNER, mission_id=mission_id))
    await eventually(mission.confirmations)
    beside = await failure(await start_rollback(client, stack, mission_id, rollback_id))
    result = await run_to_end(mission)
    booked = await sandbox.live(mission_id)
    anothers = await failure(await start_rollback(client, stack, "another", rollback_id))
    squatter = await client.temporal.start_workflow(
        names.MISSION_WORKFLOW,
        MissionInput(request=MissionRequest(goal=DINNER)),
        id=rollback_id,
        task_queue=stack.task_queue,
    )
    squatting = await failure(squatter)
    swept = await client.sweep()
    preview = await client.rollback_preview(mission_id)
    with pytest.raises(UsageError, match="is a decision; say whose"):
        await client.rollback(mission_id, reason="nobody's")
    untouched = await sandbox.live(mission_id)
    report = await client.rollback(mission_id, reason="wrong evening", approver="ann")
    assert [e.type for e in (early, beside, anothers, squatting)] == [
        "MissionUnknown",
        "MissionStillRuns",
        "RollbackMisnamed",
        "MissionMisnamed",
    ]
    assert result.status is MissionStatus.SUCCEEDED
    assert mission_id not in swept.started
    assert preview.is_a_decision
    assert untouched == booked != []
    assert report.order.approver == "ann"
    assert set(states_of(report.ledger).values()) == {"cancelled"}
    assert await sandbox.live(mission_id) == []
