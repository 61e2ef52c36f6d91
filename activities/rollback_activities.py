"""Roll back missions: read their ledgers, cancel obligations, and find missions that need it."""

import asyncio
import base64
import contextlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from temporalio import activity
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client, WorkflowExecutionDescription, WorkflowExecutionStatus
from temporalio.exceptions import ApplicationError

from orchestrator.activities.authority import check_compensation
from orchestrator.activities.boundary import (
    ServerTime,
    catalog_of,
    from_store,
    heartbeats,
    missing_state_error,
    spread_wait,
    store_deadline,
    translated_errors,
)
from orchestrator.activities.fair_slots import FairSlots, provider_of
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.storage.protocols import CatalogStore, GrantBook
from orchestrator.adapters.temporal.mission_history import (
    LedgerRead,
    described_mission,
    described_owner,
    first_run_of,
    own_part,
    read_ledger,
    read_newest_branch,
    waits_for_rollback,
)
from orchestrator.adapters.temporal.rollback_history import read_begun_rollback, read_rollback
from orchestrator.adapters.temporal.rollbacks import (
    BROKEN_OFF,
    describe_rollback,
    described,
    failure_types,
    is_of_mission,
    start_rollback,
    was_refused,
)
from orchestrator.adapters.temporal.search_attributes import MODE
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import OrchestratorError, StateMissing, TransportFailed
from orchestrator.messages import names
from orchestrator.messages.observed import OBSERVED, SEARCHED_AS
from orchestrator.messages.rollback import (
    CollectLedgerInput,
    CollectLedgerOutput,
    CompensateInput,
    ConcludeInput,
    FindStrandedInput,
    FindStrandedOutput,
    MissionRef,
    ReadRollbackOutput,
    Recovery,
)
from orchestrator.saga.cancel_arguments import tool_of
from orchestrator.saga.compensation import CompensationCall, Settled, compensation
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import Obligation
from orchestrator.saga.outcome import CompensationFailure, CompensationOutcome, ToolOutcome


