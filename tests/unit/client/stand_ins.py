"""Small workflows that can be read like missions and rollbacks, and how their histories were made.

Run as a program, it records the histories beside it on a server of its own.
"""

import asyncio
import re
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from pydantic import Field
from temporalio import activity, workflow
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle, WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from orchestrator.confirmation.models import (
    Amend,
    Approve,
    ConfirmationCard,
    DecisionEnvelope,
    DecisionReceipt,
    DecisionRecord,
)
from orchestrator.messages import names
from orchestrator.messages.leg import (
    CallMade,
    LegProgress,
    LegResult,
    LegStatus,
    LegWaiting,
    MissionProgress,
)
from orchestrator.messages.mission import (
    AcceptedMission,
    MissionInput,
    MissionRequest,
    MissionResult,
    MissionStatus,
)
from orchestrator.messages.mission_policy import CatalogPin
from orchestrator.messages.open_waits import Waiting
from orchestrator.messages.rollback import RollbackInput, RollbackReport
from orchestrator.planning.models import MissionPlan
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import ObligationState
from tests.fakes import fake_obligation
from tests.unit.cards import open_card

HISTORIES = Path(__file__).parent / "histories"
LEG = "1-room"
CALL = f"trip.{LEG}.2"
FAILS = "fail"
CONTINUES = "continue"


class StandInInput(MissionInput):
    """What starts a mission, or continues it."""

    carried_on: LegProgress | None = Field(default=None)


@workflow.defn(name=names.MISSION_WORKFLOW)
class StandInMission:
    """Opens a card for one leg, and calls its tool once that is approved."""

    @workflow.init
    def __init__(self, mission: StandInInput) -> None:
        self.observer: Callable[[], None] | None = None
        self._request = mission.request
        self._started_at = workflow.info().start_time
        self._status = MissionStatus.PLANNING
        self._leg = mission.carried_on
        self._error: str | None = None
        self._is_over = False
        self._card: ConfirmationCard | None = None
        self._is_continued = mission.carried_on is not None
        if self._leg is not None:
            self._status, self._card = MissionStatus.RUNNING, self._leg.waiting.card

    @workflow.run
    async def run(self, _mission: StandInInput) -> MissionResult:
        """Do it."""
        self._change()
        if not self._is_continued:
            self._status = MissionStatus.RUNNING
            self._work(agent="rooms", goal="book a room", status=LegStatus.RUNNING)
            self._open(open_card(CALL, "hotel_book_room", "structured-reservation", title="a room"))
        if self._request.goal == CONTINUES and not self._is_continued:
            await asyncio.sleep(1)
            workflow.continue_as_new(StandInInput(request=self._request, carried_on=self._leg))
        await workflow.wait_condition(lambda: self._card is None)
        self._work(calls=(CallMade(call_id=CALL, tool="hotel_book_room"),))
        await workflow.execute_activity("book", start_to_close_timeout=timedelta(seconds=9))
        done = CallMade(call_id=CALL, tool="hotel_book_room", outcome="succeeded")
        self._work(calls=(done,), status=LegStatus.SUCCEEDED)
        self._is_over = True
        if self._request.goal == FAILS:
            self._status, self._error = MissionStatus.FAILED, "no room"
            self._change()
            kind = names.MISSION_FAILED
            raise ApplicationError("no room", self.result(), type=kind, non_retryable=True)
        self._status = MissionStatus.SUCCEEDED
        self._change()
        return self.result()

    @workflow.update(name=names.DECIDE_UPDATE)
    def decide(self, envelope: DecisionEnvelope) -> DecisionReceipt:
        """Amended, the card is another one; approved, it is none."""
        decision, card = envelope.decision, self._card
        assert card is not None
        assert self._leg is not None
        record = DecisionRecord(
            confirmation_id=card.confirmation_id,
            digest=card.digest,
            kind="amended" if isinstance(decision, Amend) else "approved",
            approver=decision.approver,
            at=workflow.now(),
        )
        self._leg = self._leg.model_copy(update={"decisions": (*self._leg.decisions, record)})
        is_amended = isinstance(decision, Amend)
        self._open(card.model_copy(update={"digest": "f" * 64}) if is_amended else None)
        return DecisionReceipt(
            confirmation_id=card.confirmation_id,
            accepted="amended" if isinstance(decision, Amend) else "approved",
            at=workflow.now(),
            card=self._card,
        )

    def result(self) -> MissionResult:
        """The document as it stands."""
        leg = self._leg
        legs = (
            (LegResult(leg_id=LEG, agent=leg.agent, goal=leg.goal, status=leg.status),)
            if leg
            else ()
        )
        return MissionResult(
            mission_id=workflow.info().workflow_id,
            goal=self._request.goal,
            status=self._status,
            error=self._error,
            legs=legs,
            started_at=self._started_at,
            finished_at=workflow.info().start_time if self._is_over else None,
        )

    def accepted(self) -> AcceptedMission:
        """What it was taken on as."""
        return AcceptedMission(
            mission_id="trip",
            plan=MissionPlan(legs=()),
            catalog=CatalogPin(digest="d", size=1),
            request_digest=self._request.goal,
        )

    def progress(self) -> MissionProgress:
        """Its one leg."""
        return MissionProgress(legs={} if self._leg is None else {LEG: self._leg})

    def waits(self) -> Waiting:
        """Its open card."""
        return Waiting(cards=() if self._card is None else (self._card,))

    def _open(self, card: ConfirmationCard | None) -> None:
        self._card = card
        key = f"{names.WAITS_MEMO}{LEG}"
        workflow.upsert_memo({key: LegWaiting(card=card) if card else None})
        status = LegStatus.AWAITING_CONFIRMATION if card else LegStatus.RUNNING
        self._work(waiting=LegWaiting(card=card), status=status)

    def _work(self, **changes: Any) -> None:
        self._leg = (self._leg or LegProgress()).model_copy(update=changes)
        self._change()

    def _change(self) -> None:
        if self.observer is not None:
            self.observer()


