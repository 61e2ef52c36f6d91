"""Chaos runs of a user's own workflow: how it is started, its sagas, and their accounts."""

import asyncio
import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.exceptions import FailureError
from temporalio.service import RPCError

from orchestrator.chaos.conductor import Approver, Missions
from orchestrator.chaos.histories import end_tasks, rollback_seconds, whole_history
from orchestrator.chaos.scenarios.chaos_faults import ChaosFault
from orchestrator.chaos.scenarios.plan import LIMITS, MissionScript
from orchestrator.chaos.user_code import UserWorkflow
from orchestrator.chaos.verdicts.invariants import Account
from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_state import find_report
from orchestrator.client.stores import store_of
from orchestrator.core.errors import MissionNotFound, UsageError
from orchestrator.messages import names
from orchestrator.messages.mission import MissionRequest
from orchestrator.messages.rollback import RollbackReport
from orchestrator.runtime.devserver import Stack
from orchestrator.sandbox import SandboxClient

NOT_FOR_WORKFLOWS: Final = frozenset({ChaosFault.RESTORE_SERVER, ChaosFault.MODEL})
"""A restored server starts a workflow under another run, whose sagas have other ids."""
POLICY: Final = LIMITS.model_copy(update={"confirmation_expiry": timedelta(seconds=20)})
"""Of the workers; a saga's own policy may tighten it."""
_BEFORE_IT_RUNS: Final = timedelta(seconds=3)
"""Time between the start and the first task, in which the faults of its sagas are planned."""
_LOOK_S: Final = 2.0
_NOT_SERVED: Final = "NotFoundError"
"""The type with which the SDK's workers fail an activity that they do not have."""
_COMPLETED: Final = WorkflowExecutionStatus.COMPLETED