class RollbackActivities:
    """Reads ledgers and calls cancel tools at providers."""

    def __init__(
        self,
        catalogs: CatalogStore,
        tools: ToolClient,
        client: Client,
        grants: GrantBook,
        *,
        serves_sagas: bool = False,
        slots: FairSlots | None = None,
    ) -> None:
        self._slots = slots or FairSlots()
        self._serves_sagas = serves_sagas
        self._catalogs = catalogs
        self._tools = tools
        self._client = client
        self._grants = grants

    @activity.defn(name=names.COLLECT_LEDGER)
    async def collect_ledger(self, wanted: CollectLedgerInput) -> CollectLedgerOutput:
        """Return every obligation that a mission may have left, as its last rollback left them.

        A mission that asks for its rollback passes its ledger; otherwise raw history is read, if
        the mission is over or waits for its rollback. Additional entries in this worker's store
        always count: calls of a branch that a reset abandoned, or of a mission that was deleted.

        Raises:
            ApplicationError: non-retryable MissionStillRuns if the mission is running and did not
                ask for the rollback, and MissionUnknown if there is no such mission.
        """
        async with heartbeats():
            with translated_errors():
                read = await self._read_ledger(wanted)
                taken_over = await self._taken_over(wanted)
                ledger = Ledger.united([read.ledger, taken_over])
                is_empty = not (ledger.obligations or read.notes)
                if is_empty and await described_mission(self._client, wanted.mission_id) is None:
                    # A later mission may get its id.
                    raise OrchestratorError(
                        f"there is no mission {wanted.mission_id!r}: nothing can be rolled back",
                        code="MissionUnknown",
                    )
                if names.may_be_saga(wanted.mission_id):
                    await asyncio.to_thread(self._pin_catalogs, wanted.mission_id, ledger)
            return CollectLedgerOutput(ledger=ledger, notes=read.notes)

    def _pin_catalogs(self, saga_id: str, ledger: Ledger) -> None:
        """Store a rollback's catalogs: the saga's workflow may be deleted before the rollback ends.

        The workflow had pinned the catalogs under its own id, which does not lead to the rollback.
        """
        for digest in dict.fromkeys(one.catalog_digest for one in ledger.live()):
            with contextlib.suppress(StateMissing):  # the first cancel waits visibly for the state
                self._catalogs.put(self._catalogs.get(digest), mission_id=saga_id)

    async def _read_ledger(self, wanted: CollectLedgerInput) -> LedgerRead:
        """Return what a mission left: from the mission itself, or its history, and the store.

        Raises:
            OrchestratorError: the mission is running and did not start this rollback.
        """
        mission_id, asked = wanted.mission_id, False
        if await self._is_asked_by_mission(mission_id, activity.info().workflow_run_id):
            asked = wanted.ledger is not None
        elif wanted.abandoned and (mission := await self._in_good_order(mission_id)) is not None:
            return LedgerRead(await abandoned_calls(self._client, self._grants, mission))
        elif await self._still_runs(wanted):
            raise OrchestratorError(
                f"mission {mission_id} still runs; cancel it and it rolls back by "
                f"itself: orchestrator mission cancel {mission_id}",
                code="MissionStillRuns",
            )
        if asked and wanted.ledger is not None:
            read = own_part(wanted.ledger, mission_id)
        else:
            read = await read_ledger(self._client, mission_id)
        if asked and wanted.abandoned:
            return read
        noted = await asyncio.to_thread(self._grants.ledger, mission_id)
        is_of_saga = names.may_be_saga(mission_id)
        before = Ledger()
        if not (wanted.abandoned and is_of_saga):  # what a saga has concluded stands
            # Effects in a branch that ended well before a reset.
            described = await described_mission(self._client, mission_id)
            origin = first_run_of(described) if described is not None else ""
            before = await asyncio.to_thread(noted_of, self._grants, mission_id, origin)
        return LedgerRead(Ledger.united([read.ledger, noted, before]), read.notes)

    async def _in_good_order(self, mission_id: str) -> WorkflowExecutionDescription | None:
        """Return a mission whose effects stand, or that runs and does not wait for its rollback."""
        mission = await described_mission(self._client, mission_id)
        if mission is None or waits_for_rollback(mission):
            return None
        if mission.status is WorkflowExecutionStatus.RUNNING:
            return mission
        return mission if await has_effects(self._client, mission) else None

    async def _is_asked_by_mission(self, mission_id: str, run_id: str | None) -> bool:
        """Return True if the server lists the rollback's run as a child of its mission or saga."""
        rollback = names.rollback_workflow_id(mission_id)
        run = await described(self._client.get_workflow_handle(rollback, run_id=run_id))
        if run is None or run.parent_id is None:
            return False
        if run.parent_id == mission_id:
            return True
        return await described_owner(self._client, mission_id, run.parent_id) is not None

    async def _still_runs(self, wanted: CollectLedgerInput) -> bool:
        """Return True if a mission or a saga is running and does not wait for its rollback."""
        mission = await described_mission(self._client, wanted.mission_id)
        if mission is not None:
            runs = mission.status is WorkflowExecutionStatus.RUNNING
            return runs and not waits_for_rollback(mission)
        noted = await asyncio.to_thread(self._grants.ledger, wanted.mission_id)
        owner = await described_owner(self._client, wanted.mission_id, noted.workflow_id)
        if owner is None or owner.status is not WorkflowExecutionStatus.RUNNING:
            return False
        before = wanted.take_over  # a run that the saga itself had started, and that was broken off
        return before is None or not await self._is_asked_by_mission(wanted.mission_id, before)

    @activity.defn(name=names.READ_ROLLBACK)
    async def read_rollback(self, wanted: MissionRef) -> ReadRollbackOutput:
        """Return the report of the mission's rollback, once that has tried everything.

        Anybody who reaches the server can send a signal. The report is read from the history of the
        workflow with the rollback's own id and type, which nobody else writes.
        """
        async with heartbeats():
            return await read_begun_rollback(self._client, wanted.mission_id)

    @activity.defn(name=names.CONCLUDE_MISSION)
    async def conclude_mission(self, wanted: ConcludeInput) -> Ledger:
        """Note that a mission ends well, so that its effects stand even if it is deleted later.

        It returns the obligations that are unknown to the mission: a branch that a reset abandoned
        left them; they stay noted and are rolled back. A mission ends even if the store fails; a
        sweep notes the end later. The end of a saga is recorded only by this note, so a failure is
        retried.
        """
        try:
            return await asyncio.to_thread(self._conclude, wanted)
        except (OSError, StateMissing) as error:
            if wanted.is_saga:
                with translated_errors():
                    raise
            activity.logger.warning("%s ends without a note of it: %s", wanted.mission_id, error)
            return Ledger()

    def _conclude(self, wanted: ConcludeInput) -> Ledger:
        noted = noted_of(self._grants, wanted.mission_id, wanted.origin).live()
        abandoned = tuple(o for o in noted if o.obligation_id not in wanted.known)
        but = tuple(obligation.key for obligation in abandoned)
        self._grants.conclude(wanted.mission_id, but=but, durable=wanted.is_saga)
        return Ledger(obligations=abandoned)

    async def _taken_over(self, wanted: CollectLedgerInput) -> Ledger:
        """Return the ledger of the run that was broken off, or of a run that it took over from."""
        rollback = names.rollback_workflow_id(wanted.mission_id)
        run_id = wanted.take_over
        while run_id is not None:
            run = await described(self._client.get_workflow_handle(rollback, run_id=run_id))
            if run is None or run.workflow_type != names.ROLLBACK_WORKFLOW:
                return Ledger()  # no run of this rollback, or one that the server has deleted
            report, given = await read_rollback(self._client, run)
            refused = await was_refused(self._client, run)
            if not refused and report is not None and report.ledger.obligations:
                return report.ledger
            run_id = given.take_over if given is not None else None
        return Ledger()

    @activity.defn(name=names.COMPENSATE)
    async def compensate(self, wanted: CompensateInput) -> CompensationOutcome:
        """Cancel one obligation; the cancel has a key, so repeating it after a crash is safe.

        Raises:
            ApplicationError: ProviderBusy with a CompensationFailure; the rollback decides how to
                continue.
        """
        obligation = wanted.obligation
        async with heartbeats():
            with translated_errors():
                ServerTime().check()
                check_compensation(obligation, serves_sagas=self._serves_sagas)
                until = store_deadline()
                catalog = await catalog_of(self._catalogs, obligation.catalog_digest, until)
                tool = tool_of(catalog, obligation)
            with translated_errors(), self._slots.taken(provider_of(tool), obligation.mission_id):
                owner = await from_store(until, self._grants.owner_of, obligation)
                settled = await self._settled(catalog, tool, obligation, owner)
        if isinstance(settled, CompensationFailure):
            raise _busy(settled)
        await self._note(obligation, settled)
        return settled

    async def _settled(
        self, catalog: Catalog, tool: Tool, obligation: Obligation, owner: str
    ) -> Settled:
        """Make the calls that cancel an obligation, each after the answer to the previous one."""
        try:  # from now on nobody sends the call again
            await from_store(store_deadline(), self._grants.note_cancel, obligation.key)
        except (OSError, StateMissing) as error:  # the cancel matters more
            activity.logger.warning(
                "%s is cancelled without a note of it: %s", obligation.obligation_id, error
            )
        now = datetime.now(UTC)
        calls = compensation(catalog, tool, obligation, owner=owner, now=now)
        asked = False
        try:
            call = next(calls)
            while True:
                answer = await self._answer(catalog, call, obligation)
                asked = True
                call = calls.send(answer)
        except StopIteration as ended:
            settled: Settled = ended.value
            return settled
        except StateMissing as error:
            raise missing_state_error(error, is_last=asked, nothing_sent=not asked) from error
        except OrchestratorError as error:
            # A credential or a contract is at fault: another attempt in a second would fail the
            # same way.
            return CompensationOutcome(state="parked", note=str(error))

    async def _note(self, obligation: Obligation, outcome: CompensationOutcome) -> None:
        """Note in the store that nothing is left of a call, so that it is not cancelled again."""
        if outcome.state == "parked":
            return
        cancelled = obligation.compensated(outcome, at=datetime.now(UTC))
        ledger = Ledger(obligations=(cancelled,))
        try:
            await from_store(store_deadline(), self._grants.settle, obligation.key, ledger)
        except (OSError, StateMissing) as error:
            activity.logger.warning(
                "%s is settled without a note of it: %s", cancelled.obligation_id, error
            )

    async def _answer(
        self, catalog: Catalog, call: CompensationCall, obligation: Obligation
    ) -> ToolOutcome:
        try:
            outcome = await self._tools.call(
                catalog,
                call.tool,
                call.arguments,
                call_id=call.call_id,
                idempotency_key=call.idempotency_key,
                timeout_s=obligation.cancel_timeout.total_seconds(),
                mission_id=obligation.mission_id,
            )
        except TransportFailed as error:
            raise _busy(call.unanswered(error)) from error
        if outcome.kind == "unknown" and not outcome.is_unproved:
            raise _busy(call.unclear(outcome))
        return outcome


