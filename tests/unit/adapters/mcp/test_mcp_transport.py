"""Calls of MCP tools: what becomes of each answer, at a server that is scripted or hostile."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.mcp.mcp_transport import MOUNT, McpTransport
from orchestrator.adapters.mcp.servers import McpServer, SecretText
from orchestrator.adapters.secrets import EnvironmentSecrets
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.mcp_documents import McpListing
from orchestrator.core.errors import TransportFailed
from orchestrator.core.record import JsonObject
from orchestrator.saga.outcome import ToolOutcome
from tests.fakes import MemoryPii
from tests.unit.adapters.http.one_operation import called

TOKEN = "s3cret-token-of-rooms"
SERVER = McpServer(
    name="rooms",
    url="https://rooms.example/mcp",
    headers={"Authorization": SecretText(secret="rooms_token", prefix="Bearer ")},
)
SECRETS = EnvironmentSecrets({"ORCHESTRATOR_SECRET_ROOMS_TOKEN": TOKEN})
BOOKING: JsonObject = {
    "type": "object",
    "properties": {"booking_id": {"type": "string"}},
    "required": ["booking_id"],
}
CITY: JsonObject = {"type": "object", "properties": {"city": {"type": "string"}}}
BOOK: JsonObject = {
    "name": "book_room",
    "description": "Book a room.",
    "inputSchema": CITY,
    "outputSchema": BOOKING,
    "annotations": {"idempotentHint": True},
}
READ: JsonObject = {
    "name": "get_room",
    "description": "Get a room.",
    "inputSchema": CITY,
    "annotations": {"readOnlyHint": True},
}
Handler = Callable[[JsonObject], Awaitable[Any] | Any]


class Rooms(httpx.AsyncBaseTransport):
    """A server of the handshake era that answers calls as a test says."""

    def __init__(self, called: Any = None) -> None:
        self.called = called
        self.streams: httpx.Response | Exception = httpx.Response(405)
        self.tools = [BOOK, READ]
        self.listed: Callable[[JsonObject], Any] | None = None
        self.begins: asyncio.Event | None = None
        """It answers no `initialize` before this is set."""
        self.requests: list[httpx.Request] = []
        self.calls: list[JsonObject] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if request.method != "POST":
            if isinstance(self.streams, Exception):
                raise self.streams
            return self.streams
        await request.extensions["trace"]("http11.send_request_headers.started", {})
        message = json.loads(await request.aread())
        match message["method"]:
            case "initialize":
                if self.begins is not None:
                    await self.begins.wait()
                about = {"name": "rooms", "version": "1"}
                capabilities = {"tools": {"listChanged": True}}
                version = message["params"]["protocolVersion"]
                result: Any = {"protocolVersion": version, "capabilities": capabilities}
                return _result(message, {**result, "serverInfo": about}, {"mcp-session-id": "1"})
            case "notifications/initialized" | "notifications/cancelled":
                return httpx.Response(202)
            case "tools/list" if self.listed is not None:
                answer: httpx.Response = self.listed(message)
                return answer
            case "tools/list":
                return _result(message, {"tools": self.tools})
            case "tools/call":
                self.calls.append(message["params"])
                found = self.called
                if callable(found):
                    found = found(message)
                if asyncio.iscoroutine(found):
                    found = await found
                if isinstance(found, Exception):
                    raise found
                return found if isinstance(found, httpx.Response) else _result(message, found)
        error = {"code": -32601, "message": "no such method"}
        return httpx.Response(200, json={"jsonrpc": "2.0", "id": message["id"], "error": error})


def _result(message: Any, result: Any, headers: dict[str, str] | None = None) -> httpx.Response:
    body = {"jsonrpc": "2.0", "id": message["id"], "result": result}
    return httpx.Response(200, json=body, headers=headers)


def error(code: int, status: int = 200) -> Handler:
    """Return a handler that answers with an error of the protocol."""

    def answer(message: JsonObject) -> httpx.Response:
        fault = {"code": code, "message": "it says"}
        return httpx.Response(status, json={"jsonrpc": "2.0", "id": message["id"], "error": fault})

    return answer


def content(*blocks: Any, **more: Any) -> JsonObject:
    """Return a result with these blocks."""
    return {"content": [*blocks], **more}


def text(words: str) -> JsonObject:
    """Return a block of text."""
    return {"type": "text", "text": words}


def booked(identifier: Any = "b1") -> JsonObject:
    """Return the result of a booking."""
    return content(text("done"), structuredContent={"booking_id": identifier})


@asynccontextmanager
async def client_of(server: Rooms, entry: McpServer = SERVER) -> AsyncIterator[ToolClient]:
    """Yield a client that calls this server."""
    mcp = McpTransport([entry], SECRETS, server, max_answer_bytes=20_000)
    http = httpx.AsyncClient(mounts={MOUNT: mcp}, trust_env=False)
    async with ToolClient(
        secrets=SECRETS, pii=MemoryPii(), http=http, max_answer_bytes=20_000
    ) as tools:
        yield tools


CATALOG = Catalog.from_documents({"rooms": McpListing("rooms", [BOOK, READ]).document})


async def call(
    tools: ToolClient, name: str = "book_room", *, timeout_s: float = 5, key: str | None = "k-1"
) -> ToolOutcome:
    """Call one of the tools."""
    city: JsonObject = {"city": "Oslo"}
    return await called(tools, CATALOG, name, city, timeout_s=timeout_s, idempotency_key=key)


async def outcome(called: Any, name: str = "book_room", **more: Any) -> ToolOutcome:
    """Return the outcome of one call at a server that answers so."""
    async with client_of(Rooms(called)) as tools:
        return await call(tools, name, **more)


async def test_structured_content_is_the_answer() -> None:
    """The key is in `_meta`, and the credential in the header."""
    server = Rooms(booked())
    async with client_of(server) as tools:
        found = await call(tools)

    assert (found.kind, found.body) == ("succeeded", {"booking_id": "b1"})
    (sent,) = server.calls
    key = CATALOG.tool("book_room").key_of("k-1")
    assert sent["arguments"] == {"city": "Oslo"}
    assert isinstance(sent["_meta"], dict) and sent["_meta"]["Idempotency-Key"] == key
    assert {r.headers["Authorization"] for r in server.requests} == {f"Bearer {TOKEN}"}


@pytest.mark.parametrize(
    ("result", "body"),
    [
        (content(text('{"rooms": [1]}')), {"rooms": [1]}),
        (content(text("[1, 2]")), [1, 2]),
        (content(text("two rooms")), {"text": "two rooms"}),
        (content(text("a"), text("b")), {"text": "a\nb"}),
        (content(), {"text": ""}),
        (content(text("7")), {"text": "7"}),
    ],
)
async def test_text_is_the_answer_where_nothing_is_structured(result: Any, body: Any) -> None:
    """Many servers answer with JSON in a text."""
    assert (await outcome(result, "get_room")).body == body


async def test_an_image_is_a_file() -> None:
    """It is described where files are not stored."""
    data = base64.b64encode(b"\x89PNG").decode()
    block = {"type": "image", "mimeType": "image/png", "data": data}
    found = await outcome(content(block), "get_room")

    assert found.kind == "succeeded"
    assert "image/png" in str(found.body) and "iVBOR" not in str(found.body)


@pytest.mark.parametrize(
    ("called", "kind"),
    [
        (error(-32601), "rejected"),
        (error(-32602), "rejected"),
        (error(-32603), "unknown"),
        (error(-32000), "unknown"),
        (error(-32602, 400), "rejected"),
        (content(text("full"), isError=True), "unknown"),
        (booked(7), "unknown"),
        (content(text("done")), "unknown"),
        ({"nothing": "of the protocol"}, "unknown"),
        ({"resultType": "input_required", "content": []}, "unknown"),
        ({"resultType": "task", "content": []}, "unknown"),
        (httpx.Response(500), "unknown"),
        (httpx.Response(401), "rejected"),
        (httpx.Response(202), "unknown"),
        (
            httpx.Response(200, content=b"?", headers={"Content-Type": "application/json"}),
            "unknown",
        ),
        (httpx.Response(200, html="?"), "unknown"),
        (content(text("x" * 200_000)), "unknown"),
    ],
)
async def test_a_call_ends_as_its_answer_says(called: Any, kind: str) -> None:
    """Whatever may have happened is unknown, not rejected."""
    try:
        found = (await outcome(called)).kind
    except TransportFailed as failed:
        found = "unknown" if failed.may_have_arrived else "rejected"

    assert found == kind


async def test_an_error_of_a_read_is_a_refusal() -> None:
    """Nothing can have happened. A secret that a server repeats is hidden in it, and in results."""
    said = f"you sent {TOKEN}"
    found = await outcome(content(text(said)), "get_room")
    refused = await outcome(content(text(f"no such room: {said}"), isError=True), "get_room")

    assert (refused.kind, refused.status) == ("rejected", 422)
    assert "no such room" in str(refused.reason)
    assert TOKEN not in f"{found} {refused}"
    assert "[secret rooms_token]" in str(found.body)


@pytest.mark.parametrize(
    ("fault", "may_have_arrived"),
    [
        (httpx.ConnectError("refused"), False),
        (httpx.ReadError("reset"), True),
        (httpx.RemoteProtocolError("ended"), True),
        (httpx.Response(404), False),
    ],
)
async def test_a_broken_connection_says_if_the_call_may_have_arrived(
    fault: Any, may_have_arrived: bool
) -> None:
    """A session that the server has forgotten was answered before any tool was called."""
    with pytest.raises(TransportFailed) as failed:
        await outcome(fault)

    assert failed.value.may_have_arrived is may_have_arrived


@pytest.mark.parametrize("streams", [httpx.ConnectError("refused"), httpx.Response(404)])
async def test_a_stream_that_cannot_be_resumed_leaves_a_call_unclear(streams: Any) -> None:
    """The server restarted while it worked on a call: nothing says that it did not carry it out."""
    events = b"id: 1\nretry: 10\ndata:\n\n"
    server = Rooms(
        httpx.Response(200, content=events, headers={"Content-Type": "text/event-stream"})
    )
    server.streams = streams
    async with client_of(server) as tools:
        with pytest.raises(TransportFailed) as failed:
            await call(tools)

    assert failed.value.may_have_arrived


async def test_a_forgotten_session_is_opened_again() -> None:
    """By the next attempt."""
    answers: list[Any] = [httpx.Response(404), booked()]
    server = Rooms(lambda _: answers.pop(0))
    async with client_of(server) as tools:
        with pytest.raises(TransportFailed):
            await call(tools)
        found = await call(tools)

    assert found.kind == "succeeded"


async def test_a_session_that_fails_one_call_ends_with_the_last_of_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each may be a consequence of another mission, which would become unknown."""
    monkeypatch.setattr("orchestrator.adapters.mcp.mcp_sessions._LISTED_FOR_S", 0)
    released = asyncio.Event()

    async def late(message: JsonObject) -> httpx.Response:
        await released.wait()
        return _result(message, booked())

    server = Rooms(late)
    async with client_of(server) as tools:
        first = asyncio.create_task(call(tools))
        async with asyncio.timeout(5):
            while not server.calls:  # noqa: ASYNC110  # a test polls
                await asyncio.sleep(0.01)
        server.listed = error(-32603)
        with pytest.raises(TransportFailed) as second:
            await call(tools, key="k-2")
        released.set()
        found = await first
        server.listed = None
        after = await call(tools, key="k-3")

    assert not second.value.may_have_arrived
    assert (found.kind, after.kind) == ("succeeded", "succeeded")
    begun = [one for one in server.requests if b'"initialize"' in one.content]
    assert len(begun) == 2


