"""The runner that lets only workflow tasks move a workflow, fed with the core's own messages."""

from collections.abc import Sequence
from typing import Any, cast

import pytest
from temporalio.bridge.proto.workflow_activation import WorkflowActivation, WorkflowActivationJob
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.worker import WorkflowInstance, WorkflowInstanceDetails, WorkflowRunner

from orchestrator.adapters.temporal.workflow_runner import TaskOrderedRunner
from orchestrator.messages.names import RUN_REPLAYED

_NO_DETAILS = cast(WorkflowInstanceDetails, None)


class Inner(WorkflowRunner):
    """Instances to which everything goes through."""

    def prepare_workflow(self, defn: Any) -> None:
        """There is nothing to prepare."""

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        return cast(WorkflowInstance, self)

    def activate(self, act: WorkflowActivation) -> WorkflowActivationCompletion:
        return WorkflowActivationCompletion(run_id=act.run_id)


START = WorkflowActivationJob(initialize_workflow={})  # type: ignore[arg-type]
TIMER = WorkflowActivationJob(fire_timer={"seq": 1})  # type: ignore[arg-type]
SIGNAL = WorkflowActivationJob(signal_workflow={})  # type: ignore[arg-type]
QUERY = WorkflowActivationJob(query_workflow={})  # type: ignore[arg-type]
EVICT = WorkflowActivationJob(remove_from_cache={})  # type: ignore[arg-type]

Step = tuple[WorkflowActivationJob, int, int]
"""A job, the length of the history in events, the time in seconds."""


def failures(steps: Sequence[Step]) -> list[str]:
    """The failure message of each activation, empty for those that went through."""
    instance = TaskOrderedRunner(Inner()).create_instance(_NO_DETAILS)
    messages = []
    for job, history, seconds in steps:
        act = WorkflowActivation(run_id="r", history_length=history, jobs=[job])
        act.timestamp.FromSeconds(seconds)
        messages.append(instance.activate(act).failed.failure.message)
    return messages


def test_a_run_that_a_query_moved_is_replayed_at_its_next_task() -> None:
    """The timer came with the query, at the time of the task before: the signal finds that out."""
    moved = [(START, 3, 10), (TIMER, 7, 10), (QUERY, 7, 10), (SIGNAL, 11, 20)]
    assert failures(moved) == ["", "", "", RUN_REPLAYED]


def test_such_a_run_still_answers_and_leaves_the_cache() -> None:
    """Only what would run workflow code is held back."""
    moved = [(START, 3, 10), (TIMER, 7, 10), (QUERY, 7, 10), (QUERY, 7, 10), (EVICT, 7, 0)]
    assert failures(moved) == [""] * 5


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([(START, 3, 10), (TIMER, 7, 15), (SIGNAL, 11, 20)], id="a task each"),
        pytest.param([(START, 3, 10), (TIMER, 3, 10), (SIGNAL, 11, 20)], id="a task in two parts"),
        pytest.param([(START, 3, 10), (QUERY, 3, 10), (TIMER, 7, 15)], id="a query between tasks"),
        pytest.param([(START, 3, 10), (QUERY, 7, 10), (TIMER, 7, 15)], id="a query at its tail"),
    ],
)
def test_what_workflow_tasks_bring_goes_through(steps: Sequence[Step]) -> None:
    """No task of a run that only tasks moved is failed."""
    assert failures(steps) == [""] * len(steps)
