"""MissionClient: start missions, watch them, decide on their confirmations, roll them back."""

import asyncio
import re
import secrets
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import (
    Client,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowHandle,
    WorkflowQueryFailedError,
    WorkflowUpdateFailedError,
)
from temporalio.common import (
    SearchAttributeKey,
    SearchAttributePair,
    TypedSearchAttributes,
    WorkflowIDConflictPolicy,
    WorkflowIDReusePolicy,
)
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.envconfig import ClientConfig
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from orchestrator import contracts, errors
from orchestrator.adapters.pii import FilePiiVault
from orchestrator.catalog.catalog import Catalog
from orchestrator.confirm import (
    Amend,
    Approve,
    ConfirmationCard,
    Decision,
    DecisionEnvelope,
    DecisionReceipt,
    Reject,
)
from orchestrator.contracts import (
    AnswerInput,
    LegWaiting,
    MissionInput,
    ResolveInput,
    RollbackInput,
)
from orchestrator.mission import (
    LegResult,
    LegStatus,
    MissionRequest,
    MissionResult,
    MissionStatus,
    Question,
)
from orchestrator.pii import handle_for, is_handle
from orchestrator.record import JsonObject, Record
from orchestrator.saga import Ledger, Obligation, Resolution, RollbackReport
from orchestrator.settings import Settings, load_settings

T = TypeVar("T")
_STATUS = SearchAttributeKey.for_keyword(contracts.STATUS_ATTRIBUTE)
_MISSION_ID = SearchAttributeKey.for_keyword(contracts.MISSION_ID_ATTRIBUTE)
_POLLER_GONE = timedelta(seconds=75)
"""A poll lasts a minute, so a poller not seen for longer than this is dead."""
_POLLER_PATIENCE_S = 3.0
_PICK_UP_S = 6.0


class MissionSummary(Record):
    """One line of a list of missions."""

    mission_id: str
    status: str
    goal: str
    started_at: datetime


class MissionHandle:
    """One mission, known by its id alone: any process can take it up."""

    def __init__(self, client: "MissionClient", mission_id: str) -> None:
        """Take the client to speak through; nothing is asked of the server yet."""
        self._client = client
        self.mission_id = mission_id

    async def result(self) -> MissionResult:
        """Wait for the end and give the result document, whether it succeeded or not."""
        workflow = self._client.workflow(self.mission_id)
        try:
            result: MissionResult = await workflow.result()
            return result
        except WorkflowFailureError:
            return await self.snapshot()
        except RPCError as error:
            raise self._client.explained(error, self.mission_id) from error

    async def snapshot(self) -> MissionResult:
        """The result document as it stands now, without waiting."""
        return await self._client.query(self.mission_id, contracts.RESULT_QUERY, MissionResult)

    async def confirmations(self) -> list[ConfirmationCard]:
        """The cards of this mission that wait for a decision."""
        return [w.card for w in await self._waiting() if w.card is not None]

    async def questions(self) -> list[Question]:
        """The questions of this mission that wait for an answer."""
        return [w.question for w in await self._waiting() if w.question is not None]

    async def obligations(self) -> list[Obligation]:
        """Every obligation of this mission as its legs hold it now, running ones included."""
        legs = [
            await self._client.query(leg, contracts.RESULT_QUERY, LegResult)
            for leg in await self._leg_workflows()
        ]
        return list(Ledger.merged(leg.ledger for leg in legs).obligations)

    async def _waiting(self) -> list[LegWaiting]:
        legs = await self._leg_workflows()
        found = await asyncio.gather(*(self._client.waiting(leg) for leg in legs))
        return [waiting for waiting in found if waiting is not None]

    async def _leg_workflows(self) -> list[str]:
        legs = await self._client.query(self.mission_id, contracts.LEGS_QUERY, list[str])
        return [contracts.leg_workflow_id(self.mission_id, leg) for leg in legs]

    async def approve(self, card: ConfirmationCard, *, approver: str) -> DecisionReceipt:
        """Yes, to exactly what the card shows."""
        return await self._client.approve(card.confirmation_id, card.digest, approver=approver)

    async def amend(
        self, card: ConfirmationCard, changes: JsonObject, *, approver: str
    ) -> DecisionReceipt:
        """Change arguments; the receipt holds the new card, to be approved in its turn."""
        return await self._client.amend(card.confirmation_id, changes, approver=approver)

    async def reject(
        self, card: ConfirmationCard, *, reason: str, approver: str
    ) -> DecisionReceipt:
        """No."""
        return await self._client.reject(card.confirmation_id, reason=reason, approver=approver)

    async def answer(self, question_id: str, values: JsonObject, *, answered_by: str = "") -> None:
        """Answer a leg's question."""
        await self._client.update(
            leg_of(question_id),
            contracts.ANSWER_UPDATE,
            AnswerInput(question_id=question_id, values=values, answered_by=answered_by),
            str,
            about=question_id,
        )

    async def cancel(self) -> None:
        """Ask the mission to stop and undo what it did."""
        try:
            await self._client.workflow(self.mission_id).cancel()
        except RPCError as error:
            raise self._client.explained(error, self.mission_id) from error

    async def rollback(self, *, reason: str = "asked for") -> RollbackReport:
        """Undo a mission that is over; waits until everything was tried."""
        return await self._client.rollback(self.mission_id, reason=reason)

    async def watch(self, *, every_s: float = 0.5) -> AsyncIterator[MissionResult]:
        """The result document each time it changed, until the mission is over."""
        before: MissionResult | None = None
        while True:
            now = await self.snapshot()
            if now != before:
                yield now
                before = now
            if now.finished_at is not None or not await self._client.is_running(self.mission_id):
                return
            await asyncio.sleep(every_s)


