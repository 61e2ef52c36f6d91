"""The only door from workflows to activities: a typed function each, with its time and retries."""

from datetime import datetime, timedelta
from typing import Final, TypedDict, TypeVar, Unpack

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.asked_before import AskedCall, in_vain, last_asked
    from orchestrator.core.budget import Spend, left_of
    from orchestrator.core.compensation_limits import CALLS_PER_ATTEMPT
    from orchestrator.core.record import JsonObject, Record
    from orchestrator.messages import call_limits, names
    from orchestrator.messages.begin import BeginInput
    from orchestrator.messages.hand_over import HandOverInput, HandOverPlan
    from orchestrator.messages.lacking import MOST_WORKERS
    from orchestrator.messages.leg import LegInput
    from orchestrator.messages.mission_policy import CatalogPin
    from orchestrator.messages.model_trouble import ModelCheck
    from orchestrator.messages.plan_preview import (
        BegunPlan,
        PlanInput,
        PlanPreview,
        PlanReview,
        PlanReviewInput,
    )
    from orchestrator.messages.rollback import (
        CollectLegsInput,
        CollectLegsOutput,
        CompensateInput,
        FindStrandedInput,
        FindStrandedOutput,
        ReadRollbackInput,
        ReadRollbackOutput,
        RecoverInput,
        Recovery,
        RollbackReport,
    )
    from orchestrator.messages.step import (
        DiscoverInput,
        DiscoverOutput,
        PlanStepInput,
        PlanStepOutput,
    )
    from orchestrator.messages.telling_facts import facts_naming
    from orchestrator.messages.thought import ThinkInput, Thought
    from orchestrator.messages.tool_call import (
        OverchargeInput,
        PreparedCall,
        PrepareInput,
        ToolCall,
    )
    from orchestrator.planning.models import Fact, StepContext
    from orchestrator.routing.selection import Selection
    from orchestrator.saga.ledger import Obligation
    from orchestrator.saga.outcome import CompensationOutcome, ToolOutcome
    from workflows import running, ui
    from workflows.failures import first_words
    from workflows.held_up import (
        HeldBack,
        here_first,
        lacking_for_call,
        once_there,
        why_of,
    )
    from workflows.keeping import of_observations
    from workflows.leg_view import effects_of_leg
    from workflows.progress import Progress

T = TypeVar("T")


_HEARTBEAT = timedelta(seconds=3.5)
"""Without a sign of life for so long, a worker is taken for dead, and another one takes over. It
gives one each second."""
_RETRY = RetryPolicy(
    initial_interval=timedelta(milliseconds=200),
    maximum_interval=timedelta(seconds=10),
    maximum_attempts=12,
)
_LOCAL: Final[running.Limits] = {
    "start_to_close_timeout": timedelta(seconds=15),
    "retry_policy": _RETRY,
}
"""For work inside a worker, without a provider: generous, and short enough that a dead worker is
noticed soon."""
_PLANNER: Final[running.Limits] = {
    "start_to_close_timeout": timedelta(seconds=120),
    "heartbeat_timeout": _HEARTBEAT,
    "retry_policy": _RETRY,
}
"""For planners: a model may take its time."""
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
"""For a step: a few attempts, then the leg waits where it can be seen."""
_ELSEWHERE: Final = RetryPolicy(
    initial_interval=timedelta(milliseconds=200), maximum_attempts=MOST_WORKERS
)
"""For what a worker lacked something for: others are asked."""
_SERVER_TIMEOUT = timedelta(seconds=30)
"""For questions to the Temporal server."""


async def pin_catalog(*, here: bool = False) -> CatalogPin:
    """The catalog of the worker that answers; the mission keeps it to its end."""
    run = running.run_here if here else running.run
    return await run(names.PIN_CATALOG, gives=CatalogPin, summary=ui.PIN_CATALOG, **_LOCAL)


async def split_goal(mission: BeginInput, *, here: bool = False) -> BegunPlan:
    """The legs of a goal; the worker refuses a mission that its policy does not let begin.

    Args:
        mission: what is to be split.
        here: whether that takes no model.
    """
    if here:
        return await running.run_here(
            names.SPLIT_GOAL, mission, gives=BegunPlan, summary=ui.SPLIT_GOAL, **_SPLITTING
        )
    return await running.run(
        names.SPLIT_GOAL, mission, gives=BegunPlan, summary=ui.SPLIT_GOAL, **_SPLITTING
    )