def noted_of(grants: GrantBook, mission_id: str, origin: str) -> Ledger:
    """Return all obligations that the calls of one mission left, concluded or not.

    Earlier missions may have had the id; `origin` is the mission's first run, which a reset keeps.
    """
    noted = grants.ledger(mission_id, concluded=True)
    own = tuple(o for o in noted.obligations if o.workflow_id or o.origin == origin)
    return noted.model_copy(update={"obligations": own})


async def has_effects(client: Client, mission: WorkflowExecutionDescription) -> bool:
    """Return True if the effects of a mission that is over stand."""
    if mission.status is WorkflowExecutionStatus.COMPLETED:
        return True
    return names.MISSION_INCOMPLETE in await failure_types(client, mission)


async def abandoned_calls(
    client: Client, grants: GrantBook, mission: WorkflowExecutionDescription
) -> Ledger:
    """Return the live obligations in the store that the newest run of a mission does not know.

    A reset abandoned the branch that made their calls; that branch may have ended well before. Open
    calls of an earlier mission with this id count unless effects of the mission stand.
    """
    noted = await asyncio.to_thread(noted_of, grants, mission.id, first_run_of(mission))
    open_ = await asyncio.to_thread(grants.ledger, mission.id)
    if open_.live() and not await has_effects(client, mission):
        noted = Ledger.united([noted, open_])
    if not noted.live():
        return Ledger()
    branch = await read_newest_branch(client, mission)
    known = {obligation.obligation_id for obligation in branch.obligations}
    return Ledger(obligations=tuple(o for o in noted.live() if o.obligation_id not in known))


