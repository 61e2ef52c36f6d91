"""Call activities from workflows: one typed function each, with timeouts and retry policy."""

from datetime import datetime, timedelta
from typing import Final, TypeVar, Unpack

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.asked_before import AskedCall, last_asked, unsuccessful_in_a_row
    from orchestrator.core.budget import Spend
    from orchestrator.core.compensation_limits import CALLS_PER_ATTEMPT
    from orchestrator.core.errors import ToolNotFound
    from orchestrator.core.record import JsonObject, Record
    from orchestrator.messages import mission_policy as call_limits
    from orchestrator.messages import names
    from orchestrator.messages.failure_details import MOST_WORKERS, ModelCheck
    from orchestrator.messages.leg import LegInput
    from orchestrator.messages.mission import BegunPlan
    from orchestrator.messages.mission_policy import BeginInput, CatalogPin
    from orchestrator.messages.observed import ObservedCall, ObserveInput
    from orchestrator.messages.plan_changes import HandOverInput, HandOverPlan
    from orchestrator.messages.plan_preview import (
        PlanInput,
        PlanPreview,
        PlanReview,
        PlanReviewInput,
    )
    from orchestrator.messages.rollback import (
        CollectLedgerInput,
        CollectLedgerOutput,
        CompensateInput,
        ConcludeInput,
        ConcludeOutput,
        FindStrandedInput,
        FindStrandedOutput,
        ReadRollbackInput,
        ReadRollbackOutput,
        RecoverInput,
        Recovery,
    )
    from orchestrator.messages.step import (
        DiscoverInput,
        DiscoverOutput,
        OfferedTool,
        OfferInput,
        OfferOutput,
        ThinkInput,
        Thought,
    )
    from orchestrator.messages.tool_call import (
        OverchargeInput,
        PreparedCall,
        PrepareInput,
        ToolCall,
    )
    from orchestrator.planning.models import StepContext
    from orchestrator.saga.ledger import Ledger, Obligation
    from orchestrator.saga.outcome import CompensationOutcome, OutcomeKind, ToolOutcome
    from orchestrator.saga.own_cancels import cancellable
    from orchestrator.workflows import running, ui
    from orchestrator.workflows.failures import first_words
    from orchestrator.workflows.leg_view import effects_of_leg
    from orchestrator.workflows.missing_state import (
        Postponed,
        local_then_remote,
        missing_state_for_call,
        retry_until_available,
        why_of,
    )
    from orchestrator.workflows.payload_refs import of_observations
    from orchestrator.workflows.progress import Progress
    from orchestrator.workflows.scope import task_queue

T = TypeVar("T")