class UserWorkflows(Missions):
    """The runs of a user's workflow; each of its sagas gives an account of its own."""

    def __init__(
        self,
        client: MissionClient,
        sandbox: SandboxClient,
        *,
        workflow: UserWorkflow,
        stack: Stack,
    ) -> None:
        """Create the runs of a workflow on a stack whose workers serve it."""
        super().__init__(client, sandbox)
        self._workflow = workflow
        self._store = store_of(stack.settings)
        self._first_runs: dict[str, str] = {}
        self._scripts: dict[str, MissionScript] = {}
        self._sagas: dict[str, tuple[str, ...]] = {}
        self._names: tuple[str, ...] = ()

    def approver(self, scripts: Iterable[MissionScript]) -> Approver:
        """Return a person who decides on the cards of every run."""
        return Approver(self.client, scripts, find=self.script_of)

    async def run_pilot(self, pilot: MissionScript) -> list[Account]:
        """Run it once, the first time without faults, to learn the names of its sagas.

        Raises:
            UsageError: the workflow fails by itself, asks a question, or calls no tool.
        """
        target = self._workflow.target
        run = asyncio.create_task(super().run_pilot(pilot))
        obstacle = asyncio.create_task(self._obstacle(pilot.mission_id))
        await asyncio.wait({run, obstacle}, return_when=asyncio.FIRST_COMPLETED)
        if not run.done():
            await end_tasks([run])
            raise UsageError(f"without faults, {target} {obstacle.result()}")
        await end_tasks([obstacle])
        accounts = run.result()
        if self._names:
            return accounts
        broken = next((one for one in accounts if one.status != "succeeded"), None)
        if broken is not None:
            raise UsageError(
                f"without faults, {target} {broken.status.replace('_', ' ')}: "
                f"{broken.error or 'see the logs of its worker'}; it has to succeed with this input"
            )
        sagas = [one.mission_id for one in accounts if one.mission_id != pilot.mission_id]
        if not sagas:
            raise UsageError(
                f"{target} calls no tool through a ToolSaga with this input, so no fault could "
                "strike it"
            )
        self._names = tuple(dict.fromkeys(saga.rpartition("-")[0] for saga in sagas))
        return accounts

    async def _obstacle(self, workflow_id: str) -> str:
        """Return why a run does not go on: a question, or something that its workers lack."""
        while True:
            if asked := (await self.client.waiting()).questions:
                return f"waits for an answer: {asked[0].question}"
            with suppress(MissionNotFound):  # it is being started
                found = await self.client.connection.describe(workflow_id)
                if (why := await self.client.connection.stuck(found)) is not None:
                    return f"fails its tasks: {why}"
                for one in found.raw_description.pending_activities:
                    if one.last_failure.application_failure_info.type == _NOT_SERVED:
                        return (
                            f"waits for its activity {one.activity_type.name}, which these workers "
                            "have not: name it with --activity module:function"
                        )
            await asyncio.sleep(_LOOK_S)

    def script_of(self, mission_id: str) -> MissionScript | None:
        """Return the script of the workflow to which a saga belongs."""
        for workflow_id, first_run in self._first_runs.items():
            if names.is_saga_of(mission_id, workflow_id, first_run):
                return self._scripts[workflow_id]
        return None

    async def start(self, script: MissionScript) -> None:
        """Start the workflow, and plan the faults of its sagas before its first task."""
        if script.mission_id in self._first_runs:
            return
        handle = await self.client.temporal.start_workflow(
            self._workflow.name,
            args=self._workflow.arguments,
            id=script.mission_id,
            task_queue=self.client.connection.task_queue,
            start_delay=_BEFORE_IT_RUNS,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        )
        first_run = handle.first_execution_run_id or (await handle.describe()).run_id
        self._scripts[script.mission_id] = script
        self._first_runs[script.mission_id] = first_run
        ids = [names.saga_id(name, script.mission_id, first_run) for name in self._names]
        rules = [
            rule.model_copy(update={"request_prefix": f"{saga}."})
            for saga in ids
            for rule in script.rules
        ]
        if rules:
            await self.sandbox.add_faults(rules)

    async def cancel(self, script: MissionScript) -> None:
        """Request the cancellation of a workflow."""
        await self.client.temporal.get_workflow_handle(script.mission_id).cancel()

    async def ids(self, script: MissionScript) -> Sequence[str]:
        """Return the ids of its sagas: of known names, and those that sent a request."""
        first_run = self._first_runs.get(script.mission_id, "")
        known = self._sagas.get(script.mission_id)
        if known is not None or not first_run:
            return known or ()
        found = {names.saga_id(one, script.mission_id, first_run): None for one in self._names}
        if await self.status(script.mission_id) is WorkflowExecutionStatus.RUNNING:
            return tuple(found)
        for request in await self.sandbox.requests():
            saga = names.mission_of(str(request["request_id"] or ""))
            if names.is_saga_of(saga, script.mission_id, first_run):
                found[saga] = None
        self._sagas[script.mission_id] = tuple(found)
        return tuple(found)

    async def leaves_work(self, script: MissionScript, mission_id: str) -> bool:
        """Return True if the store has a live obligation that nobody has concluded."""
        return bool((await asyncio.to_thread(self._store.grants.ledger, mission_id)).live())

    async def accounts(self, script: MissionScript) -> list[Account]:
        """Return the account of each saga; of the workflow, if it made no call."""
        ended = await self.status(script.mission_id)
        status = "" if ended is None else ended.name.lower()
        error = None
        if ended not in (None, WorkflowExecutionStatus.RUNNING):
            handle = self.client.temporal.get_workflow_handle(script.mission_id)
            try:
                with suppress(RPCError):
                    await handle.result()
            except WorkflowFailureError as failure:
                cause: BaseException = failure.cause
                while isinstance(cause, FailureError) and cause.cause is not None:
                    cause = cause.cause
                error = str(cause)
        ids = await self.ids(script)
        sagas = [await self._account(script, saga, status, error) for saga in ids]
        if found := [one for one in sagas if one.ledger.obligations or len(sagas) == 1]:
            return found
        status = "succeeded" if ended is _COMPLETED else status
        own = Account(
            index=script.index,
            mission_id=script.mission_id,
            goal=script.goal,
            status=status,
            error=error,
        )
        return [own]

    async def _account(
        self, script: MissionScript, saga: str, ended: str, error: str | None
    ) -> Account:
        grants = self._store.grants
        whole = await asyncio.to_thread(grants.ledger, saga, concluded=True)
        is_open = bool((await asyncio.to_thread(grants.ledger, saga)).live())
        rollback_id = names.rollback_workflow_id(saga)
        report = await find_report(self.client.connection, saga)
        is_own = report is not None
        if report is None and await self.status(rollback_id) is _COMPLETED:
            # The rollback is of an abandoned branch only.
            temporal = self.client.temporal
            handle = temporal.get_workflow_handle(rollback_id, result_type=RollbackReport)
            report = await handle.result()
        status = ended
        if is_own:
            status = "rolled_back"
        elif ended == "completed" or (whole.obligations and not is_open):
            status = "succeeded"
        rolled_back = await self.showings(rollback_id) if report else []
        ledger = whole if report is None else whole.written(*report.ledger.obligations)
        prompts = 0
        if is_own and rolled_back:
            history = await whole_history(self.client.temporal, script.mission_id)
            prompts = cards_after(history.events, saga, rolled_back[0].at)
        return Account(
            index=script.index,
            mission_id=saga,
            goal=script.goal,
            status=status,
            error=error,
            ledger=ledger,
            catalog=next((o.catalog_digest for o in ledger.obligations), ""),
            prompts_during_rollback=prompts,
            rollback_s=rollback_seconds(rolled_back),
        )


def missions_of(
    client: MissionClient,
    sandbox: SandboxClient,
    workflow: UserWorkflow | None,
    stack: Stack,
    written: MissionRequest | None = None,
) -> Missions:
    """Return the runs of a user's workflow on a stack; the stack's missions without one."""
    if workflow is None:
        return Missions(client, sandbox, written)
    return UserWorkflows(client, sandbox, workflow=workflow, stack=stack)


def cards_after(events: Sequence[HistoryEvent], saga: str, began: datetime) -> int:
    """Return the number of cards of a saga that opened after its rollback began."""
    seen: set[str] = set()
    late = 0
    for event in events:
        cards = set()
        memo = event.workflow_properties_modified_event_attributes.upserted_memo.fields
        for name, payload in memo.items():
            if name.startswith(f"{names.WAITS_MEMO}{saga}.") and payload.data:
                shown = json.loads(payload.data)
                if isinstance(shown, dict) and isinstance(card := shown.get("card"), dict):
                    cards.add(str(card["confirmation_id"]))
        late += len(cards - seen) if event.event_time.ToDatetime(began.tzinfo) > began else 0
        seen |= cards
    return late
