"""Calling tools: send a call, if it is one that may be sent."""

import asyncio
import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Final

from temporalio import activity
from temporalio.client import Client
from temporalio.exceptions import ApplicationError

from activities.authority import Authority
from activities.boundary import heartbeats, lacking_error, translated_errors, was_tried
from activities.call_origins import CallOrigins, MissionOrigins
from activities.call_readiness import check_pinned
from activities.cancel_review import CancelReview, approved_as
from activities.kept_messages import KeptMessages, NothingKept
from activities.reserved_money import ReservedMoney
from activities.unproved_answers import cleared_up, settled_by_probe
from activities.wall_guard import WallGuard
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.storage.catalog_store import CatalogStore
from orchestrator.adapters.storage.grant_book import GrantBook
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.confirmation.models import call_digest
from orchestrator.core.errors import (
    ArgumentsInvalid,
    DeadlinePassed,
    DocumentInvalid,
    EgressRefused,
    GrantMissing,
    GrantUsed,
    MissionSilent,
    NotReserved,
    OrchestratorError,
    PiiMissing,
    SecretMissing,
    StateLacking,
    TokenRefused,
    TransportFailed,
    UsageError,
)
from orchestrator.messages import names
from orchestrator.messages.tool_call import ToolCall
from orchestrator.planning.trimming import trim_body
from orchestrator.saga.cancel_arguments import answered_inputs, cancel_arguments
from orchestrator.saga.follow_ups import follow_ups
from orchestrator.saga.outcome import ToolOutcome, is_not_worked_on

_TAKEN_BACK: Final = "not sent: a rollback has begun to take this call back"
_ONCE: Final = "its worker may have sent it, and it takes no key by which it is known again"
NOTHING_SENT = (
    ArgumentsInvalid,
    DocumentInvalid,
    EgressRefused,
    PiiMissing,
    SecretMissing,
    TokenRefused,
    UsageError,
)
"""Errors of an attempt that ended before the wire."""

LONGEST_VALUE: Final = 4_096
"""Of what a ledger takes from an answer, as JSON, in bytes: ids, references and headers."""

_BREACHED_ATTEMPTS: Final = 3
"""How often the same key is asked for an answer that honours its contract: a gateway's page passes,
a provider that has another idea of its answers stays with it."""


