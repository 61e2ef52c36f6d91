"""Rollback: read what every leg left, and carry out the compensation of one obligation."""

import asyncio
from datetime import timedelta
from typing import Final

from temporalio import activity
from temporalio.client import Client
from temporalio.exceptions import ApplicationError

from activities.boundary import heartbeats, lacking_error, translated_errors
from activities.call_origins import check_taken_back
from activities.legs import described_mission, read_legs
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.storage.catalog_store import CatalogStore
from orchestrator.adapters.storage.grant_book import GrantBook
from orchestrator.adapters.temporal.rollbacks import (
    begun_rollback,
    describe_rollback,
    described,
    query_or_none,
    started_with,
    was_refused,
)
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import (
    MissionUnknown,
    OrchestratorError,
    StateLacking,
    TransportFailed,
)
from orchestrator.messages import names
from orchestrator.messages.leg_sizes import within_size
from orchestrator.messages.rollback import (
    CollectLegsInput,
    CollectLegsOutput,
    CompensateInput,
    ReadRollbackInput,
    ReadRollbackOutput,
    RollbackInput,
    RollbackReport,
)
from orchestrator.saga.compensation import CompensationCall, Settled, compensation
from orchestrator.saga.ledger import Ledger, Obligation
from orchestrator.saga.outcome import CompensationFailure, CompensationOutcome, ToolOutcome

_ANSWER: Final = timedelta(seconds=5)
"""How long a rollback may take to say where it stands."""


class RollbackActivities:
    """Reads legs from the server and calls cancel tools at providers."""

    def __init__(
        self, catalogs: CatalogStore, tools: ToolClient, client: Client, grants: GrantBook
    ) -> None:
        self._catalogs = catalogs
        self._tools = tools
        self._client = client
        self._grants = grants

    @activity.defn(name=names.COLLECT_LEGS)
    async def collect_legs(self, wanted: CollectLegsInput) -> CollectLegsOutput:
        """Every leg that was started, however it ended; a terminated one is read like any other.

        Raises:
            ApplicationError: LegsRunning while a leg is, retried until none is; non-retryable
                MissionStillRuns when it is not the mission that wants to be rolled back, and
                MissionUnknown when there is none.
        """
        asked_by_it = activity.info().workflow_id == wanted.mission_id
        async with heartbeats():
            with translated_errors():
                read = await read_legs(self._client, wanted.mission_id, asked_by_it=asked_by_it)
            taken_over = await self._taken_over(wanted)
            if not (read.legs or read.notes or taken_over.obligations):
                with translated_errors():
                    await self._check_known(wanted.mission_id)
            newest = await describe_rollback(self._client, wanted.mission_id)
            return CollectLegsOutput(
                legs=within_size(read.legs),
                notes=read.notes,
                taken_over=taken_over,
                last_rollback=newest.run_id if newest is not None else None,
            )

    @activity.defn(name=names.READ_ROLLBACK)
    async def read_rollback(self, wanted: ReadRollbackInput) -> ReadRollbackOutput:
        """What the mission's rollback itself says, once it has tried everything.

        Anybody who reaches the server can send a signal. Only what runs under the rollback's own id
        and type, and was not turned away, is asked.
        """
        async with heartbeats():
            run = await begun_rollback(self._client, wanted.mission_id)
            if run is None:
                return ReadRollbackOutput()
            handle = self._client.get_workflow_handle(run.id, run_id=run.run_id)
            # It may be about to end: a question that is lost over that is asked again.
            report = await query_or_none(handle, names.REPORT_QUERY, RollbackReport, _ANSWER)
            settled = report is not None and report.settled
            return ReadRollbackOutput(settled=report if settled else None)

    async def _check_known(self, mission_id: str) -> None:
        """Refuse to roll back what there never was: that would stand for a rollback of what comes.

        Raises:
            MissionUnknown: the server keeps no mission of that id.
        """
        if await described_mission(self._client, mission_id) is None:
            raise MissionUnknown(mission_id)

    async def _taken_over(self, wanted: CollectLegsInput) -> Ledger:
        """The ledger of the run that was broken off, or of the one that it had taken over from."""
        rollback = names.rollback_workflow_id(wanted.mission_id)
        run_id = wanted.take_over
        while run_id is not None:
            handle = self._client.get_workflow_handle(rollback, run_id=run_id)
            run = await described(handle)
            if run is None or run.workflow_type != names.ROLLBACK_WORKFLOW:
                return Ledger()  # no run of this rollback, or one that the server has forgotten
            if not await was_refused(self._client, run):
                report = await query_or_none(handle, names.REPORT_QUERY, RollbackReport)
                if report is not None and report.ledger.obligations:
                    return report.ledger
            run_id = (await started_with(self._client, handle, RollbackInput)).take_over
        return Ledger()

    @activity.defn(name=names.COMPENSATE)
    async def compensate(self, wanted: CompensateInput) -> CompensationOutcome:
        """Take back one obligation; repeating it after a crash is safe, for the cancel has a key.

        Raises:
            ApplicationError: ProviderBusy with a CompensationFailure; the rollback decides how to
                go on.
        """
        obligation = wanted.obligation
        async with heartbeats():
            with translated_errors():
                check_taken_back(obligation)
                catalog = await asyncio.to_thread(self._catalogs.get, obligation.catalog_digest)
                tool = catalog.tool(obligation.tool)
            await self._note_taken_back(obligation)
            calls = compensation(catalog, tool, obligation)
            asked = False
            try:
                call = next(calls)
                while True:
                    answer = await self._answer(catalog, call, obligation)
                    asked = True
                    call = calls.send(answer)
            except StopIteration as ended:
                settled: Settled = ended.value
            except StateLacking as error:
                raise lacking_error(error, is_last=asked, nothing_sent=not asked) from error
            except OrchestratorError as error:
                # A credential or a contract at fault: another attempt in a second ends the same.
                return CompensationOutcome(state="parked", note=str(error))
        if isinstance(settled, CompensationFailure):
            raise _busy(settled)
        return settled

    async def _note_taken_back(self, obligation: Obligation) -> None:
        """The legs are over: who sends this call after now has forgotten that, and finds the note.

        A store that takes no note keeps nothing from being cancelled, which matters more.
        """
        try:
            await asyncio.to_thread(self._grants.take_back, obligation.obligation_id)
        except (OSError, StateLacking) as error:
            activity.logger.warning(
                "%s is taken back without a note of it: %s", obligation.obligation_id, error
            )

    async def _answer(
        self, catalog: Catalog, call: CompensationCall, obligation: Obligation
    ) -> ToolOutcome:
        """What a call was answered: with a refusal, or with a status of success at least."""
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


def _busy(failure: CompensationFailure) -> ApplicationError:
    # Counted where the rollback can be read: only a worker that lacks something is passed over.
    return ApplicationError(failure.reason, failure, type=names.PROVIDER_BUSY, non_retryable=True)
