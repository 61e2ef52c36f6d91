"""Heads that repeat, contradict or never end, and those that point elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from starlette.responses import RedirectResponse, Response

from orchestrator.core.errors import TransportFailed

if TYPE_CHECKING:
    from tests.integration.adapters.conftest import CallAt, Caller, Provider, Says


async def test_of_headers_that_come_twice_the_first_counts(call_at: CallAt, says: Says) -> None:
    """Those that may come once: content type, Retry-After."""
    head = (
        b"HTTP/1.1 503 Busy\r\nContent-Type: application/problem+json\r\n"
        b"Content-Type: text/html\r\nRetry-After: 3\r\nRetry-After: 9\r\n"
        b"Content-Length: 16\r\n\r\n"
    )
    port = await says(head, b'{"title":"Full"}')

    outcome = await call_at(port)("thing_read")

    assert (outcome.retry_after_s, outcome.reason) == (3.0, "HTTP 503 Service Unavailable: Full")


async def test_lengths_that_contradict_are_no_http(call_at: CallAt, says: Says) -> None:
    """Where the answer ends cannot be known, so there is none."""
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 9\r\n\r\n"
    port = await says(head, b'{"ok": 1}')

    failure = await call_at(port).failure("thing_read")

    assert failure.may_have_arrived is True


@pytest.mark.parametrize("informational", [b"100 Continue", b"103 Early Hints"])
async def test_informational_answers_are_passed_over(
    call_at: CallAt, says: Says, informational: bytes
) -> None:
    """The answer is the one that follows."""
    final = (
        b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"ok": 1}'
    )
    early = b"HTTP/1.1 " + informational + b"\r\nLink: </x>\r\n\r\n"
    port = await says(early, early, final)

    assert (await call_at(port)("thing_read")).body == {"ok": 1}


async def test_another_protocol_is_no_answer(call_at: CallAt, says: Says) -> None:
    """101 was not asked for, so nothing is known."""
    head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"
    port = await says(head)

    failure = await call_at(port).failure("thing_write", timeout_s=2)

    assert failure.may_have_arrived is True


async def test_a_head_that_never_ends_is_ended_by_the_deadline(call_at: CallAt, says: Says) -> None:
    """Header lines keep coming, one at a time."""
    lines = [b"X-%d: y\r\n" % n for n in range(200)]
    port = await says(b"HTTP/1.1 200 OK\r\n", *lines, pause_s=0.05)

    with pytest.raises(TransportFailed, match="no complete answer"):
        await call_at(port)("thing_read", timeout_s=0.3)


async def test_a_head_without_end_is_no_http(call_at: CallAt, says: Says) -> None:
    """Nor is one of unbounded size read on."""
    port = await says(b"HTTP/1.1 200 OK\r\n", *[b"X: " + b"y" * 4000 + b"\r\n"] * 99)

    with pytest.raises(TransportFailed, match="did not speak HTTP"):
        await call_at(port)("thing_read")


@pytest.mark.parametrize(
    ("status", "kind"), [(301, "rejected"), (302, "unknown"), (303, "unknown"), (308, "rejected")]
)
async def test_a_redirected_write_is_followed_nowhere(
    call: Caller, provider: Provider, status: int, kind: str
) -> None:
    """302 and 303 may mean that it was done; the others that it should go elsewhere."""
    provider.answer = RedirectResponse("/elsewhere", status)

    outcome = await call("thing_write")

    assert (outcome.kind, len(provider.seen)) == (kind, 1)


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("/read", "redirects are not followed"),
        ("http://other.example/read?token=1", "(it pointed to other.example)"),
        ("http://[broken", "redirects are not followed"),
    ],
    ids=["loop", "other host", "no url"],
)
async def test_a_redirected_read_is_followed_nowhere(
    call: Caller, provider: Provider, target: str, told: str
) -> None:
    """One request, whether it points to the same place, to another host or to nowhere."""
    provider.answer = Response(status_code=302)
    provider.answer.raw_headers.append((b"location", target.encode()))

    outcome = await call("thing_read")

    assert (outcome.kind, len(provider.seen)) == ("rejected", 1)
    assert (outcome.reason or "").endswith(told)
    assert "token" not in (outcome.reason or "")
