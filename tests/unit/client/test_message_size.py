"""How large a message may be: measured as it is sent, and refused with its size and the limit."""

from types import SimpleNamespace
from typing import cast

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
)
from orchestrator.client.mission_rollback import roll_back
from orchestrator.core.errors import UsageError
from orchestrator.messages import names
from orchestrator.messages.leg import AnswerInput
from orchestrator.messages.mission import MissionRequest

CLIENT = cast(Client, SimpleNamespace(data_converter=pydantic_data_converter))


async def test_a_request_is_measured_as_it_is_sent() -> None:
    """In UTF-8, with the names and the marks of JSON; just below the limit it passes."""
    room = LARGEST_MESSAGE - 10_000

    await check_request(CLIENT, MissionRequest(goal="go", inputs={"note": "x" * room}))
    with pytest.raises(UsageError, match=r"0\.98 MB|1\.0 MB"):
        await check_request(CLIENT, MissionRequest(goal="go", inputs={"note": "ü" * room}))


async def test_a_request_with_too_many_inputs_is_refused() -> None:
    """However small they are."""
    inputs = dict.fromkeys(map(str, range(MOST_INPUTS + 1)), 1)

    with pytest.raises(UsageError, match="1,001 inputs"):
        await check_request(CLIENT, MissionRequest(goal="go", inputs={**inputs}))


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
        await check_request(CLIENT, MissionRequest(goal="go", inputs={"note": value}))

    assert "4111" not in str(refused.value)


async def test_text_about_the_character_is_not_the_character() -> None:
    """Nor is any other control character refused: databases store them."""
    await check_request(
        CLIENT, MissionRequest(goal="print \\u0000 in C", inputs={"note": "a\x01\t"})
    )


async def test_answers_and_reasons_are_checked_as_requests_are() -> None:
    """The client here could not send anything."""
    connection = Connection(CLIENT, "missions")
    answer = AnswerInput(question_id="q", values={"note": "\0"})

    with pytest.raises(UsageError, match=r"what is sent about q holds the character U\+0000"):
        await connection.update("m.1-x", names.ANSWER_UPDATE, answer, str, about="q")
    with pytest.raises(UsageError, match=r"the reason holds the character U\+0000"):
        await roll_back(connection, "m", reason="\0")


async def test_an_update_that_is_too_large_is_not_sent() -> None:
    """The client here could not send anything."""
    answer = AnswerInput(question_id="q", values={"note": "x" * LARGEST_MESSAGE})

    with pytest.raises(UsageError, match="what is sent about q"):
        await Connection(CLIENT, "missions").update(
            "m.1-x", names.ANSWER_UPDATE, answer, str, about="q"
        )


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (
            RPCStatusCode.RESOURCE_EXHAUSTED,
            "grpc: received message after decompression larger than max 4194304",
        ),
        (RPCStatusCode.INVALID_ARGUMENT, "Blob data size exceeds limit."),
    ],
)
def test_what_a_server_finds_too_large_is_one_sentence(status: RPCStatusCode, message: str) -> None:
    """A server may be configured to take less than we thought."""
    explained = Connection(CLIENT, "missions").explained(RPCError(message, status, b""), "trip")

    assert isinstance(explained, UsageError)
    assert message in str(explained)


def test_a_server_that_is_busy_is_not_told_as_a_size() -> None:
    """The same status says that too many asked."""
    busy = RPCError("namespace rate limit exceeded", RPCStatusCode.RESOURCE_EXHAUSTED, b"")

    assert Connection(CLIENT, "missions").explained(busy, "trip") is busy
