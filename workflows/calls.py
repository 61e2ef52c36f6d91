"""Call the activities of missions and sagas: one typed function each, with timeouts and retries."""

from datetime import timedelta
from typing import Final, TypeVar, Unpack

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.asked_before import AskedCall, last_asked, unsuccessful_in_a_row
    from orchestrator.core.budget import Spend
    from orchestrator.core.compensation_limits import CALLS_PER_ATTEMPT
    from orchestrator.core.errors import GrantMissing, ToolNotFound
    from orchestrator.core.record import JsonObject, Record, shared_fields
    from orchestrator.core.shown_text import markdown_summary
    from orchestrator.messages import mission_policy as call_limits
    from orchestrator.messages import names
    from orchestrator.messages.failure_details import MOST_WORKERS
    from orchestrator.messages.mission_policy import CatalogPin
    from orchestrator.messages.observed import ObservedCall, ObserveInput
    from orchestrator.messages.rollback import CompensateInput
    from orchestrator.messages.step import (
        KeptMessage,
        ThinkInput,
        Thought,
    )
    from orchestrator.messages.tool_call import (
        OverchargeInput,
        PreparedCall,
        PrepareInput,
        ToolCall,
    )
    from orchestrator.planning.models import NO_TERMS, StepContext
    from orchestrator.saga.obligation import Obligation
    from orchestrator.saga.outcome import CompensationOutcome, OutcomeKind, ToolOutcome
    from orchestrator.saga.own_cancels import cancellable
    from orchestrator.workflows import running
    from orchestrator.workflows.failures import first_words
    from orchestrator.workflows.leg_view import effects_of_leg
    from orchestrator.workflows.payload_refs import of_observations
    from orchestrator.workflows.progress import Progress
    from orchestrator.workflows.running import Postponed, missing_state_for_call, why_of

T = TypeVar("T")


_THINKING: Final[running.Limits] = {
    "start_to_close_timeout": timedelta(minutes=10),
    "heartbeat_timeout": running.HEARTBEAT,
    "retry_policy": RetryPolicy(
        initial_interval=timedelta(milliseconds=500),
        maximum_interval=timedelta(seconds=10),
        maximum_attempts=4,
    ),
}
"""For a step: a few attempts, then the leg waits visibly."""
_ELSEWHERE: Final = RetryPolicy(
    initial_interval=timedelta(milliseconds=200), maximum_attempts=MOST_WORKERS
)
"""Retries on other workers after one worker was missing something."""


async def pin_catalog() -> CatalogPin:
    """Return the catalog of the worker that answers; the mission uses this catalog to its end."""
    return await running.run_locally(
        names.PIN_CATALOG, result_type=CatalogPin, summary="pin the catalog", **running.LOCAL
    )


async def think(context: StepContext, progress: Progress, *, here: bool) -> Thought:
    """Think one step of a leg: select its tools, decide, and prepare the call."""
    wanted = _wanted(progress, "", {})
    state, mission_id = progress.state, context.mission_id
    message = ThinkInput(step=context, call=wanted)
    kept: KeptMessage | None = None
    if not (here and progress.is_short):
        refs = progress.payload_refs
        step = context.model_copy(update={"observations": state.observations})
        kept = refs.message(step, of_mission=mission_id, past=state.past, keeps=True)
        unseen = wanted.model_copy(update={"observations": ()})
        call = refs.message(unseen, of_mission=mission_id, past=kept.keep_as)
        message = ThinkInput(step=kept, call=call)
    thought = await _from_store(
        progress,
        names.THINK,
        message,
        result_type=Thought,
        summary=markdown_summary(f"step {context.step}: select, plan and prepare"),
        reads=kept or context,
        here=here,
        **_THINKING,
    )
    if kept is not None:
        progress.kept(kept.keep_as, len(state.observations))
    return thought