@workflow.defn(name=names.ROLLBACK_WORKFLOW)
class StandInRollback:
    """Cancels one obligation."""

    @workflow.init
    def __init__(self, rollback: RollbackInput) -> None:
        self.observer: Callable[[], None] | None = None
        self._report = RollbackReport(mission_id=rollback.mission_id)

    @workflow.run
    async def run(self, _rollback: RollbackInput) -> RollbackReport:
        """Do it."""
        made = fake_obligation(CALL, written_at=workflow.now(), deadline=workflow.now())
        self._change(ledger=Ledger(obligations=(made,)))
        await workflow.execute_activity("book", start_to_close_timeout=timedelta(seconds=9))
        done = made.moved(ObligationState.CANCELLED, at=workflow.now())
        self._change(ledger=Ledger(obligations=(done,)), settled=True)
        return self._report

    def report(self) -> RollbackReport:
        """Where it stands."""
        return self._report

    def _change(self, **changes: Any) -> None:
        self._report = self._report.model_copy(update=changes)
        if self.observer is not None:
            self.observer()


STAND_INS = (StandInMission, StandInRollback)


@activity.defn(name="book")
async def book() -> None:
    """Nothing is booked."""


def history(name: str) -> WorkflowHistory:
    """A recorded history."""
    text = (HISTORIES / f"{name}.json").read_text(encoding="utf-8")
    return WorkflowHistory.from_json("trip.rollback" if name == "rollback" else "trip", text)


# -- recording ------------------------------------------------------------------------------------


async def _record(client: Client) -> None:
    begun = await _started(client, "go")
    await _keep(begun, "mission-waiting")
    await _decide(begun, Amend(confirmation_id=CALL, changes={"nights": 2}, approver="ann"))
    await _keep(begun, "mission-amended")
    await _approve(begun)
    await begun.result()
    await _keep(begun, "mission-succeeded")
    failing = await _started(client, FAILS)
    await _approve(failing)
    try:
        await failing.result()
    except WorkflowFailureError:
        await _keep(failing, "mission-failed")
    stopped = await _started(client, "go")
    await stopped.terminate()
    await _keep(stopped, "mission-terminated")
    continued = await _started(client, CONTINUES)
    await asyncio.sleep(2)
    await _approve(client.get_workflow_handle(continued.id))
    await client.get_workflow_handle(continued.id).result()
    await _keep(continued, "mission-continued")
    await _keep(client.get_workflow_handle(continued.id), "mission-continuation")
    rollback_id = names.rollback_workflow_id("trip")
    rollback = await client.start_workflow(
        names.ROLLBACK_WORKFLOW, RollbackInput(mission_id="trip"), id=rollback_id, task_queue="q"
    )
    await rollback.result()
    await _keep(rollback, "rollback")


async def _started(client: Client, goal: str) -> "WorkflowHandle[Any, Any]":
    request = MissionRequest(goal=goal, mission_id="trip")
    started = await client.start_workflow(
        names.MISSION_WORKFLOW, StandInInput(request=request), id="trip", task_queue="q"
    )
    await asyncio.sleep(2)
    return client.get_workflow_handle("trip", run_id=started.first_execution_run_id)


async def _approve(mission: "WorkflowHandle[Any, Any]") -> None:
    await _decide(mission, Approve(confirmation_id=CALL, digest="d", approver="ann"))


async def _decide(mission: "WorkflowHandle[Any, Any]", decision: Any) -> None:
    await mission.execute_update(names.DECIDE_UPDATE, DecisionEnvelope(decision=decision))


async def _keep(mission: "WorkflowHandle[Any, Any]", name: str) -> None:
    recorded = await mission.fetch_history()
    # A stack trace names folders of the machine that made it.
    text = re.sub(r'("stackTrace": )"(?:[^"\\]|\\.)*"', r'\1""', recorded.to_json())
    (HISTORIES / f"{name}.json").write_text(text, encoding="utf-8")


async def _main() -> None:
    server = await WorkflowEnvironment.start_local(
        data_converter=pydantic_data_converter,
        dev_server_existing_path=str(Path(sys.executable).parent / "temporal"),
    )
    async with (
        server,
        Worker(
            server.client,
            task_queue="q",
            workflows=STAND_INS,
            activities=[book],
            workflow_runner=UnsandboxedWorkflowRunner(),
        ),
    ):
        await _record(server.client)


if __name__ == "__main__":
    asyncio.run(_main())
