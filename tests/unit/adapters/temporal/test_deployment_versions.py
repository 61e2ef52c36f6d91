"""What a worker with a build tells of each task: which build may have the next."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.bridge.proto.workflow_commands import WorkflowCommand
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.common import VersioningBehavior
from temporalio.worker import WorkflowInstanceDetails, WorkflowRunner

from orchestrator.adapters.temporal.deployment_versions import (
    VersionedRunner,
    deployment_config,
    versioned,
)
from orchestrator.core.errors import UsageError
from orchestrator.messages import names


def command(variant: str) -> WorkflowCommand:
    made = WorkflowCommand()
    getattr(made, variant).SetInParent()
    return made


def told(workflow_type: str, *commands: str, failed: bool = False) -> VersioningBehavior:
    """What is said of the task in which a workflow gives these commands."""
    given = WorkflowActivationCompletion()
    if failed:
        given.failed.failure.message = "nondeterminism"
    else:
        given.successful.commands.extend(map(command, commands))
    instance = SimpleNamespace(activate=lambda _: given)
    runner = VersionedRunner(
        cast(WorkflowRunner, SimpleNamespace(create_instance=lambda _: instance))
    )
    details: Any = SimpleNamespace(info=SimpleNamespace(workflow_type=workflow_type))
    running = runner.create_instance(cast(WorkflowInstanceDetails, details))
    completion = running.activate(WorkflowActivation())
    assert completion.HasField("failed") == failed
    return VersioningBehavior(completion.successful.versioning_behavior)


WORKER_DECIDES = VersioningBehavior.UNSPECIFIED  # and its default is to pin


@pytest.mark.parametrize(
    ("workflow_type", "commands", "behavior"),
    [
        (names.MISSION_WORKFLOW, (), WORKER_DECIDES),
        (names.LEG_WORKFLOW, ("schedule_activity",), WORKER_DECIDES),
        (names.LEG_WORKFLOW, ("continue_as_new_workflow_execution",), WORKER_DECIDES),
        (names.ROLLBACK_WORKFLOW, ("start_timer",), WORKER_DECIDES),
        (
            names.MISSION_WORKFLOW,
            ("upsert_workflow_search_attributes", "complete_workflow_execution"),
            VersioningBehavior.AUTO_UPGRADE,
        ),
        (names.LEG_WORKFLOW, ("fail_workflow_execution",), VersioningBehavior.AUTO_UPGRADE),
        (names.ROLLBACK_WORKFLOW, ("cancel_workflow_execution",), VersioningBehavior.AUTO_UPGRADE),
        (names.SWEEP_WORKFLOW, (), VersioningBehavior.AUTO_UPGRADE),
        (
            names.SWEEP_WORKFLOW,
            ("continue_as_new_workflow_execution",),
            VersioningBehavior.AUTO_UPGRADE,
        ),
    ],
)
def test_what_runs_stays_and_what_has_ended_is_read_by_any(
    workflow_type: str, commands: tuple[str, ...], behavior: VersioningBehavior
) -> None:
    """A sweep never stays."""
    assert told(workflow_type, *commands) is behavior


def test_a_task_that_failed_says_nothing() -> None:
    """It does not become one that succeeded."""
    assert told(names.SWEEP_WORKFLOW, failed=True) is VersioningBehavior.UNSPECIFIED


def test_a_worker_without_a_build_tells_none() -> None:
    """The server refuses every task that says more."""
    runner = cast(WorkflowRunner, SimpleNamespace())
    assert deployment_config("q", None) is None
    assert versioned(runner, None) is runner


def test_a_worker_with_a_build_pins_what_it_runs() -> None:
    """Unless its runner says otherwise."""
    config = deployment_config("q", "1")
    assert config is not None
    assert config.use_worker_versioning
    assert config.default_versioning_behavior is VersioningBehavior.PINNED
    assert config.version.to_canonical_string() == "q.1"


@pytest.mark.parametrize("name", ["eu.missions", "eu:missions", "__missions"])
def test_a_name_that_the_server_would_refuse_is_refused_in_a_sentence(name: str) -> None:
    """Polling with it would fail again and again, in the log alone."""
    with pytest.raises(UsageError, match="set ORCHESTRATOR_DEPLOYMENT to a name"):
        deployment_config(name, "1")
