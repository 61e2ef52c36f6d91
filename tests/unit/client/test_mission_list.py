"""How missions stand and what they wait for; who would take what waits in a task queue."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.api.deployment.v1 import WorkerDeploymentOptions, WorkerDeploymentVersion
from temporalio.api.enums.v1 import VersioningBehavior, WorkerVersioningMode
from temporalio.api.taskqueue.v1 import PollerInfo, TaskQueueVersioningInfo
from temporalio.api.workflow.v1 import (
    VersioningOverride,
    WorkflowExecutionInfo,
    WorkflowExecutionVersioningInfo,
)
from temporalio.api.workflowservice.v1 import DescribeTaskQueueResponse
from temporalio.client import Client, WorkflowExecution
from temporalio.client import WorkflowExecutionStatus as Is

from orchestrator.client.mission_list import (
    STATUSES,
    Family,
    Place,
    check_status,
    status_of,
    waits_for,
)
from orchestrator.client.obstacles import Version, absence, no_worker, pinned_version
from orchestrator.core.errors import NoWorker, UsageError
from orchestrator.messages.leg import Question
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.names import LEFT_TO_ROLLBACK
from orchestrator.messages.open_waits import Waiting
from tests.unit.cards import open_card


def execution(status: Is, shown: str, queue: str = "q", workflow_id: str = "m") -> Any:
    return SimpleNamespace(
        id=workflow_id,
        status=status,
        close_time=None,
        task_queue=queue,
        raw_info=WorkflowExecutionInfo(),
        typed_search_attributes=SimpleNamespace(get=lambda _: shown),
    )


def standing(mission: tuple[Is, str], rollback: tuple[Is, str] | None) -> str:
    return status_of(execution(*mission), None if rollback is None else execution(*rollback))


@pytest.mark.parametrize(
    ("mission", "rollback", "status"),
    [
        ((Is.RUNNING, "planning"), None, "planning"),
        ((Is.RUNNING, "rolling_back"), (Is.RUNNING, "parked"), "rolling_back"),
        ((Is.COMPLETED, "succeeded"), None, "succeeded"),
        ((Is.COMPLETED, "succeeded"), (Is.RUNNING, "rolling_back"), "rolling_back"),
        ((Is.COMPLETED, "succeeded"), (Is.RUNNING, "parked"), "parked"),
        ((Is.COMPLETED, "succeeded"), (Is.COMPLETED, "rolled_back"), "rolled_back_after_success"),
        ((Is.COMPLETED, "succeeded"), (Is.FAILED, "collecting"), "succeeded"),
        ((Is.FAILED, LEFT_TO_ROLLBACK), (Is.RUNNING, "parked"), "parked"),
        ((Is.FAILED, LEFT_TO_ROLLBACK), (Is.RUNNING, "rolling_back"), "rolling_back"),
        ((Is.FAILED, LEFT_TO_ROLLBACK), (Is.COMPLETED, "rolled_back"), "rolled_back"),
        ((Is.FAILED, LEFT_TO_ROLLBACK), (Is.TERMINATED, "parked"), "rolling_back"),
        ((Is.CANCELED, LEFT_TO_ROLLBACK), (Is.COMPLETED, "rolled_back"), "cancelled"),
        ((Is.FAILED, "parked"), (Is.COMPLETED, "rolled_back"), "rolled_back"),
        ((Is.FAILED, "failed"), None, "failed"),
        ((Is.TERMINATED, "running"), None, "terminated"),
        ((Is.TIMED_OUT, "running"), None, "terminated"),
        ((Is.TERMINATED, "running"), (Is.RUNNING, "parked"), "parked"),
        ((Is.FAILED, "of a later release"), (Is.RUNNING, "parked"), "of a later release"),
    ],
)
def test_a_mission_that_is_over_stands_as_its_rollback_does(
    mission: tuple[Is, str], rollback: tuple[Is, str] | None, status: str
) -> None:
    """It cannot change any more, and what was parked then may be resolved by now."""
    assert standing(mission, rollback) == status


@pytest.mark.parametrize(
    ("later_s", "status"), [(-1, "succeeded"), (1, "rolled_back_after_success")]
)
def test_a_rollback_of_an_abandoned_branch_changes_no_status(later_s: int, status: str) -> None:
    """It was over before its mission was, which ended well after a reset."""
    ended = datetime(2026, 12, 1, tzinfo=UTC)
    mission = execution(Is.COMPLETED, "succeeded")
    rollback = execution(Is.COMPLETED, "rolled_back")
    mission.close_time, rollback.close_time = ended, ended + timedelta(seconds=later_s)

    assert status_of(mission, rollback) == status


def test_what_a_mission_waits_for() -> None:
    """Cards and questions as its memo has them, an operator of its rollback, workers of both."""
    running = execution(Is.RUNNING, "awaiting_confirmation", queue="taxis")
    card = open_card("m.1-taxi.2", "taxi_book", "structured-order", title="a taxi")
    question = Question(
        question_id="m.2-hotel.1", mission_id="m", leg_id="2-hotel", question="?", fields={}
    )
    waits = Waiting(cards=(card, card), questions=(question,), stalled=("a catalog is missing",))
    over = execution(Is.FAILED, LEFT_TO_ROLLBACK, queue="old")
    parked = execution(Is.RUNNING, "parked")
    unpolled: dict[Place, NoWorker] = {
        (queue, None): no_worker(queue) for queue in ("taxis", "old")
    }

    def kinds(mission: WorkflowExecution, waits: Waiting, family: Family) -> list[tuple[str, str]]:
        return [(w.kind, w.what) for w in waits_for(mission, waits, family)]

    assert kinds(running, waits, Family(unpolled=unpolled)) == [
        ("confirmation", "2 cards"),
        ("answer", "1 question"),
        ("store", "what its workers keep"),
        ("worker", "a worker of the task queue 'taxis'"),
    ]
    assert kinds(over, Waiting(), Family(rollbacks={"m": parked}, unpolled=unpolled)) == [
        ("operator", "an operator")
    ]
    assert kinds(over, Waiting(), Family(unpolled=unpolled)) == []


def test_a_status_that_is_none_is_refused() -> None:
    """With a sentence that names those that are."""
    with pytest.raises(
        UsageError, match="'parkt' is no status of a mission; use one of: awaiting_a"
    ):
        check_status("parkt")
    assert set(STATUSES) == {status.value for status in MissionStatus}


PINNED = VersioningBehavior.VERSIONING_BEHAVIOR_PINNED
AUTO = VersioningBehavior.VERSIONING_BEHAVIOR_AUTO_UPGRADE


def version(build: str) -> WorkerDeploymentVersion:
    return WorkerDeploymentVersion(deployment_name="q", build_id=build)


Poller = tuple[str | None, float]
"""A build, and how long before the test it was seen, which may begin long after its parameters."""


def poller(build: str | None, seconds_ago: float = 1) -> Poller:
    return build, seconds_ago


def seen(one: Poller) -> PollerInfo:
    build, seconds_ago = one
    told = WorkerDeploymentOptions()
    if build is not None:
        versioned = WorkerVersioningMode.WORKER_VERSIONING_MODE_VERSIONED
        told = WorkerDeploymentOptions(
            deployment_name="q", build_id=build, worker_versioning_mode=versioned
        )
    info = PollerInfo(deployment_options=told)
    info.last_access_time.FromDatetime(datetime.now(UTC) - timedelta(seconds=seconds_ago))
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
    pollers: list[Poller], routed: Any, pinned: Version | None, build: str, waits_in: str
) -> None:
    """Others may poll: the error names the missing build, or one that is not current."""
    absence = await missing(*pollers, routed=routed, pinned=pinned)

    assert absence is not None
    expected = no_worker("q", build, waits_in=waits_in)
    assert (str(absence), vars(absence)) == (str(expected), vars(expected))


MOVED = VersioningOverride(pinned=VersioningOverride.PinnedOverride(version=version("2")))


@pytest.mark.parametrize(
    ("behavior", "override", "stays_with"),
    [
        (PINNED, None, ("q", "1")),
        (AUTO, None, None),
        (PINNED, VersioningOverride(auto_upgrade=True), None),
        (AUTO, MOVED, ("q", "2")),
    ],
)
def test_what_an_operator_has_set_comes_before_what_the_workflow_told(
    behavior: Any, override: VersioningOverride | None, stays_with: Version | None
) -> None:
    """A workflow that was moved goes where it was moved to."""
    told = WorkflowExecutionVersioningInfo(
        behavior=behavior, deployment_version=version("1"), versioning_override=override
    )
    assert pinned_version(told) == stays_with
    assert pinned_version(WorkflowExecutionVersioningInfo()) is None
