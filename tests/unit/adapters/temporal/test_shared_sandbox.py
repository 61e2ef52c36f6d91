"""The sandbox that all runs share: imported once, and as strict as one of their own."""

import asyncio
import dis
import importlib
import pkgutil
import sys
import threading
from types import FunctionType, ModuleType
from typing import Any, cast

import pytest
from temporalio import workflow
from temporalio.bridge.proto.workflow_activation import WorkflowActivation, WorkflowActivationJob
from temporalio.converter import DataConverter
from temporalio.worker import WorkflowInstance, WorkflowInstanceDetails, WorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner

import workflows
from orchestrator.adapters.temporal.shared_sandbox import SharedSandboxRunner
from tests.unit.adapters.temporal.forbidden import FORBIDDEN, Forbidden

_RUNNERS = [SandboxedWorkflowRunner, SharedSandboxRunner]


def _instance(runner: type[WorkflowRunner], cls: type) -> Any:
    made = []

    class Keeping(runner):  # type: ignore[misc, valid-type]
        def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
            made.append(super().create_instance(det))
            return cast(WorkflowInstance, made[-1])

    async def prepare() -> None:
        Keeping().prepare_workflow(workflow._Definition.must_from_class(cls))

    asyncio.run(prepare())
    return made[-1]


def _told_of(runner: type[WorkflowRunner], does: str) -> str:
    """What a run that does this fails with; empty when it may."""
    instance = _instance(runner, Forbidden)
    payload = DataConverter.default.payload_converter.to_payloads([does])
    job = WorkflowActivationJob()
    job.initialize_workflow.workflow_type = "Forbidden"
    job.initialize_workflow.arguments.extend(payload)
    act = WorkflowActivation(run_id="r", jobs=[job])

    async def activated() -> str:
        return str(instance.activate(act).failed.failure.message)

    return asyncio.run(activated())


@pytest.mark.parametrize("runner", _RUNNERS)
@pytest.mark.parametrize("does", FORBIDDEN)
def test_what_no_replay_could_repeat_is_refused(runner: type[WorkflowRunner], does: str) -> None:
    """As the SDK's own sandbox does: clocks, chance, files and the network are out of reach."""
    assert "Cannot access" in _told_of(runner, does)


def test_a_run_imports_nothing_again() -> None:
    """Two runs of a workflow have the same class, which is none of those outside the sandbox."""
    first, second = (_instance(SharedSandboxRunner, workflows.LegWorkflow) for _ in range(2))
    modules = first.importer.new_modules
    assert modules is second.importer.new_modules
    one, other = (i.globals_and_locals["__temporal_workflow_class"] for i in (first, second))
    assert one is other
    assert one is not workflows.LegWorkflow


def test_a_thread_that_imports_frees_no_other_from_what_it_may_not_do() -> None:
    """Whether a workflow runs is known for each thread by itself."""
    context = _instance(SharedSandboxRunner, workflows.LegWorkflow).importer.restriction_context
    context.is_runtime = True
    seen: list[bool] = []
    thread = threading.Thread(target=lambda: seen.append(context.is_runtime))
    thread.start()
    thread.join()
    assert seen == [False]
    assert context.is_runtime
    context.is_runtime = False


def test_workflows_keep_nothing_in_their_modules() -> None:
    """Runs share them: what one wrote there, another would find."""
    names = [one.name for one in pkgutil.iter_modules(workflows.__path__, "workflows.")]
    kept = [found for name in names for found in _changeable(importlib.import_module(name))]
    assert kept == []


def _changeable(module: ModuleType) -> list[str]:
    """Values of a module and of its classes that can be changed, and functions that change them."""
    scopes: list[tuple[str, dict[str, Any]]] = [(module.__name__, vars(module))]
    scopes += [
        (f"{module.__name__}.{name}", dict(vars(value)))
        for name, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module.__name__
    ]
    found = [
        f"{scope}.{name}"
        for scope, values in scopes
        for name, value in values.items()
        if not name.startswith("__") and isinstance(value, list | set | bytearray)
    ]
    functions = [v for _, values in scopes for v in values.values() if isinstance(v, FunctionType)]
    return found + [f.__qualname__ for f in functions if _writes_globals(f)]


def _writes_globals(function: FunctionType) -> bool:
    return any(one.opname == "STORE_GLOBAL" for one in dis.get_instructions(function))


def test_the_modules_of_the_sandbox_are_not_those_outside() -> None:
    """A workflow reads clocks through what refuses them, wherever its module was imported."""
    modules = _instance(SharedSandboxRunner, workflows.LegWorkflow).importer.new_modules
    assert modules["workflows.leg_workflow"] is not sys.modules["workflows.leg_workflow"]
