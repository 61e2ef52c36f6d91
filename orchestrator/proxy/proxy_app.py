"""The proxy as a Starlette app: requests to models go on with those tools that fit."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar

import anyio
import httpx
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from orchestrator.proxy.pruners import warm_up
from orchestrator.proxy.report_page import report_page
from orchestrator.proxy.upstream import (
    Headers,
    Upstream,
    answer_headers,
    open_client,
    request_of,
    token_of,
)
from orchestrator.pruning.answer_reader import AnswerReader
from orchestrator.pruning.apis import api_of
from orchestrator.pruning.model_request import ModelApi
from orchestrator.pruning.pruner import Mode, Pruned, Pruner, fallen_open, read_mode
from orchestrator.routing.deadline import PROXY_LIMIT_S
from orchestrator.routing.learning.usage import ProxyUsage

MOST_BYTES: Final = 20_000_000
"""A request of more is passed on as it comes, unread."""
_MUCH: Final = 1_000_000
_METHODS: Final = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"]
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
_TOKEN_WANTED: Final = "the proxy's token is wanted"
_CLOSED: Final = 499
"""The caller went away; nobody reads this status."""

_T = TypeVar("_T")


@dataclass(frozen=True)
class Exchange:
    """What one request to a model came to, once its answer has passed."""

    pruned: Pruned
    called: tuple[str, ...]
    overhead_s: float


@dataclass
class Proxy:
    """What the app serves with."""

    upstream: Upstream
    pruner: Pruner
    mode: Mode = "prune"
    token: str = ""
    """What callers must present; empty: nothing."""
    limit_s: float = PROXY_LIMIT_S
    """How long choosing may take; longer, and all tools go on."""
    timeout_s: float = 600
    """How long the provider may stay silent."""
    seen: Callable[[Exchange], None] = lambda exchange: None
    """Told of each answer that has passed."""
    usage: Callable[[], ProxyUsage] = ProxyUsage
    """The figures of what has passed so far."""
    client: httpx.AsyncClient = field(init=False)


def create_proxy(proxy: Proxy) -> Starlette:
    """An app that passes every request on to the provider."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        warm_up(proxy.pruner)
        async with open_client(proxy.timeout_s) as proxy.client:
            yield

    async def answer(request: Request) -> Response:
        return await _answer(proxy, request)

    def figures(request: Request) -> Response:
        if not _is_caller(proxy, token_of(request.headers.items())):
            asks = {"www-authenticate": 'Basic realm="the token of the proxy, as the password"'}
            return _refusal(None, 401, "authentication_error", _TOKEN_WANTED, asks)
        usage = proxy.usage()
        if request.url.path.endswith(".json"):
            return JSONResponse(usage.model_dump(mode="json"))
        return HTMLResponse(report_page(usage), headers={"content-security-policy": _POLICY})

    routes = [
        Route("/_orqen", figures),
        Route("/_orqen/usage.json", figures),
        Route("/{path:path}", answer, methods=_METHODS),
    ]
    return Starlette(routes=routes, lifespan=lifespan)


def _is_caller(proxy: Proxy, presented: str) -> bool:
    """Whether the token is the one that callers present, where one is wanted."""
    # As bytes: of texts only ASCII ones can be compared.
    return not proxy.token or secrets.compare_digest(presented.encode(), proxy.token.encode())


async def _answer(proxy: Proxy, request: Request) -> Response:
    api = api_of(request.url.path) if request.method == "POST" else None
    received = [(name, value) for name, value in request.headers.items()]
    if not _is_caller(proxy, token_of(received)):
        return _refusal(api, 401, "authentication_error", _TOKEN_WANTED)
    target = _target(request)
    if not target.startswith("/"):
        return _refusal(api, 400, "invalid_request_error", "a path is wanted, not an address")
    if api is None:
        return await _passed(proxy, request.method, target, received, _pieces(request))
    try:
        body = await _body(request)
    except ClientDisconnect:
        return Response(status_code=_CLOSED)
    if not isinstance(body, bytes):
        return await _passed(proxy, request.method, target, received, body)
    mode = read_mode(request.headers.get("x-orqen-mode"), proxy.mode)
    began = time.perf_counter()
    if request.headers.get("content-encoding", "identity") == "identity":
        pruned = await _pruned(proxy, api, body, mode)
    else:
        pruned = Pruned(body=body, mode=mode)
    return await _forward(proxy, request, target, received, api, pruned, began)


async def _pruned(proxy: Proxy, api: ModelApi, body: bytes, mode: Mode) -> Pruned:
    """The request with the tools that fit; as it came if that fails or takes too long.

    What takes longer than a routing, a list of tools that is new or a body of megabytes, is read
    beside the loop, and what a list came to is kept whether its request waited for it or not.
    """
    request, pruner = None, proxy.pruner
    try:
        reading = partial(pruner.read, api, body)
        request = await _soon(reading, proxy.limit_s, at_once=len(body) < _MUCH)
        if request is None:
            return Pruned(body=body, mode=mode)
        chosen = partial(pruner.choose, request, mode)
        return await _soon(chosen, proxy.limit_s, at_once=pruner.is_ready(request))
    except Exception as error:
        return fallen_open(body, request, mode, error)