async def prepare_call(
    progress: Progress,
    tool: str,
    arguments: JsonObject,
    *,
    asked: int = 1,
    decided_by_people: bool = False,
    reason: str = "",
    before: AskedCall | None = None,
    changed_by_people: tuple[str, ...] = (),
) -> PreparedCall:
    """Check and complete a call of a leg's step, and make its card; nothing is sent.

    People keep deciding on a call that they were `asked` about so often, this time included.
    `before` is the previous card of this same call, amended or expired a moment ago.
    """
    state = progress.state
    earlier = state.asked if before is None else (*state.asked, before)
    wanted = _wanted(progress, tool, arguments).model_copy(
        update={
            "ledger": cancellable(progress.mission_ledger()),
            "round": asked,
            "decided_by_people": decided_by_people,
            "reason": reason,
            "asked": last_asked(earlier),
            "changed_by_people": changed_by_people,
        }
    )
    summary = markdown_summary(f"prepare {tool}")
    prepared = await _prepared(progress, names.PREPARE_CALL, wanted, summary)
    if (repeated := progress.repeated(prepared)) is None:
        return prepared
    # The effect is known by its essence, which only the preparation of the call gives.
    wanted = wanted.model_copy(update={"repeats": repeated})
    return await _prepared(progress, names.PREPARE_CALL, wanted, summary)


def _wanted(progress: Progress, tool: str, arguments: JsonObject) -> PrepareInput:
    """Return the input for preparing a call of a leg's step, apart from the ledger for a cancel."""
    leg, state = progress.leg, progress.state
    written = progress.written_call
    return PrepareInput(
        **leg.call_of(tool).ref,
        arguments=arguments,
        agent=leg.leg.agent.wall,
        observations=leg.state.observations,
        policy=leg.policy,
        requester=leg.requester,
        now=workflow.now(),
        brought=leg.brought,
        facts=leg.facts,
        goal=leg.mission_goal,
        clause=leg.leg.goal,
        call_terms=written.call_terms if written is not None else NO_TERMS,
        said_at=None if leg.leg.is_planned_by_rules else leg.started_at,
        given={**leg.inputs, **state.answers},
        orders=leg.leg.orders,
        covered=leg.covered,
        effects=effects_of_leg(leg),
        read_only=leg.read_only,
        most_each=leg.leg.agent.max_items,
        budget_left=progress.budget_left,
        asked=last_asked(state.asked),
        proposals=unsuccessful_in_a_row(state.asked) + 1,
        budget=leg.budget,
        spent=progress.taken,
    )


def _of_call(timeout_s: float, attempts: int) -> running.Limits:
    timeout = timedelta(seconds=timeout_s)
    return {
        "start_to_close_timeout": call_limits.longest_attempt(timeout),
        "schedule_to_close_timeout": call_limits.longest_call(timeout, attempts),
        "heartbeat_timeout": running.HEARTBEAT,
        "retry_policy": RetryPolicy(
            initial_interval=call_limits.FIRST_PAUSE,
            maximum_interval=call_limits.LONGEST_PAUSE,
            maximum_attempts=attempts,
        ),
    }


async def observe_call(wanted: ObserveInput) -> ObservedCall:
    """Make a call without its guards; without a word from its worker, its outcome is unknown.

    Raises:
        ActivityError: there is no such tool.
    """
    attempts = max(wanted.attempts, MOST_WORKERS)
    try:
        return await running.once(
            names.OBSERVE_CALL,
            wanted,
            result_type=ObservedCall,
            summary=markdown_summary(f"{wanted.tool} (observed, not guarded)"),
            **_of_call(wanted.timeout_s, attempts),
        )
    except ActivityError as error:
        cause, missing = error.cause, missing_state_for_call(error)
        if isinstance(cause, ApplicationError) and cause.type == ToolNotFound.__name__:
            raise
        was_sent = missing is not None and not missing.nothing_sent
        is_known = isinstance(cause, ApplicationError) and not was_sent
        kind: OutcomeKind = "rejected" if is_known else "unknown"
        return ObservedCall(outcome=ToolOutcome(kind=kind, reason=first_words(error)))


async def prepare_overcharge(
    progress: Progress, obligation: Obligation, *, asked: int = 1
) -> PreparedCall:
    """Make the card on which people keep or cancel an overcharged effect; nothing is sent."""
    leg = progress.leg
    others = leg.state.ledger.without(obligation.obligation_id)
    spent = Spend.total([others.spent, others.set_aside])
    call = _wanted(progress, obligation.tool, obligation.arguments)
    wanted = OverchargeInput(**shared_fields(call, PrepareInput), obligation=obligation).model_copy(
        update={
            "observations": call.observations[:-1],
            "round": asked,
            "budget_left": progress.budget.left(leg.leg.leg_id, spent),
            "spent": spent,
        }
    )
    summary = markdown_summary(f"ask about the overcharge of {obligation.tool}")
    return await _prepared(progress, names.PREPARE_OVERCHARGE, wanted, summary)


