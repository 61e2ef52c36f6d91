"""What the client makes of a server that changes between two questions."""

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.client.connection import Connection
from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_rollback import settled_report
from orchestrator.core.errors import MissionNotFound, ServerUnreachable
from orchestrator.messages.rollback import RollbackReport
from orchestrator.settings import Settings


class EndsBetween:
    """A rollback that completes as soon as it was asked or looked at once."""

    def __init__(self) -> None:
        self.is_over = False

    def get_workflow_handle(self, workflow_id: str) -> "EndsBetween":
        return self

    async def query(self, name: str, **options: Any) -> RollbackReport:
        settled, self.is_over = self.is_over, True
        return RollbackReport(mission_id="trip", settled=settled)

    async def describe(self) -> SimpleNamespace:
        running, completed = WorkflowExecutionStatus.RUNNING, WorkflowExecutionStatus.COMPLETED
        status = completed if self.is_over else running
        self.is_over = True
        return SimpleNamespace(status=status)


class Dies:
    """A server that is killed while it lists workflows."""

    service_client = SimpleNamespace(config=SimpleNamespace(target_host="there:7233"))

    async def list_workflows(self, query: str, **options: Any) -> AsyncIterator[Any]:
        raise RPCError("transport error", RPCStatusCode.UNKNOWN, b"")
        yield


async def test_a_rollback_that_ends_while_it_is_asked_is_told_to_its_end() -> None:
    """The report was made before the end; the one after it is the whole of it."""
    connection = Connection(cast(Client, EndsBetween()), "queue")

    report = await settled_report(connection, "trip")

    assert report.settled


def test_no_mission_has_an_empty_id() -> None:
    """The server would refuse to look for it in words of its own."""
    with pytest.raises(MissionNotFound, match="no mission ''; see: orchestrator mission list"):
        MissionClient(cast(Client, Dies()), Settings()).get("")


async def test_a_server_that_dies_during_a_list_is_one_sentence() -> None:
    """Of missions, of parked rollbacks, of confirmations and of questions."""
    client = MissionClient(cast(Client, Dies()), Settings())

    for ask in (client.missions, client.parked, client.confirmations, client.questions):
        with pytest.raises(ServerUnreachable, match="there:7233"):
            await ask()
