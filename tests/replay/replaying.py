"""Recorded histories replayed by today's workflow code: `python -m tests.replay.replaying`."""

import asyncio
import sys
from pathlib import Path

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


async def replay(history: WorkflowHistory) -> Exception | None:
    """What today's code does otherwise, if anything."""
    replayer = Replayer(
        workflows=ALL_WORKFLOWS,
        data_converter=pydantic_data_converter,
        workflow_runner=workflow_runner(),
    )
    result = await replayer.replay_workflow(history, raise_on_replay_failure=False)
    return result.replay_failure


async def _failures() -> list[str]:
    replayed = [(path.stem, await replay(read(path))) for path in RECORDED]
    return [f"{name}: {failure}" for name, failure in replayed if failure is not None]


if __name__ == "__main__":
    sys.exit("\n".join(asyncio.run(_failures())) or None)