async def _prepared(
    progress: Progress, activity: str, wanted: PrepareInput, summary: str
) -> PreparedCall:
    here = progress.leg.leg.asks_no_model
    message: Record = wanted
    if not (here and progress.is_short):
        message = progress.payload_refs.message(
            wanted, of_mission=wanted.mission_id, past=progress.state.past
        )
    return await _from_store(
        progress,
        activity,
        message,
        result_type=PreparedCall,
        summary=summary,
        here=here,
        **running.LOCAL,
    )


async def _from_store(
    progress: Progress,
    activity: str,
    message: Record,
    *,
    result_type: type[T],
    summary: str,
    reads: Record | None = None,
    here: bool = False,
    **limits: Unpack[running.Limits],
) -> T:
    """Run an activity that reads the leg's observations; wait while no worker can read them.

    An unavailable disk is no failure of the leg: the leg waits, shows why, and can be cancelled.
    """
    run = running.run_locally if here else running.run
    while True:
        try:
            return await run(
                activity,
                message,
                result_type=result_type,
                summary=summary,
                except_for=of_observations,
                **limits,
            )
        except ActivityError as error:
            if not of_observations(error):
                if not isinstance(error.cause, ApplicationError):
                    # No worker reported this failure, so the payload that was to be stored may be
                    # missing.
                    progress.payload_refs.forget()
                raise
            progress.stall(why_of(error))
            # Until some worker can read the payloads, without growing the history.
            await running.once(
                names.READ_KEPT,
                reads or message,
                result_type=type(None),
                summary="wait for a worker that has what the leg has seen",
                start_to_close_timeout=timedelta(seconds=60),
                retry_policy=RetryPolicy(
                    initial_interval=timedelta(seconds=1), maximum_interval=timedelta(seconds=10)
                ),
            )
            # Other workers may have the payload by now, and this worker may still not.
            run = running.run
            progress.stall("")


async def invoke_tool(call: ToolCall, *, attempts: int) -> ToolOutcome | Postponed:
    """Run one tool call; the outcome is unknown if its attempts do not settle it.

    A call is postponed if no worker could read it, or if missing state prevented sending it. This
    holds even if an earlier attempt may have arrived, because nobody could ask the provider about
    it yet.

    Cancelling the workflow does not cancel the call. Callers shield it, because only the answer to
    a call that was sent shows its effects.
    """
    if call.postponed:  # as in `compensate`; a call that may have arrived is not resent
        attempts = max(attempts, MOST_WORKERS)
    summary = f"{call.step_id}: {call.tool}" if call.step_id else call.tool
    summary += f", approved by {call.grant.approver}" if call.grant is not None else ""
    try:
        return await running.once(
            names.INVOKE_TOOL,
            call,
            result_type=ToolOutcome,
            summary=markdown_summary(summary),
            **_of_call(call.timeout_s, attempts),
        )
    except ActivityError as error:
        missing = missing_state_for_call(error)
        if missing is None:
            never_sent = isinstance(error.cause, ApplicationError) and (
                error.cause.type == GrantMissing.__name__ and not call.may_have_arrived
            )
            kind: OutcomeKind = "rejected" if never_sent else "unknown"
            return ToolOutcome(kind=kind, reason=first_words(error))
        arrived = call.may_have_arrived or not missing.nothing_sent
        return Postponed(missing, why_of(error), may_have_arrived=arrived)


async def compensate(obligation: Obligation, *, on_any_worker: bool = False) -> CompensationOutcome:
    """Try once to cancel an obligation, within the time that its contract gives.

    Args:
        obligation: the obligation to cancel.
        on_any_worker: True after a worker was missing something for it. The first attempt of an
            activity goes to the worker that has the workflow, which may be that one; the next
            attempts go to any worker.

    Raises:
        ActivityError: the outcome is unclear; `compensation_failure` reads the error.
    """
    what = obligation.title or obligation.obligation_id
    by = obligation.cancel_tool or "nothing declared"
    return await running.once(
        names.COMPENSATE,
        CompensateInput(obligation=obligation),
        result_type=CompensationOutcome,
        summary=markdown_summary(f"cancel {obligation.tool} with {by}: {what}"),
        queue=obligation.task_queue,
        start_to_close_timeout=CALLS_PER_ATTEMPT * obligation.cancel_timeout
        + call_limits.WIRE_MARGIN,
        heartbeat_timeout=running.HEARTBEAT,
        # The rollback counts the attempts, where they can be read and replayed.
        retry_policy=_ELSEWHERE if on_any_worker else RetryPolicy(maximum_attempts=1),
    )
