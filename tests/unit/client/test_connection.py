"""What the server refuses, in our own words."""

from types import SimpleNamespace
from typing import cast
from unittest.mock import AsyncMock

import pytest
from pydantic import JsonValue
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.client.connection import (
    LARGEST_MESSAGE,
    MOST_INPUTS,
    Connection,
    check_request,
    connect_temporal,
    until_answered,
)
from orchestrator.client.mission_rollback import roll_back
from orchestrator.core.errors import (
    MissionNotFound,
    NoAnswer,
    NoWorker,
    ServerUnreachable,
    UsageError,
)
from orchestrator.core.record import Record
from orchestrator.messages import names
from orchestrator.messages.leg import AnswerInput
from orchestrator.messages.mission import MissionRequest
from tests.refusals import raises_code

CLIENT = cast(Client, SimpleNamespace(data_converter=pydantic_data_converter))
CONNECTION = Connection(CLIENT, "missions")


async def check(goal: str = "go", /, **inputs: JsonValue) -> None:
    await check_request(CLIENT, MissionRequest(goal=goal, inputs=inputs))


async def test_a_request_is_measured_as_it_is_sent() -> None:
    """In UTF-8, with the names and the marks of JSON; just below the limit it passes."""
    room = LARGEST_MESSAGE - 10_000

    await check(note="x" * room)
    with pytest.raises(UsageError, match=r"0\.98 MB|1\.0 MB"):
        await check(note="ü" * room)
    with pytest.raises(UsageError, match="1,001 inputs"):
        await check("go", **dict.fromkeys(map(str, range(MOST_INPUTS + 1)), 1))


def nested(levels: int) -> JsonValue:
    value: JsonValue = "4111111111111111"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (nested(200), "nested too deep"),
        ("\ud800", "cannot be written"),
        (10**400, "the number is too large"),
        ({"4111\0": 1}, "holds the character U\\+0000"),
        ("4111\\\0", "holds the character U\\+0000"),
    ],
)
async def test_what_a_workflow_could_not_read_is_not_sent(value: JsonValue, why: str) -> None:
    """It would fail at its first task for ever; the sentence does not quote the value."""
    with pytest.raises(UsageError, match=why) as refused:
        await check(note=value)

    assert "4111" not in str(refused.value)
    # Text about the character is not the character, and databases store other control characters.
    await check("print \\u0000 in C", note="a\x01\t")


@pytest.mark.parametrize("value", ["\0", "x" * LARGEST_MESSAGE], ids=["unreadable", "too large"])
async def test_answers_and_reasons_are_checked_as_requests_are(value: str) -> None:
    """The client here could not send anything."""
    answer = AnswerInput(question_id="q", values={"note": value})

    with pytest.raises(UsageError, match="what is sent about q"):
        await CONNECTION.update("m.1-x", names.ANSWER_UPDATE, answer, str, about="q")
    with pytest.raises(UsageError, match=r"the reason holds the character U\+0000"):
        await roll_back(CONNECTION, "m", reason="\0")


@pytest.mark.parametrize(
    ("status", "message", "is_size"),
    [
        (
            RPCStatusCode.RESOURCE_EXHAUSTED,
            "grpc: received message after decompression larger than max 4194304",
            True,
        ),
        (RPCStatusCode.INVALID_ARGUMENT, "Blob data size exceeds limit.", True),
        (RPCStatusCode.RESOURCE_EXHAUSTED, "namespace rate limit exceeded", False),
    ],
)
def test_what_a_server_finds_too_large_is_one_sentence(
    status: RPCStatusCode, message: str, is_size: bool
) -> None:
    """A server may be configured to take less than we thought; a busy one says something else."""
    refused = RPCError(message, status, b"")
    explained = CONNECTION.explained(refused, "trip")

    if not is_size:
        assert explained is refused
        return
    assert isinstance(explained, UsageError)
    assert message in str(explained)


class Updates:
    """A workflow, and the client of it, that takes an update after these errors."""

    def __init__(self, *fails: Exception) -> None:
        self.fails = list(fails)
        self.ids: list[str] = []

    def get_workflow_handle(self, workflow_id: str) -> "Updates":
        return self

    async def execute_update(self, name: str, message: object, **options: object) -> str:
        self.ids.append(str(options["id"]))
        if self.fails:
            raise self.fails.pop(0)
        return "taken"


DROPPED = RPCError(
    "Unable to perform workflow execution update due to unexpected workflow task failure.",
    RPCStatusCode.FAILED_PRECONDITION,
    b"",
)


