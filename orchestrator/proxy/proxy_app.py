"""The proxy as a Starlette app, which forwards requests to models with the tools that fit."""

import asyncio
import base64
import secrets
import time
import uuid
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from html import escape
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import anyio
import httpx
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from orchestrator.adapters.storage.protocols import RouteTraces
from orchestrator.core.errors import UsageError
from orchestrator.language.intent import IntentFrame
from orchestrator.proxy.pruning_transport import reader_of, warm_up
from orchestrator.pruning.answer_reader import AnswerReader
from orchestrator.pruning.model_apis import api_of
from orchestrator.pruning.model_request import IDENTITY, MOST_BYTES, ModelApi
from orchestrator.pruning.pruner import Mode, Pruned, Pruner, fallen_open, read_mode
from orchestrator.routing.learning.trace import ProxyUsage, RouteRecord, record_of
from orchestrator.routing.profile import PROXY_LIMIT_S
from orchestrator.routing.selection import Selection

_STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem;
       color: #1b2330; background: #fff; }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: 1rem; }
dt { color: #5b6675; } dd { margin: 0; font-size: 1.6rem; font-variant-numeric: tabular-nums; }
svg text { font: 13px system-ui, sans-serif; fill: #1b2330; } rect { fill: #2f6fd0; }
@media (prefers-color-scheme: dark) {
  body { color: #e7ebf1; background: #14181f; } dt { color: #9aa6b6; } svg text { fill: #e7ebf1; }
}
"""


@dataclass(frozen=True)
class Exchange:
    """A request to a model whose answer has passed."""

    pruned: Pruned
    called: tuple[str, ...]
    overhead_s: float


class ExchangeRecorder:
    """Writes a record of each exchange, in order and outside the event loop."""

    def __init__(self, traces: RouteTraces) -> None:
        self._traces = traces
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="route-traces")

    def __call__(self, exchange: Exchange) -> None:
        """Record an exchange, if tools were chosen in it."""
        if (record := record_of_exchange(exchange)) is not None:
            self._writer.submit(self._traces.record, record)

    def close(self) -> None:
        """Wait for pending writes."""
        self._writer.shutdown()


def record_of_exchange(exchange: Exchange) -> RouteRecord | None:
    """Return the record of an exchange, without its text; None if it had no tools."""
    pruned = exchange.pruned
    if pruned.routing == "passed_on":
        return None
    frame, reason, size = IntentFrame(), pruned.reason, pruned.offered
    selection = pruned.selection or Selection(
        tools=(), k=0, band="fail_open", reason=reason, frame=frame, catalog_size=size
    )
    called = tuple((name,) for name in exchange.called)
    record = record_of(selection, mission_id=f"proxy-{uuid.uuid4().hex}", called=called)
    figures = {
        "mode": pruned.mode,
        "offered": pruned.offered,
        "forwarded": len(pruned.kept),
        "stayed": tuple(sorted(pruned.names.difference(selection.tools))),
        "tokens_saved": pruned.saved_characters // 4,  # characters a token
        "overhead_ms": round(exchange.overhead_s * 1000, 2),
    }
    return record.model_copy(update=figures)


def report_page(usage: ProxyUsage) -> str:
    """Return the page as HTML, without scripts or external resources."""

    def shown(value: float | None, form: str, unit: str = "") -> str:
        return "\u2013" if value is None else f"{value:{form}}{unit}"

    figures = {
        "requests": f"{usage.requests:,}",
        "tools offered": f"{usage.mean_offered:.1f}",
        "tools forwarded": f"{usage.mean_forwarded:.2f}",
        "called tools forwarded": shown(usage.recall, ".1%"),
        "tokens saved, about": f"{usage.tokens_saved:,}",
        "all forwarded": shown(usage.fail_open, ".1%"),
        "unread": f"{usage.unread:,}",
        "overhead p50": shown(usage.overhead_p50_ms, ".1f", " ms"),
        "overhead p99": shown(usage.overhead_p99_ms, ".1f", " ms"),
    }
    grouped = "".join(
        f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in figures.items()
    )
    counted: list[tuple[str, Mapping[Any, int]]] = [
        ("Tools forwarded", usage.widths),
        ("Bands", usage.bands),
        ("Modes", usage.modes),
    ]
    charts = "".join(f"<h2>{title}</h2>{_bars(counts)}" for title, counts in counted if counts)
    empty = "" if usage.requests else "<p>No request with tools has passed yet.</p>"
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><title>Tool pruning</title>"
        f'<meta name=viewport content="width=device-width"><style>{_STYLE}</style>'
        f"<h1>Tool pruning</h1>{empty}<dl>{grouped}</dl>{charts}</html>"
    )


def _bars(counts: Mapping[Any, int]) -> str:
    most = max(counts.values())
    rows = []
    for row, (name, count) in enumerate(counts.items()):
        y, width = row * 22, max(1, round(420 * count / most))
        rows.append(
            f'<text x="0" y="{y + 15}">{escape(str(name))}</text>'
            f'<rect x="110" y="{y + 3}" width="{width}" height="15" rx="2"/>'
            f'<text x="{118 + width}" y="{y + 15}">{count:,}</text>'
        )
    height = len(counts) * 22
    label = escape(", ".join(f"{name}: {count}" for name, count in counts.items()))
    return (
        f'<svg role="img" aria-label="{label}" viewBox="0 0 640 {height}" width="640" '
        f'height="{height}">{"".join(rows)}</svg>'
    )


Headers = list[tuple[str, str]]
_CREDENTIALS: Final = ("authorization", "x-api-key", "api-key")


@dataclass(frozen=True, slots=True)
class Upstream:
    """A provider, by the base URL that its own clients take.

    The proxy's `/v1` maps to a `/v1` at the end of that URL.
    """

    base: str
    key: str = ""
    """Sent in place of the caller's key; empty: the caller's key is forwarded."""

    @classmethod
    def at(cls, url: str, *, key: str = "") -> "Upstream":
        """Return the provider at an http(s) URL without query and password, else a UsageError."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"{url!r} is no base URL; give one as https://api.example.com/v1")
        if parts.query or parts.fragment or parts.username or parts.password:
            raise UsageError("the base URL of a provider has no query, no fragment and no password")
        return cls(url.rstrip("/").removesuffix("/v1"), key)

    def headers(self, received: Iterable[tuple[str, str]], *, reads_answer: bool) -> Headers:
        """Return the headers of a request to the provider.

        If the answer is read on its way, only codings that can be decoded are accepted.
        """
        kept = _end_to_end(received, without=("host", "content-length"))
        if self.key:
            style = {name for name, _ in kept if name in _CREDENTIALS} or {"authorization"}
            kept = [pair for pair in kept if pair[0] not in _CREDENTIALS]
            kept += [(n, f"Bearer {self.key}" if n == "authorization" else self.key) for n in style]
        if reads_answer:
            codings = [value for name, value in kept if name == "accept-encoding"]
            kept = [pair for pair in kept if pair[0] != "accept-encoding"]
            can_unpack = any("gzip" in value for value in codings)
            kept.append(("accept-encoding", "gzip, deflate" if can_unpack else "identity"))
        return kept


def token_of(received: Iterable[tuple[str, str]]) -> str:
    """Return the token that a caller presents, in the header that its client uses."""
    found = {name.lower(): value for name, value in received}
    value = next(filter(None, map(found.get, _CREDENTIALS)), "")
    kind, _, encoded = value.partition(" ")
    if kind.lower() != "basic":
        return value.removeprefix("Bearer ").strip()
    try:  # it is the password
        return base64.b64decode(encoded, validate=True).decode().partition(":")[2]
    except ValueError:
        return ""


def _end_to_end(received: Iterable[tuple[str, str]], without: Iterable[str] = ()) -> Headers:
    pairs = [(name.lower(), value) for name, value in received]
    named = {one.strip().lower() for n, v in pairs if n == "connection" for one in v.split(",")}
    hop = "connection keep-alive proxy-authenticate proxy-authorization te trailer"
    more = "transfer-encoding upgrade proxy-connection"
    dropped = {*hop.split(), *more.split(), *named, *without}
    return [(n, v) for n, v in pairs if n not in dropped and not n.startswith("x-orqen-")]


_METHODS: Final = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"]
_TOKEN_MISSING: Final = "present the proxy's token"
_CLOSED: Final = 499  # the caller disconnected, so nobody reads this status
_T = TypeVar("_T")


@dataclass
class Proxy:
    """The configuration of the app."""

    upstream: Upstream
    pruner: Pruner
    mode: Mode = "prune"
    token: str = ""
    """The token that callers must present; empty: none."""
    limit_s: float = PROXY_LIMIT_S
    """Time limit for choosing tools, after which all tools are forwarded."""
    timeout_s: float = 600
    """How long the provider may stay silent."""
    seen: Callable[[Exchange], None] = lambda exchange: None
    """Called with each exchange."""
    usage: Callable[[], ProxyUsage] = ProxyUsage
    """Returns the current figures."""
    client: httpx.AsyncClient = field(init=False)


def create_proxy(proxy: Proxy) -> Starlette:
    """Return an app that forwards every request to the provider."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        warm_up(proxy.pruner)
        timeout = httpx.Timeout(proxy.timeout_s, connect=min(10, proxy.timeout_s), pool=None)
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=200)
        async with httpx.AsyncClient(
            timeout=timeout, limits=limits, follow_redirects=False, trust_env=False
        ) as proxy.client:
            yield

    def figures(request: Request) -> Response:
        if not _is_caller(proxy, token_of(request.headers.items())):
            asks = {"www-authenticate": 'Basic realm="the token of the proxy, as the password"'}
            return _refusal(None, 401, "authentication_error", _TOKEN_MISSING, asks)
        usage = proxy.usage()
        if request.url.path.endswith(".json"):
            return JSONResponse(usage.model_dump(mode="json"))
        policy = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"}
        return HTMLResponse(report_page(usage), headers=policy)

    routes = [
        Route("/_orqen", figures),
        Route("/_orqen/usage.json", figures),
        Route("/{path:path}", partial(_answer, proxy), methods=_METHODS),
    ]
    return Starlette(routes=routes, lifespan=lifespan)


def _is_caller(proxy: Proxy, presented: str) -> bool:
    # As bytes: as text, only ASCII strings can be compared.
    return not proxy.token or secrets.compare_digest(presented.encode(), proxy.token.encode())


async def _answer(proxy: Proxy, request: Request) -> Response:
    if request.headers.get("upgrade", "").lower() == "websocket":
        text = "this proxy takes no WebSocket; send the request by POST"
        return _refusal(None, 426, "upgrade_required", text, {"upgrade": "HTTP/1.1"})
    api = api_of(request.url.path) if request.method == "POST" else None
    received = list(request.headers.items())
    if not _is_caller(proxy, token_of(received)):
        return _refusal(api, 401, "authentication_error", _TOKEN_MISSING)
    path = request.scope.get("raw_path") or request.url.path.encode()
    query = request.scope.get("query_string", b"")
    target = (path.split(b"?")[0] + (b"?" + query if query else b"")).decode("latin-1")
    if not target.startswith("/"):
        return _refusal(api, 400, "invalid_request_error", "send a path, not an address")
    if api is None:
        return await _passed(proxy, request.method, target, received, _pieces(request.stream()))
    try:
        body = await _body(request)
    except ClientDisconnect:
        return Response(status_code=_CLOSED)
    mode = read_mode(request.headers.get("x-orqen-mode"), proxy.mode)
    if not isinstance(body, bytes):
        unread = Pruned(body=b"", mode=mode, routing="unread")
        return await _passed(proxy, request.method, target, received, body, unread.headers)
    began = time.perf_counter()
    coding = ",".join(request.headers.getlist("content-encoding")) or IDENTITY
    pruned = await _pruned(proxy, api, Pruned(body=body, mode=mode, coding=coding))
    if pruned.coding == IDENTITY:
        received = [pair for pair in received if pair[0] != "content-encoding"]
    sent = _request_of(proxy, request.method, target, received, pruned.body, reads_answer=True)
    overhead = time.perf_counter() - began
    added = {**pruned.headers, "x-orqen-overhead-ms": f"{overhead * 1000:.1f}"}
    answer = await _sent(proxy, request, sent, api, added)
    if not isinstance(answer, httpx.Response):
        return answer
    reader = reader_of(answer, api)

    def over() -> None:
        reader.finish()
        proxy.pruner.learn(pruned, reader)
        proxy.seen(Exchange(pruned, tuple(reader.called), overhead))

    return _PassedAnswer(answer, added, reader, over)


async def _pruned(proxy: Proxy, api: ModelApi, as_it_came: Pruned) -> Pruned:
    """Return the request with the tools that fit; unchanged on a failure or timeout.

    A new list of tools, a compressed body and one of megabytes, which take longer than a routing,
    are read in a thread; the list is cached even if its request did not wait for it.
    """
    request, pruner, body = None, proxy.pruner, as_it_came.body
    try:
        reading = partial(pruner.read, api, body, as_it_came.coding)
        is_quick = as_it_came.coding == IDENTITY and len(body) < 1_000_000
        request = await _soon(reading, proxy.limit_s, at_once=is_quick)
        if request is None:
            return as_it_came
        is_ready = pruner.is_ready(request)
        # The first request with a list of tools has to read it.
        limit_s = proxy.limit_s if is_ready else max(proxy.limit_s, 0.3)
        chosen = partial(pruner.choose, request, as_it_came.mode, limit_s)
        return await _soon(chosen, limit_s, at_once=is_ready)
    except Exception as error:
        return fallen_open(as_it_came, request, error)


async def _soon(work: Callable[[], _T], limit_s: float, *, at_once: bool) -> _T:
    """Return the result of some work within the limit, in a thread unless it is quick."""
    if at_once:
        return work()
    working = asyncio.get_running_loop().run_in_executor(None, work)
    return await asyncio.wait_for(asyncio.shield(working), limit_s)


async def _passed(
    proxy: Proxy,
    method: str,
    target: str,
    received: Headers,
    content: AsyncIterator[bytes],
    added: Mapping[str, str] | None = None,
) -> Response:
    sent = _request_of(proxy, method, target, received, content, reads_answer=False)
    answer = await _sent(proxy, None, sent, None, added or {})
    return _PassedAnswer(answer, added or {}) if isinstance(answer, httpx.Response) else answer


def _request_of(
    proxy: Proxy,
    method: str,
    target: str,
    received: Headers,
    content: bytes | AsyncIterable[bytes],
    *,
    reads_answer: bool,
) -> httpx.Request:
    headers = proxy.upstream.headers(received, reads_answer=reads_answer)
    url = f"{proxy.upstream.base}{target}"
    request = proxy.client.build_request(method, url, headers=headers, content=content)
    # Those that httpx adds of itself, apart from length and host.
    added = {"user-agent", "accept", "accept-encoding", "connection"} - {n for n, _ in headers}
    for name in added:
        request.headers.pop(name, None)
    return request


async def _sent(
    proxy: Proxy,
    request: Request | None,
    sent: httpx.Request,
    api: ModelApi | None,
    added: Mapping[str, str],
) -> httpx.Response | Response:
    """Return the provider's answer as it begins, else an error in the provider's format."""

    async def caller_has_left(receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            continue

    sending = asyncio.ensure_future(proxy.client.send(sent, stream=True))
    waiting: set[asyncio.Future[Any]] = {sending}
    if request is not None:
        waiting.add(asyncio.ensure_future(caller_has_left(request.receive)))
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if not sending.done():
            return Response(status_code=_CLOSED)
        return sending.result()
    except httpx.TimeoutException:
        text = f"the provider did not answer within {proxy.timeout_s:g} s"
        return _refusal(api, 504, "upstream_timeout", text, added)
    except httpx.HTTPError as error:
        text = f"the provider cannot be reached: {type(error).__name__}"
        return _refusal(api, 502, "upstream_unreachable", text, added)
    finally:
        for task in waiting:
            if not task.done():
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task


class _PassedAnswer(StreamingResponse):
    """An answer forwarded byte for byte; each piece is read after the previous one was sent."""

    def __init__(
        self,
        answer: httpx.Response,
        added: Mapping[str, str],
        reader: AnswerReader | None = None,
        over: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(self._pieces(answer, reader), status_code=answer.status_code)
        kept = [*_end_to_end(answer.headers.multi_items()), *added.items()]
        self.raw_headers = [(n.encode("latin-1"), v.encode("latin-1")) for n, v in kept]
        self._answer = answer
        self._over = over

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            # A disconnecting caller cancels every await that is not shielded.
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
    """Return the whole body; if it is too large, its pieces as they arrive."""
    pieces = _pieces(request.stream())
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > MOST_BYTES:
        return pieces
    read = bytearray()
    async for piece in pieces:
        read += piece
        if len(read) > MOST_BYTES:
            return _pieces(pieces, first=bytes(read))
    return bytes(read)


async def _pieces(stream: AsyncIterator[bytes], first: bytes = b"") -> AsyncIterator[bytes]:
    if first:
        yield first
    async for piece in stream:
        if piece:
            yield piece


def _refusal(
    api: ModelApi | None, status: int, kind: str, text: str, added: Mapping[str, str] | None = None
) -> Response:
    """Return an error of the proxy itself, in the format that the caller's client reads."""
    content: Mapping[str, Any] = (
        api.error(text, kind) if api else {"error": {"message": text, "type": kind}}
    )
    return JSONResponse(content, status_code=status, headers=dict(added or {}))
