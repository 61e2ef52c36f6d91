"""Serves the sandbox on a real socket, alone or inside a running event loop; and its client."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import httpx
import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from orchestrator.sandbox.app import DocumentMemory, create_app, memories_of
from orchestrator.sandbox.document_reading import load_documents
from orchestrator.sandbox.effect_ledger import EffectLedger
from orchestrator.sandbox.faults import RULES, FaultPlan, FaultRule
from orchestrator.sandbox.playbook import STANDARD, Playbook
from orchestrator.sandbox.served_schemas import JsonObject
from orchestrator.sandbox.wire_values import TRANSPORT

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8700


@dataclass(frozen=True)
class RunningSandbox:
    """A sandbox that answers at base_url ("http://127.0.0.1:8700", no slash at the end)."""

    base_url: str
    ledger: EffectLedger
    faults: FaultPlan
    memories: tuple[DocumentMemory, ...] = ()
    """Each document's path, its remembered resources, and the operations not served."""

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.base_url.rpartition(":")[2])


class _DroppableProtocol(H11Protocol):
    """HTTP/1.1 that gives the app its connection, which ASGI provides no way to close."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, TRANSPORT: transport}


class _Server(uvicorn.Server):
    """A server that signals readiness, and inside a host loop leaves OS signals to the host."""

    def __init__(self, app: Starlette, *, is_guest: bool) -> None:
        config = uvicorn.Config(
            app,
            http=_DroppableProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=2,
        )
        super().__init__(config)
        self._is_guest = is_guest
        self._ready = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        with nullcontext() if self._is_guest else super().capture_signals():
            yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready.set()

    async def until_ready(self, running: asyncio.Task[None]) -> None:
        """Return once requests are accepted; raise the error that ended the server earlier."""
        ready = asyncio.create_task(self._ready.wait())
        await asyncio.wait({ready, running}, return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            ready.cancel()
            await running


@asynccontextmanager
async def running_sandbox(
    documents: Mapping[str, Mapping[str, Any]],
    *,
    ledger: EffectLedger | None = None,
    seed: int = 0,
    playbook: Playbook = STANDARD,
    is_stocked: bool = False,
    port: int = 0,
) -> AsyncIterator[RunningSandbox]:
    """Serve the documents in this event loop until the block ends.

    Args:
        documents: OpenAPI documents by name; see `load_documents`.
        ledger: left open at the end; by default one in memory, closed at the end.
        seed: seeds all random values.
        playbook: hand-written behaviour in addition to the generic one.
        is_stocked: every id in a request exists.
        port: 0 takes a free one.

    Raises:
        DocumentError: a document cannot be served.
        OSError: the port is taken.
    """
    plan = FaultPlan()
    with ExitStack() as stack:
        kept = ledger or stack.enter_context(EffectLedger())
        app = create_app(
            documents,
            ledger=kept,
            faults=plan,
            seed=seed,
            playbook=playbook,
            is_stocked=is_stocked,
        )
        listener = stack.enter_context(_listen(DEFAULT_HOST, port))
        server = _Server(app, is_guest=True)
        task = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            await server.until_ready(task)
            yield RunningSandbox(_url(listener), kept, plan, memories_of(app))
        finally:
            server.should_exit = True
            await task


def run(
    specs: Iterable[Path | str] = (),
    *,
    documents: Mapping[str, Mapping[str, Any]] | None = None,
    host: str = DEFAULT_HOST,
    port: int = DEFAULT_PORT,
    db: Path | str = ":memory:",
    seed: int = 0,
    on_ready: Callable[[RunningSandbox], None] = lambda sandbox: None,
) -> None:
    """Serve documents until SIGINT or SIGTERM.

    Args:
        specs: OpenAPI files, or folders of them.
        documents: by name, in place of files: already loaded, with overlays applied.
        host: address to listen on.
        port: 0 takes a free one.
        db: SQLite file of the ledger; it remains for the next run.
        seed: seeds all random values.
        on_ready: called once requests are accepted.

    Raises:
        DocumentError: a document is missing, does not parse or cannot be served.
        OSError: the port is taken.
    """

    async def serve() -> None:
        faults = FaultPlan(seed)
        with EffectLedger(db) as ledger, _listen(host, port) as listener:
            served = load_documents(specs) if documents is None else documents
            app = create_app(served, ledger=ledger, faults=faults, seed=seed)
            server = _Server(app, is_guest=False)
            task = asyncio.create_task(server.serve(sockets=[listener]))
            await server.until_ready(task)
            on_ready(RunningSandbox(_url(listener), ledger, faults, memories_of(app)))
            await task

    with suppress(KeyboardInterrupt):  # uvicorn raises the signal again after shutdown
        asyncio.run(serve())


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Declared as TCP; otherwise asyncio leaves Nagle's algorithm on: 40 ms per answer.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError:
        listener.close()
        raise
    return listener


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class SandboxClient:
    """Client of the endpoints under /_sandbox; results are plain JSON.

    Example:
        async with SandboxClient("http://127.0.0.1:8700") as sandbox:
            assert await sandbox.live("m-7f3a") == []
    """

    def __init__(
        self, base_url: str, *, timeout_s: float = 10.0, keeps_connections: bool = True
    ) -> None:
        """Take the address; without `keeps_connections` each request has its own connection."""
        # The sandbox closes an idle connection after five seconds.
        kept = None if keeps_connections else 0
        limits = httpx.Limits(max_keepalive_connections=kept, keepalive_expiry=2.0)
        # trust_env: a proxy of the environment must not intercept loopback requests.
        self._http = httpx.AsyncClient(
            base_url=f"{base_url.rstrip('/')}/_sandbox",
            timeout=timeout_s,
            limits=limits,
            trust_env=False,
        )

    async def health(self) -> bool:
        """Return True when the sandbox answers."""
        return bool((await self._get("/health"))["healthy"])

    async def ledger(self, mission_id: str | None = None) -> list[JsonObject]:
        """Return every effect, oldest first."""
        return list((await self._get("/ledger", mission_id))["effects"])

    async def requests(self, mission_id: str | None = None) -> list[JsonObject]:
        """Return every request that reached an operation, oldest first."""
        return list((await self._get("/ledger", mission_id))["requests"])

    async def live(self, mission_id: str | None = None) -> list[JsonObject]:
        """Return the live obligations."""
        return list((await self._get("/live", mission_id))["live"])

    async def duplicates(self, mission_id: str | None = None) -> list[JsonObject]:
        """Return the calls that had their effect more than once."""
        return list((await self._get("/duplicates", mission_id))["duplicates"])

    async def set_faults(self, rules: Sequence[FaultRule], *, seed: int | None = None) -> None:
        """Replace the planned faults."""
        plan = {"seed": seed, "rules": RULES.dump_python(list(rules), mode="json")}
        (await self._http.put("/faults", json=plan)).raise_for_status()

    async def add_faults(self, rules: Sequence[FaultRule]) -> None:
        """Append planned faults to those that are set."""
        plan = {"rules": RULES.dump_python(list(rules), mode="json")}
        (await self._http.post("/faults", json=plan)).raise_for_status()

    async def faults(self, request_prefix: str = "") -> JsonObject:
        """Return the planned faults of a prefix, or all, with each rule's strikes."""
        return await self._get("/faults", request_prefix=request_prefix)

    async def clear_faults(self) -> None:
        """Remove all planned faults."""
        (await self._http.delete("/faults")).raise_for_status()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def _get(
        self, path: str, mission_id: str | None = None, *, request_prefix: str = ""
    ) -> JsonObject:
        given = {"mission": mission_id, "request_prefix": request_prefix}
        params = {name: value for name, value in given.items() if value}
        try:
            response = await self._http.get(path, params=params)
        except httpx.RemoteProtocolError:  # it closed an idle connection at that moment
            response = await self._http.get(path, params=params)
        response.raise_for_status()
        found: JsonObject = response.json()
        return found
