"""Ledgers read from a real server: of a mission that continued, was reset, and was deleted."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from temporalio import activity, workflow
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType, ResetReapplyType
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import Client, WorkflowHandle
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from orchestrator.adapters.temporal.mission_history import read_ledger
from orchestrator.messages import names
from orchestrator.messages.tool_call import ToolCall
from orchestrator.saga.obligation import ObligationState
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.testing import eventually
from tests.fakes import fake_obligation
from tests.unit.activities.made_calls import made_call

S = ObligationState


@workflow.defn(name=names.MISSION_WORKFLOW)
class Mission:
    """Makes a call for each step that it is signalled, and continues as new when it is told to."""

    def __init__(self) -> None:
        self._steps: list[str] = []

    @workflow.run
    async def run(self, given: dict[str, Any]) -> None:
        while True:
            await workflow.wait_condition(lambda: bool(self._steps))
            step = self._steps.pop(0)
            if step == "continue":
                workflow.continue_as_new({"carried": {"legs": []}})
            await self._call(f"{workflow.info().workflow_id}.1-trip.{step}")

    async def _call(self, call_id: str) -> None:
        made = fake_obligation(call_id, written_at=workflow.now())
        call = made_call(call_id, obligation=made)
        try:
            await workflow.execute_activity(
                names.INVOKE_TOOL,
                call,
                result_type=ToolOutcome,
                start_to_close_timeout=timedelta(seconds=5),
                retry_policy=RetryPolicy(maximum_attempts=1),
            )
        except ActivityError:
            workflow.logger.info("it is not known what came of %s", call_id)

    @workflow.signal
    def step(self, step: str) -> None:
        self._steps.append(step)


@activity.defn(name=names.INVOKE_TOOL)
async def book(call: ToolCall) -> ToolOutcome:
    """Book; steps with an x are never answered."""
    if call.call_id.endswith("x"):
        raise ConnectionResetError
    return ToolOutcome(kind="succeeded", status=200)


async def states(client: Client, mission_id: str) -> dict[str, ObligationState]:
    """By step."""
    ledger, notes = await read_ledger(client, mission_id)
    assert notes == ()
    return {o.obligation_id.rpartition(".")[2]: o.state for o in ledger.obligations}


def shows(client: Client, mission_id: str, **wanted: ObligationState) -> Callable[[], Any]:
    """A check for `eventually`: whether the mission's ledger is this one."""
    by_step = {step.removeprefix("s"): state for step, state in wanted.items()}

    async def found() -> bool:
        return await states(client, mission_id) == by_step

    return found


async def test_the_ledger_of_a_mission_on_a_real_server(local_env: WorkflowEnvironment) -> None:
    """It continues as new, is reset, terminated and deleted; no call is forgotten before that."""
    client, queue = local_env.client, f"q-{uuid.uuid4()}"
    mission_id = f"m-{uuid.uuid4()}"
    worker = Worker(
        client,
        task_queue=queue,
        workflows=[Mission],
        activities=[book],
        workflow_runner=UnsandboxedWorkflowRunner(),
    )
    async with worker:
        mission = await client.start_workflow(
            names.MISSION_WORKFLOW, {}, id=mission_id, task_queue=queue
        )
        for step in ("1", "2x", "continue"):
            await mission.signal("step", step)
        newest = client.get_workflow_handle(mission_id)

        async def has_continued() -> bool:
            return (await newest.describe()).run_id != mission.first_execution_run_id

        await eventually(has_continued)
        await newest.signal("step", "3")
        await eventually(shows(client, mission_id, s1=S.COMMITTED, s2x=S.INTENDED, s3=S.COMMITTED))

        await _reset_to_start(client, newest)
        again = client.get_workflow_handle(mission_id)
        await again.signal("step", "4")
        settled = dict.fromkeys(("s1", "s3", "s4"), S.COMMITTED)
        await eventually(shows(client, mission_id, s2x=S.INTENDED, **settled))
        await again.terminate()

    assert len(await states(client, mission_id)) == 4


async def _reset_to_start(client: Client, mission: WorkflowHandle[Any, Any]) -> None:
    """Reset a run to its first workflow task; signals after that are not applied again."""
    described = await mission.describe()
    async for event in mission.fetch_history_events():
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
            break
    await client.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace=client.namespace,
            workflow_execution=WorkflowExecution(workflow_id=described.id, run_id=described.run_id),
            workflow_task_finish_event_id=event.event_id,
            request_id=str(uuid.uuid4()),
            reset_reapply_type=ResetReapplyType.RESET_REAPPLY_TYPE_NONE,
        )
    )
