"""Requests of the MCP library over this installation's own HTTP transport.

The library has an HTTP client of its own. Its requests pass through `CheckedTransport`, so that
addresses, the only hosts and the proxy are those of all calls, and faults are noted by call.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import httpx
import httpx2

from orchestrator.adapters.http.destinations import AddressRefused
from orchestrator.adapters.http.transport import HTTPX_ERRORS

_BROKEN = 599
"""Status that stands for a broken exchange: an exception would end the session of other calls."""


@dataclass
class Exchange:
    """The progress of one call on the wire."""

    noted: Callable[[str, Mapping[str, object]], Awaitable[None]] | None = None
    """Called with each step on the wire, as httpx's transports call it."""
    was_sent: bool = False
    """True from the moment when a part of the first request may have left."""
    fault: Exception | None = None
    """The first error of httpx, or `AddressRefused`."""
    status: int | None = None
    """Of the first answer: a stream that is opened again answers no call."""
    retry_after: str | None = None

    async def on_event(self, name: str, info: Mapping[str, object]) -> None:
        """Note a step; called by the transport."""
        self.was_sent = self.was_sent or name.endswith("send_request_headers.started")
        if self.noted is not None:
            await self.noted(name, info)

    def failed(self, error: Exception, *, is_first: bool) -> None:
        """Note an error; after the first request none of them means that nothing was sent."""
        if self.fault is None:
            self.fault = error if is_first else httpx.ReadError("the stream broke off")


CURRENT: ContextVar[Exchange | None] = ContextVar("mcp_exchange", default=None)
"""The exchange of the calling task, which the library's tasks for its request inherit."""


class CheckedHttp(httpx2.AsyncBaseTransport):
    """Sends requests of the MCP library through a transport of httpx."""

    def __init__(self, transport: httpx.AsyncBaseTransport, *, max_bytes: int) -> None:
        """Take the transport, and the size at which the answer to a request is cut off."""
        self._transport = transport
        self._max_bytes = max_bytes

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request; a fault is noted, and becomes a status that no server sends."""
        exchange = CURRENT.get() or Exchange()
        is_first = not exchange.was_sent
        timeout = request.extensions.get("timeout", {})
        sent = httpx.Request(
            request.method,
            str(request.url),
            headers=[*request.headers.raw],
            content=await request.aread(),
            extensions={"timeout": timeout, "trace": exchange.on_event},
        )
        try:
            response = await self._transport.handle_async_request(sent)
        except (*HTTPX_ERRORS, AddressRefused) as error:
            exchange.failed(error, is_first=is_first)
            return httpx2.Response(_BROKEN)
        if exchange.status is None:
            exchange.status = response.status_code
            exchange.retry_after = response.headers.get("Retry-After")
        is_stream = request.method == "GET"
        body = _Body(response, exchange, None if is_stream else self._max_bytes)
        if response.headers.get("content-encoding", "identity") != "identity":
            await body.aclose()  # it was not asked for, and a few kilobytes may hold a gigabyte
            exchange.failed(httpx.DecodingError("the answer is compressed"), is_first=is_first)
            return httpx2.Response(_BROKEN)
        return httpx2.Response(response.status_code, headers=[*response.headers.raw], stream=body)

    async def aclose(self) -> None:
        """Leave the transport open: it serves all sessions."""


class _Body(httpx2.AsyncByteStream):
    """The body of an answer, up to its limit; one that breaks off ends early and is noted."""

    def __init__(self, response: httpx.Response, exchange: Exchange, most: int | None) -> None:
        self._response = response
        self._exchange = exchange
        self._left = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        stream: Any = self._response.stream
        try:
            async for chunk in stream:
                if self._left is not None:
                    self._left -= len(chunk)
                    if self._left < 0:
                        too_large = httpx.DecodingError("the answer is too large")
                        self._exchange.failed(too_large, is_first=True)
                        return
                yield chunk
        except HTTPX_ERRORS as error:
            self._exchange.failed(error, is_first=True)

    async def aclose(self) -> None:
        await self._response.aclose()
