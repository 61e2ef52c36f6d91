"""Recorded histories replayed by today's workflow code: `python -m tests.replay.replaying`."""

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from temporalio.client import WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer

from orchestrator.runtime.worker import workflow_runner
from orchestrator.workflows import ALL_WORKFLOWS

HISTORIES = Path(__file__).parent / "histories"
RECORDED = sorted(HISTORIES.glob("*.json"))
BROKEN = sorted((HISTORIES / "must_fail").glob("*.json"))


def read(path: Path) -> WorkflowHistory:
    """A history under the workflow id that it ran with: ids of calls are derived from it."""
    history = WorkflowHistory.from_json("", path.read_text(encoding="utf-8"))
    started = history.events[0].workflow_execution_started_event_attributes
    return WorkflowHistory(workflow_id=started.workflow_id, events=history.events)


def replayer(workflows: Sequence[type] = ALL_WORKFLOWS, **more: Any) -> Replayer:
    """Return a replayer that takes its time.

    In debug mode the SDK detects no deadlock, as which it takes a task of two seconds: a busy
    machine may need that long. The sandbox stays.
    """
    return Replayer(
        workflows=workflows,
        workflow_runner=workflow_runner(),
        debug_mode=True,
        **{"data_converter": pydantic_data_converter, **more},
    )


async def replay(history: WorkflowHistory) -> Exception | None:
    """What today's code does otherwise, if anything."""
    result = await replayer().replay_workflow(history, raise_on_replay_failure=False)
    return result.replay_failure


async def _failures() -> list[str]:
    replayed = [(path.stem, await replay(read(path))) for path in RECORDED]
    return [f"{name}: {failure}" for name, failure in replayed if failure is not None]


if __name__ == "__main__":
    failures = asyncio.run(_failures())
    print(*failures, sep="\n", file=sys.stderr, flush=True)  # noqa: T201 - what the test shows
    # Without teardown, which a thread of the SDK may abort (temporalio/sdk-python #300).
    os._exit(bool(failures))