async def test_a_server_that_does_not_begin_keeps_no_call_beyond_its_time() -> None:
    """Nothing was sent, which the workflow has to hear before it gives the attempt up."""
    server = Rooms(booked())
    server.begins = asyncio.Event()
    began = time.monotonic()
    async with client_of(server) as tools:
        with pytest.raises(TransportFailed) as late:
            await call(tools, timeout_s=0.3)
        took = time.monotonic() - began
        server.begins.set()

    assert not late.value.may_have_arrived
    assert took < 5  # closing a session in order takes up to eight seconds


async def test_a_list_of_tools_has_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Page after page of it would fill the memory of the worker."""
    monkeypatch.setattr("orchestrator.adapters.mcp.mcp_sessions._MOST_LISTED_BYTES", 20_000)
    pages = itertools.count()

    def endless(message: JsonObject) -> httpx.Response:
        page = next(pages)
        tool = {**BOOK, "name": f"book_{page}", "description": "x" * 4_000}
        return _result(message, {"tools": [tool], "nextCursor": str(page)})

    server = Rooms(booked())
    server.listed = endless
    async with client_of(server) as tools:
        with pytest.raises(TransportFailed):
            await call(tools)

    assert next(pages) < 10


async def test_a_result_of_a_useless_depth_is_not_read() -> None:
    """Neither as structured content, nor as JSON in a text."""
    nested: Any = "x"
    for _ in range(120):
        nested = [nested]

    structured = await outcome(content(structuredContent={"deep": nested}), "get_room")
    written = await outcome(content(text(json.dumps(nested))), "get_room")

    assert structured.kind == "unknown"
    assert isinstance(written.body, dict)


async def test_a_call_without_an_answer_in_time_is_unclear_and_cancelled() -> None:
    """The server gets the protocol's cancellation."""
    server = Rooms(lambda _: asyncio.sleep(60))
    async with client_of(server) as tools:
        with pytest.raises(TransportFailed) as failed:
            await call(tools, timeout_s=1)
        await asyncio.sleep(0.2)

    assert failed.value.may_have_arrived
    assert any(b"notifications/cancelled" in request.content for request in server.requests)


