"""Open streams end with the sign-in of their reader, and close what they read."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from http import HTTPStatus

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.types import Message

from orchestrator.core.errors import StoreUnavailable
from orchestrator.web import pages
from orchestrator.web.open_streams import interleaved, opened_stream, while_signed_in
from orchestrator.web.people import Person, Role
from orchestrator.web.problem_details import ProblemError
from orchestrator.web.request_limits import Limits
from orchestrator.web.web_service import Service
from tests.unit.web.pages.stand_ins import ANA, ORIGIN, FakeClient, service_of

REQUEST = Request({"type": "http", "method": "GET", "path": "/", "headers": []})


class Source:
    """Events that come when they are asked for, and never end."""

    def __init__(self) -> None:
        self.is_closed = False

    async def events(self) -> AsyncGenerator[str, None]:
        try:
            yield "first"
            await asyncio.Event().wait()
        finally:
            self.is_closed = True


def service(answers: list[Person | Exception | None]) -> Service:
    """A service that identifies its reader as these answers say, one at each heartbeat."""

    async def identify(_: HTTPConnection) -> Person | None:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    limits = Limits(heartbeat_s=0.01)
    return replace(service_of(FakeClient()), identify=identify, limits=limits)


@pytest.mark.parametrize(
    "then",
    [
        None,
        ProblemError(HTTPStatus.UNAUTHORIZED, "revoked"),
        StoreUnavailable("db", reason="it is away"),
        ANA.model_copy(update={"roles": (Role.VIEWER,)}),
    ],
    ids=["signed out", "revoked", "nobody can say", "other rights"],
)
async def test_a_stream_ends_with_the_sign_in(then: Person | Exception | None) -> None:
    """At the next heartbeat, though nothing happens that it would stream."""
    source, answers = Source(), [ANA, ANA, then]
    stream = while_signed_in(source.events(), service=service(answers), request=REQUEST, person=ANA)
    async with asyncio.timeout(5):
        seen = [event async for event in stream]

    assert seen == ["first"]
    assert answers == []
    assert source.is_closed


async def test_a_stream_ends_after_its_time() -> None:
    source = Source()
    stream = while_signed_in(
        source.events(), service=service([ANA] * 100), request=REQUEST, person=ANA, most_s=0.05
    )
    async with asyncio.timeout(5):
        assert [event async for event in stream] == ["first"]
    assert source.is_closed


async def test_two_sources_are_one_stream_until_the_first_ends() -> None:
    """The second closes with it, though it never ends of itself."""
    other, goes_on = Source(), asyncio.Event()

    async def events() -> AsyncGenerator[str, None]:
        yield "a"
        await goes_on.wait()
        yield "b"

    seen: list[str] = []
    async with asyncio.timeout(5):
        async for event in interleaved(events(), other.events()):
            seen.append(event)
            if event == "first":
                goes_on.set()

    assert sorted(seen[:2]) == ["a", "first"]
    assert seen[2:] == ["b"]
    assert other.is_closed


@pytest.mark.parametrize("path", ["/events", "/missions/m-1/events"])
async def test_a_page_beyond_the_places_is_refused(path: str) -> None:
    inbox = replace(service_of(FakeClient()), limits=Limits(streams=0))
    transport = httpx.ASGITransport(app=Starlette(routes=pages.routes(inbox)))
    async with httpx.AsyncClient(transport=transport, base_url=ORIGIN) as ana:
        answer = await ana.get(path)

    assert answer.status_code == HTTPStatus.TOO_MANY_REQUESTS
    assert int(answer.headers["Retry-After"]) > 0
    assert answer.headers["Content-Security-Policy"]


async def test_a_place_is_taken_for_each_stream_of_a_person_and_given_back() -> None:
    bo = ANA.model_copy(update={"subject": "bo@example.com"})
    inbox = replace(service([]), limits=Limits(streams=2))

    async def source() -> AsyncGenerator[bytes, None]:
        yield b"first"

    streams = [opened_stream(source(), inbox, REQUEST, one) for one in (ANA, bo, ANA)]
    with pytest.raises(ProblemError):
        opened_stream(source(), inbox, REQUEST, ANA)
    assert inbox.streams == {ANA.subject: 2, bo.subject: 1}

    async def gone() -> Message:
        return {"type": "http.disconnect"}

    async def unsent(_: Message) -> None:
        return

    for stream in streams:
        await stream({**REQUEST.scope, "asgi": {"spec_version": "2.4"}}, gone, unsent)
    assert not inbox.streams
