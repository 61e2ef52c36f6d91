"""Read the report of a rollback from the raw history of one of its runs.

The rollback writes its report into its history itself: in the signal that it sends to its mission
once it has settled, in the answers to its operators, and in its result. No other process can.
"""

from temporalio.api.enums.v1 import EventType
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowExecutionDescription

from orchestrator.adapters.temporal import raw_history
from orchestrator.adapters.temporal.mission_history import compensation_failed
from orchestrator.adapters.temporal.rollbacks import begun_rollback
from orchestrator.messages import names
from orchestrator.messages.failure_details import MissingState
from orchestrator.messages.rollback import (
    CollectLedgerOutput,
    CompensateInput,
    ReadRollbackOutput,
    RollbackInput,
    RollbackReport,
)
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import Obligation
from orchestrator.saga.outcome import CompensationOutcome


async def read_begun_rollback(client: Client, mission_id: str) -> ReadRollbackOutput:
    """Return the report of a mission's rollback, if the rollback has tried every cancel."""
    run = await begun_rollback(client, mission_id)
    if run is None:
        return ReadRollbackOutput(refused=True)
    report, _ = await read_rollback(client, run)
    return ReadRollbackOutput(settled=report if report and report.settled else None)


async def read_rollback(
    client: Client, run: WorkflowExecutionDescription
) -> tuple[RollbackReport | None, RollbackInput | None]:
    """Return the report of a rollback's run so far, and the input that the run started with.

    The report is None until the run has collected a ledger.
    """
    history = _RunReport(client, names.mission_of(run.id))
    async for event in raw_history.run_events(client, run.id, run.run_id):
        await history.add(event)
    report = history.report
    if report is None:
        return None, history.given
    # Only the memo shows the obligations parked since the last report. Any starter of a workflow
    # can set a memo, so only entries that the ledger holds are read from it.
    shown = await run.memo_value(names.PARKED_MEMO, None, type_hint=RollbackReport)
    if shown is not None:
        held = {o.obligation_id: (o.tool, o.arguments) for o in report.ledger.live()}
        parked = [o for o in shown.parked if held.get(o.obligation_id) == (o.tool, o.arguments)]
        report = report.model_copy(update={"ledger": report.ledger.written(*parked)})
    return report, history.given


class _RunReport:
    """The report of one run, built event by event."""

    def __init__(self, client: Client, mission_id: str) -> None:
        self._client = client
        self._mission_id = mission_id
        self._collecting: set[int] = set()
        self._compensations: dict[int, Obligation] = {}
        self.given: RollbackInput | None = None
        self.report: RollbackReport | None = None

    async def add(self, event: HistoryEvent) -> None:
        """Process the next event."""
        match event.event_type:
            case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
                started = event.workflow_execution_started_event_attributes
                payloads = started.input.payloads
                self.given = await raw_history.decoded(self._client, payloads, RollbackInput)
            case EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
                scheduled = event.activity_task_scheduled_event_attributes
                if scheduled.activity_type.name == names.COLLECT_LEDGER:
                    self._collecting.add(event.event_id)
                elif scheduled.activity_type.name == names.COMPENSATE:
                    payloads = scheduled.input.payloads
                    wanted = await raw_history.decoded(self._client, payloads, CompensateInput)
                    if wanted is not None:
                        self._compensations[event.event_id] = wanted.obligation
                        self._write(wanted.obligation.model_copy(update={"cancel_sent": True}))
            case EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
                await self._complete(event)
            case EventType.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED:
                signal = event.signal_external_workflow_execution_initiated_event_attributes
                if signal.signal_name == names.ROLLBACK_SETTLED_SIGNAL:
                    await self._replace(signal.input.payloads)
            case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED:
                updated = event.workflow_execution_update_completed_event_attributes
                await self._replace(updated.outcome.success.payloads)
            case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
                completed = event.workflow_execution_completed_event_attributes
                await self._replace(completed.result.payloads)
            case _:
                if (failed := raw_history.failure_of(event)) is not None:
                    await self._fail(*failed)

    async def _replace(self, payloads: raw_history.Payloads) -> None:
        report = await raw_history.decoded(self._client, payloads, RollbackReport)
        self.report = report or self.report

    async def _complete(self, event: HistoryEvent) -> None:
        completed = event.activity_task_completed_event_attributes
        scheduled, payloads = completed.scheduled_event_id, completed.result.payloads
        if scheduled in self._collecting:
            collected = await raw_history.decoded(self._client, payloads, CollectLedgerOutput)
            if collected is not None and self.given is not None:
                order = self.given.order
                self.report = RollbackReport(
                    mission_id=self._mission_id,
                    took_over=self.given.take_over,
                    order=order,
                    ledger=collected.ledger.ordered_back(order),
                    notes=collected.notes,
                )
            return
        obligation = self._compensations.pop(scheduled, None)
        if obligation is None:
            return
        outcome = await raw_history.decoded(self._client, payloads, CompensationOutcome)
        if outcome is not None:
            self._write(obligation.compensated(outcome, at=raw_history.time_of(event)))

    async def _fail(self, scheduled: int, failure: Failure) -> None:
        obligation = self._compensations.pop(scheduled, None)
        if obligation is not None:
            details = await raw_history.failure_details(self._client, failure)
            missing = MissingState.found_in(details)
            self._write(compensation_failed(obligation, details, missing))

    def _write(self, obligation: Obligation) -> None:
        if self.report is not None:
            ledger: Ledger = self.report.ledger.written(obligation)
            self.report = self.report.model_copy(update={"ledger": ledger})
