"""Open streams: a few for each person, which end with the sign-in of their reader."""

import asyncio
import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from http import HTTPStatus
from typing import TypeVar

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from orchestrator.core.errors import OrchestratorError
from orchestrator.web.people import Person
from orchestrator.web.problem_details import ProblemError
from orchestrator.web.sign_in.identity import checked_again
from orchestrator.web.web_service import Service

T = TypeVar("T")


def opened_stream(
    events: AsyncGenerator[ServerSentEvent | bytes, None],
    service: Service,
    request: Request,
    person: Person,
    *,
    most_s: float | None = None,
    on_error: Callable[[OrchestratorError], ServerSentEvent | None] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return a stream of events, or of their bytes, in one of the places of its reader.

    It is open for `most_s` at most; None: as long as the service lets streams be. An error of the
    library ends it, with the event that `on_error` returns. A person without a place left gets a
    ProblemError.
    """
    check_place(service, person)
    limits, places, subject = service.limits, service.streams, person.subject
    places[subject] += 1

    async def until_error() -> AsyncGenerator[ServerSentEvent | bytes, None]:
        try:
            async with aclosing(events):
                async for event in events:
                    yield event
        except OrchestratorError as error:
            if on_error is None:
                raise
            if (last := on_error(error)) is not None:
                yield last

    bounded = while_signed_in(
        until_error(), service, request, person, limits.stream_s if most_s is None else most_s
    )

    async def close() -> None:
        try:
            await bounded.aclose()
        finally:
            places[subject] -= 1
            if not places[subject]:
                del places[subject]

    stream = _EventStream(
        bounded,
        ping=limits.heartbeat_s,
        ping_message_factory=lambda: ServerSentEvent(comment="alive"),
        headers={
            "Cache-Control": "no-store",
            "X-Accel-Buffering": "no",
            "X-Content-Type-Options": "nosniff",
            **(headers or {}),
        },
        send_timeout=30,
    )
    stream.close = close
    return stream


class _EventStream(EventSourceResponse):
    """A stream of events that ends its source, and frees its place, however it ends."""

    close: Callable[[], Awaitable[None]]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self.close()


def check_place(service: Service, person: Person) -> None:
    """Refuse a stream beyond the places of a person by a ProblemError."""
    most = service.limits.streams
    if service.streams[person.subject] >= most:
        raise ProblemError(
            HTTPStatus.TOO_MANY_REQUESTS,
            f"at most {most} streams are open for one person: close another",
            code="TooManyStreams",
            headers={"Retry-After": "5"},
        )


async def while_signed_in(
    events: AsyncGenerator[T, None],
    service: Service,
    request: Request,
    person: Person,
    most_s: float = math.inf,
) -> AsyncGenerator[T, None]:
    """Yield events until they end or `most_s` is over, and close them.

    They end as well when their reader is signed out, which each heartbeat checks.
    """
    clock, heartbeat_s = asyncio.get_running_loop().time, service.limits.heartbeat_s
    deadline, check = clock() + most_s, clock() + heartbeat_s
    coming: asyncio.Task[T] | None = None
    try:
        while clock() < deadline:
            coming = coming or asyncio.create_task(_next(events))
            await asyncio.wait({coming}, timeout=max(0.0, min(check, deadline) - clock()))
            if clock() >= check:
                if not await _is_signed_in(service, request, person):
                    return
                check = clock() + heartbeat_s
            if coming.done():
                try:
                    event = coming.result()
                except StopAsyncIteration:
                    return
                coming = None
                yield event
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)
        await events.aclose()


async def interleaved(
    events: AsyncGenerator[T, None], other: AsyncGenerator[T, None]
) -> AsyncGenerator[T, None]:
    """Yield from both as they come, until the first has ended."""
    sources = {asyncio.create_task(_next(one)): one for one in (events, other)}
    try:
        while True:
            done, _ = await asyncio.wait(sources, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                source = sources.pop(task)
                try:
                    event = task.result()
                except StopAsyncIteration:
                    if source is events:
                        return
                    continue
                yield event
                sources[asyncio.create_task(_next(source))] = source
    finally:
        for task in sources:
            task.cancel()
        await asyncio.gather(*sources, return_exceptions=True)
        await events.aclose()
        await other.aclose()


async def _next(events: AsyncGenerator[T, None]) -> T:
    return await anext(events)


async def _is_signed_in(service: Service, request: Request, person: Person) -> bool:
    """Return True if the request would still be that of the same person, with the same rights."""
    try:
        return await service.identify(checked_again(request)) == person
    except (ProblemError, OrchestratorError):
        return False  # a token that was revoked, or nobody can say
