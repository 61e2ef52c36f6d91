"""Observe calls: send each as its workflow makes it, and record what a guard would have done."""

from datetime import UTC, datetime, timedelta
from typing import Final

from temporalio import activity
from temporalio.exceptions import ApplicationError

from orchestrator.activities.authority import Authority, WallGuard, check_sender, is_from_saga
from orchestrator.activities.boundary import (
    ServerTime,
    catalog_of,
    from_store,
    heartbeats,
    spread_wait,
    store_deadline,
    translated_errors,
)
from orchestrator.activities.kept_messages import KeptMessages
from orchestrator.activities.prepare_activities import PrepareActivities, owned
from orchestrator.activities.tool_activities import (
    NOTHING_SENT,
    ToolActivities,
    earlier_may_have_arrived,
    is_anothers,
    is_deferred,
    kept_outcome,
    note_arrival,
    postponed,
    with_cancel_arguments,
    with_follow_ups,
)
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.storage.protocols import CatalogStore, GrantBook, SentCall
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.errors import OrchestratorError, StateMissing, TransportFailed
from orchestrator.messages import names
from orchestrator.messages.mission_policy import longest_call
from orchestrator.messages.observed import OBSERVED, ObservedCall
from orchestrator.messages.step import KeptMessage
from orchestrator.messages.tool_call import PreparedCall, PrepareInput, ToolCall
from orchestrator.saga.cancel_arguments import draft_cancel, draft_obligation
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.outcome import ToolOutcome

_ONCE: Final = "its worker may have sent it, and it takes no key by which it is known again"


