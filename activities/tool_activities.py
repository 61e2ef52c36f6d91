"""Call tools: check that a call may be sent, send it, and note its outcome."""

import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Final

from temporalio import activity
from temporalio.exceptions import ApplicationError

from orchestrator.activities.authority import Authority, WallGuard, check_sender, is_standing
from orchestrator.activities.boundary import (
    ServerTime,
    catalog_of,
    from_store,
    heartbeats,
    missing_state_error,
    spread_wait,
    store_deadline,
    translated_errors,
    was_tried,
)
from orchestrator.activities.cancel_review import CancelReview, approved_as
from orchestrator.activities.fair_slots import FairSlots, provider_of
from orchestrator.activities.kept_messages import KeptMessages, NothingKept
from orchestrator.activities.unproved_answers import AnsweredCall
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.storage.protocols import CatalogStore, Claim, GrantBook, SentCall
from orchestrator.catalog.arguments import needed_handles
from orchestrator.catalog.card_types import CANCELLATION
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.confirmation.models import call_digest
from orchestrator.core.errors import (
    NOT_IN_TIME,
    ArgumentsInvalid,
    ConfirmationError,
    DocumentInvalid,
    EgressRefused,
    GrantMissing,
    GrantRefused,
    PiiMissing,
    SecretMissing,
    StateMissing,
    TransportFailed,
    UsageError,
)
from orchestrator.core.record import JsonObject
from orchestrator.messages import names
from orchestrator.messages.tool_call import ToolCall
from orchestrator.planning.trimming import trim_body
from orchestrator.saga.cancel_arguments import answered_inputs, cancel_arguments, tool_of
from orchestrator.saga.follow_ups import follow_ups
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import ObligationState
from orchestrator.saga.outcome import InputWanted, ToolOutcome, is_not_worked_on

_BEING_CANCELLED: Final = "not sent: a rollback has begun to cancel this call"
ONCE: Final = "its worker may have sent it, and it takes no key by which it is known again"
NOTHING_SENT = (
    ArgumentsInvalid,
    DocumentInvalid,
    EgressRefused,
    PiiMissing,
    SecretMissing,
    UsageError,
)
"""Errors of an attempt that ended before the request was sent."""

_NOTED_S: Final = 1.0
"""Seconds that an outcome waits for the store: the activity's timeout must not lose the outcome."""

LONGEST_VALUE: Final = 4_096
"""Largest size in bytes, as JSON, of one value that a ledger takes from an answer."""

MOST_ROUNDS: Final = 10
"""The questions that a server may ask during one call; the library of the protocol has this limit.
"""

_BREACHED_ATTEMPTS: Final = 3
"""Attempts for an answer that follows its contract.

A gateway's error page passes after a while; a provider whose answers differ from the contract keeps
sending them.
"""


