"""A start is never said not to have been made when it was, whoever answers and whoever does not."""

from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowExecutionStatus
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.exceptions import WorkflowAlreadyStartedError

from orchestrator.client.connection import Connection
from orchestrator.client.obstacles import no_worker
from orchestrator.client.start import Starter
from orchestrator.core import errors
from orchestrator.messages.mission import MissionRequest
from orchestrator.settings import Settings

REQUEST = MissionRequest(goal="go", mission_id="m")


class Server(Connection):
    """A server that keeps what is started, and whose workers are there, busy or away."""

    def __init__(self, *, polled: bool, answers: bool) -> None:
        client = SimpleNamespace(
            data_converter=pydantic_data_converter,
            start_workflow=self.start_workflow,
            get_workflow_handle=lambda _: self,
        )
        super().__init__(cast(Any, client), "q")
        self.polled, self.answers = polled, answers
        self.started: dict[str, Any] = {}
        self.over = False

    async def await_poller(self) -> None:
        """Whether one comes."""
        if not self.polled:
            raise no_worker(self.task_queue)

    async def fetch_history_events(self, **_: object) -> AsyncIterator[HistoryEvent]:
        """A first task that a worker has done, where one does."""
        yield HistoryEvent(event_type=EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED)
        if not self.answers:
            raise TimeoutError
        yield HistoryEvent(event_type=EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED)

    async def start_workflow(self, _: str, mission: Any, **options: Any) -> None:
        """Refused where it is there."""
        if options["id"] in self.started:
            raise WorkflowAlreadyStartedError(options["id"], "MissionWorkflow")
        self.started[options["id"]] = options["memo"]

    async def describe(self, workflow_id: str) -> Any:
        """With the memo that it was started with."""

        async def memo_value(key: str, default: object) -> Any:
            return self.started[workflow_id].get(key, default)

        status = WorkflowExecutionStatus.COMPLETED if self.over else WorkflowExecutionStatus.RUNNING
        return SimpleNamespace(memo_value=memo_value, status=status)


def starter(server: Server, tmp_path: Path) -> Starter:
    return Starter(server, Settings(state_dir=tmp_path, task_queue="q"))


@pytest.mark.parametrize(
    ("polled", "answers", "said"),
    [
        (True, True, ""),
        (True, False, "no worker of the task queue 'q' answered within 6 s: all of them are busy"),
        (False, False, "no worker polls the task queue 'q'"),
    ],
    ids=["there", "busy", "away"],
)
async def test_it_is_on_the_server_and_what_is_told_is_so(
    polled: bool, answers: bool, said: str, tmp_path: Path
) -> None:
    """Twice the same request, as of a caller that died: it is the same mission."""
    server = Server(polled=polled, answers=answers)
    for _ in range(2):
        started = await starter(server, tmp_path).start(REQUEST)
        assert started.mission_id == "m"
        assert started.queued.startswith(said)
        assert bool(started.queued) == (not answers)
    assert list(server.started) == ["m"]


@pytest.mark.parametrize("polled", [True, False])
async def test_what_is_over_is_not_queued(polled: bool, tmp_path: Path) -> None:
    """Sent again, it is the mission that there was; it waits for nobody."""
    server = Server(polled=polled, answers=False)
    await starter(server, tmp_path).start(REQUEST)
    server.over = True

    assert (await starter(server, tmp_path).start(REQUEST)).queued == ""


@pytest.mark.parametrize("polled", [True, False])
async def test_another_request_under_its_id_is_refused_without_a_worker(
    polled: bool, tmp_path: Path
) -> None:
    """What the start wrote down tells the two apart."""
    server = Server(polled=polled, answers=False)
    await starter(server, tmp_path).start(REQUEST)

    with pytest.raises(errors.MissionIdTaken):
        await starter(server, tmp_path).start(MissionRequest(goal="stay", mission_id="m"))


@pytest.mark.parametrize("goal", [" ", "\u200b"])
async def test_what_says_nothing_is_not_sent(goal: str, tmp_path: Path) -> None:
    """In one sentence, before the server hears of it."""
    server = Server(polled=True, answers=True)
    with pytest.raises(errors.UsageError, match="says nothing"):
        await starter(server, tmp_path).start(MissionRequest(goal=goal))
    assert server.started == {}
