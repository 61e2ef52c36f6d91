"""Histories of real missions, replayed by today's workflow code."""

from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer
from temporalio.workflow import NondeterminismError

from orchestrator.adapters.temporal.workflow_runner import TaskOrderedRunner
from workflows import ALL_WORKFLOWS

HISTORIES = Path(__file__).parent / "histories"
RECORDED = sorted(HISTORIES.glob("*.json"))
BROKEN = sorted((HISTORIES / "must_fail").glob("*.json"))
ENDED = {
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED,
}


def read(path: Path) -> WorkflowHistory:
    """A history under the workflow id that it ran with: ids of legs are derived from it."""
    history = WorkflowHistory.from_json("", path.read_text(encoding="utf-8"))
    started = history.events[0].workflow_execution_started_event_attributes
    return WorkflowHistory(workflow_id=started.workflow_id, events=history.events)


async def replay(history: WorkflowHistory) -> Exception | None:
    """What today's code does otherwise, if anything."""
    replayer = Replayer(
        workflows=ALL_WORKFLOWS,
        data_converter=pydantic_data_converter,
        workflow_runner=TaskOrderedRunner(),
    )
    result = await replayer.replay_workflow(history, raise_on_replay_failure=False)
    return result.replay_failure


def test_every_way_that_a_workflow_ends_was_recorded() -> None:
    """Success, failure and cancel; each workflow; each kind of decision on a card."""
    histories = {path.stem: read(path) for path in RECORDED}
    kinds = {
        h.events[0].workflow_execution_started_event_attributes.workflow_type.name
        for h in histories.values()
    }

    assert kinds == {
        "MissionWorkflow",
        "LegWorkflow",
        "RollbackWorkflow",
        "SweepWorkflow",
        "PlanWorkflow",
        "ScheduledMissionWorkflow",
    }
    assert {h.events[-1].event_type for h in histories.values()} == ENDED
    assert set(histories) >= {
        "mission-succeeded",
        "mission-rolled-back",
        "mission-that-read-its-rollback",
        "mission-incomplete",
        "mission-cancelled",
        "mission-asked-about-its-plan",
        "mission-plan-approved",
        "plan-shown",
        "leg-confirmed",
        "leg-amended",
        "leg-rejected",
        "leg-asked",
        "leg-asked-again",
        "leg-lost",
        "leg-cancelled",
        "leg-approved-by-two",
        "leg-cancelled-of-another",
        "leg-unproved",
        "rollback-done",
        "rollback-parked-and-resolved",
        "sweep",
        "scheduled-mission",
        "scheduled-mission-lost",
    }


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
async def test_a_recorded_history_replays(path: Path) -> None:
    """Workflow code of today takes the same commands as the one that ran then."""
    assert await replay(read(path)) is None


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
async def test_a_mission_under_way_replays_at_every_task(path: Path) -> None:
    """What a worker that takes over at any moment gets: the history up to then."""
    history = read(path)
    completed = [
        index
        for index, event in enumerate(history.events)
        if event.HasField("workflow_task_completed_event_attributes")
    ]
    for index in completed[:-1]:
        upto = WorkflowHistory(history.workflow_id, history.events[: index + 1])
        assert await replay(upto) is None

    assert completed


@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
async def test_a_history_that_took_another_course_is_caught(path: Path) -> None:
    """The check can fail: one activity of this history is one that no workflow calls."""
    failure = await replay(read(path))

    assert isinstance(failure, NondeterminismError)
    assert "an_activity_that_no_workflow_calls" in str(failure)


def test_there_is_a_history_that_must_be_caught() -> None:
    """Without one, nobody would notice a replay that checks nothing."""
    assert BROKEN


@pytest.mark.parametrize("path", [*RECORDED, *BROKEN], ids=lambda path: path.stem)
def test_a_recorded_history_is_small(path: Path) -> None:
    """Far below what the server warns at, so that long missions have room."""
    assert path.stat().st_size < 300_000
