"""Calls that get no answer, or half of one: what is known about them afterwards."""

from __future__ import annotations

import asyncio
import socket
import time
from typing import TYPE_CHECKING

import pytest

from orchestrator.core.errors import TransportFailed
from orchestrator.core.record import JsonObject

if TYPE_CHECKING:
    from tests.integration.adapters.conftest import CallAt, Says

BOOKING: JsonObject = {"offer_id": "o1", "traveler_id": "pii:traveler_id"}


async def test_a_refused_connection_never_arrived(call_at: CallAt) -> None:
    """Nobody listens: the provider cannot have acted."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]

        failure = await call_at(port).failure("booking_create", BOOKING)

    assert failure.may_have_arrived is False


async def test_a_drop_after_the_request_may_have_arrived(call_at: CallAt, says: Says) -> None:
    """The connection closes without an answer: the booking may be made."""
    port = await says()

    failure = await call_at(port).failure("booking_create", BOOKING)

    assert failure.may_have_arrived is True


async def test_what_is_not_http_is_no_answer(call_at: CallAt, says: Says) -> None:
    """Garbage on the wire leaves the outcome unclear."""
    port = await says(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")

    failure = await call_at(port).failure("booking_create", BOOKING)

    assert failure.may_have_arrived is True


async def test_the_deadline_ends_an_answer_that_comes_in_drips(call_at: CallAt, says: Says) -> None:
    """Bytes keep coming, and the call is over at its limit all the same."""
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    port = await says(head, *[b" "] * 2_000, pause_s=0.05)
    started = time.monotonic()

    with pytest.raises(TransportFailed, match=r"no complete answer .* \(0\.3 s\)") as failure:
        await call_at(port)("item_get", {"item_id": "1"}, timeout_s=0.3)

    assert time.monotonic() - started < 50  # it would drip for a hundred seconds
    assert failure.value.may_have_arrived is True


async def test_a_deadline_while_connecting_never_arrived(call_at: CallAt) -> None:
    """A server that accepts no connection in time was sent nothing."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        waiting = [socket.socket() for _ in range(4)]
        for client in waiting:
            client.setblocking(False)
            client.connect_ex(address)

        with pytest.raises(TransportFailed) as failure:
            await call_at(address[1])("booking_create", BOOKING, timeout_s=0.3)

        for client in waiting:
            client.close()

    assert failure.value.may_have_arrived is False


async def test_a_success_whose_body_breaks_off_is_no_success_yet(
    call_at: CallAt, says: Says
) -> None:
    """The booking's id is lost with the body; the same key can bring it again."""
    port = await says(b'HTTP/1.1 201 Created\r\nContent-Length: 99\r\n\r\n{"booking_id"')

    failure = await call_at(port).failure("booking_create", BOOKING)

    assert failure.may_have_arrived is True


async def test_a_refusal_whose_body_breaks_off_is_still_a_refusal(
    call_at: CallAt, says: Says
) -> None:
    """The status said no; only the reason is lost."""
    port = await says(b"HTTP/1.1 404 Not Found\r\nContent-Length: 99\r\n\r\n{")

    outcome = await call_at(port)("booking_create", BOOKING)

    assert (outcome.kind, outcome.reason) == ("rejected", "HTTP 404 Not Found")
    assert outcome.contract_breach == "the body broke off"


async def test_an_endless_answer_is_cut_at_the_limit(call_at: CallAt, says: Says) -> None:
    """A chunked body without end costs the limit and no more."""
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    port = await says(head, *[chunk] * 100)

    outcome = await call_at(port, max_answer_bytes=200_000)("item_get", {"item_id": "1"})

    assert outcome.contract_breach == "the answer is larger than 200000 bytes"


async def test_a_cancelled_call_stays_cancelled(call_at: CallAt, says: Says) -> None:
    """Cancellation from outside is not dressed up as a transport error."""
    port = await says(b"", pause_s=5)
    task = asyncio.create_task(call_at(port)("item_get", {"item_id": "1"}))
    await asyncio.sleep(0.1)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
