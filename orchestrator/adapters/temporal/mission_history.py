"""Read the ledger of a mission from the raw history of its runs, however the mission ended.

All runs of the mission count: those that continued as new, those that a reset abandoned, and the
newest. A call that was scheduled may have been sent; only its result says more.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowExecutionDescription, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.adapters.temporal import raw_history
from orchestrator.adapters.temporal.rollbacks import described
from orchestrator.adapters.temporal.search_attributes import STATUS
from orchestrator.core.record import Record
from orchestrator.messages import names
from orchestrator.messages.failure_details import MissingState
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.observed import ObservedCall
from orchestrator.messages.rollback import CompensateInput
from orchestrator.messages.tool_call import RecordedCall
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import IllegalTransition, Obligation
from orchestrator.saga.outcome import CompensationFailure, CompensationOutcome, ToolOutcome

_MOST_NOTES: Final = 20


class LedgerRead(NamedTuple):
    """The ledger of a mission, and notes on the entries skipped because they belong to another."""

    ledger: Ledger = Ledger()
    notes: tuple[str, ...] = ()


async def described_mission(client: Client, mission_id: str) -> WorkflowExecutionDescription | None:
    """Return the newest run of a mission; None if the server has no mission of that id."""
    found = await described(client.get_workflow_handle(mission_id))
    return found if found is not None and found.workflow_type == names.MISSION_WORKFLOW else None


async def described_owner(
    client: Client, mission_id: str, workflow_id: str
) -> WorkflowExecutionDescription | None:
    """Return the newest run of the workflow that owns a saga; None if gone or not the owner."""
    found = await described(client.get_workflow_handle(workflow_id)) if workflow_id else None
    if found is None:
        return None
    return found if names.is_saga_of(mission_id, workflow_id, first_run_of(found)) else None


def first_run_of(found: WorkflowExecutionDescription) -> str:
    """Return the id of the first run of a workflow, which new runs and resets retain."""
    return found.raw_description.workflow_execution_info.first_run_id or found.run_id


def waits_for_rollback(mission: WorkflowExecutionDescription) -> bool:
    """Return True if a mission is still open only because its rollback has not settled."""
    status = mission.typed_search_attributes.get(STATUS)
    running = mission.status is WorkflowExecutionStatus.RUNNING
    return running and status == MissionStatus.ROLLING_BACK


async def read_ledger(client: Client, mission_id: str) -> LedgerRead:
    """Return the ledger that a mission's runs have written so far.

    If several missions had this id one after the other, the newest is read.
    """
    newest = await described_mission(client, mission_id)
    query = f"WorkflowId = '{mission_id}' AND WorkflowType = '{names.MISSION_WORKFLOW}'"
    try:
        listed = [run async for run in client.list_workflows(query)]
    except RPCError as error:
        if error.status is not RPCStatusCode.UNIMPLEMENTED:
            raise
        listed = []  # a test server: each run links the previous and the next one
    # The newest run may not be listed yet, and a run that a reset abandoned is linked from no
    # other.
    listed.sort(key=lambda run: run.start_time, reverse=True)
    known = [] if newest is None else [newest.run_id]
    runs = [*known, *(run.run_id for run in listed if run.run_id not in known)]
    read: dict[str, RunLedger] = {}
    first_run = ""
    while runs:
        run_id = runs.pop(0)
        if run_id in read:
            continue
        run = RunLedger(client, mission_id, run_id)
        async for event in raw_history.run_events(client, mission_id, run_id):
            await run.add(event)
            if run.is_of_another(first_run):
                break
        read[run_id] = run
        if not run.is_of_another(first_run):
            first_run = first_run or run.first_run
            runs += run.related
    own = [run for run in read.values() if not run.is_of_another(first_run)]
    notes = tuple(dict.fromkeys(note for run in own for note in run.notes))[:_MOST_NOTES]
    return LedgerRead(Ledger.united(run.ledger for run in reversed(own)), notes)


async def read_newest_branch(client: Client, mission: WorkflowExecutionDescription) -> Ledger:
    """Return the ledger of a mission's newest run, without the branches that resets abandoned.

    A run that continued another one carries that one's ledger.
    """
    run = RunLedger(client, mission.id, mission.run_id)
    async for event in raw_history.run_events(client, mission.id, mission.run_id):
        await run.add(event)
    return run.ledger


def own_part(ledger: Ledger, mission_id: str) -> LedgerRead:
    """Return a ledger without the entries of other missions, and notes on those entries."""
    mine = {c.call_id: names.mission_of(c.call_id) == mission_id for c in ledger.cancels}
    for o in ledger.obligations:
        of_id = names.mission_of(o.obligation_id)
        mine[o.obligation_id] = of_id == o.mission_id == mission_id
    own = Ledger(
        obligations=tuple(o for o in ledger.obligations if mine[o.obligation_id]),
        cancels=tuple(c for c in ledger.cancels if mine[c.call_id]),
    )
    notes = (
        f"{known} was passed over: it is not of {mission_id}"
        for known, is_own in mine.items()
        if not is_own
    )
    return LedgerRead(own, tuple(notes))


class _WithLedger(Record):
    ledger: Ledger = Ledger()


class _Leg(Record):
    state: _WithLedger = _WithLedger()


class _Carried(Record):
    legs: tuple[_Leg, ...] = ()
    results: tuple[_WithLedger, ...] = ()

    def ledgers(self) -> list[Ledger]:
        """Return the ledgers of the legs that have ended and of those under way."""
        return [*(one.ledger for one in self.results), *(leg.state.ledger for leg in self.legs)]


class _Given(Record):
    """The fields of a mission's input that are read here."""

    carried: _Carried | None = None


