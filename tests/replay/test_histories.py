"""Histories of real missions, replayed by today's workflow code."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowHistory
from temporalio.workflow import NondeterminismError

from tests.replay.replaying import BROKEN, RECORDED, read, replay

ENDED = {
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED,
}


def test_every_way_that_a_workflow_ends_was_recorded() -> None:
    """Success, failure and cancel; each workflow; each kind of decision on a card."""
    histories = {path.stem: read(path) for path in RECORDED}
    kinds = {
        h.events[0].workflow_execution_started_event_attributes.workflow_type.name
        for h in histories.values()
    }

    assert kinds == {
        "MissionWorkflow",
        "RollbackWorkflow",
        "SweepWorkflow",
        "PlanWorkflow",
        "NoticesWorkflow",
        "NoticeWorkflow",
        "SessionWorkflow",
    }
    assert {h.events[-1].event_type for h in histories.values()} == ENDED
    assert set(histories) >= {
        "mission-succeeded",
        "mission-rolled-back",
        "mission-incomplete",
        "mission-cancelled",
        "mission-amended",
        "mission-rejected",
        "mission-sent-back-and-skipped",
        "mission-asked",
        "mission-asked-again",
        "mission-approved-by-two",
        "mission-cancelling-of-another",
        "mission-overcharged",
        "mission-asked-about-its-plan",
        "mission-plan-approved",
        "plan-shown",
        "rollback-done",
        "rollback-parked-and-resolved",
        "sweep",
        "notices",
        "notice-delivered-by-the-next",
        "notice-undelivered",
        "session-completed",
        "session-rolled-back",
        "mission-held-and-repaired",
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


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"TZ": "Pacific/Chatham", "PYTHONHASHSEED": "1"},
        {"TZ": "America/St_Johns", "PYTHONHASHSEED": "4711", "LC_ALL": "tr_TR.UTF-8"},
    ],
    ids=["east", "west"],
)
def test_histories_replay_on_other_machines(elsewhere: dict[str, str]) -> None:
    """Whatever its time zone, its hash seed and its locale."""
    root = Path(__file__).parents[2]
    ran = subprocess.run(
        [sys.executable, "-m", "tests.replay.replaying"],
        cwd=root,
        env={**os.environ, **elsewhere},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