class ToolActivities:
    """A tool client over stored catalogs."""

    def __init__(
        self,
        catalogs: CatalogStore,
        tools: ToolClient,
        grants: GrantBook,
        client: Client,
        guard: WallGuard | None = None,
        authority: Authority | None = None,
        *,
        origins: CallOrigins | None = None,
        kept: KeptMessages | None = None,
    ) -> None:
        self._kept = kept or KeptMessages(NothingKept())
        self._catalogs = catalogs
        self._tools = tools
        self._grants = grants
        self._cancels = CancelReview(tools, client)
        self._guard = guard or WallGuard()
        self._authority = authority or Authority()
        self._origins = origins or MissionOrigins(client)
        self._reserved = ReservedMoney(client)

    @activity.defn(name=names.INVOKE_TOOL)
    async def invoke_tool(self, call: ToolCall) -> ToolOutcome:
        """Send one call.

        The process may die anywhere in here: before the wire nothing happened; after it the same
        call goes out again with the same key, and the provider answers what it answered before. A
        side effect that takes no key is scheduled with a single attempt: when that one cannot have
        left, the call is settled and not unclear.

        Raises:
            ApplicationError: retryable while the outcome is unclear; non-retryable GrantMissing
                when the call is not exactly the one that was approved, GrantUsed when another
                execution has used its grant, and CallUnowned or LegUnowned when it is not of a leg
                that its mission started.
        """
        # All of it: what looks at a store that hangs lives, and must not be taken for dead.
        async with heartbeats():
            return await self._invoked(call)

    async def _invoked(self, call: ToolCall) -> ToolOutcome:
        with translated_errors(), held_back(call):
            catalog = await asyncio.to_thread(self._catalogs.get, call.catalog_digest)
            tool = catalog.tool(call.tool)
            refusal = self._guard.refusal(call.agent, tool, at="sending")
            refusal = refusal or await self._authority.refusal_of(call, approved_as(tool, call))
            if refusal is not None:
                return _refused(refusal, earlier_attempts=_an_earlier_may_have_arrived(call))
            check_grant(tool, call)
            if _is_sent_once(tool) and _an_earlier_may_have_arrived(call):
                return _refused(_ONCE, earlier_attempts=True)
            try:
                await self._origins.check(call, tool)
                await self._reserved.check(call)
            except NotReserved as no_money:
                return _not_sent(no_money, earlier_attempts=_an_earlier_may_have_arrived(call))
            except MissionSilent as silent:
                if _is_the_only_attempt(call):
                    return _not_sent(silent, earlier_attempts=False)
                raise
            try:
                await self._cancels.check(catalog, tool, call)
            except GrantMissing as doubt:
                # Another leg may have cancelled it first: nothing left, and the planner is told.
                return _not_sent(doubt, earlier_attempts=_an_earlier_may_have_arrived(call))
            if approved_as(tool, call) is not None:
                await self._use_grant(call)
            if tool.is_side_effect and await asyncio.to_thread(
                self._grants.is_taken_back, call.call_id
            ):
                # Only a server that was restored from an older copy still wants it sent.
                return _refused(_TAKEN_BACK, earlier_attempts=True)
            left = _time_left(call)  # the last look: a process may be paused anywhere above
        with held_back(call):
            outcome = await self._sent(catalog, tool, call, left)
        if not call.past:
            return outcome
        return await self._kept.shortened(outcome, call)

    async def _sent(
        self, catalog: Catalog, tool: Tool, call: ToolCall, within_s: float
    ) -> ToolOutcome:
        """What one request came to, cleared up as far as it can be now."""
        until = time.monotonic() + within_s
        try:
            check_pinned(catalog, tool, call.arguments)
            outcome = await self._tools.call(
                catalog,
                tool,
                call.arguments,
                call_id=call.call_id,
                idempotency_key=tool.key_of(call.call_id),
                timeout_s=within_s,
                mission_id=call.mission_id,
            )
        except StateLacking:  # of personal values, before the wire
            raise
        except NOTHING_SENT as error:
            return _not_sent(error, earlier_attempts=_an_earlier_may_have_arrived(call))
        except TransportFailed as error:
            if not error.may_have_arrived and _is_the_only_attempt(call):
                return ToolOutcome(kind="rejected", reason=str(error))
            _note_arrival(call, may_have_arrived=error.may_have_arrived)
            raise ApplicationError(str(error), type=type(error).__name__) from error
        outcome = with_cancel_arguments(catalog, tool, call, outcome)
        outcome = with_follow_ups(catalog, tool, call, outcome)
        is_final = outcome.accepted or outcome.doubted or _is_last_for_a_breach()
        if outcome.is_unproved and is_final:
            # What is answered whole at the first attempt leaves no other one on its way.
            is_whole = outcome.doubted and not outcome.accepted
            is_alone = is_whole and not _an_earlier_may_have_arrived(call)
            outcome = outcome.model_copy(update={"alone": is_alone})
            return _kept(await cleared_up(self._tools, catalog, tool, call, outcome, until=until))
        if tool.is_side_effect and _an_earlier_may_have_arrived(call) and _is_refusal(outcome):
            told = await settled_by_probe(self._tools, catalog, tool, call, outcome, until=until)
            if told is None:
                raise _left_unclear(outcome)
            outcome = told
        return _settled(outcome, call)

    async def _use_grant(self, call: ToolCall) -> None:
        """Use the grant of a call, which only one execution of an activity ever may.

        A later attempt of that execution is the same call: its digest covers the call's id, and so
        the idempotency key by which the provider knows it again. A tool that takes no key is never
        attempted twice. Whatever else comes with the same grant is another call that nobody
        approved: a second execution, a leg that was reset, a copied input.

        Raises:
            GrantUsed: something else has used it.
        """
        assert call.grant is not None
        info = activity.info()
        user = f"{info.workflow_id} {info.workflow_run_id} {info.activity_id}"
        before = await asyncio.to_thread(self._grants.claim, call.grant.digest, user)
        is_used = _is_anothers(before, user)
        if call.held_back:
            # This run knows that it was not sent: the grant is its own still, and each time that it
            # is sent anew is used up once, as the first is.
            run = f"{info.workflow_id} {info.workflow_run_id} "
            is_used = before is not None and not before.startswith(run)
            is_used = is_used or await self._was_sent_anew(call, user)
        if is_used:
            raise GrantUsed(call.call_id, f"the grant for {call.tool} has been used for a call")

    async def _was_sent_anew(self, call: ToolCall, user: str) -> bool:
        """Whether the sending after so many that were held back has been used."""
        assert call.grant is not None
        nth = hashlib.sha256(f"{call.grant.digest} {call.held_back}".encode()).hexdigest()
        return _is_anothers(await asyncio.to_thread(self._grants.claim, nth, user), user)


