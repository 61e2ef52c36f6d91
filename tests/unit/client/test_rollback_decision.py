"""Whose decision a rollback is, before anything is started."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.client import WorkflowExecutionStatus

from orchestrator.client import mission_rollback
from orchestrator.client.connection import Connection
from orchestrator.client.mission_rollback import roll_back
from orchestrator.core.errors import UsageError
from orchestrator.messages import names
from tests.unit.client.test_message_size import CLIENT

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

    monkeypatch.setattr(mission_rollback, "failure_type", failure_type)
    monkeypatch.setattr(mission_rollback, "describe_rollback", never)
    monkeypatch.setattr(mission_rollback, "start_rollback", start)
    server = SimpleNamespace(
        ended=Status.COMPLETED, failed_with=names.MISSION_FAILED, task_queue="q"
    )

    async def mission(_: str) -> object:
        return SimpleNamespace(status=server.ended, typed_search_attributes={})

    async def is_running(_: str, **_more: object) -> bool:
        return False

    server.temporal, server.mission = CLIENT, mission
    server.is_running = is_running
    server.explaining = lambda _: nullcontext()
    return server


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
    """Nothing is started for nobody, and no standing approval decides on it."""
    with pytest.raises(UsageError, match=refusal):
        await roll_back(cast(Connection, connection), "m", reason="r", approver=approver)


async def test_what_an_incomplete_mission_did_stands_as_well(connection: Any) -> None:
    """It was ordered and approved: taking it back is a decision, as after a success."""
    connection.ended, connection.failed_with = Status.FAILED, names.MISSION_INCOMPLETE

    with pytest.raises(UsageError, match="which stands, so rolling it back is a decision"):
        await roll_back(cast(Connection, connection), "m", reason="r")


async def test_a_person_may(connection: Any) -> None:
    """By name."""
    with pytest.raises(Started, match="ann"):
        await roll_back(cast(Connection, connection), "m", reason="r", approver="ann")


@pytest.mark.parametrize("ended", [Status.FAILED, Status.TERMINATED, Status.CANCELED])
async def test_what_did_not_succeed_needs_nobody(connection: Any, ended: Status) -> None:
    """It would be rolled back anyway."""
    connection.ended = ended

    with pytest.raises(Started):
        await roll_back(cast(Connection, connection), "m", reason="r")


async def test_a_rollback_that_was_refused_has_decided_nothing(
    connection: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody started it beside the mission, which has succeeded since: it is asked about."""

    async def refused(*_: object) -> object:
        return SimpleNamespace(workflow_type=names.SWEEP_WORKFLOW, status=Status.FAILED)

    monkeypatch.setattr(mission_rollback, "describe_rollback", refused)
    with pytest.raises(UsageError, match="is a decision"):
        await roll_back(cast(Connection, connection), "m", reason="r")
