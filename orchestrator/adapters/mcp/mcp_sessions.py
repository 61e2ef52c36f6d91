"""Sessions with MCP servers: opened at the first call, kept, and opened again after they end."""

import asyncio
import contextlib
import contextvars
import json
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final, cast

import anyio
import httpx
import httpx2
import mcp.types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter
from pydantic import JsonValue, RootModel, ValidationError

from orchestrator.adapters.http.destinations import AddressRefused
from orchestrator.adapters.http.masking import Hidden, hide_secret
from orchestrator.adapters.http.transport import HTTPX_ERRORS, fault_of
from orchestrator.adapters.mcp.mcp_transport import Exchange
from orchestrator.adapters.mcp.servers import McpServer, Resolved, resolve_secrets
from orchestrator.adapters.secrets import SecretStore
from orchestrator.catalog.mcp_documents import declaration_digest
from orchestrator.core.record import JsonObject
from orchestrator.saga.outcome import InputGiven

_BROKEN = 599
"""Status that stands for a broken exchange: an exception would end the session of other calls."""


CURRENT: ContextVar[Exchange | None] = ContextVar("mcp_exchange", default=None)
"""The exchange of the calling task, which the library's tasks for its request inherit."""


class CheckedHttp(httpx2.AsyncBaseTransport):
    """Sends requests of the MCP library through a transport of httpx.

    The library has an HTTP client of its own; through `CheckedTransport` the addresses, the only
    hosts and the proxy are those of all calls, and faults are noted by call.
    """

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


_INHERITED = ("PATH", "HOME", "LANG")
_EXITS_WITHIN_S = 1.0
"""Time in which a server may end by itself after its input was closed, and after SIGTERM."""
_PIECE = 1 << 16
_LOOKED_AT_S = 0.1
"""Pause between looks at a process: waiting for it means waiting for its pipes too."""

Streams = tuple[
    MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]
]


@asynccontextmanager
async def bounded_stdio(
    command: Sequence[str],
    env: Mapping[str, str],
    *,
    cwd: Path | None,
    max_bytes: int,
    ended: Callable[[], None],
) -> AsyncIterator[Streams]:
    """Start a server and connect to its pipes; its process group is killed at the end.

    The library's own transport holds a line of any length, and passes more of this process's
    environment on. Standard error is dropped: it may repeat secrets.

    Args:
        command: the program and its arguments.
        env: all of its variables but PATH, HOME and LANG.
        cwd: the folder in which it runs.
        max_bytes: the longest message that is read.
        ended: called when no further message comes.

    Raises:
        OSError: the process cannot be started.
    """
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={**inherited, **env},
        cwd=cwd,
        start_new_session=True,
        limit=max_bytes,
    )
    received, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](0)
    reads = asyncio.create_task(_read(process, received))
    reads.add_done_callback(lambda _: ended())
    writes = asyncio.create_task(_write(process, to_send, received))
    watches = asyncio.create_task(_watch(process))
    try:
        yield incoming, outgoing
    finally:
        with anyio.CancelScope(shield=True):
            for task in (reads, writes, watches):
                task.cancel()
            await asyncio.gather(reads, writes, watches, return_exceptions=True)
            if process.stdin is not None:
                process.stdin.close()
            for stop in (None, signal.SIGTERM, signal.SIGKILL):
                if stop is not None:
                    _kill_group(process, stop)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_EXITS_WITHIN_S):
                        await process.wait()
                        break
            _kill_group(process)  # its children outlive it where they ignore the end of their input
            assert process.stdout is not None
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_EXITS_WITHIN_S):
                    # Output that nobody reads any more: its end closes the pipe.
                    while await process.stdout.read(_PIECE):
                        pass
                    await process.wait()
            for stream in (received, incoming, outgoing, to_send):
                await stream.aclose()


