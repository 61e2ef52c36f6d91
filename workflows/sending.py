"""Sending a call that may be made: written ahead, waited for whatever comes, and settled.

Invariant: a side effect is in the leg's ledger before its call is scheduled, and its outcome is in
the ledger before the leg ends, even when a cancel request arrives while the call is on its way.
"""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.exceptions import is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.pii import as_written
    from orchestrator.messages.call_limits import longest_call
    from orchestrator.messages.tool_call import PreparedCall, ToolCall
    from orchestrator.planning.models import CallTool
    from orchestrator.saga.ledger import Ledger
    from orchestrator.saga.outcome import ToolOutcome
    from workflows import calls
    from workflows.failures import LOST
    from workflows.held_up import HeldBack, pause_of, wait_for, wait_in_sight
    from workflows.progress import Progress
    from workflows.reservations import needs_reservation
    from workflows.waiting import finish_despite_cancel


async def send(allowed: PreparedCall, progress: Progress) -> ToolOutcome:
    """What the call came to, after all its attempts; the leg's state says so already.

    Raises:
        asyncio.CancelledError: a cancel request came meanwhile; the outcome is settled all the
            same.
    """
    assert allowed.call is not None
    call = allowed.call
    attempts = progress.leg.policy.call_attempts if allowed.repeatable else 1
    if needs_reservation(progress.leg, allowed):
        call = call.model_copy(update={"reserved": allowed.reserves})
    call = _by_reference(call, progress)
    call = _due(call, allowed, attempts, progress)
    progress.count_call(call.tool)
    outcome, cancelled = await _sent(call, allowed, attempts, progress)
    outcome = _doubted(progress.state.ledger, allowed, outcome)
    _settle(allowed, outcome, progress)
    if cancelled:
        raise asyncio.CancelledError
    return outcome


def _due(call: ToolCall, allowed: PreparedCall, attempts: int, progress: Progress) -> ToolCall:
    """The call with the moment after which it is not sent any more; the ledger has it by then."""
    deadline = workflow.now() + longest_call(timedelta(seconds=call.timeout_s), attempts)
    progress.write(_written_ahead(progress.state.ledger, allowed, deadline=deadline))
    return call.model_copy(update={"deadline": deadline}) if allowed.side_effect else call


async def _sent(
    call: ToolCall, allowed: PreparedCall, attempts: int, progress: Progress
) -> tuple[ToolOutcome, bool]:
    """What the call came to, and whether a cancel request came meanwhile.

    One that was held back is sent later, once a worker has what it needs or its provider takes
    calls again, with another deadline: for the first time, or again under its key. While it waits,
    a cancel ends it.
    """
    rounds, waited = 0, timedelta(0)
    while True:
        work = calls.invoke_tool(call, attempts=attempts)
        answer, cancelled = await finish_despite_cancel(work)
        may_have_arrived = call.may_have_arrived
        if isinstance(answer, ToolOutcome):
            pause = pause_of(answer, waited)
            if cancelled or pause is None:
                return answer, cancelled
            if not await _is_over(pause, answer):
                return answer, True
            waited += pause
        elif cancelled or not await _is_there(answer, rounds):
            return _settled(answer), True
        else:
            may_have_arrived = answer.may_have_arrived
        rounds += 1
        again = call.model_copy(update={"held_back": rounds, "may_have_arrived": may_have_arrived})
        call = _due(again, allowed, attempts, progress)


async def _is_over(pause: timedelta, answer: ToolOutcome) -> bool:
    """Wait for a provider that deferred a call; False: a cancel came first."""
    try:
        await wait_in_sight(pause, answer.reason or f"HTTP {answer.status}")
    except LOST as error:
        if is_cancelled_exception(error):
            return False
        raise
    return True


async def _is_there(held: HeldBack, rounds: int) -> bool:
    """Wait until some worker has what a call needs; False: a cancel came first."""
    try:
        await wait_for(held.lacking, held.why, rounds=rounds)
    except LOST as error:
        if is_cancelled_exception(error):
            return False
        raise
    return True


async def read_at_once(reads: Mapping[int, PreparedCall], progress: Progress) -> None:
    """Make calls that leave nothing, by their parts of the step; recorded in that order.

    A call that was answered is in history before the others are: none is made again.

    Raises:
        asyncio.CancelledError: a cancel request came meanwhile; what was answered is recorded.
    """
    attempts = progress.leg.policy.call_attempts
    sent = [_by_reference(_call_of(read), progress) for read in reads.values()]
    outcomes, cancelled = await _all_read(sent, attempts)
    for (part, read), outcome in zip(reads.items(), outcomes, strict=True):
        progress.begin_part(part)
        _settle(read, outcome, progress)
        why = outcome.reason or outcome.contract_breach
        did = f"call {_call_of(read).tool}"
        progress.record(did, outcome.kind, why, at=outcome.answered_at)
    if cancelled:
        raise asyncio.CancelledError


async def _all_read(sent: list[ToolCall], attempts: int) -> tuple[list[ToolOutcome], bool]:
    """What calls that leave nothing came to, and whether a cancel request came meanwhile."""
    answers, cancelled = await _asked(sent, attempts)
    rounds, waited = 0, timedelta(0)
    while held := _held_back(answers, waited):
        first, pause = next(iter(held.values()))
        if isinstance(first, HeldBack):
            is_due = not cancelled and await _is_there(first, rounds)
        else:
            is_due = not cancelled and await _is_over(pause, first)
            waited += pause
        if not is_due:
            cancelled = True
            break
        rounds += 1
        later, cancelled = await _asked([sent[n] for n in held], attempts)
        for n, answer in zip(held, later, strict=True):
            answers[n] = answer
    return [_settled(answer) for answer in answers], cancelled


