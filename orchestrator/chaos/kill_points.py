"""A worker plugin that kills its own process at one exact point of a mission's histories.

From outside, a kill meets a mission somewhere; from inside it meets the k-th event, every time.
"""

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from temporalio import activity
from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.plugin import SimplePlugin
from temporalio.worker import (
    ActivityInboundInterceptor,
    ExecuteActivityInput,
    Interceptor,
    WorkflowInstance,
    WorkflowInstanceDetails,
    WorkflowRunner,
)
from temporalio.workflow import Info

from orchestrator.chaos.scenarios.points import KillPoint


class KillPoints:
    """Which mission dies where; each point kills once, however many workers come to it."""

    def __init__(self, points: Mapping[str, KillPoint], struck: Path) -> None:
        """Take the points by mission, and the folder where those that struck are noted."""
        self._points = points
        self._struck = struck

    def at_task(self, workflow_id: str, event: int) -> None:
        """Die here, if this is the task, or the first one after it."""
        mission_id, point = self._of(workflow_id)
        if point is not None and point.when == "task" and event >= int(point.at):
            self._die(mission_id)

    def at_activity(self, workflow_id: str, activity_id: str, when: str) -> None:
        """Die here, if this is the activity."""
        mission_id, point = self._of(workflow_id)
        if point is not None and (point.when, point.at) == (when, activity_id):
            self._die(mission_id)

    def _of(self, workflow_id: str) -> tuple[str, KillPoint | None]:
        mission_id, dot, rest = workflow_id.partition(".")
        point = self._points.get(mission_id)
        return mission_id, point if point is not None and point.part == dot + rest else None

    def _die(self, mission_id: str) -> None:
        try:
            (self._struck / mission_id).touch(exist_ok=False)
        except FileExistsError:
            return  # a worker before this one died here
        os.kill(os.getpid(), signal.SIGKILL)


def self_kill(points: KillPoints) -> SimplePlugin:
    """The plugin for workers that die at these points."""

    def watched(runner: WorkflowRunner | None) -> WorkflowRunner:
        assert runner is not None
        return _WatchedRunner(runner, points)

    return SimplePlugin(
        "orchestrator.chaos.self_kill",
        interceptors=[_WatchActivities(points)],
        workflow_runner=watched,
    )


class _WatchActivities(Interceptor):
    def __init__(self, points: KillPoints) -> None:
        self._points = points

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _WatchedActivity(next, self._points)


class _WatchedActivity(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, points: KillPoints) -> None:
        super().__init__(next)
        self._points = points

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        info = activity.info()
        workflow_id = info.workflow_id or ""
        self._points.at_activity(workflow_id, info.activity_id, "before")
        result = await super().execute_activity(input)
        self._points.at_activity(workflow_id, info.activity_id, "after")
        return result


class _WatchedRunner(WorkflowRunner):
    def __init__(self, runner: WorkflowRunner, points: KillPoints) -> None:
        self._runner = runner
        self._points = points

    def prepare_workflow(self, defn: Any) -> None:
        self._runner.prepare_workflow(defn)

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        return _WatchedInstance(
            self._runner.create_instance(det), det.info.workflow_id, self._points
        )

    def set_worker_level_failure_exception_types(self, types: Any) -> None:
        self._runner.set_worker_level_failure_exception_types(types)


class _WatchedInstance(WorkflowInstance):
    def __init__(self, instance: WorkflowInstance, workflow_id: str, points: KillPoints) -> None:
        self._instance = instance
        self._workflow_id = workflow_id
        self._points = points

    def activate(self, act: WorkflowActivation) -> WorkflowActivationCompletion:
        if not act.is_replaying:
            self._points.at_task(self._workflow_id, act.history_length)
        return self._instance.activate(act)

    def get_serialization_context(self, command_info: Any) -> Any:
        return self._instance.get_serialization_context(command_info)

    def get_external_store_context(self, command_info: Any) -> Any:
        return self._instance.get_external_store_context(command_info)

    def get_info(self) -> Info:
        return self._instance.get_info()

    def get_thread_id(self) -> int | None:
        return self._instance.get_thread_id()