class MissionClient:
    """The door for users: thin over a Temporal client, stateless, safe to make anywhere."""

    def __init__(self, client: Client, settings: Settings) -> None:
        """Take a connected Temporal client that uses the pydantic data converter."""
        self.temporal = client
        self._settings = settings

    @classmethod
    async def connect(cls, settings: Settings | None = None) -> "MissionClient":
        """Connect as TEMPORAL_ADDRESS and the SDK's other variables and files say.

        Raises:
            ServerUnreachable: nothing answers there.
        """
        return cls(await connect_temporal(), settings or load_settings())

    async def start(self, request: MissionRequest) -> MissionHandle:
        """Start a mission; the same mission id twice is the same mission.

        Raises:
            NoWorker: nobody would run it. It is not started, or stays queued when the last worker
                has just died.
        """
        request = request.model_copy(update={"inputs": self._without_personal(request.inputs)})
        await self._await_poller()
        mission_id = request.mission_id or new_mission_id(request.goal)
        try:
            handle = await self.temporal.start_workflow(
                contracts.MISSION_WORKFLOW,
                MissionInput(request=request.model_copy(update={"mission_id": mission_id})),
                id=mission_id,
                task_queue=self._settings.task_queue,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                search_attributes=TypedSearchAttributes(
                    [
                        SearchAttributePair(_MISSION_ID, mission_id),
                        SearchAttributePair(_STATUS, MissionStatus.PLANNING.value),
                    ]
                ),
                memo={"goal": request.goal},
                static_summary=request.goal[:200],
            )
        except WorkflowAlreadyStartedError:
            return MissionHandle(self, mission_id)  # it ran, and is over
        await self._await_pick_up(handle)
        return MissionHandle(self, mission_id)

    def get(self, mission_id: str) -> MissionHandle:
        """A mission that was started before, maybe by another process."""
        return MissionHandle(self, mission_id)

    async def missions(self, *, limit: int = 50) -> list[MissionSummary]:
        """The newest missions, newest first."""
        found = []
        query = f"WorkflowType = '{contracts.MISSION_WORKFLOW}'"
        async for execution in self.temporal.list_workflows(query, limit=limit):
            memo = await execution.memo()
            status = execution.typed_search_attributes.get(_STATUS) or ""
            if execution.status is WorkflowExecutionStatus.TERMINATED:
                status = "terminated"
            found.append(
                MissionSummary(
                    mission_id=execution.id,
                    status=status,
                    goal=str(memo.get("goal", "")),
                    started_at=execution.start_time,
                )
            )
        return found

    async def confirmations(self) -> list[ConfirmationCard]:
        """Every card of every mission that waits for a decision."""
        waiting = [w async for w in self._waiting(LegStatus.AWAITING_CONFIRMATION)]
        return [w.card for w in waiting if w.card is not None]

    async def questions(self) -> list[Question]:
        """Every question of every mission that waits for an answer."""
        waiting = [w async for w in self._waiting(LegStatus.AWAITING_ANSWER)]
        return [w.question for w in waiting if w.question is not None]

    async def confirmation(self, confirmation_id: str) -> ConfirmationCard:
        """One open card by its id.

        Raises:
            CardUnknown: it is not open, or never was.
        """
        waiting = await self.waiting(leg_of(confirmation_id))
        if waiting is None or waiting.card is None:
            raise errors.CardUnknown(confirmation_id, "no such confirmation is open")
        if waiting.card.confirmation_id != confirmation_id:
            raise errors.CardUnknown(
                confirmation_id, f"not open; this leg now asks {waiting.card.confirmation_id}"
            )
        return waiting.card

    async def approve(self, confirmation_id: str, digest: str, *, approver: str) -> DecisionReceipt:
        """Yes, to the card with this digest."""
        return await self.decide(
            Approve(confirmation_id=confirmation_id, digest=digest, approver=approver)
        )

    async def amend(
        self, confirmation_id: str, changes: JsonObject, *, approver: str
    ) -> DecisionReceipt:
        """Change arguments of an open card."""
        return await self.decide(
            Amend(confirmation_id=confirmation_id, changes=changes, approver=approver)
        )

    async def reject(self, confirmation_id: str, *, reason: str, approver: str) -> DecisionReceipt:
        """No, and why."""
        return await self.decide(
            Reject(confirmation_id=confirmation_id, reason=reason, approver=approver)
        )

    async def decide(self, decision: Decision) -> DecisionReceipt:
        """Send a decision.

        Raises:
            ConfirmationError: of the kind that says why it was refused; nothing changed.
        """
        return await self.update(
            leg_of(decision.confirmation_id),
            contracts.DECIDE_UPDATE,
            DecisionEnvelope(decision=decision),
            DecisionReceipt,
            about=decision.confirmation_id,
        )

    async def rollback(self, mission_id: str, *, reason: str) -> RollbackReport:
        """Undo a mission that is over, finished or terminated; waits until everything was tried.

        Raises:
            UsageError: the mission still runs: cancel it, and it undoes itself.
        """
        if await self.is_running(mission_id):
            raise errors.UsageError(
                f"mission {mission_id} still runs; cancel it and it undoes itself: "
                f"orchestrator mission cancel {mission_id}"
            )
        rollback_id = contracts.rollback_workflow_id(mission_id)
        try:
            await self.temporal.start_workflow(
                contracts.ROLLBACK_WORKFLOW,
                RollbackInput(mission_id=mission_id, reason=reason),
                id=rollback_id,
                task_queue=self._settings.task_queue,
                id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
                id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                search_attributes=TypedSearchAttributes(
                    [
                        SearchAttributePair(_MISSION_ID, mission_id),
                        SearchAttributePair(_STATUS, "collecting"),
                    ]
                ),
                static_summary=f"undo {mission_id}: {reason}"[:200],
            )
        except WorkflowAlreadyStartedError:
            return await self.rollback_report(mission_id)
        return await self._settled(mission_id)

    async def rollback_report(self, mission_id: str) -> RollbackReport:
        """Where the rollback of a mission stands.

        Raises:
            UsageError: nothing of it was rolled back, or there is no such mission.
        """
        rollback_id = contracts.rollback_workflow_id(mission_id)
        try:
            return await self.query(rollback_id, contracts.REPORT_QUERY, RollbackReport)
        except errors.MissionNotFound:
            raise errors.UsageError(
                f"no rollback of {mission_id!r}; start one with: "
                f"orchestrator mission rollback {mission_id}"
            ) from None

    async def resolve(
        self, obligation_id: str, resolution: Resolution, *, operator: str, note: str = ""
    ) -> RollbackReport:
        """Decide on a parked obligation: retry it, note it as cancelled, or accept it."""
        mission_id = obligation_id.partition(".")[0]
        return await self.update(
            contracts.rollback_workflow_id(mission_id),
            contracts.RESOLVE_UPDATE,
            ResolveInput(
                obligation_id=obligation_id, resolution=resolution, operator=operator, note=note
            ),
            RollbackReport,
            about=obligation_id,
        )

    async def parked(self) -> list[RollbackReport]:
        """Every rollback that waits for an operator."""
        query = (
            f"WorkflowType = '{contracts.ROLLBACK_WORKFLOW}' AND ExecutionStatus = 'Running' "
            f"AND {contracts.STATUS_ATTRIBUTE} = 'parked'"
        )
        return [
            await self.query(execution.id, contracts.REPORT_QUERY, RollbackReport)
            async for execution in self.temporal.list_workflows(query)
        ]

    # -- what the parts above are made of ---------------------------------------------------------

    def workflow(self, workflow_id: str) -> "WorkflowHandle[object, MissionResult]":
        """The Temporal handle of a mission."""
        return self.temporal.get_workflow_handle(workflow_id, result_type=MissionResult)

    async def query(self, workflow_id: str, name: str, kind: type[T]) -> T:
        """Ask a workflow, running or closed."""
        handle = self.temporal.get_workflow_handle(workflow_id)
        try:
            answer: T = await handle.query(
                name, result_type=kind, rpc_timeout=timedelta(seconds=20)
            )
            return answer
        except (RPCError, WorkflowQueryFailedError) as error:
            raise self.explained(error, workflow_id) from error

    async def update(
        self, workflow_id: str, name: str, message: Record, kind: type[T], *, about: str
    ) -> T:
        """Send an update and wait for its result; a refusal is raised as our own error.

        `about` is the id that the caller named, for an error to name it too.
        """
        handle = self.temporal.get_workflow_handle(workflow_id)
        try:
            answer: T = await handle.execute_update(name, message, result_type=kind)
            return answer
        except WorkflowUpdateFailedError as error:
            raise _refusal(error) from error
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                raise errors.CardUnknown(about, "it is closed, or never was") from error
            raise self.explained(error, workflow_id) from error

    async def waiting(self, leg_workflow: str) -> LegWaiting | None:
        """What a leg waits for; None when there is no such leg, or it is over."""
        if not await self.is_running(leg_workflow, missing=False):
            return None
        return await self.query(leg_workflow, contracts.WAITING_QUERY, LegWaiting)

    async def is_running(self, workflow_id: str, *, missing: bool | None = None) -> bool:
        """Whether a workflow runs; `missing` is the answer for one that does not exist."""
        try:
            description = await self.temporal.get_workflow_handle(workflow_id).describe()
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND and missing is not None:
                return missing
            raise self.explained(error, workflow_id) from error
        return description.status is WorkflowExecutionStatus.RUNNING

    def explained(self, error: Exception, workflow_id: str) -> Exception:
        """Our own error for what the server said, where there is one."""
        status = getattr(error, "status", None)
        if status is RPCStatusCode.NOT_FOUND:
            return errors.MissionNotFound(workflow_id)
        if status is RPCStatusCode.UNAVAILABLE:
            return errors.ServerUnreachable(self.temporal.service_client.config.target_host)
        if status in (RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED):
            return errors.NoWorker(self._settings.task_queue)
        if status is RPCStatusCode.FAILED_PRECONDITION:
            return errors.NoWorker(self._settings.task_queue)
        return error

    async def _waiting(self, status: LegStatus) -> AsyncIterator[LegWaiting]:
        query = (
            f"WorkflowType = '{contracts.LEG_WORKFLOW}' AND ExecutionStatus = 'Running' "
            f"AND {contracts.STATUS_ATTRIBUTE} = '{status.value}'"
        )
        async for execution in self.temporal.list_workflows(query):
            waiting = await self.waiting(execution.id)
            if waiting is not None:
                yield waiting

    async def _settled(self, mission_id: str) -> RollbackReport:
        """The report once everything was tried; polled, for a parked rollback stays open."""
        while True:
            report = await self.rollback_report(mission_id)
            running = await self.is_running(contracts.rollback_workflow_id(mission_id))
            if report.settled or not running:
                return report
            await asyncio.sleep(0.3)

    def _without_personal(self, inputs: JsonObject) -> JsonObject:
        """The inputs with personal fields moved to the vault: only their handles enter history."""
        if not inputs:
            return inputs
        catalog = Catalog.load(*self._settings.specs, overlays=self._settings.overlays)
        personal = {name for tool in catalog.tools.values() for name in tool.pii_fields}
        vault = FilePiiVault(self._settings.state_dir / "pii")
        kept = dict(inputs)
        for name in personal & set(inputs):
            if not is_handle(inputs[name]):
                vault.put(name, str(inputs[name]))
                kept[name] = handle_for(name)
        return kept

    async def _await_poller(self) -> None:
        """Wait a few seconds for a worker: one that has just started is not known at once."""
        deadline = asyncio.get_running_loop().time() + _POLLER_PATIENCE_S
        while not await self._has_poller():
            if asyncio.get_running_loop().time() > deadline:
                raise errors.NoWorker(self._settings.task_queue)
            await asyncio.sleep(0.1)

    async def _has_poller(self) -> bool:
        try:
            answer = await self.temporal.workflow_service.describe_task_queue(
                DescribeTaskQueueRequest(
                    namespace=self.temporal.namespace,
                    task_queue=TaskQueue(name=self._settings.task_queue),
                    task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
                )
            )
        except RPCError as error:
            raise self.explained(error, "") from error
        newest = [p.last_access_time.ToDatetime(tzinfo=UTC) for p in answer.pollers]
        return any(datetime.now(UTC) - seen < _POLLER_GONE for seen in newest)

    async def _await_pick_up(self, handle: "WorkflowHandle[object, object]") -> None:
        """Wait until a worker has begun with it: the server remembers dead pollers for minutes."""
        waited = 0.0
        while waited < _PICK_UP_S:
            async for event in handle.fetch_history_events():
                if event.HasField("workflow_task_started_event_attributes"):
                    return
            await asyncio.sleep(0.1)
            waited += 0.1
        raise errors.NoWorker(self._settings.task_queue)