_HEARTBEAT = timedelta(seconds=3.5)
"""Heartbeat timeout: after it, the worker is taken for dead and another worker takes over.

A worker sends a heartbeat each second.
"""
_COLLECTED: Final = 8
"""Attempts to read a ledger, over half a minute, before its rollback shows that it cannot begin."""
_RETRY = RetryPolicy(
    initial_interval=timedelta(milliseconds=200),
    maximum_interval=timedelta(seconds=10),
    maximum_attempts=12,
)
_LOCAL: Final[running.Limits] = {
    "start_to_close_timeout": timedelta(seconds=15),
    "retry_policy": _RETRY,
}
"""For work inside a worker, without a provider.

The limits are generous, and short enough that a dead worker is noticed soon.
"""
_PLANNER: Final[running.Limits] = {
    "start_to_close_timeout": timedelta(seconds=120),
    "heartbeat_timeout": _HEARTBEAT,
    "retry_policy": _RETRY,
}
"""For planners: a model may need minutes."""
_SPLITTING: Final[running.Limits] = {**_PLANNER, "start_to_close_timeout": timedelta(minutes=15)}
"""For splitting a goal: a model is asked up to three times."""
_THINKING: Final[running.Limits] = {
    "start_to_close_timeout": timedelta(minutes=10),
    "heartbeat_timeout": _HEARTBEAT,
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
_AS_OFTEN_AS_IT_TAKES: Final = RetryPolicy(
    initial_interval=timedelta(milliseconds=200), maximum_interval=timedelta(seconds=10)
)
_SERVER_TIMEOUT = timedelta(seconds=30)
"""For requests to the Temporal server."""


async def pin_catalog(*, here: bool = False) -> CatalogPin:
    """Return the catalog of the worker that answers; the mission uses this catalog to its end."""
    run = running.run_locally if here else running.run
    return await run(names.PIN_CATALOG, gives=CatalogPin, summary=ui.PIN_CATALOG, **_LOCAL)


async def split_goal(mission: BeginInput, *, here: bool = False) -> BegunPlan:
    """Return the legs of a goal; the worker refuses a mission that its policy does not allow.

    Args:
        mission: the mission whose goal is split.
        here: True if splitting takes no model, and can run as a local activity.
    """
    if here:
        return await running.run_locally(
            names.SPLIT_GOAL, mission, gives=BegunPlan, summary=ui.SPLIT_GOAL, **_SPLITTING
        )
    return await running.run(
        names.SPLIT_GOAL, mission, gives=BegunPlan, summary=ui.SPLIT_GOAL, **_SPLITTING
    )


async def preview_plan(wanted: PlanInput) -> PlanPreview:
    """Return a preview of a mission without running it; a client waits for the answer."""
    return await running.once(
        names.PREVIEW_PLAN, wanted, gives=PlanPreview, summary=ui.PREVIEW_PLAN, **_SPLITTING
    )


async def review_plan(wanted: PlanReviewInput) -> PlanReview:
    """Return the card of a mission's plan; given a grant, check the approval."""
    summary = ui.REVIEW_PLAN if wanted.grant is None else ui.CHECK_PLAN
    return await running.run(
        names.REVIEW_PLAN, wanted, gives=PlanReview, summary=summary, **_PLANNER
    )


async def plan_hand_over(wanted: HandOverInput) -> HandOverPlan:
    """Return the leg for a handed-over part of another leg, by the worker's profiles."""
    summary = ui.summary(ui.PLAN_HAND_OVER, agent=wanted.asked.agent, goal=wanted.asked.goal)
    return await running.run(
        names.PLAN_HAND_OVER, wanted, gives=HandOverPlan, summary=summary, **_LOCAL
    )


async def think(context: StepContext, progress: Progress, *, here: bool) -> Thought:
    """Think one step of a leg: select its tools, decide, and prepare the call.

    Args:
        context: of the step.
        progress: the leg's current state.
        here: True if the worker that runs the workflow task is tried first.
    """
    wanted = _wanted(progress, "", {})
    label = ui.summary(ui.THINK, step=context.step)
    if here and progress.is_short:
        message = ThinkInput(step=context, call=wanted)
        return await _from_store(
            progress,
            names.THINK,
            message,
            gives=Thought,
            summary=label,
            reads=context,
            here=True,
            **_THINKING,
        )
    payload_refs, state = progress.payload_refs, progress.state
    seen = state.observations
    step = payload_refs.message(
        context.model_copy(update={"observations": seen}),
        of_mission=context.mission_id,
        past=state.past,
        keeps=True,
    )
    call = payload_refs.message(
        wanted.model_copy(update={"observations": ()}),
        of_mission=context.mission_id,
        past=step.keep_as,
    )
    thought = await _from_store(
        progress,
        names.THINK,
        ThinkInput(step=step, call=call),
        gives=Thought,
        summary=label,
        reads=step,
        here=here,
        **_THINKING,
    )
    progress.kept(step.keep_as, len(seen))
    return thought


async def check_model(model: str) -> str:
    """Return why the leg's workers cannot reach a model; empty if they can."""
    summary = ui.summary(ui.CHECK_MODEL, model=model)
    try:
        checked = await running.run(
            names.CHECK_MODEL,
            ModelCheck(model=model),
            gives=ModelCheck,
            summary=summary,
            start_to_close_timeout=timedelta(seconds=15),
            schedule_to_close_timeout=timedelta(seconds=60),
            retry_policy=RetryPolicy(maximum_attempts=2),
        )
    except ActivityError as error:
        return f"no worker could look it up: {first_words(error)}"
    return checked.problem


async def discover_tools(leg: LegInput, query: str) -> tuple[str, ...]:
    """Return the names of tools that were not forwarded and match the query."""
    wanted = DiscoverInput(query=query, catalog_digest=leg.catalog.digest, agent=leg.leg.agent.wall)
    summary = ui.summary(ui.DISCOVER_TOOLS, query=query)
    found = await running.run(
        names.DISCOVER_TOOLS, wanted, gives=DiscoverOutput, summary=summary, **_LOCAL
    )
    return found.tools


async def offer_tools(wanted: OfferInput) -> tuple[OfferedTool, ...]:
    """Return the tools to offer to an agent outside this project."""
    offered = await running.run_locally(
        names.OFFER_TOOLS, wanted, gives=OfferOutput, summary=ui.OFFER_TOOLS, **_LOCAL
    )
    return offered.tools


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

    Args:
        progress: the leg's current state.
        tool: the tool's name.
        arguments: as a planner or a person wants them.
        asked: how often people are asked about the call, this time included.
        decided_by_people: True if a person was asked about the call, so that people keep deciding.
        reason: why a planner wants the call.
        before: the previous card of this same call, amended or expired a moment ago.
        changed_by_people: the arguments that a person amended.
    """
    wanted = _wanted(
        progress,
        tool,
        arguments,
        ledger=cancellable(progress.mission_ledger()),
        asked=asked,
        decided_by_people=decided_by_people,
        reason=reason,
        before=before,
        changed_by_people=changed_by_people,
    )
    return await _prepared(
        progress, names.PREPARE_CALL, wanted, ui.summary(ui.PREPARE_CALL, tool=tool)
    )


def _wanted(
    progress: Progress,
    tool: str,
    arguments: JsonObject,
    *,
    ledger: Ledger | None = None,
    asked: int = 1,
    decided_by_people: bool = False,
    reason: str = "",
    before: AskedCall | None = None,
    changed_by_people: tuple[str, ...] = (),
) -> PrepareInput:
    """Return the input for preparing a call of a leg's step; a cancel needs the ledger."""
    leg, state = progress.leg, progress.state
    earlier = state.asked if before is None else (*state.asked, before)
    return PrepareInput(
        **leg.call_of(tool).ref,
        arguments=arguments,
        agent=leg.leg.agent.wall,
        observations=leg.state.observations,
        policy=leg.policy,
        requester=leg.requester,
        now=workflow.now(),
        round=asked,
        brought=leg.brought,
        decided_by_people=decided_by_people,
        facts=leg.facts,
        goal=leg.mission_goal,
        clause=leg.leg.goal,
        reason=reason,
        said_at=None if leg.leg.is_planned_by_rules else leg.started_at,
        given={**leg.inputs, **state.answers},
        orders=leg.leg.orders,
        covered=leg.covered,
        effects=effects_of_leg(leg),
        read_only=leg.read_only,
        most_each=leg.leg.agent.max_items,
        budget_left=progress.budget_left,
        asked=last_asked(earlier),
        proposals=unsuccessful_in_a_row(state.asked) + 1,
        changed_by_people=changed_by_people,
        budget=leg.budget,
        spent=progress.taken,
        ledger=ledger or Ledger(),
    )


async def observe_call(wanted: ObserveInput) -> ObservedCall:
    """Make a call without its guards; without a word from its worker, its outcome is unknown.

    Raises:
        ActivityError: there is no such tool.
    """
    timeout = timedelta(seconds=wanted.timeout_s)
    attempts = max(wanted.attempts, MOST_WORKERS)
    try:
        return await running.once(
            names.OBSERVE_CALL,
            wanted,
            gives=ObservedCall,
            summary=ui.summary(ui.OBSERVE_CALL, tool=wanted.tool),
            start_to_close_timeout=call_limits.longest_attempt(timeout),
            schedule_to_close_timeout=call_limits.longest_call(timeout, attempts),
            heartbeat_timeout=_HEARTBEAT,
            retry_policy=RetryPolicy(
                initial_interval=call_limits.FIRST_PAUSE,
                maximum_interval=call_limits.LONGEST_PAUSE,
                maximum_attempts=attempts,
            ),
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
    """Make the card on which people keep or cancel an overcharged effect; nothing is sent.

    Args:
        progress: the leg's current state, at the step that made the call.
        obligation: the obligation that the call left.
        asked: how often people are asked about it, this time included.
    """
    leg = progress.leg
    others = leg.state.ledger.without(obligation.obligation_id)
    spent = Spend.total([others.spent, others.set_aside])
    wanted = OverchargeInput(
        **leg.call_of(obligation.tool).ref,
        arguments=obligation.arguments,
        agent=leg.leg.agent.wall,
        policy=leg.policy,
        requester=leg.requester,
        now=workflow.now(),
        round=asked,
        observations=leg.state.observations[:-1],
        facts=leg.facts,
        goal=leg.mission_goal,
        clause=leg.leg.goal,
        orders=leg.leg.orders,
        covered=leg.covered,
        read_only=leg.read_only,
        budget=leg.budget,
        budget_left=progress.budget.left(leg.leg.leg_id, spent),
        spent=spent,
        obligation=obligation,
    )
    summary = ui.summary(ui.PREPARE_OVERCHARGE, tool=obligation.tool)
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
        progress, activity, message, gives=PreparedCall, summary=summary, here=here, **_LOCAL
    )


async def _from_store(
    progress: Progress,
    activity: str,
    message: Record,
    *,
    gives: type[T],
    summary: str,
    reads: Record | None = None,
    here: bool = False,
    **limits: Unpack[running.Limits],
) -> T:
    """Run an activity that reads the leg's observations; wait while no worker can read them.

    An unavailable disk is no failure of the leg: the leg waits, shows why, and can be cancelled.
    """
    is_here = here and task_queue() in (None, workflow.info().task_queue)

    async def elsewhere() -> T:
        return await running.once(activity, message, gives=gives, summary=summary, **limits)

    async def in_task() -> T:
        return await running.in_task(activity, message, gives=gives, summary=summary)

    while True:
        attempt = local_then_remote(in_task, elsewhere) if is_here else elsewhere
        try:
            answer = await retry_until_available(attempt, except_for=of_observations)
        except ActivityError as error:
            if not of_observations(error):
                if not isinstance(error.cause, ApplicationError):
                    # No worker reported this failure, so the payload that was to be stored may be
                    # missing.
                    progress.payload_refs.forget()
                raise
            progress.stall(why_of(error))
            await _read_kept(reads or message)
            # Other workers may have the payload by now, and this worker may still not.
            is_here = False
            progress.stall("")
        else:
            return answer


async def _read_kept(message: Record) -> None:
    """Wait until some worker can read the message's payloads, without growing the history."""
    await running.once(
        names.READ_KEPT,
        message,
        gives=type(None),
        summary=ui.READ_KEPT,
        start_to_close_timeout=timedelta(seconds=60),
        retry_policy=RetryPolicy(
            initial_interval=timedelta(seconds=1), maximum_interval=timedelta(seconds=10)
        ),
    )


async def invoke_tool(call: ToolCall, *, attempts: int) -> ToolOutcome | Postponed:
    """Run one tool call; the outcome is unknown if its attempts do not settle it.

    A call is postponed if no worker could read it, or if missing state prevented sending it. This
    holds even if an earlier attempt may have arrived, because nobody could ask the provider about
    it yet.

    Cancelling the workflow does not cancel the call. Callers shield it, because only the answer to
    a call that was sent shows its effects.
    """
    timeout = timedelta(seconds=call.timeout_s)
    if call.postponed:  # as in `compensate`; a call that may have arrived is not resent
        attempts = max(attempts, MOST_WORKERS)
    try:
        outcome = await running.once(
            names.INVOKE_TOOL,
            call,
            gives=ToolOutcome,
            summary=_invocation(call),
            start_to_close_timeout=call_limits.longest_attempt(timeout),
            schedule_to_close_timeout=call_limits.longest_call(timeout, attempts),
            heartbeat_timeout=_HEARTBEAT,
            retry_policy=RetryPolicy(
                initial_interval=call_limits.FIRST_PAUSE,
                maximum_interval=call_limits.LONGEST_PAUSE,
                maximum_attempts=attempts,
            ),
        )
    except ActivityError as error:
        missing = missing_state_for_call(error)
        if missing is None:
            return ToolOutcome(kind="unknown", reason=first_words(error))
        arrived = call.may_have_arrived or not missing.nothing_sent
        return Postponed(missing, why_of(error), may_have_arrived=arrived)
    return outcome


def _invocation(call: ToolCall) -> str:
    """Return the summary of a call: its tool, and who approved it."""
    if call.grant is None:
        return ui.summary(ui.INVOKE_TOOL, tool=call.tool)
    return ui.summary(ui.INVOKE_APPROVED, tool=call.tool, approver=call.grant.approver)


async def collect_ledger(wanted: CollectLedgerInput) -> CollectLedgerOutput:
    """Return the ledger of a mission that is over or waits for its rollback.

    Raises:
        ActivityError: the ledger could not be read for half a minute.
    """
    return await running.run(
        names.COLLECT_LEDGER,
        wanted,
        gives=CollectLedgerOutput,
        summary=ui.COLLECT_LEDGER,
        start_to_close_timeout=timedelta(seconds=60),
        heartbeat_timeout=_HEARTBEAT,
        retry_policy=RetryPolicy(
            initial_interval=timedelta(milliseconds=200),
            maximum_interval=timedelta(seconds=10),
            maximum_attempts=_COLLECTED,
        ),
    )


async def conclude_mission(mission_id: str, ledger: Ledger, *, is_saga: bool = False) -> Ledger:
    """Note in the store that a mission's effects stand; return those it forgot in a reset."""
    try:
        concluded = await running.run_locally(
            names.CONCLUDE_MISSION,
            _concluded(mission_id, ledger, is_saga=is_saga),
            gives=ConcludeOutput,
            summary=ui.CONCLUDE_MISSION,
            **_LOCAL,
        )
    except ActivityError as error:
        if is_saga:  # no sweep looks for a saga that had ended well before a reset
            return await conclude_saga(mission_id, ledger)
        # The sweep finds that the mission has ended, and notes it then.
        workflow.logger.warning("that the mission ended is not noted: %s", first_words(error))
        return Ledger()
    return concluded.abandoned


async def conclude_saga(mission_id: str, ledger: Ledger) -> Ledger:
    """Note in the store that a saga's effects stand; only this note prevents a sweep's rollback.

    Returns:
        The effects that a reset made the saga forget, which are to be rolled back.
    """
    concluded = await running.run_locally(
        names.CONCLUDE_MISSION,
        _concluded(mission_id, ledger, is_saga=True),
        gives=ConcludeOutput,
        summary=ui.CONCLUDE_MISSION,
        start_to_close_timeout=_LOCAL["start_to_close_timeout"],
        retry_policy=_AS_OFTEN_AS_IT_TAKES,
    )
    return concluded.abandoned


def _concluded(mission_id: str, ledger: Ledger, *, is_saga: bool = False) -> ConcludeInput:
    origin = workflow.info().first_execution_run_id
    return ConcludeInput(
        mission_id=mission_id, origin=origin, is_saga=is_saga, known=ledger.call_ids
    )


async def read_rollback(mission_id: str) -> ReadRollbackOutput:
    """Return the server's record of the mission's rollback."""
    return await running.run(
        names.READ_ROLLBACK,
        ReadRollbackInput(mission_id=mission_id),
        gives=ReadRollbackOutput,
        summary=ui.READ_ROLLBACK,
        start_to_close_timeout=_SERVER_TIMEOUT,
        heartbeat_timeout=_HEARTBEAT,
        # The mission cannot conclude without this record.
        retry_policy=_AS_OFTEN_AS_IT_TAKES,
    )


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
    cancel_tool = obligation.cancel_tool or "nothing declared"
    return await running.once(
        names.COMPENSATE,
        CompensateInput(obligation=obligation),
        gives=CompensationOutcome,
        summary=ui.summary(
            ui.COMPENSATE,
            tool=obligation.tool,
            cancel_tool=cancel_tool,
            what=obligation.title or obligation.obligation_id,
        ),
        queue=obligation.task_queue,
        start_to_close_timeout=CALLS_PER_ATTEMPT * obligation.cancel_timeout
        + call_limits.WIRE_MARGIN,
        heartbeat_timeout=_HEARTBEAT,
        # The rollback counts the attempts, where they can be read and replayed.
        retry_policy=_ELSEWHERE if on_any_worker else RetryPolicy(maximum_attempts=1),
    )


async def find_stranded(closed_after: datetime | None, page_token: str) -> FindStrandedOutput:
    """Return one page of missions that were stopped from outside, or whose rollback was lost."""
    return await running.run(
        names.FIND_STRANDED,
        FindStrandedInput(closed_after=closed_after, page_token=page_token),
        gives=FindStrandedOutput,
        summary=ui.FIND_STRANDED,
        start_to_close_timeout=_SERVER_TIMEOUT,
        retry_policy=_RETRY,
    )


async def recover_mission(mission_id: str) -> Recovery:
    """Start the rollback of one mission that was stopped, if it needs one.

    Raises:
        ActivityError: the mission could not be examined, for instance because no worker knows it.
    """
    return await running.run(
        names.RECOVER_MISSION,
        RecoverInput(mission_id=mission_id),
        gives=Recovery,
        summary=ui.summary(ui.RECOVER_MISSION, mission_id=mission_id),
        start_to_close_timeout=_SERVER_TIMEOUT,
        heartbeat_timeout=_HEARTBEAT,
        retry_policy=RetryPolicy(maximum_attempts=3),
    )
