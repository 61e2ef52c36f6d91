"""How missions stand and what they wait for, by what the server has of them alone."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from temporalio.api.workflow.v1 import WorkflowExecutionInfo
from temporalio.client import WorkflowExecution
from temporalio.client import WorkflowExecutionStatus as Is

from orchestrator.client.mission_list import (
    STATUSES,
    Family,
    Place,
    check_status,
    status_of,
    waits_for,
)
from orchestrator.client.obstacles import no_worker
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
