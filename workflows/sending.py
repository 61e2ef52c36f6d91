"""Send a permitted call: record it first, wait for its outcome in any case, and settle it.

Invariant: a side effect is in the leg's ledger before its call is scheduled, and its outcome is in
the ledger before the leg ends, even if a cancel request arrives while the call is in flight.
"""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.exceptions import is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.pii import as_written
    from orchestrator.messages.mission_policy import longest_call
    from orchestrator.messages.observed import ObservedCall, ObserveInput
    from orchestrator.messages.tool_call import PreparedCall, ToolCall
    from orchestrator.planning.models import CallTool
    from orchestrator.saga.ledger import Ledger
    from orchestrator.saga.outcome import ToolOutcome
    from orchestrator.saga.own_cancels import cancellable, obligations_named
    from orchestrator.workflows import calls
    from orchestrator.workflows.failures import LOST
    from orchestrator.workflows.missing_state import Postponed, pause_of, wait_for, wait_in_sight
    from orchestrator.workflows.progress import Progress
    from orchestrator.workflows.scope import task_queue
    from orchestrator.workflows.waiting import finish_despite_cancel


async def send(allowed: PreparedCall, progress: Progress) -> ToolOutcome:
    """Return the outcome of a call after all its attempts, already recorded in the leg's state.

    Raises:
        asyncio.CancelledError: a cancel request arrived meanwhile; the outcome is settled all the
            same.
    """
    call = _call_of(allowed)
    attempts = progress.leg.policy.call_attempts if allowed.repeatable else 1
    call = _by_reference(call, progress)
    call = _due(call, allowed, attempts, progress)
    progress.count_call(call.tool)
    outcome, cancelled = await _sent(call, allowed, attempts, progress)
    if allowed.obligation is not None:
        outcome = progress.mission_ledger().doubted(allowed.obligation, outcome)
    _settle(allowed, outcome, progress)
    if cancelled:
        raise asyncio.CancelledError
    return outcome


async def observe(wanted: CallTool, progress: Progress) -> tuple[ObservedCall, bool]:
    """Make a call without its guards, and record it in the ledger and for the planner.

    Returns:
        The call; and True if a cancel request arrived meanwhile.
    """
    leg = progress.leg
    message = ObserveInput(
        **leg.call_of(wanted.tool).ref,
        arguments=wanted.arguments,
        agent=leg.leg.agent.wall,
        reason=wanted.reason,
        timeout_s=leg.policy.call_timeout.total_seconds(),
        attempts=leg.policy.call_attempts,
    )
    made, cancelled = await finish_despite_cancel(calls.observe_call(message))
    outcome, at = made.outcome, made.outcome.answered_at or workflow.now()
    progress.write(made.entered(progress.state.ledger, at=at))
    progress.observe(
        wanted,
        outcome="succeeded" if made.is_answered else outcome.kind,
        side_effect=made.obligation is not None or made.cancel is not None,
        body=outcome.body,
        error=None if made.is_answered else outcome.reason or outcome.kind,
        price=outcome.price,
        at=at,
        body_ref=outcome.body_ref,
    )
    return made, cancelled


def _due(call: ToolCall, allowed: PreparedCall, attempts: int, progress: Progress) -> ToolCall:
    """Record the call in the ledger; return it with the deadline after which it is not sent."""
    deadline = workflow.now() + longest_call(timedelta(seconds=call.timeout_s), attempts)
    ledger = _written_ahead(progress.state.ledger, allowed, deadline=deadline)
    progress.write(ledger)
    # The call carries its ledger entry, so that raw history alone shows its possible effect.
    times: dict[str, object] = {"limit": allowed.limit}
    if allowed.obligation is not None:
        times["obligation"] = ledger.obligation(allowed.obligation.obligation_id)
    if allowed.cancel is not None:
        times["cancels"] = ledger.cancel(allowed.cancel.call_id)
        times["named"] = obligations_named(cancellable(progress.mission_ledger()), allowed.cancel)
    if allowed.side_effect:
        times["deadline"] = deadline
    return call.model_copy(update=times)