async def preview_plan(wanted: PlanInput) -> PlanPreview:
    """What a mission would do; nothing of it is done, and somebody waits for the answer."""
    return await running.once(
        names.PREVIEW_PLAN, wanted, gives=PlanPreview, summary=ui.PREVIEW_PLAN, **_SPLITTING
    )


async def review_plan(wanted: PlanReviewInput) -> PlanReview:
    """The card of a mission's plan; or, of an approval, whether it holds."""
    summary = ui.REVIEW_PLAN if wanted.grant is None else ui.CHECK_PLAN
    return await running.run(
        names.REVIEW_PLAN, wanted, gives=PlanReview, summary=summary, **_PLANNER
    )


async def plan_hand_over(wanted: HandOverInput) -> HandOverPlan:
    """The leg that a part of another leg becomes, by the worker's profiles."""
    summary = ui.summary(ui.PLAN_HAND_OVER, agent=wanted.asked.agent, goal=wanted.asked.goal)
    return await running.run(
        names.PLAN_HAND_OVER, wanted, gives=HandOverPlan, summary=summary, **_LOCAL
    )


async def select_tools(context: StepContext, progress: Progress) -> Selection:
    """The tools that this step may use; what the leg has seen by now is kept with it."""
    summary = ui.summary(ui.SELECT_TOOLS, step=context.step)
    keeping = progress.keeping
    if keeping is None:
        return await running.run(
            names.SELECT_TOOLS, context, gives=Selection, summary=summary, **_LOCAL
        )
    seen = progress.state.observations
    kept = keeping.message(
        context.model_copy(update={"observations": seen}),
        of_mission=context.mission_id,
        past=progress.state.past,
        keeps=True,
    )
    selection = await _from_store(
        progress, names.SELECT_TOOLS, kept, gives=Selection, summary=summary, **_LOCAL
    )
    progress.kept(kept.keep_as, len(seen))
    return selection


async def think(context: StepContext, progress: Progress, *, here: bool) -> Thought:
    """A whole step of a leg that rules plan: its tools, its decision, and the call prepared.

    Args:
        context: of the step.
        progress: the leg as it stands.
        here: whether the worker that has the workflow task is asked first.
    """
    keeping, state = progress.keeping, progress.state
    assert keeping is not None
    seen = state.observations
    step = keeping.message(
        context.model_copy(update={"observations": seen}),
        of_mission=context.mission_id,
        past=state.past,
        keeps=True,
    )
    wanted = _wanted(progress, "", {}).model_copy(update={"observations": ()})
    call = keeping.message(wanted, of_mission=context.mission_id, past=step.keep_as)
    thought = await _from_store(
        progress,
        names.THINK,
        ThinkInput(step=step, call=call),
        gives=Thought,
        summary=ui.summary(ui.THINK, step=context.step),
        reads=step,
        here=here,
        **_THINKING,
    )
    progress.kept(step.keep_as, len(seen))
    return thought


async def plan_step(
    context: StepContext, selection: Selection, progress: Progress
) -> PlanStepOutput:
    """What to do next, out of the selected tools."""
    wanted: Record = PlanStepInput(context=context, selection=selection)
    if progress.keeping is not None:
        wanted = progress.keeping.message(
            context.model_copy(update={"observations": progress.state.observations}),
            of_mission=context.mission_id,
            past=progress.state.past,
        )
    return await _from_store(
        progress,
        names.PLAN_STEP,
        wanted,
        gives=PlanStepOutput,
        summary=ui.summary(
            ui.PLAN_STEP,
            step=context.step,
            forwarded=len(selection.tools),
            size=selection.catalog_size,
        ),
        **_THINKING,
    )