def _busy(settled: CompensationFailure) -> ApplicationError:
    failure = settled.model_copy(update={"retry_after_s": spread_wait(settled.retry_after_s)})
    # The rollback counts this attempt where it can be read; Temporal retries only for missing
    # state.
    return ApplicationError(failure.reason, failure, type=names.PROVIDER_BUSY, non_retryable=True)


_PAGE: Final = 50
_IN_STORE: Final = "store:"
"""Prefix of the token of a page of missions that the store lists."""
_STOPPED: Final = frozenset({WorkflowExecutionStatus.TERMINATED, WorkflowExecutionStatus.TIMED_OUT})
"""Statuses of missions that could not clean up after themselves."""
_UNDONE: Final = frozenset({WorkflowExecutionStatus.CANCELED, WorkflowExecutionStatus.FAILED})
"""Statuses of missions that cancel their effects before they end."""
_OWN_FAILURES: Final = frozenset({names.MISSION_FAILED, names.MISSION_INCOMPLETE})
"""Failures of missions that have concluded; any other failure is a fault of the code."""
_NAMES: Final[Mapping[WorkflowExecutionStatus, str]] = {
    WorkflowExecutionStatus.TERMINATED: "Terminated",
    WorkflowExecutionStatus.TIMED_OUT: "TimedOut",
    WorkflowExecutionStatus.FAILED: "Failed",
    WorkflowExecutionStatus.CANCELED: "Canceled",
}


