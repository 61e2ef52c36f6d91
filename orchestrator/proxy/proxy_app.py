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
from orchestrator.proxy.pruning_transport import warm_up
from orchestrator.pruning.answer_reader import AnswerReader
from orchestrator.pruning.model_apis import api_of
from orchestrator.pruning.model_request import IDENTITY, MOST_BYTES, ModelApi
from orchestrator.pruning.pruner import Mode, Pruned, Pruner, fallen_open, read_mode
from orchestrator.routing.learning.trace import ProxyUsage, RouteRecord, record_of
from orchestrator.routing.profile import PROXY_LIMIT_S
from orchestrator.routing.selection import Selection

_CHARACTERS_A_TOKEN: Final = 4
_BAR: Final = 22
_WIDTH: Final = 420
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
    selection = pruned.selection or Selection(
        tools=(),
        k=0,
        band="fail_open",
        reason=pruned.reason,
        frame=IntentFrame(),
        catalog_size=pruned.offered,
    )
    record = record_of(
        selection,
        mission_id=f"proxy-{uuid.uuid4().hex}",
        called=tuple((name,) for name in exchange.called),
    )
    figures = {
        "mode": pruned.mode,
        "offered": pruned.offered,
        "forwarded": len(pruned.kept),
        "stayed": tuple(sorted(pruned.names.difference(selection.tools))),
        "tokens_saved": pruned.saved_characters // _CHARACTERS_A_TOKEN,
        "overhead_ms": round(exchange.overhead_s * 1000, 2),
    }
    return record.model_copy(update=figures)


def report_page(usage: ProxyUsage) -> str:
    """Return the page as HTML, without scripts or external resources."""
    figures = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in _figures(usage))
    grouped = f"<dl>{figures}</dl>".replace("<dt>", "<div><dt>").replace("</dd>", "</dd></div>")
    charts = "".join(
        f"<h2>{title}</h2>{_bars({str(key): count for key, count in counts.items()})}"
        for title, counts in (
            ("Tools forwarded", usage.widths),
            ("Bands", usage.bands),
            ("Modes", usage.modes),
        )
        if counts
    )
    empty = "" if usage.requests else "<p>No request with tools has passed yet.</p>"
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><title>Tool pruning</title>"
        f'<meta name=viewport content="width=device-width"><style>{_STYLE}</style>'
        f"<h1>Tool pruning</h1>{empty}{grouped}{charts}</html>"
    )


def _figures(usage: ProxyUsage) -> list[tuple[str, str]]:
    return [
        ("requests", f"{usage.requests:,}"),
        ("tools offered", f"{usage.mean_offered:.1f}"),
        ("tools forwarded", f"{usage.mean_forwarded:.2f}"),
        ("called tools forwarded", _percent(usage.recall)),
        ("tokens saved, about", f"{usage.tokens_saved:,}"),
        ("all forwarded", _percent(usage.fail_open)),
        ("unread", f"{usage.unread:,}"),
        ("overhead p50", _milliseconds(usage.overhead_p50_ms)),
        ("overhead p99", _milliseconds(usage.overhead_p99_ms)),
    ]


def _bars(counts: Mapping[str, int]) -> str:
    most = max(counts.values())
    rows = []
    for row, (name, count) in enumerate(counts.items()):
        y, width = row * _BAR, max(1, round(_WIDTH * count / most))
        rows.append(
            f'<text x="0" y="{y + 15}">{escape(name)}</text>'
            f'<rect x="110" y="{y + 3}" width="{width}" height="15" rx="2"/>'
            f'<text x="{118 + width}" y="{y + 15}">{count:,}</text>'
        )
    height = len(counts) * _BAR
    label = escape(", ".join(f"{name}: {count}" for name, count in counts.items()))
    return (
        f'<svg role="img" aria-label="{label}" viewBox="0 0 640 {height}" width="640" '
        f'height="{height}">{"".join(rows)}</svg>'
    )


def _percent(share: float | None) -> str:
    return "\u2013" if share is None else f"{share:.1%}"


def _milliseconds(value: float | None) -> str:
    return "\u2013" if value is None else f"{value:.1f} ms"


