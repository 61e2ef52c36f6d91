"""Send a permitted call: record it first, wait for its outcome in any case, and settle it.

Invariant: a side effect is in the leg's ledger before its call is scheduled, and its outcome is in
the ledger before the leg ends, even if a cancel request arrives while the call is in flight.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Final

from temporalio import workflow
from temporalio.exceptions import is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.pii import as_written
    from orchestrator.messages.mission_policy import longest_call
    from orchestrator.messages.observed import ObservedCall, ObserveInput
    from orchestrator.messages.tool_call import PreparedCall, ToolCall
    from orchestrator.planning.models import CallTool
    from orchestrator.saga.outcome import InputGiven, InputWanted, ToolOutcome
    from orchestrator.saga.own_cancels import cancellable, obligations_named
    from orchestrator.workflows import calls, ui
    from orchestrator.workflows.failures import WORK_FAILURES
    from orchestrator.workflows.progress import Progress
    from orchestrator.workflows.questions import Questions
    from orchestrator.workflows.running import Postponed, pause_of, wait_for, wait_in_sight
    from orchestrator.workflows.scope import task_queue
    from orchestrator.workflows.waiting import finish_despite_cancel

PAUSE_FOR_SERVER: Final = timedelta(seconds=1)
"""The pause before a call is sent again to a server that needs time, once per such answer."""


async def send(allowed: PreparedCall, progress: Progress, questions: Questions) -> ToolOutcome:
    """Return the outcome of a call after all its attempts, already recorded in the leg's state.

    A call whose server asks for input is sent again with the answer: the same call, with the same
    key, grant and ledger entry. A new run of the mission continues to wait for the answer.

    Raises:
        asyncio.CancelledError: a cancel request arrived meanwhile; the outcome is settled all the
            same.
    """
    attempts = progress.leg.policy.call_attempts if allowed.repeatable else 1
    call = _by_reference(allowed.made, progress)
    acting = progress.state.acting
    wanted = acting.wanted if acting is not None else None
    cancelled = False
    if wanted is None:
        progress.count_call(call.tool)

    def again(call: ToolCall, answer: ToolOutcome | Postponed) -> ToolCall:
        """Return a postponed call with another deadline: for the first time, or the same again."""
        arrived = call.may_have_arrived
        if isinstance(answer, Postponed):
            arrived = answer.may_have_arrived
        changes = {"postponed": call.postponed + 1, "may_have_arrived": arrived}
        return _due(call.model_copy(update=changes), allowed, attempts, progress)

    while True:
        if wanted is not None:
            given, withdrawn = await _input_for(wanted, call.tool, questions, progress, cancelled)
            cancelled = cancelled or withdrawn
            changes = {"given": given, "postponed": wanted.sending + 1}
            changes["may_have_arrived"] = wanted.may_have_arrived
            call = call.model_copy(update=changes)
        call = _due(call, allowed, attempts, progress)
        (outcome,), came_late = await _outcomes_of([call], attempts, again)
        cancelled = cancelled or came_late
        if (wanted := outcome.asks) is None:
            break
    if allowed.side_effect:
        outcome = outcome.after_input(call.given)
    if allowed.obligation is not None:
        outcome = progress.mission_ledger().doubted(allowed.obligation, outcome)
    _settle(allowed, outcome, progress)
    if cancelled:
        raise asyncio.CancelledError
    return outcome


async def _input_for(
    wanted: InputWanted, tool: str, questions: Questions, progress: Progress, is_over: bool
) -> tuple[InputGiven, bool]:
    """Return the answer to a server, and True if a cancel request came before it.

    For a call that `is_over` there is no question, and the server learns that it was withdrawn.
    """
    if is_over:
        return wanted.answered(None, withdrawn=True), True
    progress.act_further(wanted=wanted)
    try:
        if wanted.asked:
            values = await questions.ask_for_server(wanted, tool)
        else:  # the server needs time, and nothing else
            values = None
            await workflow.sleep(PAUSE_FOR_SERVER * wanted.round, summary=ui.UNTIL_TAKEN)
    except asyncio.CancelledError:
        if progress.is_suspended:
            raise
        values, is_over = None, True
    progress.act_further(wanted=None)
    return wanted.answered(values, withdrawn=is_over), is_over


async def observe(wanted: CallTool, progress: Progress) -> tuple[ObservedCall, bool]:
    """Make a call without its guards, and record it; True: a cancel request arrived meanwhile."""
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
        error=None if made.is_answered else outcome.why,
        price=outcome.price,
        at=at,
        body_ref=outcome.body_ref,
    )
    return made, cancelled


def _due(call: ToolCall, allowed: PreparedCall, attempts: int, progress: Progress) -> ToolCall:
    """Record the call in the ledger; return it with the deadline after which it is not sent."""
    deadline = workflow.now() + longest_call(timedelta(seconds=call.timeout_s), attempts)
    grant, cancel, obligation = allowed.made.grant, allowed.cancel, allowed.obligation
    written: dict[str, object] = {
        "written_at": workflow.now(),
        "confirmed_by": grant.approver if grant else None,
    }
    if cancel is not None:
        cancel = cancel.model_copy(update=written)
    if obligation is not None:
        price = allowed.limit.approved if allowed.limit is not None else None
        noted = {**written, "deadline": deadline, "approved_price": price}
        # A rollback finds the agent's credentials on the task queue of the agent's calls.
        noted["task_queue"] = task_queue()
        obligation = obligation.model_copy(update=noted)
    ledger = progress.state.ledger.sending(obligation, cancel)
    progress.write(ledger)
    # The call carries its ledger entry, so that raw history alone shows its possible effect.
    times: dict[str, object] = {"limit": allowed.limit}
    if obligation is not None:
        times["obligation"] = ledger.obligation(obligation.obligation_id)
    if allowed.cancel is not None:
        times["cancels"] = ledger.cancel(allowed.cancel.call_id)
        times["named"] = obligations_named(cancellable(progress.mission_ledger()), allowed.cancel)
    if allowed.side_effect:
        times["deadline"] = deadline
    return call.model_copy(update=times)


_Answer = ToolOutcome | Postponed


async def _outcomes_of(
    sent: Sequence[ToolCall], attempts: int, again: Callable[[ToolCall, _Answer], ToolCall]
) -> tuple[list[ToolOutcome], bool]:
    """Return the outcomes of calls, and True if a cancel request arrived meanwhile.

    A call is sent later, as `again` returns it, once a worker has the state that was missing or its
    provider accepts calls again. A cancel request ends the wait.
    """
    due, rounds, waited = dict(enumerate(sent)), 0, timedelta(0)
    answers: dict[int, _Answer] = {}
    while True:
        work = _all([calls.invoke_tool(call, attempts=attempts) for call in due.values()])
        came, cancelled = await finish_despite_cancel(work)
        answers |= dict(zip(due, came, strict=True))
        held: dict[int, tuple[_Answer, timedelta]] = {}
        for n, answer in answers.items():
            pause = timedelta(0) if isinstance(answer, Postponed) else pause_of(answer, waited)
            if pause is not None:
                held[n] = answer, pause
        if held and not cancelled:
            first, pause = next(iter(held.values()))
            try:
                if isinstance(first, Postponed):
                    await wait_for(first.missing, first.why, rounds=rounds)
                else:
                    await wait_in_sight(pause, first.why)
            except WORK_FAILURES as error:
                if not is_cancelled_exception(error):
                    raise
                cancelled = True
            waited += pause
        if not held or cancelled:
            return [
                answer if isinstance(answer, ToolOutcome) else answer.not_sent
                for answer in answers.values()
            ], cancelled
        rounds += 1
        due = {n: again(due[n], answer) for n, (answer, _) in held.items()}


async def _all(calls_made: Sequence[Awaitable[_Answer]]) -> list[_Answer]:
    return await asyncio.gather(*calls_made)


async def read_at_once(reads: Mapping[int, PreparedCall], progress: Progress) -> tuple[int, ...]:
    """Make calls without side effects, keyed by parts of the step; record them in order.

    An answered call is in the history before the others are: no call is made again, but those
    whose servers ask for input.

    Returns:
        The parts that are done.

    Raises:
        asyncio.CancelledError: a cancel request arrived meanwhile; the answers are recorded.
    """
    attempts = progress.leg.policy.call_attempts
    sent = [_by_reference(read.made, progress) for read in reads.values()]
    outcomes, cancelled = await _outcomes_of(sent, attempts, lambda call, _: call)
    done: list[int] = []
    for (part, read), outcome in zip(reads.items(), outcomes, strict=True):
        if outcome.asks is not None:
            continue
        done.append(part)
        progress.begin_part(part)
        _settle(read, outcome, progress)
        why = outcome.reason or outcome.contract_breach
        did = f"call {read.made.tool}"
        progress.record(did, outcome.kind, why, at=outcome.answered_at)
    if cancelled:
        raise asyncio.CancelledError
    return tuple(done)


def _by_reference(call: ToolCall, progress: Progress) -> ToolCall:
    """Return the call with the references to stored records, and the headers that are kept."""
    changes: dict[str, object] = {"past": progress.state.past}
    if (wanted := progress.written_call) is not None:
        changes |= {"headers": wanted.headers, "step_id": wanted.step_id}
    return call.model_copy(update=changes)


def is_in_doubt(allowed: PreparedCall, outcome: ToolOutcome) -> bool:
    """Return True if only a rollback can find out the effect of the call."""
    return outcome.kind == "unknown" and (allowed.obligation or allowed.cancel) is not None


def _settle(allowed: PreparedCall, outcome: ToolOutcome, progress: Progress) -> None:
    """Store the outcome: in the ledger, which determines the spending, and for the planner."""
    call = allowed.made
    # Not workflow.now(): after a worker's death this may still be an earlier time, and the rollback
    # follows the order of these times.
    at = outcome.answered_at or workflow.now()
    made, cancel = allowed.obligation, allowed.cancel
    ledger = progress.state.ledger
    progress.write(ledger.answered(made, cancel, outcome, at=at, limit=allowed.limit))
    if outcome.kind != "unknown":  # other legs see at once how much is left
        progress.budget.settle(progress.leg.leg.leg_id, progress.state.taken)
    read: dict[str, object] = {}
    if (wanted := progress.written_call) is not None:
        kept = {name: outcome.headers[name] for name in wanted.headers if name in outcome.headers}
        read = {"status": outcome.status, "headers": kept}
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
        **read,
    )
