"""The only door from workflows to activities: a typed function each, with its time and retries."""

from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.record import JsonObject
    from orchestrator.messages import names
    from orchestrator.messages.call_limits import (
        FIRST_PAUSE,
        LONGEST_PAUSE,
        WIRE_MARGIN,
        longest_attempt,
        longest_call,
    )
    from orchestrator.messages.leg import LegInput
    from orchestrator.messages.mission_policy import CatalogPin
    from orchestrator.messages.rollback import (
        CollectLegsInput,
        CollectLegsOutput,
        CompensateInput,
        FindStrandedInput,
        FindStrandedOutput,
        RecoverInput,
        Recovery,
    )
    from orchestrator.messages.step import (
        DiscoverInput,
        DiscoverOutput,
        PlanStepInput,
        PlanStepOutput,
    )
    from orchestrator.messages.tool_call import PreparedCall, PrepareInput, ToolCall
    from orchestrator.planning.models import GoalBrief, MissionPlan, StepContext
    from orchestrator.routing.selection import Selection
    from orchestrator.saga.ledger import Obligation
    from orchestrator.saga.outcome import CompensationOutcome, ToolOutcome
    from orchestrator.saga.retry_policy import CALLS_PER_ATTEMPT
    from workflows import ui
    from workflows.failures import first_words

_LOCAL_TIMEOUT = timedelta(seconds=15)
"""For work inside a worker, without a provider: generous, and short enough that a dead worker is
noticed soon."""
_LOCAL_RETRY = RetryPolicy(
    initial_interval=timedelta(milliseconds=200),
    maximum_interval=timedelta(seconds=10),
    maximum_attempts=12,
)
_HEARTBEAT = timedelta(seconds=6)


async def pin_catalog() -> CatalogPin:
    """The catalog of the worker that answers; the mission keeps it to its end."""
    answer: CatalogPin = await workflow.execute_activity(
        names.PIN_CATALOG,
        result_type=CatalogPin,
        start_to_close_timeout=_LOCAL_TIMEOUT,
        retry_policy=_LOCAL_RETRY,
        summary=ui.PIN_CATALOG,
    )
    return answer


async def split_goal(brief: GoalBrief) -> MissionPlan:
    """The legs of a goal."""
    answer: MissionPlan = await workflow.execute_activity(
        names.SPLIT_GOAL,
        brief,
        result_type=MissionPlan,
        start_to_close_timeout=timedelta(seconds=120),
        heartbeat_timeout=_HEARTBEAT,
        retry_policy=_LOCAL_RETRY,
        summary=ui.SPLIT_GOAL,
    )
    return answer


async def select_tools(context: StepContext) -> Selection:
    """The tools that this step may use."""
    answer: Selection = await workflow.execute_activity(
        names.SELECT_TOOLS,
        context,
        result_type=Selection,
        start_to_close_timeout=_LOCAL_TIMEOUT,
        retry_policy=_LOCAL_RETRY,
        summary=ui.select_tools(context),
    )
    return answer


async def plan_step(context: StepContext, selection: Selection) -> PlanStepOutput:
    """What to do next, out of the selected tools; a model may take its time."""
    output: PlanStepOutput = await workflow.execute_activity(
        names.PLAN_STEP,
        PlanStepInput(context=context, selection=selection),
        result_type=PlanStepOutput,
        start_to_close_timeout=timedelta(seconds=120),
        heartbeat_timeout=_HEARTBEAT,
        retry_policy=_LOCAL_RETRY,
        summary=ui.plan_step(context, selection),
    )
    return output


async def discover_tools(query: str, catalog_digest: str) -> tuple[str, ...]:
    """Names of tools that were not forwarded and fit the query."""
    output: DiscoverOutput = await workflow.execute_activity(
        names.DISCOVER_TOOLS,
        DiscoverInput(query=query, catalog_digest=catalog_digest),
        result_type=DiscoverOutput,
        start_to_close_timeout=_LOCAL_TIMEOUT,
        retry_policy=_LOCAL_RETRY,
        summary=ui.discover(query),
    )
    return output.tools


