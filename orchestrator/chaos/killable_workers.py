"""`python -m orchestrator.chaos.killable_workers`: workers that die at given points.

The started process imports everything and serves nothing. The workers are its children, one for
each task queue, made by `fork`: a killed one is replaced at once. A kill from outside hits a
mission at a random event; a kill from inside hits the k-th event, every time.
"""

import argparse
import asyncio
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from temporalio import activity
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

from orchestrator.catalog.catalog import Catalog
from orchestrator.chaos.child_pool import keep_alive
from orchestrator.chaos.scenarios.points import KILL_POINTS, KillPoint
from orchestrator.chaos.user_code import load_activity, load_class
from orchestrator.client.connection import connect_temporal
from orchestrator.messages import names
from orchestrator.runtime.worker import run_worker
from orchestrator.settings import Settings, load_settings


class KillPoints:
    """The point at which each mission's worker dies, once."""

    def __init__(self, points: Mapping[str, KillPoint], struck: Path) -> None:
        """Create points by mission; `struck` is the folder of files for those that struck."""
        self._points = points
        self._struck = struck
        self._runs: dict[str, list[str]] = {}
        self._workflows: dict[str, str] = {}

    def begins(self, workflow_id: str, run_id: str, parent: str = "") -> None:
        """Record a run of a workflow, to distinguish the points of its runs.

        The rollback of a saga counts as that of the saga's workflow, its parent. Because a worker
        dies only at a point, the first one has seen every run until then.
        """
        if parent:
            self._workflows[names.mission_of(workflow_id)] = parent
        runs = self._runs.setdefault(workflow_id, [])
        if run_id not in runs:
            runs.append(run_id)

    def at_task(self, workflow_id: str, event: int) -> None:
        """Die if this is the task, or the first one after it."""
        mission_id, point = self._of(workflow_id)
        if point is not None and point.when == "task" and event >= int(point.at):
            self._die(mission_id)

    def at_activity(self, workflow_id: str, activity_id: str, when: str) -> None:
        """Die if this is the activity."""
        mission_id, point = self._of(workflow_id)
        if point is not None and (point.when, point.at) == (when, activity_id):
            self._die(mission_id)

    def _of(self, workflow_id: str) -> tuple[str, KillPoint | None]:
        mission_id, dot, rest = workflow_id.partition(".")
        mission_id = self._workflows.get(mission_id, mission_id)
        point = self._points.get(mission_id)
        run = max(len(self._runs.get(workflow_id, ())) - 1, 0)
        is_here = point is not None and (point.part, point.run) == (dot + rest, run)
        return mission_id, point if is_here else None

    def _die(self, mission_id: str) -> None:
        try:
            (self._struck / mission_id).touch(exist_ok=False)
        except FileExistsError:
            return  # an earlier worker died here
        os.kill(os.getpid(), signal.SIGKILL)


def self_kill(points: KillPoints) -> SimplePlugin:
    """Return the plugin of workers that die at these points."""

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
        parent = det.info.parent.workflow_id if det.info.parent else ""
        self._points.begins(det.info.workflow_id, det.info.run_id, parent)
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

    def activate(self, act: Any) -> Any:
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


def main() -> None:
    """Keep a worker alive on each task queue until SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m orchestrator.chaos.killable_workers")
    parser.add_argument("--points", type=Path, help="file that KILL_POINTS reads; none: no deaths")
    parser.add_argument("--task-queue", action="append", default=[], dest="queues")
    parser.add_argument("--workflow", help="module:Class of a workflow of the user's own")
    parser.add_argument("--activity", action="append", default=[], help="module:function of it")
    parser.add_argument("--ready-file", type=Path, required=True, help="created when all run")
    given = parser.parse_args()
    settings = load_settings()
    workflows = [load_class(given.workflow)] if given.workflow else []
    activities = [load_activity(one) for one in given.activity]
    user_code = SimplePlugin("orchestrator.chaos.user_code", activities=activities)
    ready = given.ready_file.touch
    if given.points is None:
        served = run_worker(
            settings=settings, workflows=workflows, plugins=[user_code], ready=ready
        )
        return asyncio.run(served)
    catalog = Catalog.load(*settings.specs, overlays=settings.overlays)
    points = KILL_POINTS.validate_json(given.points.read_bytes())
    struck = given.points.with_suffix(".struck")
    struck.mkdir(exist_ok=True)

    async def work(theirs: Settings) -> None:
        await run_worker(
            await connect_temporal(settings=theirs),
            theirs,
            ready=lambda: None,
            catalog=catalog,
            workflows=workflows,
            plugins=[user_code, self_kill(KillPoints(points, struck))],
        )

    def serve(queue: str) -> None:
        asyncio.run(work(settings.model_copy(update={"task_queue": queue})))

    keep_alive(serve, given.queues, started=ready)


if __name__ == "__main__":
    main()