class ObserveActivities(ToolActivities):
    """Sends calls without their guards, on workers whose operator allows it."""

    def __init__(
        self,
        preparing: PrepareActivities,
        catalogs: CatalogStore,
        tools: ToolClient,
        grants: GrantBook,
        guard: WallGuard | None = None,
        authority: Authority | None = None,
        *,
        kept: KeptMessages | None = None,
    ) -> None:
        super().__init__(catalogs, tools, grants, guard, authority, kept=kept)
        self._preparing = preparing

    @activity.defn(name=names.OBSERVE_CALL)
    async def observe_call(self, message: PrepareInput | KeptMessage) -> ObservedCall:
        """Prepare a call as a guard would, send it in any case, and return both.

        Only the client's own protections refuse it: declared hosts and addresses, secrets, personal
        values of others, and sizes. It is repeated after an unclear attempt only where that leaves
        no second effect, as for a guarded call; nothing else is sent for it.

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
                wanted = await self._kept.prepared(message, PrepareInput)
                check_sender(wanted, serves_sagas=self._authority.serves_sagas)
                catalog = await catalog_of(self._catalogs, wanted.catalog_digest, store_deadline())
                tool = catalog.tool(wanted.tool)
            prepared = await self._looked_at(wanted, catalog, tool)
            observed = ObservedCall(prepared=prepared, outcome=ToolOutcome(kind="unknown"))
            before = await self._noted_ahead(observed.call, prepared)
            with postponed(observed.call):
                attempts = wanted.policy.call_attempts
                outcome = await self._sent_once(catalog, tool, prepared, attempts)
            if outcome.answered_at is not None:
                outcome = outcome.model_copy(update={"answered_at": clock.now()})
            noted = observed.call.model_copy(
                update={
                    "obligation": prepared.obligation,
                    "cancels": prepared.cancel,
                    "limit": prepared.limit,
                }
            )
            await self._note(noted, outcome)
            outcome = await self._kept.shortened(outcome, noted)
        return ObservedCall(prepared=prepared, outcome=outcome, sent_before=before)

    async def _looked_at(self, wanted: PrepareInput, catalog: Catalog, tool: Tool) -> PreparedCall:
        """Return the call with its card, or with the reasons for which it would be refused."""
        try:
            refusal = self._guard.refusal(wanted.agent, tool, at="preparation")
            prepared = await self._preparing.checked(wanted, catalog, tool)
        except OrchestratorError as error:
            refusal, prepared = None, PreparedCall(problems=(str(error),))
        reasons = [*prepared.problems, *prepared.obstacles, *filter(None, [refusal])]
        reasons += [f"{name} is not in the vault" for name in prepared.missing_personal]
        if prepared.call is None:
            prepared = _as_written(wanted, catalog, tool)
        noted = prepared.model_copy(update={"problems": tuple(reasons)})
        noted = _noted(noted, wanted)
        return owned(noted) if is_from_saga(wanted) else noted

    async def _noted_ahead(self, call: ToolCall, prepared: PreparedCall) -> bool:
        """Note a call in the store before it is sent; return True if another execution sent it.

        If the store fails, the call is sent all the same: its history has what can be noted.
        """
        ledger = Ledger().sending(prepared.obligation, prepared.cancel)
        if ledger == Ledger():
            return False
        info = activity.info()
        user = f"{info.workflow_id} {info.workflow_run_id} {info.activity_id}"
        sent = SentCall(call.key, call.mission_id, user, (), ledger, observed=True)
        try:
            claim = await from_store(store_deadline(), self._grants.send, sent)
        except (OSError, StateMissing) as error:
            activity.logger.warning("%s is sent without a note of it: %s", call.call_id, error)
            return False
        return is_anothers(claim.sent_by, user)

    async def _sent_once(
        self, catalog: Catalog, tool: Tool, prepared: PreparedCall, attempts: int
    ) -> ToolOutcome:
        call = prepared.call
        assert call is not None
        if not prepared.repeatable and earlier_may_have_arrived(call):
            return ToolOutcome(kind="unknown", reason=_ONCE)
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
            kind = "unknown" if error.may_have_arrived else "rejected"
            outcome = ToolOutcome(kind=kind, reason=str(error), deferred=not error.may_have_arrived)
        is_last = activity.info().attempt >= attempts
        if prepared.repeatable and not is_last and _is_open(outcome):
            note_arrival(call, may_have_arrived=not is_deferred(outcome))
            wait_s = spread_wait(outcome.retry_after_s)
            raise ApplicationError(
                outcome.why,
                type=names.PROVIDER_BUSY,
                next_retry_delay=None if wait_s is None else timedelta(seconds=wait_s),
            )
        outcome = with_cancel_arguments(catalog, tool, call, outcome)
        outcome = with_follow_ups(catalog, tool, call, outcome)
        return kept_outcome(_classified(outcome, tool, call))


def _as_written(wanted: PrepareInput, catalog: Catalog, tool: Tool) -> PreparedCall:
    """Return a call that a guard would refuse, as its workflow wrote it, with its ledger entry."""
    arguments = {name: wanted.key for name in tool.reference_inputs} | wanted.arguments
    leaves = tool.effect in (Effect.OBLIGATION, Effect.WRITE)
    is_cancel = tool.effect is Effect.CANCEL
    return PreparedCall(
        call=ToolCall(
            **wanted.ref,
            agent=wanted.agent,
            arguments=arguments,
            card_type=tool.card_type,
            timeout_s=wanted.policy.call_timeout.total_seconds(),
        ),
        title=tool.title,
        side_effect=tool.is_side_effect,
        repeatable=not tool.is_side_effect or tool.idempotency_key is not None,
        obligation=draft_obligation(wanted, tool, arguments, now=wanted.now) if leaves else None,
        cancel=draft_cancel(wanted, catalog, arguments, now=wanted.now) if is_cancel else None,
    )


def _noted(prepared: PreparedCall, wanted: PrepareInput) -> PreparedCall:
    """Return the call with its times, its mode on the card, and its price as expected."""
    made, card = prepared.obligation, prepared.card
    if made is not None:
        policy = wanted.policy
        longest = longest_call(policy.call_timeout, policy.call_attempts)
        queue = activity.info().task_queue
        expected = prepared.limit.approved if prepared.limit is not None else None
        now = datetime.now(UTC)
        noted = {"observed": True, "written_at": now, "deadline": now + longest}
        made = made.model_copy(update={**noted, "task_queue": queue, "approved_price": expected})
    if card is not None:
        card = card.model_copy(update={"warnings": (*card.warnings, f"{OBSERVED}: it was sent")})
    return prepared.model_copy(update={"obligation": made, "card": card})


def _is_open(outcome: ToolOutcome) -> bool:
    """Return True if another attempt may succeed."""
    is_open = outcome.kind == "unknown" or is_deferred(outcome)
    return is_open and not (outcome.is_unproved or outcome.doubted)


def _classified(outcome: ToolOutcome, tool: Tool, call: ToolCall) -> ToolOutcome:
    """Return the outcome; a refusal settles nothing after an attempt that may have arrived."""
    if earlier_may_have_arrived(call):
        doubted = tool.is_side_effect and outcome.kind == "rejected"
        return outcome.model_copy(update={"kind": "unknown"}) if doubted else outcome
    if outcome.kind == "unknown" and is_deferred(outcome):
        return outcome.model_copy(update={"kind": "rejected", "reason": outcome.why})
    return outcome