class RunLedger:
    """The ledger of one run, built event by event."""

    def __init__(self, client: Client, mission_id: str, run_id: str) -> None:
        self._client = client
        self._mission_id = mission_id
        self._run_id = run_id
        self._calls: dict[int, RecordedCall] = {}
        self._compensations: dict[int, Obligation] = {}
        self._observed: set[int] = set()
        self.ledger = Ledger()
        self.notes: list[str] = []
        self.first_run = ""
        """The first run of the chain that this run belongs to."""
        self.related: list[str] = []
        """Runs before and after this one, and the runs that it was reset from."""

    def is_of_another(self, first_run: str) -> bool:
        """True if this run belongs to another mission, which had the same id."""
        return bool(first_run) and self.first_run not in ("", first_run)

    async def add(self, event: HistoryEvent) -> None:
        """Process the next event."""
        match event.event_type:
            case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
                started = event.workflow_execution_started_event_attributes
                self.first_run = started.first_execution_run_id or self._run_id
                self._relate(started.continued_execution_run_id)
                given = None
                if started.continued_execution_run_id:
                    # Any client could start one with a ledger; only a server continues one.
                    payloads = started.input.payloads
                    given = await raw_history.decoded(self._client, payloads, _Given)
                carried = given.carried if given is not None else None
                for ledger in carried.ledgers() if carried is not None else ():
                    read = own_part(ledger, self._mission_id)
                    self.ledger = Ledger.merged([self.ledger, read.ledger])
                    self.notes += read.notes
            case EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
                scheduled = event.activity_task_scheduled_event_attributes
                payloads = scheduled.input.payloads
                if scheduled.activity_type.name == names.INVOKE_TOOL:
                    call = await raw_history.decoded(self._client, payloads, RecordedCall)
                    if call is not None and (call.obligation or call.cancels):
                        self._send(event.event_id, call)
                elif scheduled.activity_type.name == names.OBSERVE_CALL:
                    self._observed.add(event.event_id)
                elif scheduled.activity_type.name == names.COMPENSATE:
                    wanted = await raw_history.decoded(self._client, payloads, CompensateInput)
                    made = wanted.obligation if wanted is not None else None
                    if made is not None and self._is_own(Ledger(obligations=(made,))):
                        self._compensations[event.event_id] = made
                        sent = made.model_copy(update={"cancel_sent": True})
                        self.ledger = self.ledger.written(sent)
            case EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
                await self._complete(event)
            case EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED:
                failed = event.workflow_task_failed_event_attributes
                reset = WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW
                if failed.cause == reset:
                    self._relate(failed.base_run_id)
            case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
                continued = event.workflow_execution_continued_as_new_event_attributes
                self._relate(continued.new_execution_run_id)
            case _:
                if (failed_activity := raw_history.failure_of(event)) is not None:
                    await self._fail(event, *failed_activity)

    def _relate(self, run_id: str) -> None:
        if run_id and run_id != self._run_id:
            self.related.append(run_id)

    def _is_own(self, written: Ledger) -> bool:
        read = own_part(written, self._mission_id)
        self.notes += read.notes
        return read.ledger == written

    def _send(self, event_id: int, call: RecordedCall) -> None:
        written = Ledger().sending(call.obligation, call.cancels)
        if not self._is_own(written):
            return
        ids = {o.obligation_id for o in written.obligations}
        if ids | {c.call_id for c in written.cancels} != {call.call_id}:
            self.notes.append(f"{call.call_id} was passed over: it names another call")
            return
        self._calls[event_id] = call
        self.ledger = self.ledger.sending(call.obligation, call.cancels)

    async def _complete(self, event: HistoryEvent) -> None:
        completed = event.activity_task_completed_event_attributes
        payloads, at = completed.result.payloads, raw_history.time_of(event)
        if completed.scheduled_event_id in self._observed:
            made = await raw_history.decoded(self._client, payloads, ObservedCall)
            entered = Ledger() if made is None else made.entered(Ledger(), at=at)
            if made is not None and self._is_own(entered):
                self.ledger = made.entered(self.ledger, at=at)
            return
        if (call := self._calls.pop(completed.scheduled_event_id, None)) is not None:
            outcome = await raw_history.decoded(self._client, payloads, ToolOutcome)
            if outcome is not None:
                self._answer(call, outcome, at=outcome.answered_at or at)
            return
        compensated = self._compensations.pop(completed.scheduled_event_id, None)
        if compensated is not None:
            result = await raw_history.decoded(self._client, payloads, CompensationOutcome)
            if result is not None and result.state != "parked":
                self.ledger = self.ledger.written(compensated.compensated(result, at=at))

    def _answer(self, call: RecordedCall, outcome: ToolOutcome, *, at: datetime) -> None:
        outcome = self.ledger.doubted(call.obligation, outcome)
        try:
            self.ledger = self.ledger.answered(
                call.obligation, call.cancels, outcome, at=at, limit=call.limit
            )
        except IllegalTransition as error:  # settled before this answer arrived
            self.notes.append(str(error))

    async def _fail(self, event: HistoryEvent, scheduled: int, failure: Failure) -> None:
        """Record that an activity did not complete: its effect may still have happened."""
        details = await raw_history.failure_details(self._client, failure)
        missing = MissingState.found_in(details)
        if (call := self._calls.pop(scheduled, None)) is not None:
            if missing is not None and missing.nothing_sent and not call.may_have_arrived:
                held = ToolOutcome(kind="rejected", reason=f"not sent: {failure.message}")
                self._answer(call, held, at=raw_history.time_of(event))
            return
        if (obligation := self._compensations.pop(scheduled, None)) is not None:
            self.ledger = self.ledger.written(compensation_failed(obligation, details, missing))


def compensation_failed(
    obligation: Obligation, details: Sequence[object], missing: MissingState | None
) -> Obligation:
    """Return an obligation after an attempt to cancel it that settled nothing.

    If the attempt left no details, its cancel may have been carried out.
    """
    if missing is not None:
        failure = CompensationFailure(reason=missing.error_type, arrived=not missing.nothing_sent)
    elif details and isinstance(details[0], dict) and "reason" in details[0]:
        failure = CompensationFailure.model_validate(details[0])
    else:
        failure = CompensationFailure(reason=obligation.note)
    return obligation.compensation_failed(failure)