class SweepActivities:
    """Searches one namespace of a server, and the store of this worker."""

    def __init__(self, client: Client, grants: GrantBook) -> None:
        self._client = client
        self._grants = grants

    @activity.defn(name=names.FIND_STRANDED)
    async def find_stranded(self, wanted: FindStrandedInput) -> FindStrandedOutput:
        """Return one page of missions to examine.

        The first pages come from a search for missions that were stopped or whose rollback did not
        complete; the last ones list missions that have calls in the store and do not run, as the
        server may have lost them.
        """
        if wanted.page_token.startswith(_IN_STORE):
            after = wanted.page_token.removeprefix(_IN_STORE)
            noted = await asyncio.to_thread(self._grants.unfinished, after=after, most=_PAGE)
            token = f"{_IN_STORE}{noted[-1]}" if len(noted) == _PAGE else ""
            missions = await asyncio.gather(*(self._described(m) for m in noted))
            running = {
                mission_id
                for mission_id, mission in zip(noted, missions, strict=True)
                if mission is not None and mission.status is WorkflowExecutionStatus.RUNNING
            }
            if running:  # the retention of one that is deleted later counts from now
                await asyncio.to_thread(self._grants.note_running, sorted(running))
            over = [mission_id for mission_id in noted if mission_id not in running]
            return FindStrandedOutput(mission_ids=tuple(over), page_token=token)
        found = self._client.list_workflows(
            stranded_query(wanted),
            page_size=_PAGE,
            next_page_token=base64.b64decode(wanted.page_token) or None,
        )
        await found.fetch_next_page()
        page = found.current_page or ()
        token = base64.b64encode(found.next_page_token or b"").decode()
        ids = dict.fromkeys(names.mission_of(execution.id) for execution in page)
        return FindStrandedOutput(mission_ids=tuple(ids), page_token=token or _IN_STORE)

    @activity.defn(name=names.RECOVER_MISSION)
    async def recover_mission(self, wanted: MissionRef) -> Recovery:
        """Start the rollback of a mission that needs one; repeating it is safe.

        Search results may be outdated: every decision uses the server's description of each
        workflow.
        """
        async with heartbeats():
            return await self._recover(wanted.mission_id)

    async def _recover(self, mission_id: str) -> Recovery:
        mission = await self._described(mission_id)
        rollback = await describe_rollback(self._client, mission_id)
        refused = rollback is not None and not await is_of_mission(
            self._client, mission_id, rollback
        )
        if rollback is not None and not refused:
            if rollback.status in BROKEN_OFF:
                return await self._start(mission_id, "its rollback was broken off", mission)
            if rollback.status is WorkflowExecutionStatus.COMPLETED:
                return await self._conclude(mission_id, "its rollback is there")
            return _nothing(mission_id, "its rollback is there")
        if mission is None:
            return await self._recover_deleted(mission_id)
        if mission.typed_search_attributes.get(MODE) == SEARCHED_AS and mission.id == mission_id:
            return _nothing(mission_id, f"it was {OBSERVED}")
        if mission.status is WorkflowExecutionStatus.RUNNING:
            if refused and waits_for_rollback(mission):
                return await self._start(mission_id, "the mission waits for its rollback", mission)
            return _nothing(mission_id, "the mission looks after itself")
        if mission.id != mission_id:
            # Roll back a saga that its workflow left without ending it or rolling it back.
            if not await self._left_anything(mission_id):
                return await self._conclude(mission_id, "it left nothing")
            status = mission.status.name.lower() if mission.status is not None else "over"
            return await self._start(mission_id, f"its workflow {mission.id} is {status}", mission)
        if (reason := await self._was_stopped(mission)) is None:
            if (await abandoned_calls(self._client, self._grants, mission)).obligations:
                stands = await has_effects(self._client, mission)
                why = "it was reset after it had called"
                return await self._start(mission_id, why, mission, abandoned=stands)
            return await self._conclude(mission_id, "the mission has looked after itself")
        if not await self._left_anything(mission_id):
            return await self._conclude(mission_id, "it left nothing")
        return await self._start(mission_id, reason, mission)

    async def _described(self, mission_id: str) -> WorkflowExecutionDescription | None:
        mission = await described_mission(self._client, mission_id)
        if mission is not None:
            return mission
        noted = await asyncio.to_thread(self._grants.ledger, mission_id)
        return await described_owner(self._client, mission_id, noted.workflow_id)

    async def _was_stopped(self, mission: WorkflowExecutionDescription) -> str | None:
        status = mission.status
        if status in _STOPPED:
            return f"the mission was {_NAMES[status].lower()}"
        if status is not WorkflowExecutionStatus.FAILED:
            return None
        failed_with = await failure_types(self._client, mission)
        if _OWN_FAILURES.intersection(failed_with):
            return None
        return f"the mission failed with {next(iter(failed_with), '') or 'an unknown error'}"

    async def _recover_deleted(self, mission_id: str) -> Recovery:
        """Roll back a mission that somebody deleted.

        A server also deletes missions that ended well, after its retention time. A sweep before
        that concludes their notes; if no sweep has seen the mission in all that time, nothing is
        cancelled on a guess.
        """
        noted_at = await asyncio.to_thread(self._grants.last_noted, mission_id)
        request = DescribeNamespaceRequest(namespace=self._client.namespace)
        found = await self._client.workflow_service.describe_namespace(request)
        kept_for = found.config.workflow_execution_retention_ttl.ToTimedelta()
        if noted_at is not None and datetime.now(UTC) - noted_at > kept_for:
            return _nothing(mission_id, "the server may have forgotten it since it ended")
        if not await self._left_anything(mission_id):
            return await self._conclude(mission_id, "it left nothing")
        return await self._start(mission_id, "the mission was deleted", None)

    async def _left_anything(self, mission_id: str) -> bool:
        read = await read_ledger(self._client, mission_id)
        noted = await asyncio.to_thread(self._grants.ledger, mission_id)
        return bool(Ledger.united([read.ledger, noted]).live())

    async def _conclude(self, mission_id: str, why: str) -> Recovery:
        """Let the store drop the mission's entries: no sweep has to examine the mission again."""
        await asyncio.to_thread(self._grants.conclude, mission_id)
        return _nothing(mission_id, why)

    async def _start(
        self,
        mission_id: str,
        reason: str,
        mission: WorkflowExecutionDescription | None,
        *,
        abandoned: bool = False,
    ) -> Recovery:
        """Start the rollback on the mission's task queue; without a mission, on this worker's."""
        queue = activity.info().task_queue if mission is None else mission.task_queue
        is_of_saga = mission is not None and mission.id != mission_id
        begun = await start_rollback(
            self._client,
            mission_id,
            reason=reason,
            task_queue=queue,
            workflow_id=mission.id if mission is not None and is_of_saga else "",
            abandoned=abandoned,
        )
        if begun in ("started", "restarted"):
            return Recovery(mission_id=mission_id, done=begun, why=reason)
        return _nothing(mission_id, "its rollback is there")


def stranded_query(wanted: FindStrandedInput) -> str:
    """Return the search for missions that were stopped, and rollbacks that did not complete.

    A mission that failed has concluded, unless its code was at fault; it may not have noted what
    an abandoned branch had left, nor may one that was cancelled.
    """
    stopped = _status_in(_STOPPED | _UNDONE)
    query = (
        f"((WorkflowType = '{names.MISSION_WORKFLOW}' AND {stopped}) "
        f"OR (WorkflowType = '{names.ROLLBACK_WORKFLOW}' AND {_status_in(BROKEN_OFF)}))"
    )
    if wanted.closed_after is not None:
        query += f" AND CloseTime > '{wanted.closed_after.isoformat()}'"
    return query


def _status_in(statuses: frozenset[WorkflowExecutionStatus]) -> str:
    names = ", ".join(f"'{_NAMES[status]}'" for status in sorted(statuses))
    return f"ExecutionStatus IN ({names})"


def _nothing(mission_id: str, why: str) -> Recovery:
    return Recovery(mission_id=mission_id, done="nothing to do", why=why)
