"""Which build of the workers runs a workflow, while several of them are there.

What moves money is pinned: a mission, its legs and its rollback stay with the build that they began
on for as long as they run. A sweep, and what waits for a mission that a schedule has started, go on
with whatever build is current, which is what that mission begins on. What has ended is read
by the current build as well: a build may be switched off once nothing runs on it, and the ledgers
of what it ran are still wanted, by rollbacks and by people.
"""

from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
from temporalio.worker import (
    WorkerDeploymentConfig,
    WorkflowInstance,
    WorkflowInstanceDetails,
    WorkflowRunner,
)

from orchestrator.adapters.temporal.wrapped_runner import WrappedRun, WrappedRunner
from orchestrator.core.errors import UsageError
from orchestrator.messages import names

_GOES_ON_ANYWHERE = frozenset({names.SWEEP_WORKFLOW, names.SCHEDULED_MISSION_WORKFLOW})
_ENDS = frozenset(
    {
        "complete_workflow_execution",
        "fail_workflow_execution",
        "cancel_workflow_execution",
    }
)


def deployment_config(deployment: str, build_id: str | None) -> WorkerDeploymentConfig | None:
    """What a worker tells the server of its build; None: of builds nothing is told.

    Raises:
        UsageError: the server takes no deployment of that name.
    """
    if build_id is None:
        return None
    if set(deployment) & set(".:") or deployment.startswith("__"):
        raise UsageError(
            f"a deployment cannot be called {deployment!r}: set ORCHESTRATOR_DEPLOYMENT to a name "
            "without '.' and ':', and without '__' before it (unset, it is the task queue's)"
        )
    return WorkerDeploymentConfig(
        version=WorkerDeploymentVersion(deployment, build_id),
        use_worker_versioning=True,
        default_versioning_behavior=VersioningBehavior.PINNED,
    )


def versioned(inner: WorkflowRunner, told: WorkerDeploymentConfig | None) -> WorkflowRunner:
    """The runner of a worker that tells its build; the same where it tells none."""
    return inner if told is None else VersionedRunner(inner)


class VersionedRunner(WrappedRunner):
    """Runs workflows as another runner does, and says of each task which build may have the next.

    The server refuses that from a worker that has not told its build.
    """

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        """An instance of the inner runner."""
        pinned = det.info.workflow_type not in _GOES_ON_ANYWHERE
        return _Versioned(self._inner.create_instance(det), is_pinned=pinned)


class _Versioned(WrappedRun):
    def __init__(self, inner: WorkflowInstance, *, is_pinned: bool) -> None:
        super().__init__(inner)
        self._is_pinned = is_pinned

    def activate(self, act: WorkflowActivation) -> WorkflowActivationCompletion:
        completion = self._inner.activate(act)
        if completion.HasField("successful") and (not self._is_pinned or _ends(completion)):
            completion.successful.versioning_behavior = VersioningBehavior.AUTO_UPGRADE.value
        return completion


def _ends(completion: WorkflowActivationCompletion) -> bool:
    """Whether the run ends here; a leg that continues as new stays with its build."""
    commands = completion.successful.commands
    return any(command.WhichOneof("variant") in _ENDS for command in commands)