class ToolActivities:
    """Sends calls of stored catalogs."""

    def __init__(
        self,
        catalogs: CatalogStore,
        tools: ToolClient,
        grants: GrantBook,
        guard: WallGuard | None = None,
        authority: Authority | None = None,
        *,
        kept: KeptMessages | None = None,
        slots: FairSlots | None = None,
    ) -> None:
        self._slots = slots or FairSlots()
        self._kept = kept or KeptMessages(NothingKept())
        self._catalogs = catalogs
        self._tools = tools
        self._grants = grants
        self._cancels = CancelReview(tools)
        self._guard = guard or WallGuard()
        self._authority = authority or Authority()

    @activity.defn(name=names.INVOKE_TOOL)
    async def invoke_tool(self, call: ToolCall) -> ToolOutcome:
        """Send one call.

        The process may die anywhere in this method. Before the request is sent, nothing has
        happened; after that, the same call is sent again with the same key, and the provider
        repeats its answer. A side effect without a key is scheduled with a single attempt: if that
        attempt cannot have been sent, the call is settled and not unclear.

        Raises:
            ApplicationError: retryable while the outcome is unclear; non-retryable GrantMissing if
                the call is not exactly the approved one, GrantUsed if another execution has used
                its grant, and CallUnowned if a workflow other than its mission sends it.
        """
        # Around all of it: an attempt that waits for a store that hangs must not be taken for dead.
        async with heartbeats():
            until, clock = store_deadline(), ServerTime()
            with translated_errors(), postponed(call):
                clock.check()
                check_sender(call, serves_sagas=self._authority.serves_sagas)
                catalog = await catalog_of(self._catalogs, call.catalog_digest, until)
                tool = catalog.tool(call.tool)
                if call.obligation is not None:
                    tool = tool_of(catalog, call.obligation)
            with postponed(call), self._slots.taken(provider_of(tool), call.mission_id):
                return await self._invoked(catalog, tool, call, until, clock)

    async def _invoked(
        self, catalog: Catalog, tool: Tool, call: ToolCall, until: float, clock: ServerTime
    ) -> ToolOutcome:
        with translated_errors(), postponed(call):
            refusal = self._guard.refusal(call.agent, tool, at="sending")
            if call.obligation is not None and call.obligation.contract != call.stated_cancel:
                refusal = f"{call.call_id}: its ledger entry has another cancel than its card"
            refusal = refusal or await self._authority.refusal_of(
                call, approved_as(tool, call), tool
            )
            if refusal is not None:
                return _refused(refusal, earlier_attempts=earlier_may_have_arrived(call))
            try:
                check_grant(tool, call)
            except GrantMissing as missing:
                if earlier_may_have_arrived(call):
                    return _refused(str(missing), earlier_attempts=True)
                raise  # which tells the workflow that nothing was sent
            if is_sent_once(tool) and earlier_may_have_arrived(call):
                return _refused(ONCE, earlier_attempts=True)
            try:
                self._cancels.check(catalog, tool, call)
                await self._check_owner(tool, call, until)
                call = await self._claim(tool, call, until, clock.now())
            except (GrantMissing, GrantRefused) as doubt:
                # Another leg may have cancelled the obligation first, or used up the standing
                # approval: the planner reads that nothing is left.
                return _refused(str(doubt), earlier_attempts=earlier_may_have_arrived(call))
            if tool.is_side_effect:
                is_cancelled = await from_store(until, self._grants.is_cancelled, call.key)
                if is_cancelled:
                    # Only a server that was restored from an older copy still asks to send it.
                    return _refused(_BEING_CANCELLED, earlier_attempts=True)
            left = _time_left(call, clock)  # checked last: the process may be paused anywhere above
        with postponed(call):
            try:
                outcome = await self._sent(catalog, tool, call, left)
            except StateMissing as missing:
                if not earlier_may_have_arrived(call):
                    await self._note(
                        call, ToolOutcome(kind="rejected", reason=f"not sent: {missing}")
                    )
                raise
        if outcome.answered_at is not None:  # rollback depends on the order of these times
            outcome = outcome.model_copy(update={"answered_at": clock.now()})
        if outcome.asks is not None:
            return outcome
        if tool.is_side_effect and not outcome.deferred:
            outcome = outcome.after_input(call.given)
        await self._note(call, outcome)
        return await self._kept.shortened(outcome, call)

    async def _sent(
        self, catalog: Catalog, tool: Tool, call: ToolCall, within_s: float
    ) -> ToolOutcome:
        """Send one request, and clear up its outcome as far as is possible now."""
        until = time.monotonic() + within_s
        try:
            check_pinned(catalog, tool, call.arguments)
            outcome = await self._tools.call(
                catalog,
                tool,
                call.arguments,
                call_id=call.call_id,
                idempotency_key=tool.key_of(call.key),
                timeout_s=within_s,
                mission_id=call.mission_id,
                headers=call.headers,
                given=call.given,
            )
        except StateMissing:  # personal values are missing; the request was not sent
            raise
        except NOTHING_SENT as error:
            return _refused(str(error), earlier_attempts=earlier_may_have_arrived(call))
        except TransportFailed as error:
            if not error.may_have_arrived and _is_the_last_attempt(call):
                return ToolOutcome(kind="rejected", reason=str(error))
            note_arrival(call, may_have_arrived=error.may_have_arrived)
            raise ApplicationError(str(error), type=type(error).__name__) from error
        if (wanted := outcome.wanted) is not None:
            return kept_outcome(_asked(outcome, wanted, call))
        answered = AnsweredCall(self._tools, catalog, tool, call, until)
        outcome = with_cancel_arguments(catalog, tool, call, outcome)
        outcome = with_follow_ups(catalog, tool, call, outcome)
        info = activity.info()
        most = info.retry_policy.maximum_attempts if info.retry_policy is not None else 0
        is_last = info.attempt >= min(most or _BREACHED_ATTEMPTS, _BREACHED_ATTEMPTS)
        is_final = outcome.accepted or outcome.doubted or is_last
        is_whole = outcome.kind == "succeeded" or outcome.doubted or outcome.accepted
        if is_whole and tool.is_side_effect and not earlier_may_have_arrived(call):
            # The first attempt got a complete answer, so no other attempt can be on its way.
            outcome = outcome.model_copy(update={"alone": True})
        if outcome.is_unproved and is_final:
            return kept_outcome(await answered.cleared_up(outcome))
        if tool.effect is Effect.CANCEL and outcome.kind == "succeeded":
            return kept_outcome(await answered.verified(outcome))
        is_refusal = outcome.kind == "rejected" and outcome.status is not None
        if tool.is_side_effect and is_refusal and earlier_may_have_arrived(call):
            settled = await answered.settled(outcome)
            if settled is None:
                # Not retried: the provider will still refuse in the seconds that are left.
                why = f"{outcome.why}; an earlier attempt may have succeeded"
                raise ApplicationError(why, type=names.PROVIDER_BUSY, non_retryable=True)
            outcome = settled
        return _settled(outcome, call)

    async def _check_owner(self, tool: Tool, call: ToolCall, until: float) -> None:
        """Refuse a cancel without its own card if its id belongs to another mission.

        Raises:
            GrantMissing: a provider answered a call of this mission with the other mission's id.
        """
        if tool.effect is not Effect.CANCEL or approved_as(tool, call) == CANCELLATION:
            return
        for named in call.named:
            if owner := await from_store(until, self._grants.owner_of, named):
                why = f"{tool.name} would name what mission {owner} was answered with"
                raise GrantMissing(call.call_id, why)

    async def _claim(self, tool: Tool, call: ToolCall, until: float, now: datetime) -> ToolCall:
        """Use up the grant of a call, and note its possible effect, before the request is sent.

        Only one execution of an activity may ever send a call. A later attempt of that execution is
        the same call: its digest covers the call's id, and so the idempotency key by which the
        provider recognises it. A tool without a key is never attempted twice. Anything else with
        the same grant or id is another call: a second execution, a mission that was reset, a copied
        input. Without a grant, the very same call may be sent again under its key; it is returned
        as one that may have arrived before.

        Raises:
            GrantUsed: something else has used the grant, or sent a call of this id.
            GrantRefused: other calls have used up its standing approval, or the rule of a person.
        """
        needs_grant = approved_as(tool, call) is not None
        ledger = Ledger().sending(call.obligation, call.cancels)
        if not needs_grant and ledger == Ledger():
            return call
        user = f"{_run()}{activity.info().activity_id}"
        grant = call.grant if needs_grant else None
        grants = (grant.digest,) if grant is not None else ()
        spend = None
        if grant is not None and (is_standing(grant) or grant.again is not None):
            spend = self._authority.standing_spend(call, approved_as(tool, call))
        sent = SentCall(call.key, call.mission_id, user, grants, ledger, spend, now)
        claim = await from_store(until, self._grants.send, sent)
        if _is_used(claim, call, user) or await self._was_sent_later(call, sent, until):
            raise ConfirmationError(
                call.call_id,
                f"the grant for {call.tool} has been used for a call",
                code="GrantUsed",
            )
        if _was_sent(claim, tool, call, user):
            raise ConfirmationError(
                call.call_id, f"another execution has sent a call of {call.tool}", code="GrantUsed"
            )
        if call.postponed and claim.sent_by is not None:
            await from_store(until, self._grants.settle, call.key, ledger)
        if _is_repeated(claim, call, user):
            return call.model_copy(update={"may_have_arrived": True})
        return call

    async def _was_sent_later(self, call: ToolCall, sent: SentCall, until: float) -> bool:
        """Return True if something else has already sent the call after this many postponements."""
        if not call.postponed or not (sent.grants or call.given):
            return False
        first = next(iter(sent.grants), call.key)
        nth = hashlib.sha256(f"{first} {call.postponed}".encode()).hexdigest()
        later = sent._replace(grants=(nth,), ledger=Ledger())
        claim = await from_store(until, self._grants.send, later)
        return any(_is_anothers(one, sent.user) for one in claim.used_by)

    async def _note(self, call: ToolCall, outcome: ToolOutcome) -> None:
        """Note the outcome of a call next to the obligation that the call may leave.

        If the store fails, the provider's effect remains: the call stays unclear in the store, and
        a rollback asks the provider.
        """
        ledger = Ledger().sending(call.obligation, call.cancels)
        if ledger == Ledger():
            return
        at = outcome.answered_at or datetime.now(UTC)
        settled = ledger.answered(call.obligation, call.cancels, outcome, at=at, limit=call.limit)
        try:
            await from_store(store_deadline(_NOTED_S), self._grants.settle, call.key, settled)
        except (OSError, StateMissing) as error:
            activity.logger.warning("the outcome of %s is not noted: %s", call.call_id, error)