def _is_anothers(before: str | None, user: str) -> bool:
    """Whether a grant was used by something else than an earlier attempt of this execution."""
    return before is not None and (before != user or activity.info().attempt == 1)


def with_cancel_arguments(
    catalog: Catalog, tool: Tool, call: ToolCall, outcome: ToolOutcome
) -> ToolOutcome:
    """The outcome with the cancel arguments that it fills, read before a long answer is cut."""
    cancel = catalog.tools.get(tool.compensation.cancel.tool) if tool.compensation else None
    if cancel is None or (outcome.kind != "succeeded" and not outcome.is_unproved):
        return outcome
    known = cancel_arguments(
        tool,
        call.arguments,
        idempotency_key=tool.key_of(call.call_id),
        response_body=outcome.body,
        response_headers=outcome.headers,
        called=cancel,
    )
    answered = answered_inputs(catalog, cancel)
    ids = {name: value for name, value in known.items() if name in answered}
    return outcome.model_copy(update={"undo_arguments": known, "answered_ids": ids})


def with_follow_ups(
    catalog: Catalog, tool: Tool, call: ToolCall, outcome: ToolOutcome
) -> ToolOutcome:
    """The outcome of a consequence with what can be done next, read where the answer is whole."""
    if outcome.kind != "succeeded" or not tool.is_side_effect:
        return outcome
    listed = follow_ups(
        catalog,
        tool,
        call_id=call.call_id,
        arguments=call.arguments,
        body=outcome.body,
        cancel_inputs=outcome.undo_arguments,
        price=outcome.price,
        at=datetime.now(UTC),
    )
    return outcome.model_copy(update={"follow_ups": listed})


def check_grant(tool: Tool, call: ToolCall) -> None:
    """Refuse a call that needs an approval and does not carry one for exactly this call.

    Raises:
        GrantMissing: no grant, or one whose digest is not that of what is about to be sent.
    """
    card_type = approved_as(tool, call)
    if card_type is None:
        return
    if call.grant is None:
        raise GrantMissing(call.call_id, f"{tool.name} needs a confirmation and has none")
    digest = call_digest(
        call,
        arguments=call.arguments,
        card_type=card_type,
        confirmation_id=call.grant.confirmation_id,
        terms=call.approval_terms,
    )
    if call.grant.digest != digest:
        raise GrantMissing(
            call.call_id, f"the grant for {tool.name} is for another call or other arguments"
        )


def _time_left(call: ToolCall) -> float:
    """Seconds this attempt may take: a side effect never leaves after its deadline.

    Rollback acts once the deadline has passed; a request sent later would land behind its cancel.
    """
    if call.deadline is None:
        return call.timeout_s
    left = call.deadline - datetime.now(UTC)
    if left <= timedelta(0):
        raise DeadlinePassed(call.tool)
    return min(call.timeout_s, left.total_seconds())


def _is_refusal(outcome: ToolOutcome) -> bool:
    return outcome.kind == "rejected" and outcome.status is not None


def _left_unclear(refused: ToolOutcome) -> ApplicationError:
    """A later attempt's refusal: whatever it says, it leaves an unclear first one unclear.

    It is not tried again: such a refusal outlasts the seconds that are left.
    """
    reason = refused.reason or f"HTTP {refused.status}"
    return ApplicationError(
        f"{reason}; an earlier attempt may have succeeded",
        type=names.PROVIDER_BUSY,
        non_retryable=True,
    )


@contextmanager
def held_back(call: ToolCall) -> Iterator[None]:
    """Tell of state that is lacking before the wire, and whether any attempt got further.

    The call is sent later, when its workflow knows of a worker that has it all.
    """
    try:
        yield
    except StateLacking as error:
        nothing_sent = not _an_earlier_may_have_arrived(call)
        _note_arrival(call, may_have_arrived=False)
        raise lacking_error(error, is_last=was_tried(), nothing_sent=nothing_sent) from error


