"""How much a worker takes on, and how long it may finish: options of Temporal by our settings."""

from datetime import timedelta
from typing import TypedDict

from temporalio.worker import (
    PollerBehavior,
    PollerBehaviorAutoscaling,
    PollerBehaviorSimpleMaximum,
)

from orchestrator.settings import Settings


class WorkerLimits(TypedDict):
    """Options of Temporal's worker, by the names that it has for them."""

    graceful_shutdown_timeout: timedelta
    max_concurrent_activities: int
    max_concurrent_workflow_tasks: int
    max_cached_workflows: int
    max_activities_per_second: float | None
    max_task_queue_activities_per_second: float | None
    workflow_task_poller_behavior: PollerBehavior
    activity_task_poller_behavior: PollerBehavior


def worker_limits(settings: Settings) -> WorkerLimits:
    """The same on each task queue."""
    return WorkerLimits(
        graceful_shutdown_timeout=settings.drain,
        max_concurrent_activities=settings.max_activities,
        max_concurrent_workflow_tasks=settings.max_workflow_tasks,
        max_cached_workflows=settings.max_cached_workflows,
        max_activities_per_second=settings.activities_per_s,
        max_task_queue_activities_per_second=settings.queue_activities_per_s,
        workflow_task_poller_behavior=_pollers(settings),
        activity_task_poller_behavior=_pollers(settings),
    )


def _pollers(settings: Settings) -> PollerBehavior:
    if settings.pollers == "auto":
        return PollerBehaviorAutoscaling()
    return PollerBehaviorSimpleMaximum(maximum=settings.pollers)