def _is_used(claim: Claim, call: ToolCall, user: str) -> bool:
    """Return True if something else has used the grant of a call.

    A postponed call still has its grant if its own run used it, which knows that nothing was sent
    or that the server asked for input, or if a note says so. Each later sending can be used once,
    like the first.
    """
    before = next(iter(claim.used_by), None)
    if not call.postponed:
        return _is_anothers(before, user)
    return before is not None and not (_is_of_this_call(before, call) or _was_not_sent(claim))


def _is_repeated(claim: Claim, call: ToolCall, user: str) -> bool:
    """Return True if something else has sent a call of this id: no refusal settles what it did."""
    before = claim.sent_by
    if before is None or not _is_anothers(before, user):
        return False
    return not (call.postponed and (_is_of_this_call(before, call) or _was_not_sent(claim)))


def _was_sent(claim: Claim, tool: Tool, call: ToolCall, user: str) -> bool:
    """Return True if something else has sent a call of this id: this one may be a second."""
    if not _is_repeated(claim, call, user):
        return False
    sent = [(o.tool, o.arguments) for o in claim.ledger.obligations]
    sent += [(c.tool, c.arguments) for c in claim.ledger.cancels]
    same = (call.tool, call.arguments) in sent
    return not same or is_sent_once(tool)