async def _sent(
    call: ToolCall, allowed: PreparedCall, attempts: int, progress: Progress
) -> tuple[ToolOutcome, bool]:
    """Return the outcome of the call, and True if a cancel request arrived meanwhile.

    A postponed call is sent later, with another deadline, once a worker has the missing state or
    its provider accepts calls again: for the first time, or again under the same key. A cancel
    request ends the wait.
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
        again = call.model_copy(update={"postponed": rounds, "may_have_arrived": may_have_arrived})
        call = _due(again, allowed, attempts, progress)


async def _is_over(pause: timedelta, answer: ToolOutcome) -> bool:
    """Wait for a provider that deferred a call; return False if a cancel request came first."""
    try:
        await wait_in_sight(pause, answer.why)
    except LOST as error:
        if is_cancelled_exception(error):
            return False
        raise
    return True


async def _is_there(held: Postponed, rounds: int) -> bool:
    """Wait until a worker has the state for a call; return False if a cancel request came first."""
    try:
        await wait_for(held.missing, held.why, rounds=rounds)
    except LOST as error:
        if is_cancelled_exception(error):
            return False
        raise
    return True


async def read_at_once(reads: Mapping[int, PreparedCall], progress: Progress) -> None:
    """Make calls without side effects, keyed by parts of the step; record them in order.

    An answered call is in the history before the others are: no call is made again.

    Raises:
        asyncio.CancelledError: a cancel request arrived meanwhile; the answers are recorded.
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
    """Return the outcomes of reads, and True if a cancel request arrived meanwhile."""
    answers, cancelled = await _asked(sent, attempts)
    rounds, waited = 0, timedelta(0)
    while held := _postponed(answers, waited):
        first, pause = next(iter(held.values()))
        if isinstance(first, Postponed):
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


def _postponed(
    answers: list[ToolOutcome | Postponed], waited: timedelta
) -> dict[int, tuple[ToolOutcome | Postponed, timedelta]]:
    """Return the calls that are sent later, with the pause that their provider needs."""
    held: dict[int, tuple[ToolOutcome | Postponed, timedelta]] = {}
    for n, answer in enumerate(answers):
        if isinstance(answer, Postponed):
            held[n] = answer, timedelta(0)
        elif (pause := pause_of(answer, waited)) is not None:
            held[n] = answer, pause
    return held


async def _asked(sent: list[ToolCall], attempts: int) -> tuple[list[ToolOutcome | Postponed], bool]:
    return await finish_despite_cancel(
        _all([calls.invoke_tool(call, attempts=attempts) for call in sent])
    )


async def _all(
    calls_made: Sequence[Awaitable[ToolOutcome | Postponed]],
) -> list[ToolOutcome | Postponed]:
    return await asyncio.gather(*calls_made)


def _settled(answer: ToolOutcome | Postponed) -> ToolOutcome:
    """Return the answer, or the outcome of a call that will have no answer."""
    if isinstance(answer, ToolOutcome):
        return answer
    if answer.may_have_arrived:
        return ToolOutcome(kind="unknown", reason=f"not asked about again: {answer.why}")
    return ToolOutcome(kind="rejected", reason=f"not sent: {answer.why}")


def _call_of(allowed: PreparedCall) -> ToolCall:
    if allowed.call is None:
        raise RuntimeError(f"{allowed.title} cannot be called")
    return allowed.call


def _by_reference(call: ToolCall, progress: Progress) -> ToolCall:
    """Return the call with the key under which its long answer is stored."""
    return call.model_copy(update={"past": progress.state.past})


def is_in_doubt(allowed: PreparedCall, outcome: ToolOutcome) -> bool:
    """Return True if only a rollback can find out the effect of the call."""
    return outcome.kind == "unknown" and (allowed.obligation or allowed.cancel) is not None


def _written_ahead(ledger: Ledger, allowed: PreparedCall, *, deadline: datetime) -> Ledger:
    """Return the ledger with the effects that this call may cancel and leave, before it is sent."""
    grant = _call_of(allowed).grant
    written: dict[str, object] = {
        "written_at": workflow.now(),
        "confirmed_by": grant.approver if grant else None,
    }
    cancel, obligation = allowed.cancel, allowed.obligation
    if cancel is not None:
        cancel = cancel.model_copy(update=written)
    if obligation is not None:
        price = allowed.limit.approved if allowed.limit is not None else None
        noted = {**written, "deadline": deadline, "approved_price": price}
        # A rollback finds the agent's credentials on the task queue of the agent's calls.
        noted["task_queue"] = task_queue()
        obligation = obligation.model_copy(update=noted)
    return ledger.sending(obligation, cancel)


def _settle(allowed: PreparedCall, outcome: ToolOutcome, progress: Progress) -> None:
    """Store the outcome: in the ledger, which determines the spending, and for the planner."""
    call = _call_of(allowed)
    # Not workflow.now(): after a worker's death this may still be an earlier time, and the rollback
    # follows the order of these times.
    at = outcome.answered_at or workflow.now()
    made, cancel = allowed.obligation, allowed.cancel
    ledger = progress.state.ledger
    progress.write(ledger.answered(made, cancel, outcome, at=at, limit=allowed.limit))
    progress.observe(
        # The arguments as the planner wrote them: it compares new calls with earlier ones.
        CallTool(tool=call.tool, arguments=as_written(call.arguments)),
        outcome=outcome.kind,
        side_effect=allowed.side_effect,
        body=outcome.body,
        error=None if outcome.kind == "succeeded" else outcome.reason or outcome.kind,
        price=outcome.price,
        at=at,
        body_ref=outcome.body_ref,
    )