@pytest.mark.parametrize(
    ("tools", "served"),
    [
        ([{**BOOK, "description": "Book a room, and pay."}, READ], None),
        ([READ], None),
        ([BOOK, READ], ("get_room",)),
    ],
    ids=["changed", "removed", "left out by the settings"],
)
async def test_a_tool_that_is_not_as_it_was_is_refused(
    tools: list[JsonObject], served: tuple[str, ...] | None
) -> None:
    """Nothing is sent to it, also from a catalog that was made before."""
    server = Rooms(booked())
    server.tools = tools
    async with client_of(server, SERVER.model_copy(update={"tools": served})) as client:
        found = await call(client)

    assert (found.kind, server.calls) == ("rejected", [])
    assert served or "book_room" in str(found.reason)


async def test_a_worker_without_the_server_sends_nothing() -> None:
    """Another worker may have it. A list in which a name is there twice is refused too."""
    twice = Rooms(booked())
    twice.tools = [BOOK, BOOK]
    for server, name in ((Rooms(booked()), "other"), (twice, "rooms")):
        async with client_of(server, SERVER.model_copy(update={"name": name})) as tools:
            with pytest.raises(TransportFailed) as failed:
                await call(tools)
        assert not failed.value.may_have_arrived


async def test_a_server_that_asks_inside_of_an_open_call_is_offered_nothing() -> None:
    """The answer would have to outlive this process."""
    server = Rooms(booked())
    async with client_of(server) as tools:
        await call(tools)
    opened = [json.loads(one.content) for one in server.requests if one.method == "POST"]
    offered = [one["params"]["capabilities"] for one in opened if one["method"] == "initialize"]

    assert offered and not any("elicitation" in one for one in offered)
