"""A provider on a real socket whose every answer a test decides, and a client that calls it."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import TransportFailed
from orchestrator.core.record import JsonObject
from orchestrator.saga.outcome import ToolOutcome
from tests.fakes import MemoryPii, MemorySecrets


@dataclass
class Seen:
    """A request as it arrived."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Provider:
    """What a test says to answer, and what was asked."""

    port: int = 0
    answer: Response = field(default_factory=lambda: JSONResponse({"ok": True}))
    seen: list[Seen] = field(default_factory=list)

    def gives(self, data: bytes, content_type: str | None) -> None:
        """Answer with a success whose body are these bytes."""
        self.answer = Response(data)
        if content_type is not None:
            self.answer.raw_headers.append((b"content-type", content_type.encode()))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        query = scope["query_string"].decode()
        target = scope["raw_path"].decode() + (f"?{query}" if query else "")
        headers = dict(request.headers)
        self.seen.append(Seen(request.method, target, headers, await request.body()))
        await self.answer(scope, receive, send)


class _Server(uvicorn.Server):
    """One that leaves the signal handlers of the test run alone."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@pytest.fixture(scope="session")
async def running_provider() -> AsyncIterator[Provider]:
    # With the protocol named, asyncio switches Nagle's algorithm off; without, each answer waits.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    provider = Provider(port=listening.getsockname()[1])
    server = _Server(
        uvicorn.Config(provider, log_level="critical", lifespan="off", date_header=False)
    )
    # A client that is faster than the server waits in the socket's queue.
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    yield provider
    server.should_exit = True
    await serving


@pytest.fixture
def provider(running_provider: Provider) -> Iterator[Provider]:
    running_provider.seen.clear()
    running_provider.answer = JSONResponse({"ok": True})
    yield running_provider


Conversation = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture
async def raw_provider() -> AsyncIterator[Callable[[Conversation], Awaitable[int]]]:
    """Starts a server that speaks as the test tells it, byte for byte; gives its port."""
    async with contextlib.AsyncExitStack() as stack:

        async def start(conversation: Conversation) -> int:
            async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                with contextlib.suppress(ConnectionError):
                    await reader.readuntil(b"\r\n\r\n")
                    await conversation(reader, writer)
                writer.close()

            server = await asyncio.start_server(converse, "127.0.0.1", 0)
            stack.callback(server.close)
            port: int = server.sockets[0].getsockname()[1]
            return port

        yield start


Says = Callable[..., Awaitable[int]]


@pytest.fixture
def says(raw_provider: Callable[[Conversation], Awaitable[int]]) -> Says:
    """Starts a server that says these bytes, piece by piece with pauses; gives its port."""

    async def start(*pieces: bytes, pause_s: float = 0.0) -> int:
        async def conversation(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(pause_s)

        return await raw_provider(conversation)

    return start


_OBJECT: JsonObject = {"type": "object"}


def shop_document() -> dict[str, Any]:
    """One operation per thing that a request or an answer can be."""

    def answers(schema: JsonObject, *, status: str = "200") -> dict[str, Any]:
        problem = {"application/problem+json": {"schema": {"type": "object"}}}
        return {
            status: {"description": "done", "content": {"application/json": {"schema": schema}}},
            "404": {"description": "no"},
            "409": {"description": "no", "content": problem},
            "422": {"description": "no", "content": problem},
            "5XX": {"description": "broken"},
        }

    def query(name: str, **more: Any) -> dict[str, Any]:
        return {"name": name, "in": "query", **more}

    booking: JsonObject = {
        "type": "object",
        "required": ["booking_id"],
        "properties": {
            "booking_id": {"type": "string"},
            "price": {
                "type": "object",
                "properties": {"amount": {"type": "number"}, "currency": {"type": "string"}},
            },
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Shop", "version": "1"},
        "servers": [
            {
                "url": "http://{host}:{port}/shop",
                "variables": {"host": {"default": "127.0.0.1"}, "port": {"default": "1"}},
            }
        ],
        "paths": {
            "/items/{item_id}": {
                "get": {
                    "operationId": "item_get",
                    "x-orchet-tool": True,
                    "parameters": [
                        {
                            "name": "item_id",
                            "in": "path",
                            "required": True,
                            "schema": {"type": "string"},
                        },
                        query("color", schema={"type": "array", "items": {"type": "string"}}),
                        query(
                            "filter",
                            style="deepObject",
                            schema={"type": "object", "properties": {"size": {"type": "integer"}}},
                        ),
                        query("where", content={"application/json": {"schema": _OBJECT}}),
                        query("old", deprecated=True, schema={"type": "string"}),
                        {"name": "X-Tenant", "in": "header", "schema": {"type": "string"}},
                        {"name": "session", "in": "cookie", "schema": {"type": "string"}},
                    ],
                    "responses": answers({"type": "object", "required": ["ok"]}),
                }
            },
            "/bookings": {
                "post": {
                    "operationId": "booking_create",
                    "x-orchet-tool": True,
                    "x-orchet-requires-confirmation": "structured-itinerary",
                    "x-orchet-pii-required": ["traveler_id", "birth_year"],
                    "x-orchet-cancels": "booking_cancel",
                    "x-orchet-compensation-args": {
                        "booking_id": "$response.body#/booking_id",
                        "link": "$response.header.Location",
                    },
                    "parameters": [
                        {
                            "name": "Idempotency-Key",
                            "in": "header",
                            "required": True,
                            "schema": {"type": "string", "maxLength": 255},
                        }
                    ],
                    "requestBody": {
                        "required": True,
                        "content": {
                            "application/json": {
                                "schema": {
                                    "type": "object",
                                    "required": ["offer_id", "traveler_id"],
                                    "properties": {
                                        "offer_id": {"type": "string"},
                                        "traveler_id": {"type": "string", "pattern": "^T-"},
                                        "birth_year": {"type": "integer", "minimum": 1900},
                                        "note": {"type": "string"},
                                        "guests": {
                                            "type": "array",
                                            "items": {
                                                "type": "object",
                                                "properties": {"id": {"type": "string"}},
                                            },
                                        },
                                    },
                                }
                            }
                        },
                    },
                    "responses": answers(booking, status="201"),
                }
            },
            "/cancel": {
                "post": {
                    "operationId": "booking_cancel",
                    "x-orchet-tool": True,
                    "x-orchet-cancel-for": "booking_create",
                    "x-orchet-requires-confirmation": False,
                    "requestBody": {
                        "required": True,
                        "content": {
                            "application/json": {
                                "schema": {
                                    "type": "object",
                                    "properties": {
                                        "booking_id": {"type": "string"},
                                        "link": {"type": "string"},
                                    },
                                }
                            }
                        },
                    },
                    "responses": answers(_OBJECT),
                }
            },
            "/form": {
                "post": {
                    "operationId": "form_send",
                    "x-orchet-tool": True,
                    "x-orchet-requires-confirmation": False,
                    "requestBody": {
                        "required": True,
                        "content": {
                            "application/x-www-form-urlencoded": {
                                "schema": {
                                    "type": "object",
                                    "properties": {
                                        "name": {"type": "string"},
                                        "tags": {"type": "array", "items": {"type": "string"}},
                                        "size": {"type": "object"},
                                        "place": {"type": "object"},
                                    },
                                },
                                "encoding": {"place": {"style": "deepObject", "explode": True}},
                            }
                        },
                    },
                    "responses": answers(_OBJECT),
                }
            },
            **{
                f"/secured/{scheme}": {
                    "get": {
                        "operationId": f"secured_{scheme}",
                        "x-orchet-tool": True,
                        "security": [{scheme: []}],
                        "responses": answers(_OBJECT),
                    }
                }
                for scheme in ("key_header", "key_query", "key_cookie", "bearer", "basic")
            },
        },
        "components": {
            "securitySchemes": {
                "key_header": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
                "key_query": {"type": "apiKey", "in": "query", "name": "key"},
                "key_cookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
                "bearer": {"type": "http", "scheme": "Bearer"},
                "basic": {"type": "http", "scheme": "basic"},
            }
        },
    }


@pytest.fixture(scope="session")
def shop() -> Catalog:
    return Catalog.from_documents({"shop": shop_document()})


@pytest.fixture(scope="session")
def catalog(shop: Catalog) -> Catalog:
    """What is called; a folder below may call something else than the shop."""
    return shop


@dataclass
class Caller:
    """Calls tools as a worker would, with less to say."""

    catalog: Catalog
    client: ToolClient

    async def __call__(
        self,
        tool: str,
        arguments: JsonObject | None = None,
        *,
        key: str | None = "m1.leg.1",
        timeout_s: float = 5.0,
    ) -> ToolOutcome:
        return await self.client.call(
            self.catalog,
            self.catalog.tool(tool),
            arguments or {},
            call_id="m1.leg.1",
            idempotency_key=key,
            timeout_s=timeout_s,
        )

    async def failure(
        self, tool: str, arguments: JsonObject | None = None, **options: Any
    ) -> TransportFailed:
        """What a call fails with that gets no answer."""
        with pytest.raises(TransportFailed) as failure:
            await self(tool, arguments, **options)
        return failure.value


SECRETS = {
    "shop__key_header": "k-header-secret",
    "shop__key_query": "k query&secret",
    "shop__key_cookie": "k-cookie-secret",
    "shop__bearer": "bearer-t0ken-value",
    "shop__basic": "user:pass-w0rd-long",
}
PERSONAL = {"traveler_id": "T-100942", "birth_year": "1984"}


CallAt = Callable[..., Caller]


@pytest.fixture(scope="session")
def credentials() -> dict[str, str]:
    """The secrets that the client finds."""
    return SECRETS


@pytest.fixture
async def call_at(catalog: Catalog, credentials: dict[str, str]) -> AsyncIterator[CallAt]:
    """Makes a caller of the provider at a port."""
    async with contextlib.AsyncExitStack() as stack:

        def at(port: int, **options: Any) -> Caller:
            options = {
                "secrets": MemorySecrets(credentials),
                "pii": MemoryPii(PERSONAL),
                "server_variables": {name: {"port": str(port)} for name in ("shop", "doc")},
                "allowed_private_hosts": ["127.0.0.1"],
                **options,
            }
            client = ToolClient(**options)
            stack.push_async_callback(client.aclose)
            return Caller(catalog, client)

        yield at


@pytest.fixture
def call(call_at: CallAt, provider: Provider) -> Caller:
    return call_at(provider.port)