def leg_of(confirmation_id: str) -> str:
    """The workflow id of the leg that a confirmation or a question belongs to.

    Raises:
        CardUnknown: the id is not made like one.
    """
    leg = contracts.leg_of_confirmation(confirmation_id)
    if not leg:
        raise errors.CardUnknown(confirmation_id, "this is no id of a confirmation or a question")
    return leg


def new_mission_id(goal: str) -> str:
    """A readable id: the goal's first words and something random."""
    words = re.findall(r"[a-z0-9]+", goal.lower())[:4]
    return "-".join([*words, secrets.token_hex(3)])[:80]


async def connect_temporal(address: str | None = None) -> Client:
    """A Temporal client from the SDK's environment configuration, or for this address.

    Raises:
        ServerUnreachable: nothing answers at the address.
    """
    config = ClientConfig.load_client_connect_config()
    config["target_host"] = address or config.get("target_host") or "localhost:7233"
    try:
        return await Client.connect(**config, data_converter=pydantic_data_converter)
    except RuntimeError as error:
        raise errors.ServerUnreachable(config["target_host"]) from error


_REFUSALS: dict[str, Callable[[str, str], errors.OrchestratorError]] = {
    "CardUnknown": errors.CardUnknown,
    "CardDecided": errors.CardDecided,
    "CardExpired": errors.CardExpired,
    "DigestMismatch": errors.DigestMismatch,
}


def _refusal(error: WorkflowUpdateFailedError) -> errors.OrchestratorError:
    """The refusal of an update as our own error, of the same kind as the workflow raised."""
    cause = error.cause
    if not isinstance(cause, ApplicationError):
        return errors.UsageError(str(cause))
    made = _REFUSALS.get(cause.type or "")
    if made is None:
        return errors.UsageError(cause.message)
    confirmation_id, _, message = cause.message.partition(": ")
    return made(confirmation_id, message)
