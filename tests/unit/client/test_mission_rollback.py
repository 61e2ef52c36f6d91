"""Rollbacks of missions: whose decision one is, and what a server that changes is asked."""

from collections.abc import AsyncIterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.adapters.temporal.mission_converter import mission_converter
from orchestrator.client import mission_rollback
from orchestrator.client.connection import Connection
from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_rollback import roll_back, settled_report
from orchestrator.core.errors import MissionNotFound, ServerUnreachable, UsageError
from orchestrator.messages import names
from orchestrator.messages.rollback import RollbackReport
from orchestrator.settings import Settings
from tests.unit.client.test_connection import CLIENT

Status = WorkflowExecutionStatus


class Started(Exception):
    """A rollback was started."""


@pytest.fixture
def connection(monkeypatch: pytest.MonkeyPatch) -> Any:
    """To a server with one mission that is over, never rolled back; `ended` says how it ended."""

    async def never(*_: object) -> None:
        return None

    async def start(*_: object, **order: object) -> None:
        raise Started(order["approver"])

    async def failure_type(*_: object) -> str:
        return str(server.failed_with)

    async def mission(_: str) -> object:
        return SimpleNamespace(status=server.ended, typed_search_attributes={})

    async def is_running(_: str, **_more: object) -> bool:
        return False

    monkeypatch.setattr(mission_rollback, "failure_type", failure_type)
    monkeypatch.setattr(mission_rollback, "describe_rollback", never)
    monkeypatch.setattr(mission_rollback, "start_rollback", start)
    server = SimpleNamespace(
        ended=Status.COMPLETED,
        failed_with=names.MISSION_FAILED,
        task_queue="q",
        temporal=CLIENT,
        mission=mission,
        is_running=is_running,
        explaining=lambda _: nullcontext(),
    )
    return server


async def asked(connection: Any, approver: str | None = None) -> None:
    await roll_back(cast(Connection, connection), "m", reason="r", approver=approver)


@pytest.mark.parametrize(
    ("approver", "refusal"),
    [
        (None, "succeeded, so rolling it back is a decision"),
        (" ", "say who decides"),
        ("policy:nights", "not of a person"),
    ],
)
async def test_a_success_is_rolled_back_by_a_person_only(
    connection: Any, approver: str | None, refusal: str
) -> None:
    """Nothing is started for nobody, and no standing approval decides on it; a person may."""
    with pytest.raises(UsageError, match=refusal):
        await asked(connection, approver)
    with pytest.raises(Started, match="ann"):
        await asked(connection, "ann")


async def test_what_an_incomplete_mission_did_stands_as_well(connection: Any) -> None:
    """It was ordered and approved: taking it back is a decision, as after a success."""
    connection.ended, connection.failed_with = Status.FAILED, names.MISSION_INCOMPLETE

    with pytest.raises(UsageError, match="which stands, so rolling it back is a decision"):
        await asked(connection)


@pytest.mark.parametrize("ended", [Status.FAILED, Status.TERMINATED, Status.CANCELED])
async def test_what_did_not_succeed_needs_nobody(connection: Any, ended: Status) -> None:
    """It would be rolled back anyway."""
    connection.ended = ended

    with pytest.raises(Started):
        await asked(connection)


async def test_a_rollback_that_was_refused_has_decided_nothing(
    connection: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody started it beside the mission, which has succeeded since: it is asked about."""

    async def refused(*_: object) -> object:
        return SimpleNamespace(workflow_type=names.SWEEP_WORKFLOW, status=Status.FAILED)

    monkeypatch.setattr(mission_rollback, "describe_rollback", refused)
    with pytest.raises(UsageError, match="is a decision"):
        await asked(connection)


class Dies:
    """A server that is killed while it lists workflows."""

    service_client = SimpleNamespace(config=SimpleNamespace(target_host="there:7233"))
    data_converter = mission_converter()

    def list_workflows(self, query: str, **options: Any) -> "DyingList":
        return DyingList()


class DyingList:
    """The executions that such a server lists."""

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        await self.fetch_next_page()

    async def fetch_next_page(self) -> None:
        raise RPCError("transport error", RPCStatusCode.UNKNOWN, b"")


async def test_a_rollback_that_ends_while_it_is_read_is_told_to_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The report was made before the end; the one after it is the whole of it."""
    statuses, settled = [Status.RUNNING, Status.COMPLETED], [False, True]

    async def describe(_: str) -> SimpleNamespace:
        return SimpleNamespace(status=statuses.pop(0), history_length=9)

    async def report(*_: object) -> RollbackReport:
        return RollbackReport(mission_id="trip", settled=settled.pop(0))

    monkeypatch.setattr(mission_rollback, "read_report", report)
    connection = Connection(cast(Client, Dies()), "queue")
    monkeypatch.setattr(connection, "describe", describe)

    assert (await settled_report(connection, "trip")).settled


async def test_a_server_that_dies_during_a_list_is_one_sentence() -> None:
    """Of missions, of parked rollbacks, of confirmations and of questions.

    No mission has an empty id: the server would refuse to look for it in words of its own.
    """
    client = MissionClient(cast(Client, Dies()), Settings())

    for ask in (client.missions, client.parked, client.confirmations):
        with pytest.raises(ServerUnreachable, match="there:7233"):
            await ask()
    with pytest.raises(MissionNotFound):
        client.get("")