async def sent(*fails: Exception, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids under which an update was sent until it was taken."""
    updates = Updates(*fails)
    connection = Connection(cast(Client, updates), "missions")
    connection.note_worker("trip")
    monkeypatch.setattr("orchestrator.client.connection.check_size", AsyncMock())
    assert await connection.update("trip", "decide", Record(), str, about="trip.1") == "taken"
    return updates.ids


async def test_an_update_whose_task_the_server_drops_is_sent_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Under the same id, a few times; what else stands in the way is said at once."""
    ids = await sent(DROPPED, DROPPED, monkeypatch=monkeypatch)
    assert len(ids) == 3
    assert len(set(ids)) == 1
    with pytest.raises(NoAnswer):
        await sent(*[DROPPED] * 9, monkeypatch=monkeypatch)
    paused = RPCError("workflow is paused", RPCStatusCode.FAILED_PRECONDITION, b"")
    with pytest.raises(NoAnswer):
        await sent(paused, monkeypatch=monkeypatch)


async def test_an_update_waits_for_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server takes ten updates of a workflow at once, and refuses more by this status."""
    monkeypatch.setattr("orchestrator.client.connection.asyncio.sleep", AsyncMock())
    full = RPCError("limit on in-flight updates", RPCStatusCode.RESOURCE_EXHAUSTED, b"")
    ids = await sent(*[full] * 9, monkeypatch=monkeypatch)
    assert len(ids) == 10
    assert len(set(ids)) == 1
    large = RPCError("message larger than max", RPCStatusCode.RESOURCE_EXHAUSTED, b"")
    with pytest.raises(UsageError):
        await sent(large, monkeypatch=monkeypatch)


class Reachable:
    """A client that knows where its server is."""

    service_client = SimpleNamespace(config=SimpleNamespace(target_host="there:7233"))


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (RPCStatusCode.UNAVAILABLE, "tcp connect error"),
        (RPCStatusCode.UNKNOWN, "transport error"),
        (RPCStatusCode.UNKNOWN, "h2 protocol error: connection reset"),
        (RPCStatusCode.INTERNAL, "error reading a body from connection"),
    ],
)
def test_a_server_that_dies_during_a_call_is_out_of_reach(
    status: RPCStatusCode, message: str
) -> None:
    """Whatever the library makes of the broken connection, it is told as what it is."""
    connection = Connection(cast(Client, Reachable), "missions")

    with pytest.raises(ServerUnreachable, match="there:7233"), connection.explaining():
        raise RPCError(message, status, b"")


def test_what_nobody_can_mend_stays_as_it_is() -> None:
    """A fault of the server's own comes with the server's words."""
    fault = RPCError("no such table", RPCStatusCode.UNKNOWN, b"")

    with pytest.raises(RPCError, match="no such table") as raised, CONNECTION.explaining("trip"):
        raise fault
    assert raised.value is fault


async def test_an_answer_is_waited_for_while_worker_or_server_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Any other error comes through at once, and so does the last of a long row."""
    left: list[Exception] = [NoWorker("missions"), ServerUnreachable("there:7233")]

    async def ask() -> str:
        if left:
            raise left.pop(0)
        return "well"

    assert await until_answered(ask) == "well"
    left.append(MissionNotFound("trip"))
    with pytest.raises(MissionNotFound):
        await until_answered(ask)
    monkeypatch.setattr("orchestrator.client.connection._ABSENCE_S", -1)
    left.append(ServerUnreachable("there:7233"))
    with pytest.raises(ServerUnreachable):
        await until_answered(ask)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (RPCStatusCode.NOT_FOUND, MissionNotFound),
        (RPCStatusCode.DEADLINE_EXCEEDED, NoWorker),
        (RPCStatusCode.FAILED_PRECONDITION, NoWorker),
    ],
)
def test_each_status_has_its_error(status: RPCStatusCode, kind: type[Exception]) -> None:
    """A server that cannot answer means something that a user can mend."""
    assert isinstance(CONNECTION.explained(RPCError("no", status, b""), "trip"), kind)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("Status { code: Unauthenticated, message: x }", "ServerRefused"),
        ("Status { code: PermissionDenied, message: x }", "ServerRefused"),
        ("Status { code: Unavailable, message: x }", "ServerUnreachable"),
        ("tcp connect error: Connection refused", "ServerUnreachable"),
    ],
)
async def test_a_server_that_does_not_let_us_in_is_no_absent_one(
    monkeypatch: pytest.MonkeyPatch, words: str, code: str
) -> None:
    """In the SDK's words, as it has them: a worker waits for the one and not for the other."""

    async def connect(**_: object) -> Client:
        raise RuntimeError(f"Failed client connect: {words}")

    monkeypatch.setattr(Client, "connect", connect)

    with raises_code(code):
        await connect_temporal("there:7233")
