"""How one obligation is taken back, decided from its contract, its state and what providers answer.

`compensation` does no I/O: it is a generator that yields the next call to a provider, is sent what
the call came to, and returns the outcome.
"""

from collections.abc import Generator
from dataclasses import dataclass

from orchestrator.catalog.arguments import check_arguments
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.expressions import fill_template
from orchestrator.catalog.tool import Compensation, Tool, ToolCallTemplate
from orchestrator.core.errors import TransportFailed
from orchestrator.core.record import JsonObject
from orchestrator.saga.ledger import CancelCall, Obligation, ObligationState
from orchestrator.saga.outcome import (
    CompensationFailure,
    CompensationOutcome,
    ToolOutcome,
    settles_earlier_attempts,
)

_GONE = frozenset({404, 410})
_NOT_WORKED_ON = frozenset({425, 429})
_DEFERRED = _NOT_WORKED_ON | {503}
"""Answers of a provider that asks to come back: they use up no attempt."""


@dataclass(frozen=True)
class CompensationCall:
    """A call to make next."""

    tool: Tool
    arguments: JsonObject
    call_id: str
    idempotency_key: str | None
    cancels: bool = False

    def unclear(self, outcome: ToolOutcome) -> CompensationFailure:
        """What the attempt came to after an answer that settles nothing."""
        return CompensationFailure(
            reason=outcome.reason or f"HTTP {outcome.status}",
            counts=outcome.status not in _DEFERRED,
            arrived=self.cancels and outcome.status not in _NOT_WORKED_ON,
            retry_after_s=outcome.retry_after_s,
        )

    def unanswered(self, error: TransportFailed) -> CompensationFailure:
        """What the attempt came to after no answer."""
        return CompensationFailure(
            reason=str(error),
            counts=error.may_have_arrived,
            arrived=self.cancels and error.may_have_arrived,
        )


def cancel_key(idempotency_key: str) -> str:
    """The idempotency key of the call that takes back the one with this key: never the same."""
    return f"{idempotency_key}.cancel"


def compensation(
    catalog: Catalog, tool: Tool, obligation: Obligation
) -> Generator[CompensationCall, ToolOutcome, CompensationOutcome]:
    """One attempt to take an obligation back, as a conversation with its provider.

    Every outcome that is sent in is clear: an attempt ends with the first call that is not.

    Args:
        catalog: the one that the obligation was made with.
        tool: the obligation's.
        obligation: live, and not parked.
    """
    if tool.compensation is None:
        return _parked(_why_nothing_undoes(tool, obligation))
    return (yield from _Attempt(catalog, tool, tool.compensation, obligation).run())


def _why_nothing_undoes(tool: Tool, obligation: Obligation) -> str:
    if not tool.irreversible:
        return f"no tool is declared that undoes {tool.name}"
    if obligation.state is ObligationState.COMMITTED:
        return f"nothing undoes {tool.name}: its document declares it irreversible"
    return (
        f"nothing undoes {tool.name}, which its document declares irreversible; whether it took "
        "effect is unknown"
    )


_Call = Generator[CompensationCall, ToolOutcome, ToolOutcome]
_Outcome = Generator[CompensationCall, ToolOutcome, CompensationOutcome]