async def _read(
    process: asyncio.subprocess.Process,
    received: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    """Pass each line on; the end, or a line beyond the limit, closes the stream."""
    assert process.stdout is not None
    async with received:
        with contextlib.suppress(ValueError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            while line := await process.stdout.readline():
                try:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError:
                    continue  # a server that prints to its output: no message, so no answer
                await received.send(SessionMessage(message))


async def _write(
    process: asyncio.subprocess.Process,
    to_send: MemoryObjectReceiveStream[SessionMessage],
    received: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    assert process.stdin is not None
    async with to_send:
        async for one in to_send:
            text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                process.stdin.write(text.encode() + b"\n")
                await process.stdin.drain()
            except OSError:
                await received.aclose()
                return


async def _watch(process: asyncio.subprocess.Process) -> None:
    """End the group with its leader: what is left of it would keep the output open."""
    while process.returncode is None:  # noqa: ASYNC110  # asyncio announces it to waiters too late
        await asyncio.sleep(_LOOKED_AT_S)
    _kill_group(process)


def _kill_group(process: asyncio.subprocess.Process, how: int = signal.SIGKILL) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, how)


_OPENED_WITHIN_S: Final = 20.0
"""Time in which a server begins; `npx` loads a package first."""
_LISTED_WITHIN_S: Final = 20.0
_LISTED_FOR_S: Final = 5.0
"""Age at which a listing is read again before a call.

A listing before each call would double the time of a call; a server that announces a change is
listed again at once.
"""
_MOST_TOOLS: Final = 10_000
_MOST_PAGES: Final = 1_000
_MOST_LISTED_BYTES: Final = 20_000_000
_WIRE_FACTOR: Final = 4
"""An answer has a result as text and as structured content, with escapes."""


class _Result(RootModel[dict[str, JsonValue]]):
    """Any result: the library has checked it by the schema of its protocol version."""


class SessionUnopened(Exception):
    """A server has not answered the first requests of a session; no tool was called."""


class ListingRefused(Exception):
    """A server lists more than is read, or repeats a name."""


class McpSession:
    """A session with one server, owned by a task of its own.

    The library's client has to be left by the task that entered it; calls come from any task.
    """

    def __init__(self, server: McpServer, http: httpx.AsyncBaseTransport, max_bytes: int) -> None:
        """Describe the session; `open` begins it."""
        self._server = server
        self._http = http
        self._max_bytes = max_bytes
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._uses = 0
        self._is_retired = False
        self._listed_at = float("-inf")
        self._declared: dict[str, str] = {}
        self.hidden: Sequence[Hidden] = ()

    @property
    def is_closed(self) -> bool:
        """True once its connection was closed, and its process has ended."""
        return self._task is not None and self._task.done()

    @property
    def has_ended(self) -> bool:
        """True if the connection is closed, or is being closed."""
        return self._task is None or self._task.done() or self._stop.is_set()

    @property
    def is_over(self) -> bool:
        """True if no further call can be made."""
        return self.has_ended or self._is_retired

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """Keep the session open while the body makes a call, even if it is retired meanwhile."""
        self._uses += 1
        try:
            yield
        finally:
            self._uses -= 1
            if self._is_retired and not self._uses:
                self._stop.set()

    def retire(self) -> None:
        """Take no further call, and end with the last one under way: each may be a consequence."""
        self._is_retired = True
        if not self._uses:
            self._stop.set()

    async def open(self, secrets: SecretStore) -> None:
        """Begin the session.

        Raises:
            SecretMissing: a credential is not configured.
            SessionUnopened: the server cannot be reached, or does not answer as MCP servers do.
        """
        texts = self._server.headers if self._server.url else self._server.env
        resolved = await asyncio.to_thread(resolve_secrets, texts, secrets, self._server.host)
        self.hidden = [hide_secret(name, value) for name, value in resolved.secrets.items()]
        opened: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        exchange = Exchange()
        context = contextvars.copy_context()
        context.run(CURRENT.set, exchange)
        self._task = asyncio.create_task(self._serve(resolved, opened), context=context)
        try:
            async with asyncio.timeout(_OPENED_WITHIN_S):
                self._client = await asyncio.shield(opened)
        except TimeoutError as late:
            self._abandon(opened)
            raise SessionUnopened(f"it has not begun in {_OPENED_WITHIN_S:g} s") from late
        except asyncio.CancelledError:
            self._abandon(opened)
            raise
        except SessionUnopened as error:
            fault, reason = exchange.fault, str(error)
            if isinstance(fault, AddressRefused):
                reason = f"{fault}; {fault.remedy}"
            elif fault is not None:
                reason = fault_of(fault).value
            elif (exchange.status or 0) >= 400:
                reason = f"it answers HTTP {exchange.status}"
            raise SessionUnopened(reason) from error

    def _abandon(self, opened: "asyncio.Future[Client]") -> None:
        """End what has not begun; nothing waits for it, as the call's time is over."""
        opened.cancel()
        self._stop.set()
        if self._task is not None:
            self._task.cancel()

    async def _serve(self, resolved: Resolved, opened: "asyncio.Future[Client]") -> None:
        reason = "it has ended"
        try:
            client = Client(
                cast("Any", self._transport(resolved)),
                message_handler=self._on_message,
                elicitation_callback=_decline,
                client_info=types.Implementation(name="orchestrator", version="0.1.0"),
                cache=None,
            )
            async with client:
                if not opened.done():
                    opened.set_result(client)
                await self._stop.wait()
        # Only the kinds: their texts may repeat headers or a command with its secrets.
        except BaseExceptionGroup as group:
            reason = type(group.exceptions[0]).__name__
        except Exception as error:  # the library raises its own, httpx2's, OSError and pydantic's
            reason = type(error).__name__
        finally:
            if not opened.done():
                opened.set_exception(SessionUnopened(f"no session: {reason}"))

    @asynccontextmanager
    async def _transport(self, resolved: Resolved) -> AsyncIterator[Any]:
        server, most = self._server, _WIRE_FACTOR * self._max_bytes
        async with AsyncExitStack() as stack:
            streams: Any
            if server.url is None:
                streams = bounded_stdio(
                    server.command,
                    resolved.texts,
                    cwd=server.cwd,
                    max_bytes=most,
                    ended=self._stop.set,
                )
            else:
                client = httpx2.AsyncClient(
                    transport=CheckedHttp(self._http, max_bytes=most),
                    headers={"Accept-Encoding": "identity", **resolved.texts},
                    timeout=httpx2.Timeout(30, read=None),
                    trust_env=False,
                )
                http = await stack.enter_async_context(client)
                streams = streamable_http_client(
                    server.url, http_client=http, max_sse_event_size=most
                )
            incoming, outgoing = await stack.enter_async_context(streams)
            yield incoming, _FormsAlone(outgoing)

    async def close(self) -> None:
        """End the session, and the server's process."""
        self._stop.set()
        if self._task is not None:
            with contextlib.suppress(TimeoutError, asyncio.CancelledError):
                await asyncio.wait_for(asyncio.shield(self._task), 8)
            self._task.cancel()

    # -- what the server sends ---------------------------------------------------------------------

    async def _on_message(self, message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._listed_at = float("-inf")

    # -- requests ----------------------------------------------------------------------------------

    async def list_tools(self) -> list[JsonObject]:
        """Return all tools as the server wrote them; the library drops what it does not know.

        Raises:
            ListingRefused: there are too many, one name twice, or no end in time.
            MCPError, ValidationError: the server answered otherwise.
        """
        try:
            async with asyncio.timeout(_LISTED_WITHIN_S):
                tools: dict[str, JsonObject] = {}
                cursor: str | None = None
                size, repeats_in_headers = 0, False
                for _ in range(_MOST_PAGES):
                    params = types.PaginatedRequestParams(cursor=cursor)
                    page = await self._client.session.send_request(
                        types.ListToolsRequest(params=params), _Result
                    )
                    listed = page.root.get("tools")
                    for written in listed if isinstance(listed, list) else ():
                        name = str(types.Tool.model_validate(written).name)
                        tool = cast("JsonObject", written)
                        text = json.dumps(written)
                        size += len(text)
                        repeats_in_headers = repeats_in_headers or "x-mcp-header" in text
                        if size > _MOST_LISTED_BYTES:
                            raise ListingRefused("it lists more than 20 MB of tools")
                        if tools.setdefault(name, tool) is not tool:
                            raise ListingRefused(f"it lists two tools called {name!r}")
                    if len(tools) > _MOST_TOOLS:
                        raise ListingRefused(f"it lists more than {_MOST_TOOLS:,} tools")
                    following = page.root.get("nextCursor")
                    cursor = following if isinstance(following, str) else None
                    if cursor is None:
                        break
                else:
                    raise ListingRefused(f"its list has more than {_MOST_PAGES:,} pages")
                if repeats_in_headers:
                    # By this the library knows what to repeat in headers.
                    await self._client.list_tools()
                self._declared = {name: declaration_digest(tool) for name, tool in tools.items()}
                self._listed_at = time.monotonic()
                return list(tools.values())
        except TimeoutError as late:
            why = f"it has not listed its tools in {_LISTED_WITHIN_S:g} s"
            raise ListingRefused(why) from late

    async def declaration_of(self, tool: str) -> str | None:
        """Return the digest of what the server declares of a tool now; None: it lists no such tool.

        Raises: as `list_tools`.
        """
        if time.monotonic() - self._listed_at > _LISTED_FOR_S:
            await self.list_tools()
        return self._declared.get(tool)

    async def call(
        self,
        tool: str,
        arguments: JsonObject,
        meta: Mapping[str, str],
        exchange: Exchange,
        given: InputGiven | None = None,
    ) -> JsonObject:
        """Call a tool once; `given` is the answer to what the server asked during the same call.

        Raises:
            MCPError: the server answered with an error, or the connection ended.
            ValidationError: the result is none of the protocol.
        """
        params: dict[str, Any] = {"name": tool, "arguments": arguments, "_meta": dict(meta) or None}
        if given is not None:
            params |= {"inputResponses": given.answers or None, "requestState": given.state}
        request = types.CallToolRequest(params=types.CallToolRequestParams.model_validate(params))
        token = CURRENT.set(exchange)
        if self._server.url is None:
            await exchange.on_event("stdio.send_request_headers.started", {})
        try:
            sent = asyncio.create_task(self._client.session.send_request(request, _Result))
            try:
                assert self._task is not None
                await asyncio.wait({sent, self._task}, return_when=asyncio.FIRST_COMPLETED)
                if not sent.done():
                    raise MCPError(types.CONNECTION_CLOSED, "the session ended")
                return sent.result().root
            finally:
                sent.cancel()
        finally:
            CURRENT.reset(token)


async def _decline(context: object, params: object) -> types.ElicitResult:
    """Decline a request inside of a call: its answer would have to outlive this process."""
    return types.ElicitResult(action="decline")


class _FormsAlone:
    """Offers forms alone, and no elicitation to servers that ask inside of an open call.

    The library offers all modes to servers of every version. No task stands in between: the
    transport reads the context of the sender.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def send(self, item: Any) -> None:
        params = getattr(item.message, "params", None) or {}
        if isinstance(offered := params.get("capabilities"), dict):
            offered.pop("elicitation", None)
        offered = (params.get("_meta") or {}).get(types.CLIENT_CAPABILITIES_META_KEY)
        if isinstance(offered, dict) and "elicitation" in offered:
            offered["elicitation"] = {"form": {}}
        await self._stream.send(item)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> "_FormsAlone":
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> None:
        await self._stream.__aexit__(*raised)


__all__ = ["ListingRefused", "MCPError", "McpSession", "SessionUnopened", "ValidationError"]
