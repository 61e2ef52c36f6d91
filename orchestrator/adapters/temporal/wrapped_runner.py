"""Runs workflows as another runner does: what a subclass adds to that stands in the subclass."""

from typing import Any

from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.converter import SerializationContext, StorageDriverStoreContext
from temporalio.worker import WorkflowInstance, WorkflowInstanceDetails, WorkflowRunner
from temporalio.workflow import Info, _Definition


class WrappedRunner(WorkflowRunner):
    """Hands all that is asked of it to the runner that does the work."""

    def __init__(self, inner: WorkflowRunner) -> None:
        """Take the runner that does the work."""
        self._inner = inner

    def prepare_workflow(self, defn: _Definition) -> None:
        """As the inner runner does."""
        self._inner.prepare_workflow(defn)

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        """An instance of the inner runner."""
        return self._inner.create_instance(det)

    def set_worker_level_failure_exception_types(self, types: Any) -> None:
        """As the inner runner does."""
        self._inner.set_worker_level_failure_exception_types(types)


class WrappedRun(WorkflowInstance):
    """Hands all that is asked of one run to the instance that does the work."""

    def __init__(self, inner: WorkflowInstance) -> None:
        """Take the instance that does the work."""
        self._inner = inner

    def activate(self, act: WorkflowActivation) -> WorkflowActivationCompletion:
        """As the inner instance does."""
        return self._inner.activate(act)

    def get_serialization_context(self, command_info: Any) -> SerializationContext | None:
        """As the inner instance does."""
        return self._inner.get_serialization_context(command_info)

    def get_external_store_context(self, command_info: Any) -> StorageDriverStoreContext:
        """As the inner instance does."""
        return self._inner.get_external_store_context(command_info)

    def get_info(self) -> Info:
        """As the inner instance does."""
        return self._inner.get_info()

    def get_thread_id(self) -> int | None:
        """As the inner instance does."""
        return self._inner.get_thread_id()
