"""What the client makes of a server that changes between two questions."""

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.adapters.temporal.mission_converter import mission_converter
from orchestrator.client import mission_rollback
from orchestrator.client.connection import Connection
from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_rollback import settled_report
from orchestrator.core.errors import MissionNotFound, ServerUnreachable
from orchestrator.messages.rollback import RollbackReport
from orchestrator.settings import Settings


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
    is_over = [False]

    async def describe(_: str) -> SimpleNamespace:
        running, completed = WorkflowExecutionStatus.RUNNING, WorkflowExecutionStatus.COMPLETED
        status, is_over[0] = completed if is_over[0] else running, True
        return SimpleNamespace(status=status, history_length=9)

    async def report(*_: object) -> RollbackReport:
        settled = looked[0] == 1
        looked[0] += 1
        return RollbackReport(mission_id="trip", settled=settled)

    looked = [0]
    monkeypatch.setattr(mission_rollback, "read_report", report)
    connection = Connection(cast(Client, Dies()), "queue")
    monkeypatch.setattr(connection, "describe", describe)

    assert (await settled_report(connection, "trip")).settled


def test_no_mission_has_an_empty_id() -> None:
    """The server would refuse to look for it in words of its own."""
    with pytest.raises(MissionNotFound, match="no mission ''; see: orchestrator mission list"):
        MissionClient(cast(Client, Dies()), Settings()).get("")


async def test_a_server_that_dies_during_a_list_is_one_sentence() -> None:
    """Of missions, of parked rollbacks, of confirmations and of questions."""
    client = MissionClient(cast(Client, Dies()), Settings())

    for ask in (client.missions, client.parked, client.confirmations):
        with pytest.raises(ServerUnreachable, match="there:7233"):
            await ask()