async def prepare_call(
    leg: LegInput, tool: str, arguments: JsonObject, *, asked: int = 1
) -> PreparedCall:
    """The call of a leg's step checked, completed and with its card; nothing is sent.

    Args:
        leg: the leg as it stands.
        tool: the tool's name.
        arguments: as a planner or a person wants them.
        asked: how often people are asked about it, this time included.
    """
    answer: PreparedCall = await workflow.execute_activity(
        names.PREPARE_CALL,
        PrepareInput(
            **leg.call_of(tool).ref,
            arguments=arguments,
            observations=leg.state.observations,
            policy=leg.policy,
            now=workflow.now(),
            round=asked,
        ),
        result_type=PreparedCall,
        start_to_close_timeout=_LOCAL_TIMEOUT,
        retry_policy=_LOCAL_RETRY,
        summary=ui.prepare(tool),
    )
    return answer


async def invoke_tool(call: ToolCall, *, attempts: int) -> ToolOutcome:
    """Run one tool call; what cannot be cleared up within its attempts is an unknown outcome.

    Cancelling the workflow does not cancel the call: callers shield it, for a call that was sent
    must be waited for to know what it left behind.
    """
    timeout = timedelta(seconds=call.timeout_s)
    try:
        answer: ToolOutcome = await workflow.execute_activity(
            names.INVOKE_TOOL,
            call,
            result_type=ToolOutcome,
            start_to_close_timeout=longest_attempt(timeout),
            schedule_to_close_timeout=longest_call(timeout, attempts),
            heartbeat_timeout=_HEARTBEAT,
            retry_policy=RetryPolicy(
                initial_interval=FIRST_PAUSE,
                maximum_interval=LONGEST_PAUSE,
                maximum_attempts=attempts,
            ),
            summary=ui.invoke(call.tool),
        )
        return answer
    except ActivityError as error:
        return ToolOutcome(kind="unknown", reason=first_words(error))


async def collect_legs(mission_id: str, *, take_over: str | None = None) -> CollectLegsOutput:
    """Every leg of the mission as it ended; waits as long as one is still running.

    With the run id of a rollback that was broken off, also what that one had noted.
    """
    output: CollectLegsOutput = await workflow.execute_activity(
        names.COLLECT_LEGS,
        CollectLegsInput(mission_id=mission_id, take_over=take_over),
        result_type=CollectLegsOutput,
        start_to_close_timeout=timedelta(seconds=60),
        heartbeat_timeout=_HEARTBEAT,
        retry_policy=RetryPolicy(
            initial_interval=timedelta(milliseconds=200), maximum_interval=timedelta(seconds=10)
        ),
        summary=ui.COLLECT_LEGS,
    )
    return output


async def compensate(obligation: Obligation) -> CompensationOutcome:
    """One attempt to take one obligation back, with the time that its contract gives.

    Raises:
        ActivityError: it came to nothing clear; `compensation_failure` says how.
    """
    answer: CompensationOutcome = await workflow.execute_activity(
        names.COMPENSATE,
        CompensateInput(obligation=obligation),
        result_type=CompensationOutcome,
        start_to_close_timeout=CALLS_PER_ATTEMPT * obligation.cancel_timeout + WIRE_MARGIN,
        heartbeat_timeout=_HEARTBEAT,
        # How often it is tried is counted where the rollback can be read and replayed.
        retry_policy=RetryPolicy(maximum_attempts=1),
        summary=ui.compensate(obligation),
    )
    return answer


async def find_stranded(closed_after: datetime | None, page_token: str) -> FindStrandedOutput:
    """One page of the missions that were stopped from outside, or that lost a leg or a rollback."""
    page: FindStrandedOutput = await workflow.execute_activity(
        names.FIND_STRANDED,
        FindStrandedInput(closed_after=closed_after, page_token=page_token),
        result_type=FindStrandedOutput,
        start_to_close_timeout=timedelta(seconds=30),
        retry_policy=_LOCAL_RETRY,
        summary=ui.FIND_STRANDED,
    )
    return page


async def recover_mission(mission_id: str) -> Recovery:
    """Start the rollback of one mission that was stopped, if it needs one.

    Raises:
        ActivityError: it could not be examined, for instance for want of a worker that knows it.
    """
    answer: Recovery = await workflow.execute_activity(
        names.RECOVER_MISSION,
        RecoverInput(mission_id=mission_id),
        result_type=Recovery,
        start_to_close_timeout=timedelta(seconds=30),
        heartbeat_timeout=_HEARTBEAT,
        retry_policy=RetryPolicy(maximum_attempts=3),
        summary=ui.recover(mission_id),
    )
    return answer
