"""Undoing: read what every leg left, and take one obligation back at its provider."""

from temporalio import activity
from temporalio.client import Client
from temporalio.exceptions import ApplicationError

from activities.boundary import heartbeats, translated_errors
from activities.legs import LegReader
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.storage.catalog_store import CatalogStore
from orchestrator.adapters.temporal.rollbacks import describe_rollback, query_or_none, started_with
from orchestrator.catalog.arguments import check_arguments
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.expressions import fill_template
from orchestrator.catalog.tool import Compensation, Tool, ToolCallTemplate
from orchestrator.core.errors import OrchestratorError, TransportFailed
from orchestrator.core.record import JsonObject
from orchestrator.messages import names
from orchestrator.messages.rollback import (
    CollectLegsInput,
    CollectLegsOutput,
    RollbackInput,
    RollbackReport,
    UndoInput,
)
from orchestrator.saga.ledger import CancelCall, Ledger, Obligation, ObligationState, UndoOutcome
from orchestrator.saga.outcome import ToolOutcome, settles_earlier_attempts
from orchestrator.saga.retry_policy import UndoFailure

_GONE = frozenset({404, 410})
_REFUSED_FOR_NOW = frozenset({425, 429})
"""Answers to a request that was not worked on."""
_PUT_OFF = _REFUSED_FOR_NOW | {503}
"""Answers of a provider that asks to come back: they use up no attempt."""


class RollbackActivities:
    """Reads legs from the server and calls cancel tools at providers."""

    def __init__(self, catalogs: CatalogStore, tools: ToolClient, client: Client) -> None:
        """Take where catalogs are kept, what calls providers, and the server."""
        self._catalogs = catalogs
        self._tools = tools
        self._client = client
        self._legs = LegReader(client)

    @activity.defn(name=names.COLLECT_LEGS)
    async def collect_legs(self, wanted: CollectLegsInput) -> CollectLegsOutput:
        """Every leg that was started, however it ended; a terminated one is read like any other.

        Raises:
            ApplicationError: LegsRunning while a leg is; retried until none is.
        """
        async with heartbeats():
            with translated_errors():
                legs = await self._legs.legs(wanted.mission_id)
            newest = await describe_rollback(self._client, wanted.mission_id)
            return CollectLegsOutput(
                legs=legs,
                taken_over=await self._taken_over(wanted),
                last_rollback=newest.run_id if newest is not None else None,
            )

    async def _taken_over(self, wanted: CollectLegsInput) -> Ledger:
        """The ledger of the run that was broken off, or of the one that it had taken over from."""
        rollback = names.rollback_workflow_id(wanted.mission_id)
        run_id = wanted.take_over
        while run_id is not None:
            handle = self._client.get_workflow_handle(rollback, run_id=run_id)
            report = await query_or_none(handle, names.REPORT_QUERY, RollbackReport)
            if report is not None and report.ledger.obligations:
                return report.ledger
            run_id = (await started_with(self._client, handle, RollbackInput)).take_over
        return Ledger()

    @activity.defn(name=names.UNDO_OBLIGATION)
    async def undo_obligation(self, undo: UndoInput) -> UndoOutcome:
        """Take back one obligation; repeating it after a crash is safe, for the cancel has a key.

        Raises:
            ApplicationError: ProviderBusy with an UndoFailure; the rollback decides how to go on.
        """
        obligation = undo.obligation
        async with heartbeats():
            with translated_errors():
                catalog = self._catalogs.get(obligation.catalog_digest)
                tool = catalog.tool(obligation.tool)
            try:
                return await _Undo(self._tools, catalog, tool, obligation).run()
            except OrchestratorError as error:
                # A credential or a contract at fault: trying again in a second mends nothing.
                return UndoOutcome(state="parked", note=str(error))