def _an_earlier_may_have_arrived(call: ToolCall) -> bool:
    """Whether the provider may have worked on an attempt before this one.

    It cannot when the last one noted that none did. A note that was lost counts as none.
    """
    if call.may_have_arrived:
        return True
    info = activity.info()
    return info.attempt > 1 and list(info.heartbeat_details) != [info.attempt - 1]


def _note_arrival(call: ToolCall, *, may_have_arrived: bool) -> None:
    """Note for the next attempt when no one up to this was worked on by the provider."""
    if not may_have_arrived and not _an_earlier_may_have_arrived(call):
        activity.heartbeat(activity.info().attempt)


def _is_last_for_a_breach() -> bool:
    """Whether an answer that breaks its contract is not asked for once more, with the same key."""
    info = activity.info()
    most = info.retry_policy.maximum_attempts if info.retry_policy is not None else 0
    return info.attempt >= min(most or _BREACHED_ATTEMPTS, _BREACHED_ATTEMPTS)


def _not_sent(error: OrchestratorError, *, earlier_attempts: bool) -> ToolOutcome:
    """An attempt that ended before the wire settles the call only if no earlier one got further."""
    return _refused(str(error), earlier_attempts=earlier_attempts)


def _refused(reason: str, *, earlier_attempts: bool) -> ToolOutcome:
    return ToolOutcome(kind="unknown" if earlier_attempts else "rejected", reason=reason)


def _is_sent_once(tool: Tool) -> bool:
    """Whether a second request would be a second effect."""
    return tool.is_side_effect and tool.idempotency_key is None


def _is_the_only_attempt(call: ToolCall) -> bool:
    """Whether none came before and none will follow: what it knows is all there is to know."""
    policy = activity.info().retry_policy
    is_alone = policy is not None and policy.maximum_attempts == 1
    return is_alone and not call.may_have_arrived


def _settled(outcome: ToolOutcome, call: ToolCall) -> ToolOutcome:
    """The outcome to keep; an unclear one is raised, so that Temporal tries again."""
    if outcome.kind != "unknown":
        return _kept(outcome)
    if _is_deferred(outcome) and _is_waited_for(outcome, call):
        return _kept(outcome.model_copy(update={"kind": "rejected", "deferred": True}))
    delay = None if outcome.retry_after_s is None else timedelta(seconds=outcome.retry_after_s)
    _note_arrival(call, may_have_arrived=not _is_deferred(outcome))
    raise ApplicationError(
        outcome.reason or f"HTTP {outcome.status}",
        type=names.PROVIDER_BUSY,
        next_retry_delay=delay,
    )


def _is_deferred(outcome: ToolOutcome) -> bool:
    return outcome.deferred or is_not_worked_on(outcome.status)


def _is_waited_for(outcome: ToolOutcome, call: ToolCall) -> bool:
    """Whether the workflow waits before the call is sent again, so that it costs no attempt.

    Nothing was done by this attempt, nor by one before it. Without a time to wait for, and with
    attempts left, the next attempt comes soon by itself.
    """
    if _an_earlier_may_have_arrived(call):
        return False
    is_last = bool(call.held_back) or _is_the_only_attempt(call)
    return outcome.retry_after_s is not None or is_last


def _kept(outcome: ToolOutcome) -> ToolOutcome:
    """The outcome as history keeps it."""
    return _bounded(outcome).model_copy(
        update={"body": trim_body(outcome.body), "answered_at": datetime.now(UTC)}
    )


def _bounded(outcome: ToolOutcome) -> ToolOutcome:
    """The outcome without ids and headers that no ledger holds; a call that has one is unclear.

    Rollback asks for it again under its key, and cancels by what is answered then.
    """
    held = {**outcome.headers, **outcome.undo_arguments}
    too_long = {name for name, value in held.items() if len(json.dumps(value)) > LONGEST_VALUE}
    if not too_long:
        return outcome
    kept = {
        field: {name: value for name, value in values.items() if name not in too_long}
        for field, values in (
            ("headers", outcome.headers),
            ("undo_arguments", outcome.undo_arguments),
            ("answered_ids", outcome.answered_ids),
        )
    }
    named = ", ".join(sorted(too_long))
    why = f"its answer fills {named} with more than {LONGEST_VALUE:,} bytes, which no record holds"
    unclear = {"kind": "unknown", "reason": why} if outcome.kind == "succeeded" else {}
    return outcome.model_copy(update={**kept, **unclear, "follow_ups": ()})