def _was_not_sent(claim: Claim) -> bool:
    """Return True if the notes say that the previous sending had no effect."""
    came = {o.state is not ObligationState.VOID for o in claim.ledger.obligations}
    came |= {c.outcome != "rejected" for c in claim.ledger.cancels}
    return came == {False}


def _run() -> str:
    """Return the beginning of the names of all executions in this run, which use up grants."""
    info = activity.info()
    return f"{info.workflow_id} {info.workflow_run_id} "


def _is_of_this_call(user: str, call: ToolCall) -> bool:
    """Return True if this run sent the call before, or the run that it continues."""
    began = call.given.sent_by if call.given is not None else _run()
    return user.startswith((_run(), began))


def _asked(outcome: ToolOutcome, wanted: InputWanted, call: ToolCall) -> ToolOutcome:
    """Return the outcome of a call whose server asks for input, as it goes on from there."""
    given = call.given
    number = 1 if given is None else given.round + 1
    refused = wanted.refused
    if number > MOST_ROUNDS:
        refused = refused or f"has asked {MOST_ROUNDS} times, and asks again"
    changes = {
        "round": number,
        "sending": call.postponed,
        "sent_by": _run() if given is None else given.sent_by,
        "may_have_arrived": earlier_may_have_arrived(call),
        "refused": refused,
    }
    wanted = wanted.model_copy(update=changes)
    reason = wanted.why_refused or outcome.reason
    return outcome.model_copy(update={"wanted": wanted, "reason": reason})


