"""Observe calls: send each as its workflow makes it, without asking and without a way back."""

from datetime import timedelta

from temporalio import activity
from temporalio.exceptions import ApplicationError

from orchestrator.activities.authority import check_sender, is_from_saga
from orchestrator.activities.boundary import (
    ServerTime,
    catalog_of,
    heartbeats,
    spread_wait,
    store_deadline,
    translated_errors,
)
from orchestrator.activities.tool_activities import (
    NOTHING_SENT,
    ONCE,
    ToolActivities,
    earlier_may_have_arrived,
    is_deferred,
    is_sent_once,
    kept_outcome,
    note_arrival,
    postponed,
    with_cancel_arguments,
)
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.errors import StateMissing, TransportFailed
from orchestrator.messages import names
from orchestrator.messages.mission_policy import longest_call
from orchestrator.messages.observed import ObservedCall, ObserveInput
from orchestrator.messages.tool_call import ToolCall
from orchestrator.saga.cancel_arguments import draft_cancel, draft_obligation
from orchestrator.saga.obligation import CancelCall, Obligation
from orchestrator.saga.outcome import OutcomeKind, ToolOutcome


class ObserveActivities(ToolActivities):
    """Sends calls without their guards, on workers whose operator allows that."""

    @activity.defn(name=names.OBSERVE_CALL)
    async def observe_call(self, wanted: ObserveInput) -> ObservedCall:
        """Send a call in any case; a report finds out later what a guard would have done.

        Only what protects the worker refuses it: declared hosts and addresses, secrets, personal
        values of others, and sizes. It is repeated after an unclear attempt as a guarded call is:
        only where that leaves no second effect. Nothing else is sent for it.

        Raises:
            ApplicationError: retryable while the outcome is unclear and an attempt is left;
                non-retryable ObserveRefused if this worker guards every call, and CallUnowned if
                another workflow sends it.
        """
        async with heartbeats():
            clock = ServerTime()
            with translated_errors():
                self._authority.check_observes()
                clock.check()
                check_sender(wanted, serves_sagas=self._authority.serves_sagas)
                catalog = await catalog_of(self._catalogs, wanted.catalog_digest, store_deadline())
                tool = catalog.tool(wanted.tool)
            arguments = {name: wanted.key for name in tool.reference_inputs} | wanted.arguments
            call = ToolCall(**wanted.ref, arguments=arguments, timeout_s=wanted.timeout_s)
            obligation, cancel = _entries(wanted, call, catalog, tool, clock)
            with postponed(call):
                outcome = await self._sent_once(catalog, tool, call, wanted.attempts)
            if outcome.answered_at is not None:
                outcome = outcome.model_copy(update={"answered_at": clock.now()})
            outcome = await self._kept.shortened(outcome, call)
        return ObservedCall(outcome=outcome, obligation=obligation, cancel=cancel)

    async def _sent_once(
        self, catalog: Catalog, tool: Tool, call: ToolCall, attempts: int
    ) -> ToolOutcome:
        if is_sent_once(tool) and earlier_may_have_arrived(call):
            return ToolOutcome(kind="unknown", reason=ONCE)
        try:
            outcome = await self._tools.call(
                catalog,
                tool,
                call.arguments,
                call_id=call.call_id,
                idempotency_key=tool.key_of(call.key),
                timeout_s=call.timeout_s,
                mission_id=call.mission_id,
                is_checked=False,
            )
        except StateMissing:
            raise
        except NOTHING_SENT as error:
            return ToolOutcome(kind="rejected", reason=f"not sent: {error}")
        except TransportFailed as error:
            kind: OutcomeKind = "unknown" if error.may_have_arrived else "rejected"
            outcome = ToolOutcome(kind=kind, reason=str(error), deferred=not error.may_have_arrived)
        is_open = outcome.kind == "unknown" or is_deferred(outcome)
        is_open = is_open and not (outcome.is_unproved or outcome.doubted or outcome.wanted)
        if is_open and activity.info().attempt < attempts and not is_sent_once(tool):
            note_arrival(call, may_have_arrived=not is_deferred(outcome))
            wait_s = spread_wait(outcome.retry_after_s)
            raise ApplicationError(
                outcome.why,
                type=names.PROVIDER_BUSY,
                next_retry_delay=None if wait_s is None else timedelta(seconds=wait_s),
            )
        outcome = with_cancel_arguments(catalog, tool, call, outcome)
        if earlier_may_have_arrived(call):
            # A refusal settles nothing after an attempt that may have arrived.
            if tool.is_side_effect and outcome.kind == "rejected":
                outcome = outcome.model_copy(update={"kind": "unknown"})
        elif outcome.kind == "unknown" and is_deferred(outcome):
            outcome = outcome.model_copy(update={"kind": "rejected", "reason": outcome.why})
        return kept_outcome(outcome)


def _entries(
    wanted: ObserveInput, call: ToolCall, catalog: Catalog, tool: Tool, clock: ServerTime
) -> tuple[Obligation | None, CancelCall | None]:
    """Return the ledger entries of the effect that a call may have, or of the cancel that it is."""
    now = clock.now()
    if tool.effect is Effect.CANCEL:
        return None, draft_cancel(call, catalog, call.arguments, now=now)
    if tool.effect not in (Effect.OBLIGATION, Effect.WRITE):
        return None, None
    info = activity.info()
    longest = longest_call(timedelta(seconds=wanted.timeout_s), wanted.attempts)
    drafted = draft_obligation(call, tool, call.arguments, now=now)
    noted = {
        "observed": True,
        "deadline": now + longest,
        "task_queue": info.task_queue,
        "workflow_id": info.workflow_id if is_from_saga(call) else "",
    }
    return drafted.model_copy(update=noted), None
