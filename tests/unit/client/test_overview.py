"""How missions stand and what they wait for, by what the server has of them alone."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.api.workflow.v1 import WorkflowExecutionInfo
from temporalio.client import WorkflowExecution
from temporalio.client import WorkflowExecutionStatus as Is

from orchestrator.client.mission_list import STATUSES, list_missions
from orchestrator.client.overview import Family, status_of, waits_for
from orchestrator.client.side_by_side import Place
from orchestrator.core.errors import NoWorker, UsageError
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.names import LEFT_TO_ROLLBACK


def execution(status: Is, shown: str, queue: str = "q", workflow_id: str = "m") -> Any:
    return SimpleNamespace(
        id=workflow_id,
        status=status,
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


def test_what_a_mission_waits_for() -> None:
    """Cards and questions of its legs, an operator of its rollback, workers of any of them."""
    running = execution(Is.RUNNING, "running")
    legs = [
        execution(Is.RUNNING, "awaiting_confirmation"),
        execution(Is.RUNNING, "awaiting_confirmation", queue="taxis"),
        execution(Is.RUNNING, "awaiting_answer"),
        execution(Is.RUNNING, "running"),
    ]
    over = execution(Is.FAILED, LEFT_TO_ROLLBACK, queue="old")
    parked = execution(Is.RUNNING, "parked")
    unpolled: dict[Place, NoWorker] = {(queue, None): NoWorker(queue) for queue in ("taxis", "old")}

    def kinds(mission: WorkflowExecution, family: Family) -> list[tuple[str, str]]:
        return [(w.kind, w.what) for w in waits_for(mission, family)]

    assert kinds(running, Family(legs={"m": legs}, unpolled=unpolled)) == [
        ("confirmation", "2 cards"),
        ("answer", "1 question"),
        ("worker", "a worker of the task queue 'taxis'"),
    ]
    assert kinds(over, Family(rollbacks={"m": parked}, unpolled=unpolled)) == [
        ("operator", "an operator")
    ]
    assert kinds(over, Family(unpolled=unpolled)) == []


async def test_a_status_that_is_none_is_refused_before_anything_is_asked() -> None:
    """With a sentence that names those that are."""
    with pytest.raises(
        UsageError, match="'parkt' is no status of a mission; use one of: awaiting_a"
    ):
        await list_missions(cast(Any, None), status="parkt", limit=1)
    assert set(STATUSES) == {status.value for status in MissionStatus}