def _is_anothers(before: str | None, user: str) -> bool:
    """Return True if the grant was used by anything but an earlier attempt of this execution."""
    return before is not None and (before != user or activity.info().attempt == 1)


def with_cancel_arguments(
    catalog: Catalog, tool: Tool, call: ToolCall, outcome: ToolOutcome
) -> ToolOutcome:
    """Return the outcome with its cancel arguments, read before a long answer is cut."""
    cancel = catalog.tools.get(tool.compensation.cancel.tool) if tool.compensation else None
    if cancel is None or (outcome.kind != "succeeded" and not outcome.is_unproved):
        return outcome
    known = cancel_arguments(
        tool,
        call.arguments,
        idempotency_key=tool.key_of(call.key),
        response_body=outcome.body,
        response_headers=outcome.headers,
        called=cancel,
    )
    answered = answered_inputs(catalog, cancel)
    ids = {name: value for name, value in known.items() if name in answered}
    return outcome.model_copy(update={"cancel_inputs": known, "answered_ids": ids})


def with_follow_ups(
    catalog: Catalog, tool: Tool, call: ToolCall, outcome: ToolOutcome
) -> ToolOutcome:
    """Return the outcome of an effect with its follow-ups, read from the whole answer."""
    if outcome.kind != "succeeded" or not tool.is_side_effect:
        return outcome
    listed = follow_ups(
        catalog,
        tool,
        call_id=call.call_id,
        arguments=call.arguments,
        body=outcome.body,
        cancel_inputs=outcome.cancel_inputs,
        price=outcome.price,
        at=datetime.now(UTC),
    )
    return outcome.model_copy(update={"follow_ups": listed})


