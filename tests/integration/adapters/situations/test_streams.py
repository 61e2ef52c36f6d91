"""Event streams, which a call reads like any other answer."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from orchestrator.core.errors import TransportFailed

if TYPE_CHECKING:
    from tests.integration.adapters.conftest import CallAt, Says


_EVENTS = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


async def test_an_event_stream_is_ended_by_the_deadline(call_at: CallAt, says: Says) -> None:
    """A stream that drips for ever is no answer; the connection is closed on it."""
    port = await says(_EVENTS, *[_chunk(b"data: 1\n\n")] * 2_000, pause_s=0.05)
    started = time.monotonic()

    with pytest.raises(TransportFailed, match="no complete answer") as failure:
        await call_at(port)("thing_read", timeout_s=0.3)

    assert time.monotonic() - started < 50  # it would drip for a hundred seconds
    assert failure.value.may_have_arrived is True


async def test_an_event_stream_is_ended_by_the_limit(call_at: CallAt, says: Says) -> None:
    """A stream that gushes costs the limit and no more; its status decides."""
    port = await says(_EVENTS, *[_chunk(b"data: 1\n\n" * 1000)] * 200)

    outcome = await call_at(port, max_answer_bytes=50_000)("thing_read")

    assert (outcome.kind, outcome.body) == ("unknown", None)
    assert outcome.contract_breach == "the answer is larger than 50000 bytes"


async def test_an_event_stream_that_ends_is_text(call_at: CallAt, says: Says) -> None:
    """One that the provider closes in time is kept like any text."""
    port = await says(_EVENTS, _chunk(b"data: 1\n\n"), b"0\r\n\r\n")

    outcome = await call_at(port)("thing_read")

    assert outcome.body == "data: 1\n\n"
    assert outcome.contract_breach == "the content type text/event-stream is not declared"
