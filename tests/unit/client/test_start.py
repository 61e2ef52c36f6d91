"""Starts: which policy goes with one, what is refused, and what a start says of its mission.

A start is never said not to have been made when it was, whoever answers and whoever does not.
"""

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
from orchestrator.confirmation.policy import ConfirmationPolicy, StandingApproval
from orchestrator.core.errors import MissionIdTaken, UsageError
from orchestrator.messages.mission import MissionInput, MissionRequest
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.planning.models import OneCall
from orchestrator.settings import Settings

REQUEST = MissionRequest(goal="go", mission_id="m")
FREE = MissionPolicy(
    confirmation=ConfirmationPolicy(standing=(StandingApproval(name="all", tools=("*",)),))
)


class Server(Connection):
    """A server that keeps what is started, and whose workers are there, busy or away."""

    def __init__(self, *, polled: bool = False, answers: bool = False) -> None:
        client = SimpleNamespace(
            data_converter=pydantic_data_converter,
            start_workflow=self.start_workflow,
            get_workflow_handle=lambda _: self,
        )
        super().__init__(cast(Any, client), "q")
        self.polled, self.answers = polled, answers
        self.started: dict[str, Any] = {}
        self.sent: list[MissionRequest] = []
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

    async def start_workflow(self, _: str, mission: MissionInput, **options: Any) -> None:
        """Refused where it is there."""
        if options["id"] in self.started:
            raise WorkflowAlreadyStartedError(options["id"], "MissionWorkflow")
        self.started[options["id"]] = options["memo"]
        self.sent.append(mission.request)

    async def describe(self, workflow_id: str) -> Any:
        """With the memo that it was started with."""

        async def memo_value(key: str, default: object) -> Any:
            return self.started[workflow_id].get(key, default)

        status = WorkflowExecutionStatus.COMPLETED if self.over else WorkflowExecutionStatus.RUNNING
        return SimpleNamespace(memo_value=memo_value, status=status)


def starter(server: Server, folder: Path, policy: str = "") -> Starter:
    path = folder / "policy.yaml"
    path.write_text(policy)
    settings = Settings(state_dir=folder, task_queue="q", mission_policy=path if policy else None)
    return Starter(server, settings)


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
    """Twice the same request, as of a caller that died: it is the same mission.

    Sent again when it is over, it waits for nobody.
    """
    server = Server(polled=polled, answers=answers)
    for _ in range(2):
        started = await starter(server, tmp_path).start(REQUEST)
        assert started.mission_id == "m"
        assert started.queued.startswith(said)
        assert bool(started.queued) == (not answers)
    assert list(server.started) == ["m"]
    server.over = True
    assert (await starter(server, tmp_path).start(REQUEST)).queued == ""


@pytest.mark.parametrize("polled", [True, False])
async def test_another_request_under_its_id_is_refused_without_a_worker(
    polled: bool, tmp_path: Path
) -> None:
    """What the start wrote down tells the two apart."""
    server = Server(polled=polled)
    await starter(server, tmp_path).start(REQUEST)

    with pytest.raises(MissionIdTaken):
        await starter(server, tmp_path).start(MissionRequest(goal="stay", mission_id="m"))


@pytest.mark.parametrize("goal", [" ", "\u200b"])
async def test_what_says_nothing_is_not_sent(goal: str, tmp_path: Path) -> None:
    """In one sentence, before the server hears of it."""
    server = Server(polled=True, answers=True)
    with pytest.raises(UsageError, match="says nothing"):
        await starter(server, tmp_path).start(MissionRequest(goal=goal))
    assert server.started == {}


DOCUMENT = """
openapi: 3.1.0
info: {title: Rooms, version: "1"}
servers: [{url: https://rooms.example.com}]
paths:
  /rooms:
    get:
      operationId: room_find
      x-orchet-tool: true
      x-orchet-pii-required: [FIELD]
      parameters: [{name: FIELD, in: query, schema: {type: string}}]
      responses: {"200": {description: ok}}
"""


async def test_what_is_personal_follows_the_documents(tmp_path: Path) -> None:
    """Documents are compiled at a start, and again only when a file has changed."""
    rooms = tmp_path / "specs" / "rooms.yaml"
    rooms.parent.mkdir()
    starter = Starter(Server(), Settings(specs=(rooms.parent,), state_dir=tmp_path / "state"))
    request = MissionRequest(goal="g", inputs={"guest": "Ada"})
    sent = []
    for field in ("city", "guest", "guest"):
        rooms.write_text(DOCUMENT.replace("FIELD", field))
        _, brought = await starter.completed(request)
        sent.append(brought.values)

    assert sent == [{}, {"guest": "Ada"}, {"guest": "Ada"}]


@pytest.mark.parametrize(
    ("tool", "guest", "is_sent"),
    [
        ("room_find", "Ada", False),
        ("room_find", "pii:guest", True),
        ("of_another_catalog", "Ada", True),
    ],
)
async def test_a_call_with_a_personal_value_in_the_open_is_not_sent(
    tool: str, guest: str, is_sent: bool, tmp_path: Path
) -> None:
    """A tool that the documents here lack is checked by the worker alone."""
    rooms = tmp_path / "specs" / "rooms.yaml"
    rooms.parent.mkdir()
    rooms.write_text(DOCUMENT.replace("FIELD", "guest"))
    server = Server()
    starter = Starter(server, Settings(specs=(rooms.parent,), state_dir=tmp_path / "state"))
    request = MissionRequest(goal="g", call=OneCall(tool=tool, arguments={"guest": guest}))
    if is_sent:
        await starter.start(request)
    else:
        with pytest.raises(UsageError, match=r"guest of room_find is personal.*pii:guest"):
            await starter.start(request)

    assert bool(server.sent) is is_sent


async def test_a_wider_policy_than_the_settings_is_not_sent(tmp_path: Path) -> None:
    """The settings are those of the worker too, where both are of one installation.

    Without them the worker alone says what is too wide: its policy is not known here.
    """
    server, wide = Server(), MissionRequest(goal="g", policy=FREE)
    strict = starter(server, tmp_path, "confirmation: {approvers: [{approvers: [cfo]}]}")

    with pytest.raises(UsageError, match="standing approval all"):
        await strict.start(wide)
    assert server.sent == []
    await starter(server, tmp_path).start(wide)
    assert server.sent[0].policy == FREE


async def test_the_settings_policy_is_that_of_requests_without_one(tmp_path: Path) -> None:
    """One that the worker has as well."""
    server = Server()
    policy = "confirmation: {standing: [{name: all, tools: ['*']}]}"
    await starter(server, tmp_path, policy).start(MissionRequest(goal="g"))

    assert server.sent[0].policy == FREE