def _held_back(
    answers: list[ToolOutcome | HeldBack], waited: timedelta
) -> dict[int, tuple[ToolOutcome | HeldBack, timedelta]]:
    """The calls that are sent later, with how long their provider is waited for."""
    held: dict[int, tuple[ToolOutcome | HeldBack, timedelta]] = {}
    for n, answer in enumerate(answers):
        if isinstance(answer, HeldBack):
            held[n] = answer, timedelta(0)
        elif (pause := pause_of(answer, waited)) is not None:
            held[n] = answer, pause
    return held


async def _asked(sent: list[ToolCall], attempts: int) -> tuple[list[ToolOutcome | HeldBack], bool]:
    return await finish_despite_cancel(
        _all([calls.invoke_tool(call, attempts=attempts) for call in sent])
    )


async def _all(
    calls_made: Sequence[Awaitable[ToolOutcome | HeldBack]],
) -> list[ToolOutcome | HeldBack]:
    return await asyncio.gather(*calls_made)


def _settled(answer: ToolOutcome | HeldBack) -> ToolOutcome:
    """An answer, or that there will be none."""
    if isinstance(answer, ToolOutcome):
        return answer
    if answer.may_have_arrived:
        return ToolOutcome(kind="unknown", reason=f"not asked about again: {answer.why}")
    return ToolOutcome(kind="rejected", reason=f"not sent: {answer.why}")


def _call_of(allowed: PreparedCall) -> ToolCall:
    assert allowed.call is not None
    return allowed.call


def _by_reference(call: ToolCall, progress: Progress) -> ToolCall:
    """The call, its answer wanted short; what it tells of conditions is read where it is whole."""
    if progress.keeping is None:
        return call
    return call.model_copy(update={"past": progress.state.past})


def is_in_doubt(allowed: PreparedCall, outcome: ToolOutcome) -> bool:
    """Whether it may have left, or cancelled, something that only rollback can find out about."""
    return outcome.kind == "unknown" and (allowed.obligation or allowed.cancel) is not None


def _written_ahead(ledger: Ledger, allowed: PreparedCall, *, deadline: datetime) -> Ledger:
    """With what this call may cancel, and what it may leave, before it is sent."""
    assert allowed.call is not None
    now, grant = workflow.now(), allowed.call.grant
    if allowed.cancel is not None:
        written = {"written_at": now, "confirmed_by": grant.approver if grant else None}
        ledger = ledger.cancelling(allowed.cancel.model_copy(update=written))
    if allowed.obligation is not None:
        obligation = allowed.obligation.model_copy(
            update={
                "written_at": now,
                "deadline": deadline,
                "confirmed_by": grant.approver if grant else None,
                "approved_price": allowed.limit.approved if allowed.limit is not None else None,
            }
        )
        ledger = ledger.written(obligation)
    return ledger


def _settle(allowed: PreparedCall, outcome: ToolOutcome, progress: Progress) -> None:
    """Keep what it came to: in the ledger, which says what is spent, and for the planner to see."""
    assert allowed.call is not None
    # Not workflow.now(): after a worker's death that may still be the time before it, and
    # rollback goes by the order of these times.
    at = outcome.answered_at or workflow.now()
    progress.write(_answered(progress.state.ledger, allowed, outcome, at=at))
    progress.observe(
        # As the planner wrote them: it compares what it wants with what it tried.
        CallTool(tool=allowed.call.tool, arguments=as_written(allowed.call.arguments)),
        outcome=outcome.kind,
        side_effect=allowed.side_effect,
        body=outcome.body,
        error=None if outcome.kind == "succeeded" else outcome.reason or outcome.kind,
        price=outcome.price,
        at=at,
        body_ref=outcome.body_ref,
    )


def _doubted(ledger: Ledger, allowed: PreparedCall, outcome: ToolOutcome) -> ToolOutcome:
    """The outcome, unclear where its answer gives the id of another call's that stands already."""
    made = allowed.obligation
    if made is None or outcome.kind != "succeeded":
        return outcome
    other = ledger.namesake(made.cancel_tool, outcome.answered_ids, of=made.obligation_id)
    if other is None:
        return outcome
    reason = f"its answer gives the id that {other.obligation_id} was answered with"
    return outcome.model_copy(update={"kind": "unknown", "reason": reason})


def _answered(
    ledger: Ledger, allowed: PreparedCall, outcome: ToolOutcome, *, at: datetime
) -> Ledger:
    """With the outcome of what was written ahead."""
    if allowed.obligation is not None:
        written = ledger.obligation(allowed.obligation.obligation_id)
        # What a cancel answers is paid back, and no price.
        came = outcome if allowed.cancel is None else outcome.model_copy(update={"price": None})
        ledger = ledger.written(written.answered(came, at=at).compared(allowed.limit))
    if allowed.cancel is not None:
        sent = ledger.cancel(allowed.cancel.call_id)
        ledger = ledger.cancelling(sent.answered(outcome, at=at))
    return ledger