class _Undo:
    """One attempt to undo one obligation."""

    def __init__(
        self, tools: ToolClient, catalog: Catalog, tool: Tool, obligation: Obligation
    ) -> None:
        self._tools = tools
        self._catalog = catalog
        self._tool = tool
        self._obligation = obligation

    async def run(self) -> UndoOutcome:
        contract = self._tool.compensation
        if contract is None:
            return _parked(f"no tool is declared that undoes {self._tool.name}")
        repeated = await self._repeat_cancel(self._obligation.cancel_call)
        if repeated is not None:
            return repeated
        if self._obligation.state is ObligationState.COMMITTED:
            return await self._cancel(contract, self._obligation)
        return await self._clear_up(contract)

    async def _repeat_cancel(self, sent: CancelCall | None) -> UndoOutcome | None:
        """What a leg's own unclear cancel comes to under its own key; None when it settles nothing.

        A cancel with another key beside it would be a second one.
        """
        if sent is None:
            return None
        tool = self._catalog.tool(sent.tool)
        outcome = await self._call(
            tool, sent.arguments, key=sent.idempotency_key, call_id=sent.call_id, cancels=True
        )
        if outcome.kind == "succeeded" or await self._is_gone(tool, outcome):
            return UndoOutcome(state="cancelled", note=f"cancelled by {sent.call_id}")
        return None

    async def _clear_up(self, contract: Compensation) -> UndoOutcome:
        """Undo a call whose outcome is unknown and that can no longer arrive.

        First ask (the probe), then cancel by what the request said, and only then repeat the call
        under its own key: that one may make the very booking that it asks for, but it always tells.
        """
        if contract.probe is not None:
            found = await self._probe(contract.probe)
            if found is not None:
                return await self._undo_if_found(contract, found)
        has_key = self._obligation.idempotency_key is not None
        if self._can_cancel_unseen(contract) and (self._names_the_call(contract) or not has_key):
            return await self._cancel(contract, self._obligation)
        if has_key:
            return await self._undo_repeated(contract, await self._repeat())
        return _parked("whether it took effect is unknown, and nothing in its contract can tell")

    def _can_cancel_unseen(self, contract: Compensation) -> bool:
        """Whether the request alone fills the cancel."""
        cancel = self._catalog.tool(contract.cancel.tool)
        return not check_arguments(self._catalog, cancel, self._filled(contract, self._obligation))

    def _names_the_call(self, contract: Compensation) -> bool:
        """Whether the cancel says which call it is about, by a reference or key of its own.

        What else the request holds may fit the bookings of others: not finding it proves nothing.
        """
        known = self._obligation
        own = [known.arguments.get(name) for name in self._tool.reference_inputs]
        named = [value for value in (*own, known.idempotency_key) if value is not None]
        return any(value in named for value in self._filled(contract, known).values())

    async def _undo_repeated(self, contract: Compensation, repeated: ToolOutcome) -> UndoOutcome:
        if repeated.kind == "rejected" and not settles_earlier_attempts(repeated.status or 0):
            return _parked(f"whether it took effect is unknown: {repeated.reason}")
        return await self._undo_if_found(contract, repeated)

    async def _undo_if_found(self, contract: Compensation, found: ToolOutcome) -> UndoOutcome:
        if found.kind == "rejected":
            return UndoOutcome(state="void", note="the provider does not hold it")
        known = self._obligation.model_copy(
            update={
                "state": ObligationState.COMMITTED,
                "response": found.body,
                "response_headers": found.headers,
            }
        )
        return await self._cancel(contract, known)

    async def _probe(self, probe: ToolCallTemplate) -> ToolOutcome | None:
        """The answer of the probe; None when the request does not say enough to ask."""
        arguments = self._filled_template(probe, self._obligation)
        tool = self._catalog.tool(probe.tool)
        if check_arguments(self._catalog, tool, arguments):
            return None
        outcome = await self._call(tool, arguments, key=None, call_id=self._call_id("probe"))
        if outcome.kind == "rejected" and outcome.status not in _GONE:
            return None
        return outcome

    async def _repeat(self) -> ToolOutcome:
        return await self._call(
            self._tool,
            self._obligation.arguments,
            key=self._obligation.idempotency_key,
            call_id=self._obligation.obligation_id,
        )

    async def _cancel(self, contract: Compensation, obligation: Obligation) -> UndoOutcome:
        key = names.cancel_key(obligation.obligation_id)
        tool = self._catalog.tool(contract.cancel.tool)
        arguments = self._filled(contract, obligation)
        outcome = await self._call(tool, arguments, key=key, call_id=key, cancels=True)
        if outcome.kind == "succeeded":
            return UndoOutcome(state="cancelled", note=_refund_note(outcome), refund=outcome.price)
        if outcome.status in _GONE and obligation.state is not ObligationState.COMMITTED:
            return UndoOutcome(state="void", note="the provider does not hold it")
        if self._obligation.cancel_sent and await self._is_gone(tool, outcome):
            return UndoOutcome(state="cancelled", note="gone after a cancel that was not answered")
        return _parked(f"{tool.name} was refused: {outcome.reason or outcome.status}")

    async def _is_gone(self, cancel: Tool, outcome: ToolOutcome) -> bool:
        """Whether "not found" means that a cancel before it, which was not answered, did its work.

        A gateway in trouble says 404 too. HTTP makes sure of it for 410 and for a repeated DELETE
        (RFC 9110, sections 15.5.11 and 9.3.5); for anything else the probe is asked.
        """
        if outcome.status not in _GONE:
            return False
        if outcome.status == 410 or cancel.method == "DELETE":
            return True
        contract = self._tool.compensation
        if contract is None or contract.probe is None:
            return False
        found = await self._probe(contract.probe)
        return found is not None and found.status in _GONE

    async def _call(
        self,
        tool: Tool,
        arguments: JsonObject,
        *,
        key: str | None,
        call_id: str,
        cancels: bool = False,
    ) -> ToolOutcome:
        try:
            outcome = await self._tools.call(
                self._catalog,
                tool,
                arguments,
                call_id=call_id,
                idempotency_key=key if tool.idempotency_header else None,
                timeout_s=self._obligation.cancel_timeout.total_seconds(),
            )
        except TransportFailed as error:
            raise _busy(
                UndoFailure(
                    reason=str(error),
                    counts=error.may_have_arrived,
                    arrived=cancels and error.may_have_arrived,
                )
            ) from error
        if outcome.kind == "unknown":
            raise _busy(_unclear(outcome, cancels=cancels))
        return outcome

    def _filled(self, contract: Compensation, obligation: Obligation) -> JsonObject:
        """The inputs of the cancel; what was read of the answer before it was cut comes first."""
        filled = self._filled_template(contract.cancel, obligation)
        return {**filled, **obligation.undo_arguments}

    def _filled_template(self, template: ToolCallTemplate, obligation: Obligation) -> JsonObject:
        return fill_template(
            template,
            tool=self._tool,
            arguments=obligation.arguments,
            idempotency_key=obligation.idempotency_key,
            response_body=obligation.response,
            response_headers=obligation.response_headers,
        )

    def _call_id(self, suffix: str) -> str:
        return f"{self._obligation.obligation_id}.{suffix}"


def _unclear(outcome: ToolOutcome, *, cancels: bool) -> UndoFailure:
    return UndoFailure(
        reason=outcome.reason or f"HTTP {outcome.status}",
        counts=outcome.status not in _PUT_OFF,
        arrived=cancels and outcome.status not in _REFUSED_FOR_NOW,
        retry_after_s=outcome.retry_after_s,
    )


def _busy(failure: UndoFailure) -> ApplicationError:
    return ApplicationError(failure.reason, failure, type=names.PROVIDER_BUSY)


def _parked(note: str) -> UndoOutcome:
    return UndoOutcome(state="parked", note=note)


def _refund_note(outcome: ToolOutcome) -> str:
    return f"refunded {outcome.price}" if outcome.price is not None else ""