@dataclass(frozen=True)
class _Attempt:
    catalog: Catalog
    tool: Tool
    contract: Compensation
    obligation: Obligation

    def run(self) -> _Outcome:
        sent = self.obligation.cancel_call
        if sent is not None and (yield from self._is_cancelled_by(sent)):
            return CompensationOutcome(state="cancelled", note=f"cancelled by {sent.call_id}")
        if self.obligation.state is ObligationState.COMMITTED:
            return (yield from self._cancel(self.obligation))
        return (yield from self._clear_up())

    def _is_cancelled_by(self, sent: CancelCall) -> Generator[CompensationCall, ToolOutcome, bool]:
        """Whether a leg's own unclear cancel, repeated under its own key, did its work.

        A cancel with another key beside it would be a second one.
        """
        tool = self.catalog.tool(sent.tool)
        outcome = yield from self._call(
            tool, sent.arguments, key=sent.idempotency_key, call_id=sent.call_id, cancels=True
        )
        return outcome.kind == "succeeded" or (yield from self._is_gone(tool, outcome))

    def _clear_up(self) -> _Outcome:
        """Take back a call whose outcome is unknown and that can no longer arrive.

        First ask (the probe), then cancel by what the request said, and only then repeat the call
        under its own key: that one may make the very booking that it asks for, but it always tells.
        """
        found = yield from self._probe()
        if found is not None:
            return (yield from self._cancel_found(found))
        has_key = self.obligation.idempotency_key is not None
        if self._can_cancel_unseen() and (self._names_the_call() or not has_key):
            return (yield from self._cancel(self.obligation))
        if not has_key:
            return _parked(
                "whether it took effect is unknown, and nothing in its contract can tell"
            )
        repeated = yield from self._repeat()
        if repeated.kind == "rejected" and not settles_earlier_attempts(repeated.status or 0):
            return _parked(f"whether it took effect is unknown: {repeated.reason}")
        return (yield from self._cancel_found(repeated))

    def _can_cancel_unseen(self) -> bool:
        """Whether the request alone fills the cancel."""
        cancel = self.catalog.tool(self.contract.cancel.tool)
        return not check_arguments(self.catalog, cancel, self._cancel_arguments(self.obligation))

    def _names_the_call(self) -> bool:
        """Whether the cancel says which call it is about, by a reference or key of its own.

        What else the request holds may fit the bookings of others: not finding it proves nothing.
        """
        known = self.obligation
        own = [known.arguments.get(name) for name in self.tool.reference_inputs]
        named = [value for value in (*own, known.idempotency_key) if value is not None]
        return any(value in named for value in self._cancel_arguments(known).values())

    def _cancel_found(self, found: ToolOutcome) -> _Outcome:
        if found.kind == "rejected":
            return CompensationOutcome(state="void", note="the provider does not hold it")
        known = {
            "state": ObligationState.COMMITTED,
            "response": found.body,
            "response_headers": found.headers,
        }
        return (yield from self._cancel(self.obligation.model_copy(update=known)))

    def _probe(self) -> Generator[CompensationCall, ToolOutcome, ToolOutcome | None]:
        """The answer of the probe; None without one, or when the request says too little to ask."""
        if self.contract.probe is None:
            return None
        arguments = self._filled(self.contract.probe, self.obligation)
        tool = self.catalog.tool(self.contract.probe.tool)
        if check_arguments(self.catalog, tool, arguments):
            return None
        call_id = f"{self.obligation.obligation_id}.probe"
        outcome = yield from self._call(tool, arguments, key=None, call_id=call_id)
        return None if outcome.kind == "rejected" and outcome.status not in _GONE else outcome

    def _repeat(self) -> _Call:
        known = self.obligation
        return self._call(
            self.tool, known.arguments, key=known.idempotency_key, call_id=known.obligation_id
        )

    def _cancel(self, obligation: Obligation) -> _Outcome:
        key = cancel_key(obligation.obligation_id)
        tool = self.catalog.tool(self.contract.cancel.tool)
        arguments = self._cancel_arguments(obligation)
        outcome = yield from self._call(tool, arguments, key=key, call_id=key, cancels=True)
        if outcome.kind == "succeeded":
            note = f"refunded {outcome.price}" if outcome.price is not None else ""
            return CompensationOutcome(state="cancelled", note=note, refund=outcome.price)
        if outcome.status in _GONE and obligation.state is not ObligationState.COMMITTED:
            return CompensationOutcome(state="void", note="the provider does not hold it")
        if self.obligation.cancel_sent and (yield from self._is_gone(tool, outcome)):
            note = "gone after a cancel that was not answered"
            return CompensationOutcome(state="cancelled", note=note)
        return _parked(f"{tool.name} was refused: {outcome.reason or outcome.status}")

    def _is_gone(
        self, cancel: Tool, outcome: ToolOutcome
    ) -> Generator[CompensationCall, ToolOutcome, bool]:
        """Whether "not found" means that a cancel before it, which was not answered, did its work.

        A gateway in trouble says 404 too. HTTP makes sure of it for 410 and for a repeated DELETE
        (RFC 9110, sections 15.5.11 and 9.3.5); for anything else the probe is asked.
        """
        if outcome.status not in _GONE:
            return False
        if outcome.status == 410 or cancel.method == "DELETE":
            return True
        found = yield from self._probe()
        return found is not None and found.status in _GONE

    def _call(
        self,
        tool: Tool,
        arguments: JsonObject,
        *,
        key: str | None,
        call_id: str,
        cancels: bool = False,
    ) -> _Call:
        sent_key = key if tool.idempotency_header else None
        return (yield CompensationCall(tool, arguments, call_id, sent_key, cancels))

    def _cancel_arguments(self, obligation: Obligation) -> JsonObject:
        """The inputs of the cancel; what was read of the answer before it was cut comes first."""
        return {**self._filled(self.contract.cancel, obligation), **obligation.undo_arguments}

    def _filled(self, template: ToolCallTemplate, obligation: Obligation) -> JsonObject:
        return fill_template(
            template,
            tool=self.tool,
            arguments=obligation.arguments,
            idempotency_key=obligation.idempotency_key,
            response_body=obligation.response,
            response_headers=obligation.response_headers,
        )


def _parked(note: str) -> CompensationOutcome:
    return CompensationOutcome(state="parked", note=note)