def check_grant(tool: Tool, call: ToolCall) -> None:
    """Refuse a call that needs an approval and carries none for exactly this call.

    Raises:
        GrantMissing: there is no grant, or its digest differs from the call's.
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


def _time_left(call: ToolCall, clock: ServerTime) -> float:
    """Return the seconds left to this attempt: a side effect is never sent after its deadline.

    Rollback acts once the deadline has passed; a request sent later would arrive after its cancel.

    Raises:
        StateMissing: the deadline has passed; the call is sent later, with another deadline.
    """
    if call.deadline is None:
        return call.timeout_s
    left = call.deadline - clock.now()
    if left <= timedelta(0):
        text = f"{call.tool}: its deadline has passed; nothing was sent"
        raise StateMissing(text, code=NOT_IN_TIME)
    return min(call.timeout_s, left.total_seconds())


@contextmanager
def postponed(call: ToolCall) -> Iterator[None]:
    """Report state that is missing before the request, and whether an earlier attempt was sent.

    The call is sent later, when its workflow knows of a worker that has all the state.
    """
    try:
        yield
    except StateMissing as error:
        nothing_sent = not earlier_may_have_arrived(call)
        note_arrival(call, may_have_arrived=False)
        raise missing_state_error(error, is_last=was_tried(), nothing_sent=nothing_sent) from error


def earlier_may_have_arrived(call: ToolCall) -> bool:
    """Return True if the provider may have worked on an earlier attempt.

    The provider cannot have done so if the last attempt noted that; a lost note counts as none.
    """
    if call.may_have_arrived:
        return True
    info = activity.info()
    return info.attempt > 1 and list(info.heartbeat_details) != [info.attempt - 1]


def note_arrival(call: ToolCall, *, may_have_arrived: bool) -> None:
    """Note for the next attempt if the provider worked on no attempt up to this one."""
    if not may_have_arrived and not earlier_may_have_arrived(call):
        activity.heartbeat(activity.info().attempt)


def _refused(reason: str, *, earlier_attempts: bool) -> ToolOutcome:
    """Return the outcome of an attempt that was not sent; an earlier attempt may have been."""
    return ToolOutcome(kind="unknown" if earlier_attempts else "rejected", reason=reason)


def is_sent_once(tool: Tool) -> bool:
    """Return True if a second request would be a second effect."""
    return tool.is_side_effect and tool.idempotency_key is None


def _is_the_last_attempt(call: ToolCall) -> bool:
    info = activity.info()
    policy = info.retry_policy
    is_last = policy is not None and info.attempt == policy.maximum_attempts
    return is_last and not earlier_may_have_arrived(call)


def _settled(outcome: ToolOutcome, call: ToolCall) -> ToolOutcome:
    """Return the outcome to keep; raise for an unclear outcome, so that Temporal tries again."""
    if outcome.kind != "unknown":
        return kept_outcome(outcome)
    wait_s = spread_wait(outcome.retry_after_s)
    # If there is no time to wait for, and attempts are left, the next attempt follows soon anyway.
    is_last = bool(call.postponed) or _is_the_last_attempt(call)
    waits = outcome.retry_after_s is not None or is_last
    if is_deferred(outcome) and waits and not earlier_may_have_arrived(call):
        # The workflow waits before the next attempt, which then costs none.
        later = {"kind": "rejected", "deferred": True, "retry_after_s": wait_s}
        return kept_outcome(outcome.model_copy(update=later))
    delay = None if wait_s is None else timedelta(seconds=wait_s)
    note_arrival(call, may_have_arrived=not is_deferred(outcome))
    raise ApplicationError(outcome.why, type=names.PROVIDER_BUSY, next_retry_delay=delay)


def is_deferred(outcome: ToolOutcome) -> bool:
    """Return True if the provider did not begin, and asks for a later attempt."""
    return outcome.deferred or is_not_worked_on(outcome.status)


def kept_outcome(outcome: ToolOutcome) -> ToolOutcome:
    """Return the outcome as history keeps it, without values too large for a ledger.

    Without one, a success is unclear: rollback asks for the call again under its key, and cancels
    by the values of that answer.
    """
    changes: dict[str, object] = {"body": trim_body(outcome.body), "answered_at": datetime.now(UTC)}
    held = {**outcome.headers, **outcome.cancel_inputs}
    too_long = {name for name, value in held.items() if len(json.dumps(value)) > LONGEST_VALUE}
    if too_long:
        for field in ("headers", "cancel_inputs", "answered_ids"):
            values = getattr(outcome, field)
            changes[field] = {name: values[name] for name in values if name not in too_long}
        changes["follow_ups"] = ()
    if too_long and outcome.kind == "succeeded":
        most = f"more than {LONGEST_VALUE:,} bytes, which no record holds"
        why = f"its answer fills {', '.join(sorted(too_long))} with {most}"
        changes |= {"kind": "unknown", "reason": why}
    return outcome.model_copy(update=changes)


def check_pinned(catalog: Catalog, tool: Tool, arguments: JsonObject) -> None:
    """Refuse a side effect if one of its handles does not state its version.

    An approval is for exact values, and a second attempt must send the same values as the first.

    Raises:
        ArgumentsInvalid: names the fields.
    """
    loose = [h.field for h in needed_handles(catalog, tool, arguments) if h.version is None]
    if loose and tool.is_side_effect:
        raise ArgumentsInvalid(
            tool.name,
            [f"which value of {', '.join(loose)} is meant was not settled when it was prepared"],
        )
