"""Who would take what waits in a task queue, by the build that it stays with."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.api.deployment.v1 import WorkerDeploymentOptions, WorkerDeploymentVersion
from temporalio.api.enums.v1 import VersioningBehavior, WorkerVersioningMode
from temporalio.api.taskqueue.v1 import PollerInfo, TaskQueueVersioningInfo
from temporalio.api.workflow.v1 import VersioningOverride, WorkflowExecutionVersioningInfo
from temporalio.api.workflowservice.v1 import DescribeTaskQueueResponse
from temporalio.client import Client

from orchestrator.client.obstacles import Version, absence, no_worker, pinned_version
from orchestrator.core.errors import NoWorker

PINNED = VersioningBehavior.VERSIONING_BEHAVIOR_PINNED
AUTO = VersioningBehavior.VERSIONING_BEHAVIOR_AUTO_UPGRADE


def version(build: str) -> WorkerDeploymentVersion:
    return WorkerDeploymentVersion(deployment_name="q", build_id=build)


@dataclass(frozen=True)
class Poller:
    """One that was seen so long before the test, which may begin long after its parameters."""

    build: str | None
    seconds_ago: float


def poller(build: str | None, seconds_ago: float = 1) -> Poller:
    return Poller(build, seconds_ago)


def seen(one: Poller) -> PollerInfo:
    told = WorkerDeploymentOptions()
    if one.build is not None:
        told = WorkerDeploymentOptions(
            deployment_name="q",
            build_id=one.build,
            worker_versioning_mode=WorkerVersioningMode.WORKER_VERSIONING_MODE_VERSIONED,
        )
    info = PollerInfo(deployment_options=told)
    info.last_access_time.FromDatetime(datetime.now(UTC) - timedelta(seconds=one.seconds_ago))
    return info


def routing(current: str = "", ramping: str = "") -> TaskQueueVersioningInfo:
    return TaskQueueVersioningInfo(
        current_deployment_version=version(current) if current else None,
        ramping_deployment_version=version(ramping) if ramping else None,
    )


async def missing(
    *pollers: Poller, routed: TaskQueueVersioningInfo, pinned: Version | None = None
) -> NoWorker | None:
    """What is said of the task queue 'q' whose server answers so."""
    answer = DescribeTaskQueueResponse(pollers=map(seen, pollers), versioning_info=routed)

    async def describe_task_queue(_: Any) -> DescribeTaskQueueResponse:
        return answer

    service = SimpleNamespace(describe_task_queue=describe_task_queue)
    server = SimpleNamespace(namespace="default", workflow_service=service)
    return await absence(cast(Client, server), "q", pinned)


@pytest.mark.parametrize(
    ("pollers", "routed", "pinned"),
    [
        ([poller(None)], routing(), None),
        ([poller("2"), poller("1")], routing(current="1"), None),
        ([poller("2")], routing(current="1", ramping="2"), None),
        ([poller(None)], routing(ramping="2"), None),
        ([poller("1")], routing(current="2"), ("q", "1")),
        ([poller("1")], routing(), ("q", "1")),
    ],
)
async def test_somebody_takes_it(
    pollers: list[Poller], routed: TaskQueueVersioningInfo, pinned: Version | None
) -> None:
    """A worker of the build that it stays with, or of one that new work goes to."""
    assert await missing(*pollers, routed=routed, pinned=pinned) is None


@pytest.mark.parametrize(
    ("pollers", "routed", "pinned", "build", "waits_in"),
    [
        ([poller(None, seconds_ago=90)], routing(), None, "", ""),
        ([poller("2"), poller("1", seconds_ago=90)], routing(current="2"), ("q", "1"), "1", ""),
        ([poller("1"), poller(None)], routing(current="2"), None, "2", ""),
        ([poller("1")], routing(), None, "1", "q"),
    ],
)
async def test_nobody_takes_it(
    pollers: list[Poller],
    routed: TaskQueueVersioningInfo,
    pinned: Version | None,
    build: str,
    waits_in: str,
) -> None:
    """Others may poll: the error names the missing build, or one that is not current."""
    absence = await missing(*pollers, routed=routed, pinned=pinned)

    assert absence is not None
    expected = no_worker("q", build, waits_in=waits_in)
    assert (str(absence), vars(absence)) == (str(expected), vars(expected))


@pytest.mark.parametrize(
    ("info", "stays_with"),
    [
        (WorkflowExecutionVersioningInfo(), None),
        (
            WorkflowExecutionVersioningInfo(behavior=PINNED, deployment_version=version("1")),
            ("q", "1"),
        ),
        (WorkflowExecutionVersioningInfo(behavior=AUTO, deployment_version=version("1")), None),
        (
            WorkflowExecutionVersioningInfo(
                behavior=PINNED,
                deployment_version=version("1"),
                versioning_override=VersioningOverride(auto_upgrade=True),
            ),
            None,
        ),
        (
            WorkflowExecutionVersioningInfo(
                behavior=AUTO,
                deployment_version=version("1"),
                versioning_override=VersioningOverride(
                    pinned=VersioningOverride.PinnedOverride(version=version("2"))
                ),
            ),
            ("q", "2"),
        ),
    ],
)
def test_what_an_operator_has_set_comes_before_what_the_workflow_told(
    info: WorkflowExecutionVersioningInfo, stays_with: Version | None
) -> None:
    """A workflow that was moved goes where it was moved to."""
    assert pinned_version(info) == stays_with