async def _soon(work: Callable[[], _T], limit_s: float, *, at_once: bool) -> _T:
    """What work comes to, beside the loop unless it takes but a moment, within the limit."""
    if at_once:
        return work()
    working = asyncio.get_running_loop().run_in_executor(None, work)
    return await asyncio.wait_for(asyncio.shield(working), limit_s)


async def _forward(
    proxy: Proxy,
    request: Request,
    target: str,
    received: Headers,
    api: ModelApi,
    pruned: Pruned,
    began: float,
) -> Response:
    """The provider's answer to a request to a model."""
    url = proxy.upstream.url(target)
    headers = proxy.upstream.headers(received, reads_answer=True)
    sent = request_of(proxy.client, request.method, url, headers, pruned.body)
    overhead = time.perf_counter() - began
    told = {**pruned.headers, "x-orqen-overhead-ms": f"{overhead * 1000:.1f}"}
    answer = await _sent(proxy, request, sent, api, told)
    if not isinstance(answer, httpx.Response):
        return answer
    coding = answer.headers.get("content-encoding", "identity")
    reader = AnswerReader(api, is_stream=_is_stream(answer), coding=coding)

    def over() -> None:
        reader.finish()
        proxy.pruner.learn(pruned, reader)
        proxy.seen(Exchange(pruned, tuple(reader.called), overhead))

    return _PassedAnswer(answer, told, reader, over)


async def _passed(
    proxy: Proxy, method: str, target: str, received: Headers, content: AsyncIterator[bytes]
) -> Response:
    """The provider's answer to any other request, or to one that is too large to be read."""
    headers = proxy.upstream.headers(received, reads_answer=False)
    url = proxy.upstream.url(target)
    sent = request_of(proxy.client, method, url, headers, content)
    answer = await _sent(proxy, None, sent, None, {})
    return _PassedAnswer(answer, {}) if isinstance(answer, httpx.Response) else answer


async def _sent(
    proxy: Proxy,
    request: Request | None,
    sent: httpx.Request,
    api: ModelApi | None,
    told: Mapping[str, str],
) -> httpx.Response | Response:
    """The provider's answer as it begins; an error in the provider's form where there is none."""
    sending = asyncio.ensure_future(proxy.client.send(sent, stream=True))
    leaving = asyncio.ensure_future(_left(request)) if request else None
    waiting = {sending, leaving} if leaving else {sending}
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if not sending.done():
            return Response(status_code=_CLOSED)
        return sending.result()
    except httpx.TimeoutException:
        text = f"the provider did not answer within {proxy.timeout_s:g} s"
        return _refusal(api, 504, "upstream_timeout", text, told)
    except httpx.HTTPError as error:
        text = f"the provider cannot be reached: {type(error).__name__}"
        return _refusal(api, 502, "upstream_unreachable", text, told)
    finally:
        for task in waiting:
            if not task.done():
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task


async def _left(request: Request) -> None:
    """Return when the caller has gone away."""
    while (await request.receive())["type"] != "http.disconnect":
        continue


class _PassedAnswer(StreamingResponse):
    """An answer byte for byte as it comes; the next piece is taken when this one has gone on."""

    def __init__(
        self,
        answer: httpx.Response,
        told: Mapping[str, str],
        reader: AnswerReader | None = None,
        over: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(self._pieces(answer, reader), status_code=answer.status_code)
        kept = [*answer_headers(answer.headers.multi_items()), *told.items()]
        self.raw_headers = [(n.encode("latin-1"), v.encode("latin-1")) for n, v in kept]
        self._answer = answer
        self._over = over

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it; whether it ended, failed or nobody reads on, the provider's end is closed."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            # A caller that goes away cancels every await that is not shielded.
            with anyio.CancelScope(shield=True):
                await self._answer.aclose()
            self._over()

    @staticmethod
    async def _pieces(answer: httpx.Response, reader: AnswerReader | None) -> AsyncIterator[bytes]:
        async for piece in answer.aiter_raw():
            yield piece
            if reader:
                reader.feed(piece)


async def _body(request: Request) -> bytes | AsyncIterator[bytes]:
    """The whole body; where it is too large to be read, its pieces as they come."""
    pieces = _pieces(request)
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > MOST_BYTES:
        return pieces
    read = bytearray()
    async for piece in pieces:
        read += piece
        if len(read) > MOST_BYTES:
            return _joined(bytes(read), pieces)
    return bytes(read)


async def _joined(first: bytes, others: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in others:
        yield piece


async def _pieces(request: Request) -> AsyncIterator[bytes]:
    async for piece in request.stream():
        if piece:
            yield piece


def _target(request: Request) -> str:
    """Path and query as they came."""
    path = request.scope.get("raw_path") or request.url.path.encode()
    query = request.scope.get("query_string", b"")
    return (path.split(b"?")[0] + (b"?" + query if query else b"")).decode("latin-1")


def _is_stream(answer: httpx.Response) -> bool:
    kind: str = answer.headers.get("content-type", "")
    return kind.startswith("text/event-stream")


def _refusal(
    api: ModelApi | None, status: int, kind: str, text: str, told: Mapping[str, str] | None = None
) -> Response:
    """An error of the proxy's own, in the form that the caller's client reads."""
    content: Mapping[str, Any] = (
        api.error(text, kind) if api else {"error": {"message": text, "type": kind}}
    )
    return JSONResponse(content, status_code=status, headers=dict(told or {}))