async def check_model(model: str) -> str:
    """Why a model cannot be asked where the leg runs; empty when it can be."""
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
    """Names of tools that were not forwarded and fit the query."""
    wanted = DiscoverInput(query=query, catalog_digest=leg.catalog.digest, agent=leg.leg.agent.wall)
    summary = ui.summary(ui.DISCOVER_TOOLS, query=query)
    found = await running.run(
        names.DISCOVER_TOOLS, wanted, gives=DiscoverOutput, summary=summary, **_LOCAL
    )
    return found.tools


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
    """The call of a leg's step checked, completed and with its card; nothing is sent.

    Args:
        progress: the leg as it stands.
        tool: the tool's name.
        arguments: as a planner or a person wants them.
        asked: how often people are asked about it, this time included.
        decided_by_people: whether it was put before a person, and stays with them.
        reason: why a planner wants it.
        before: how this very call was asked about a moment ago.
        changed_by_people: the arguments that a person amended.
    """
    wanted = _wanted(
        progress,
        tool,
        arguments,
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
    asked: int = 1,
    decided_by_people: bool = False,
    reason: str = "",
    before: AskedCall | None = None,
    changed_by_people: tuple[str, ...] = (),
) -> PrepareInput:
    """All that preparing a call of a leg's step goes by."""
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
        **_facts(progress, arguments),
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
        budget_left=None if leg.budget is None else left_of(leg.budget, state.taken),
        asked=last_asked(earlier),
        proposals=in_vain(state.asked) + 1,
        changed_by_people=changed_by_people,
        budget=leg.budget,
        spent=leg.state.taken,
    )


async def prepare_overcharge(
    progress: Progress, obligation: Obligation, *, asked: int = 1
) -> PreparedCall:
    """The card that asks whether to keep what cost more than was approved; nothing is sent.

    Args:
        progress: the leg as it stands, at the step that made the call.
        obligation: what the call left.
        asked: how often people are asked about it, this time included.
    """
    leg = progress.leg
    others = leg.state.ledger.without(obligation.obligation_id)
    wanted = OverchargeInput(
        **leg.call_of(obligation.tool).ref,
        arguments=obligation.arguments,
        agent=leg.leg.agent.wall,
        policy=leg.policy,
        requester=leg.requester,
        now=workflow.now(),
        round=asked,
        observations=leg.state.observations[:-1],
        **_facts(progress, obligation.arguments),
        goal=leg.mission_goal,
        clause=leg.leg.goal,
        orders=leg.leg.orders,
        covered=leg.covered,
        read_only=leg.read_only,
        budget=leg.budget,
        spent=Spend.total([others.spent, others.set_aside]),
        obligation=obligation,
    )
    summary = ui.summary(ui.PREPARE_OVERCHARGE, tool=obligation.tool)
    return await _prepared(progress, names.PREPARE_OVERCHARGE, wanted, summary)


class _Facts(TypedDict):
    facts: tuple[Fact, ...]


def _facts(progress: Progress, arguments: JsonObject) -> _Facts:
    """Those that may tell what a call names; all, where the worker that has them whole chooses."""
    known = progress.leg.facts
    return {"facts": facts_naming(arguments, known) if progress.keeping is None else known}


async def _prepared(
    progress: Progress, activity: str, wanted: PrepareInput, summary: str
) -> PreparedCall:
    message: Record = wanted
    if progress.keeping is not None:
        message = progress.keeping.message(
            wanted, of_mission=wanted.mission_id, past=progress.state.past
        )
    return await _from_store(
        progress, activity, message, gives=PreparedCall, summary=summary, **_LOCAL
    )


async def _from_store(
    progress: Progress,
    activity: str,
    message: Record,
    *,
    gives: type[T],
    summary: str,
    reads: Record | None = None,
    here: bool = True,
    **limits: Unpack[running.Limits],
) -> T:
    """The answer of an activity that reads what the leg has seen; waited for while no worker can.

    A disk that is not there is no failure of the leg: it waits, says why, and can be cancelled.
    """
    is_here = here and progress.is_swift

    async def elsewhere() -> T:
        return await running.once(activity, message, gives=gives, summary=summary, **limits)

    async def in_task() -> T:
        return await running.in_task(activity, message, gives=gives, summary=summary)

    while True:
        attempt = here_first(in_task, elsewhere) if is_here else elsewhere
        try:
            answer = await once_there(attempt, except_for=of_observations)
        except ActivityError as error:
            if not of_observations(error):
                if progress.keeping is not None and not isinstance(error.cause, ApplicationError):
                    # No worker said so: what it was to keep may not be kept.
                    progress.keeping.forget()
                raise
            progress.hold_up(why_of(error))
            await _read_kept(reads or message)
            # Any worker may have it by now, and this one may still not.
            is_here = False
            progress.hold_up("")
        else:
            return answer


