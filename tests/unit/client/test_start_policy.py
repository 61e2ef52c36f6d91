"""Which policy a mission is started with, and which one is not sent at all."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.contrib.pydantic import pydantic_data_converter

from orchestrator.client.connection import Connection
from orchestrator.client.start import Starter
from orchestrator.confirmation.policy import ConfirmationPolicy, StandingApproval
from orchestrator.core.errors import NoWorker, UsageError
from orchestrator.messages.mission import MissionInput, MissionRequest
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.settings import Settings

FREE = MissionPolicy(
    confirmation=ConfirmationPolicy(standing=(StandingApproval(name="all", tools=("*",)),))
)


class Wire(Connection):
    """A connection that keeps the requests it is given."""

    def __init__(self) -> None:
        client = SimpleNamespace(
            data_converter=pydantic_data_converter, start_workflow=self.start_workflow
        )
        super().__init__(cast(Any, client), "q")
        self.sent: list[MissionRequest] = []

    async def await_poller(self) -> None:
        """There is none: what is started is queued."""
        raise NoWorker(self.task_queue)

    async def start_workflow(self, _: str, mission: MissionInput, **__: Any) -> None:
        """Kept."""
        self.sent.append(mission.request)


@pytest.fixture
def wire() -> Wire:
    return Wire()


def starter(wire: Wire, tmp_path: Path, policy: str | None) -> Starter:
    path = tmp_path / "policy.yaml"
    if policy is not None:
        path.write_text(policy)
    settings = Settings(mission_policy=None if policy is None else path)
    return Starter(wire, settings)


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


async def test_what_is_personal_follows_the_documents(wire: Wire, tmp_path: Path) -> None:
    """Documents are compiled at a start, and again only when a file has changed."""
    rooms = tmp_path / "specs" / "rooms.yaml"
    rooms.parent.mkdir()
    settings = Settings(specs=(rooms.parent,), state_dir=tmp_path / "state")
    starter = Starter(wire, settings)
    request = MissionRequest(goal="g", inputs={"guest": "Ada"})
    sent = []
    for field in ("city", "guest", "guest"):
        rooms.write_text(DOCUMENT.replace("FIELD", field))
        _, brought = await starter.completed(request)
        sent.append(brought.values)

    assert sent == [{}, {"guest": "Ada"}, {"guest": "Ada"}]


async def test_a_wider_policy_than_the_settings_is_not_sent(wire: Wire, tmp_path: Path) -> None:
    """The settings are those of the worker too, where both are of one installation."""
    strict = starter(wire, tmp_path, "confirmation: {approvers: [{approvers: [cfo]}]}")

    with pytest.raises(UsageError, match="standing approval all"):
        await strict.start(MissionRequest(goal="g", policy=FREE))
    assert wire.sent == []


async def test_the_settings_policy_is_that_of_requests_without_one(
    wire: Wire, tmp_path: Path
) -> None:
    """One that the worker has as well."""
    policy = "confirmation: {standing: [{name: all, tools: ['*']}]}"
    await starter(wire, tmp_path, policy).start(MissionRequest(goal="g"))

    assert wire.sent[0].policy == FREE


async def test_without_settings_the_worker_alone_says_what_is_too_wide(
    wire: Wire, tmp_path: Path
) -> None:
    """Its policy is not known here."""
    await starter(wire, tmp_path, None).start(MissionRequest(goal="g", policy=FREE))

    assert wire.sent[0].policy == FREE