Headers = list[tuple[str, str]]
_VERSION: Final = "/v1"
_HOP_BY_HOP: Final = frozenset(
    {
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te"),
        *("trailer", "transfer-encoding", "upgrade", "proxy-connection"),
    }
)
_OURS: Final = "x-orqen-"
_READABLE: Final = "gzip, deflate"
"""Content codings that the answer reader decodes."""
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
        """Return the provider at a base URL.

        Raises:
            UsageError: the text is no http or https address, or contains a query or a password.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"{url!r} is no base URL; give one as https://api.example.com/v1")
        if parts.query or parts.fragment or parts.username or parts.password:
            raise UsageError("the base URL of a provider has no query, no fragment and no password")
        return cls(url.rstrip("/").removesuffix(_VERSION), key)

    def url(self, target: str) -> httpx.URL:
        """Return the provider's URL of a path with its query, beginning with a slash."""
        return httpx.URL(f"{self.base}{target}")

    def headers(self, received: Iterable[tuple[str, str]], *, reads_answer: bool) -> Headers:
        """Return the headers of a request to the provider.

        Args:
            received: the caller's headers.
            reads_answer: True if the answer is read on its way, so that only decodable codings are
                accepted.
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
            kept.append(("accept-encoding", _READABLE if can_unpack else "identity"))
        return kept


def answer_headers(received: Iterable[tuple[str, str]]) -> Headers:
    """Return the headers of an answer to the caller."""
    return _end_to_end(received)


def token_of(received: Iterable[tuple[str, str]]) -> str:
    """Return the token that a caller presents, in the header that its client uses."""
    found = {name.lower(): value for name, value in received}
    for name in _CREDENTIALS:
        if value := found.get(name):
            kind, _, encoded = value.partition(" ")
            if kind.lower() == "basic":
                return _password(encoded)
            return value.removeprefix("Bearer ").strip()
    return ""


def _password(encoded: str) -> str:
    try:
        return base64.b64decode(encoded, validate=True).decode().partition(":")[2]
    except ValueError:
        return ""


def open_client(timeout_s: float) -> httpx.AsyncClient:
    """Return a client without redirects or a limit of connections.

    A provider may stay silent for `timeout_s`; connecting may take ten seconds.
    """
    return httpx.AsyncClient(
        timeout=httpx.Timeout(timeout_s, connect=min(10, timeout_s), pool=None),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=200),
        follow_redirects=False,
        trust_env=False,
    )


def request_of(
    client: httpx.AsyncClient,
    method: str,
    url: httpx.URL,
    headers: Headers,
    content: bytes | AsyncIterable[bytes],
) -> httpx.Request:
    """Return a request with exactly these headers, apart from its length and its host."""
    request = client.build_request(method, url, headers=headers, content=content)
    added = {"user-agent", "accept", "accept-encoding", "connection"} - {n for n, _ in headers}
    for name in added:
        request.headers.pop(name, None)
    return request


def _end_to_end(received: Iterable[tuple[str, str]], without: Iterable[str] = ()) -> Headers:
    pairs = [(name.lower(), value) for name, value in received]
    named = {one.strip().lower() for n, v in pairs if n == "connection" for one in v.split(",")}
    dropped = _HOP_BY_HOP | named | set(without)
    return [(n, v) for n, v in pairs if n not in dropped and not n.startswith(_OURS)]


_MUCH: Final = 1_000_000
FIRST_LIMIT_S: Final = 0.3
"""Minimum time limit for the first request with a list of tools, which must read the list."""
_METHODS: Final = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"]
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
_TOKEN_MISSING: Final = "present the proxy's token"
_CLOSED: Final = 499
"""The caller disconnected, so nobody reads this status."""

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
        async with open_client(proxy.timeout_s) as proxy.client:
            yield

    async def answer(request: Request) -> Response:
        return await _answer(proxy, request)

    def figures(request: Request) -> Response:
        if not _is_caller(proxy, token_of(request.headers.items())):
            asks = {"www-authenticate": 'Basic realm="the token of the proxy, as the password"'}
            return _refusal(None, 401, "authentication_error", _TOKEN_MISSING, asks)
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
    # As bytes: as text, only ASCII strings can be compared.
    return not proxy.token or secrets.compare_digest(presented.encode(), proxy.token.encode())


async def _answer(proxy: Proxy, request: Request) -> Response:
    if request.headers.get("upgrade", "").lower() == "websocket":
        text = "this proxy takes no WebSocket; send the request by POST"
        return _refusal(None, 426, "upgrade_required", text, {"upgrade": "HTTP/1.1"})
    api = api_of(request.url.path) if request.method == "POST" else None
    received = [(name, value) for name, value in request.headers.items()]
    if not _is_caller(proxy, token_of(received)):
        return _refusal(api, 401, "authentication_error", _TOKEN_MISSING)
    target = _target(request)
    if not target.startswith("/"):
        return _refusal(api, 400, "invalid_request_error", "send a path, not an address")
    if api is None:
        return await _passed(proxy, request.method, target, received, _pieces(request))
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
    return await _forward(proxy, request, target, received, api, pruned, began)


async def _pruned(proxy: Proxy, api: ModelApi, as_it_came: Pruned) -> Pruned:
    """Return the request with the tools that fit; unchanged on a failure or timeout.

    A new list of tools, a compressed body and one of megabytes, which take longer than a routing,
    are read in a thread; the list is cached even if its request did not wait for it.
    """
    request, pruner, body = None, proxy.pruner, as_it_came.body
    try:
        reading = partial(pruner.read, api, body, as_it_came.coding)
        is_quick = as_it_came.coding == IDENTITY and len(body) < _MUCH
        request = await _soon(reading, proxy.limit_s, at_once=is_quick)
        if request is None:
            return as_it_came
        is_ready = pruner.is_ready(request)
        limit_s = proxy.limit_s if is_ready else max(proxy.limit_s, FIRST_LIMIT_S)
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


async def _forward(
    proxy: Proxy,
    request: Request,
    target: str,
    received: Headers,
    api: ModelApi,
    pruned: Pruned,
    began: float,
) -> Response:
    url = proxy.upstream.url(target)
    if pruned.coding == IDENTITY:
        received = [pair for pair in received if pair[0] != "content-encoding"]
    headers = proxy.upstream.headers(received, reads_answer=True)
    sent = request_of(proxy.client, request.method, url, headers, pruned.body)
    overhead = time.perf_counter() - began
    added = {**pruned.headers, "x-orqen-overhead-ms": f"{overhead * 1000:.1f}"}
    answer = await _sent(proxy, request, sent, api, added)
    if not isinstance(answer, httpx.Response):
        return answer
    coding = answer.headers.get("content-encoding", "identity")
    reader = AnswerReader(api, is_stream=_is_stream(answer), coding=coding)

    def over() -> None:
        reader.finish()
        proxy.pruner.learn(pruned, reader)
        proxy.seen(Exchange(pruned, tuple(reader.called), overhead))

    return _PassedAnswer(answer, added, reader, over)


async def _passed(
    proxy: Proxy,
    method: str,
    target: str,
    received: Headers,
    content: AsyncIterator[bytes],
    added: Mapping[str, str] | None = None,
) -> Response:
    headers = proxy.upstream.headers(received, reads_answer=False)
    url = proxy.upstream.url(target)
    sent = request_of(proxy.client, method, url, headers, content)
    answer = await _sent(proxy, None, sent, None, added or {})
    return _PassedAnswer(answer, added or {}) if isinstance(answer, httpx.Response) else answer


async def _sent(
    proxy: Proxy,
    request: Request | None,
    sent: httpx.Request,
    api: ModelApi | None,
    added: Mapping[str, str],
) -> httpx.Response | Response:
    """Return the provider's answer as it begins, else an error in the provider's format."""
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


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        continue


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
        kept = [*answer_headers(answer.headers.multi_items()), *added.items()]
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
    path = request.scope.get("raw_path") or request.url.path.encode()
    query = request.scope.get("query_string", b"")
    return (path.split(b"?")[0] + (b"?" + query if query else b"")).decode("latin-1")


def _is_stream(answer: httpx.Response) -> bool:
    kind: str = answer.headers.get("content-type", "")
    return kind.startswith("text/event-stream")


def _refusal(
    api: ModelApi | None, status: int, kind: str, text: str, added: Mapping[str, str] | None = None
) -> Response:
    """Return an error of the proxy itself, in the format that the caller's client reads."""
    content: Mapping[str, Any] = (
        api.error(text, kind) if api else {"error": {"message": text, "type": kind}}
    )
    return JSONResponse(content, status_code=status, headers=dict(added or {}))