async def _read_kept(message: Record) -> None:
    """Wait until some worker can read what a message names: however long that is, history waits."""
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


async def invoke_tool(call: ToolCall, *, attempts: int) -> ToolOutcome | HeldBack:
    """Run one tool call; what cannot be cleared up within its attempts is an unknown outcome.

    One that no worker could read, or send for want of state, is held back, also when an attempt
    before may have arrived: nobody could ask yet what came of it.

    Cancelling the workflow does not cancel the call: callers shield it, for a call that was sent
    must be waited for to know what it left behind.
    """
    timeout = timedelta(seconds=call.timeout_s)
    if call.held_back:  # as with `compensate`; one that may have been sent is not sent again
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
        lacking = lacking_for_call(error)
        if lacking is None:
            return ToolOutcome(kind="unknown", reason=first_words(error))
        arrived = call.may_have_arrived or not lacking.nothing_sent
        return HeldBack(lacking, why_of(error), may_have_arrived=arrived)
    if call.may_have_arrived and outcome.kind == "rejected":
        # A worker of the last release does not know that an earlier attempt may have arrived.
        return outcome.model_copy(update={"kind": "unknown"})
    return outcome


def _invocation(call: ToolCall) -> str:
    """What is called, and who approved it."""
    if call.grant is None:
        return ui.summary(ui.INVOKE_TOOL, tool=call.tool)
    return ui.summary(ui.INVOKE_APPROVED, tool=call.tool, approver=call.grant.approver)


async def collect_legs(mission_id: str, *, take_over: str | None = None) -> CollectLegsOutput:
    """Every leg of the mission as it ended; waits as long as one is still running.

    With the run id of a rollback that was broken off, also what that one had noted.
    """
    return await running.run(
        names.COLLECT_LEGS,
        CollectLegsInput(mission_id=mission_id, take_over=take_over),
        gives=CollectLegsOutput,
        summary=ui.COLLECT_LEGS,
        start_to_close_timeout=timedelta(seconds=60),
        heartbeat_timeout=_HEARTBEAT,
        retry_policy=RetryPolicy(
            initial_interval=timedelta(milliseconds=200), maximum_interval=timedelta(seconds=10)
        ),
    )


async def settled_rollback(mission_id: str) -> RollbackReport | None:
    """The report of the mission's rollback; None while it has not tried everything."""
    read = await running.run(
        names.READ_ROLLBACK,
        ReadRollbackInput(mission_id=mission_id),
        gives=ReadRollbackOutput,
        summary=ui.READ_ROLLBACK,
        start_to_close_timeout=_SERVER_TIMEOUT,
        heartbeat_timeout=_HEARTBEAT,
        # As often as it takes: the mission cannot conclude without it.
        retry_policy=RetryPolicy(
            initial_interval=timedelta(milliseconds=200), maximum_interval=timedelta(seconds=10)
        ),
    )
    return read.settled


async def compensate(obligation: Obligation, *, lacked: bool = False) -> CompensationOutcome:
    """One attempt to take one obligation back, with the time that its contract gives.

    Args:
        obligation: what is to be taken back.
        lacked: whether a worker lacked something for it before. The first try of an activity goes
            to the worker that has the workflow, which may be that one; the next go to any.

    Raises:
        ActivityError: it came to nothing clear; `compensation_failure` says how.
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
        start_to_close_timeout=CALLS_PER_ATTEMPT * obligation.cancel_timeout
        + call_limits.WIRE_MARGIN,
        heartbeat_timeout=_HEARTBEAT,
        # How often it is tried is counted where the rollback can be read and replayed.
        retry_policy=_ELSEWHERE if lacked else RetryPolicy(maximum_attempts=1),
    )


async def find_stranded(closed_after: datetime | None, page_token: str) -> FindStrandedOutput:
    """One page of the missions that were stopped from outside, or that lost a leg or a rollback."""
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
        ActivityError: it could not be examined, for instance for want of a worker that knows it.
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
