"""The SDK's workflow sandbox, with what runs in it imported once for all runs of a process.

The SDK's own runner imports the workflows anew for each run, so that none finds what another left
in a module. Ours keep nothing in modules (a test holds them to it), and importing them took longer
than all else that workflow tasks do. What guards determinism stays as it is: clocks, random
numbers, files and threads are refused, by the SDK's own restrictions.
"""

import functools
import threading
from typing import Any

from temporalio.converter import SerializationContext, StorageDriverStoreContext
from temporalio.worker import WorkflowInstance, WorkflowInstanceDetails
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions
from temporalio.worker.workflow_sandbox._importer import Importer
from temporalio.worker.workflow_sandbox._restrictions import RestrictionContext
from temporalio.worker.workflow_sandbox._runner import _Instance


class SharedSandboxRunner(SandboxedWorkflowRunner):
    """As the SDK's sandboxed runner, but that no run imports what another has imported."""

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        """An instance in the sandbox of this process."""
        return _SharedInstance(det, self)


class _ContextOfThread(threading.local, RestrictionContext):
    """Whether this thread runs a workflow: others may run one, or import one, at the same time."""


@functools.cache
def _importer() -> Importer:
    """The one that holds the modules of the sandbox."""
    # A tracing plugin wants one and the same instance inside and outside.
    restrictions = SandboxRestrictions.default.with_passthrough_modules("opentelemetry")
    return Importer(restrictions, _ContextOfThread())


_IMPORTING = threading.Lock()


class _SharedInstance(_Instance):
    """One run; its workflow class comes from the modules that all runs share."""

    def __init__(self, details: WorkflowInstanceDetails, runner: SandboxedWorkflowRunner) -> None:
        self.instance_details = details
        self.runner_class = runner.runner_class
        self.importer = _importer()
        self._current_thread_id = None
        self.globals_and_locals: dict[str, Any] = {"__file__": "workflow_sandbox.py"}
        with _IMPORTING:
            self._create_instance()

    # The SDK's own code answers these, and runs nothing of the workflow: the sandbox need not be
    # entered for each payload of each command.

    def get_serialization_context(self, command_info: Any) -> SerializationContext | None:
        return self._instance.get_serialization_context(command_info)

    def get_external_store_context(self, command_info: Any) -> StorageDriverStoreContext:
        return self._instance.get_external_store_context(command_info)

    @property
    def _instance(self) -> WorkflowInstance:
        inside: WorkflowInstance = self.globals_and_locals["__temporal_in_sandbox"]
        return inside
