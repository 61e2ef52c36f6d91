"""Keeps queries from moving workflows: state that a query advanced is replayed, never built on.

A query that waited for a worker is answered by the next one from the whole history, with events in
it that no workflow task has delivered yet. The SDK's core applies them at the query, at the stale
time of the task before, and goes on from there when their task arrives. A later replay applies
them together with what that task brought, signals and updates first: other commands, and the run
is stuck in a nondeterminism error. Deterministic workflow code cannot avoid it, so the runner does.
"""

from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.worker import WorkflowInstance, WorkflowInstanceDetails, WorkflowRunner

from orchestrator.adapters.temporal.shared_sandbox import SharedSandboxRunner
from orchestrator.adapters.temporal.wrapped_runner import WrappedRun, WrappedRunner
from orchestrator.messages.names import RUN_REPLAYED


class TaskOrderedRunner(WrappedRunner):
    """Runs workflows as another runner does, and lets only workflow tasks move them."""

    def __init__(self, inner: WorkflowRunner | None = None) -> None:
        """Take the runner that does the work; a sandboxed one is the default."""
        super().__init__(inner or SharedSandboxRunner())

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        """An instance of the inner runner, watched."""
        return _Watched(self._inner.create_instance(det))


class _Watched(WrappedRun):
    """One cached run, and whether a query has moved it.

    A workflow task brings its own start as the time. Events that make the history longer while the
    time stands still are therefore of no task.
    """

    def __init__(self, inner: WorkflowInstance) -> None:
        super().__init__(inner)
        self._seen = 0
        self._time = 0
        self._ahead = False

    def activate(self, act: WorkflowActivation) -> WorkflowActivationCompletion:
        if not _moves(act):
            return self._inner.activate(act)
        if self._ahead:
            return _failed(act)
        time = act.timestamp.ToNanoseconds()
        self._ahead = act.history_length > self._seen and time == self._time
        self._seen, self._time = act.history_length, time
        return self._inner.activate(act)


def _moves(act: WorkflowActivation) -> bool:
    """Whether workflow code would run, beyond answering a query or leaving the cache."""
    return any(
        not job.HasField("query_workflow") and not job.HasField("remove_from_cache")
        for job in act.jobs
    )


def _failed(act: WorkflowActivation) -> WorkflowActivationCompletion:
    """The core fails the task, forgets the run, and gets the task again with the whole history."""
    completion = WorkflowActivationCompletion(run_id=act.run_id)
    completion.failed.failure.message = RUN_REPLAYED
    return completion
