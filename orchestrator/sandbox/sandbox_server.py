"""The sandbox on a real socket, alone or inside a running event loop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from orchestrator.sandbox.app import DocumentMemory, create_app, memories_of, utc_now
from orchestrator.sandbox.document_files import load_documents
from orchestrator.sandbox.effect_ledger import EffectLedger
from orchestrator.sandbox.faults import FaultPlan
from orchestrator.sandbox.playbook import Playbook
from orchestrator.sandbox.responses import TRANSPORT
from orchestrator.sandbox.standard_playbook import STANDARD

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8700
_GRACE_S = 2


@dataclass(frozen=True)
class RunningSandbox:
    """A sandbox that answers at base_url ("http://127.0.0.1:8700", no slash at the end)."""

    base_url: str
    ledger: EffectLedger
    faults: FaultPlan
    memories: tuple[DocumentMemory, ...] = ()
    """Where each document is served, what is remembered of it, and what is not served."""

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.base_url.rpartition(":")[2])


class _DroppableProtocol(H11Protocol):
    """HTTP/1.1 that gives the app its connection, which ASGI has no way to close."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, TRANSPORT: transport}


class _Server(uvicorn.Server):
    """A server that signals when it is ready, and as a guest leaves OS signals to its host."""

    def __init__(self, app: Starlette, *, is_guest: bool) -> None:
        config = uvicorn.Config(
            app,
            http=_DroppableProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=_GRACE_S,
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
        """Return once requests are accepted; raise the error that ended the server before that."""
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
    faults: FaultPlan | None = None,
    clock: Callable[[], datetime] = utc_now,
    seed: int = 0,
    tokens: Collection[str] = (),
    playbook: Playbook = STANDARD,
    is_stocked: bool = False,
    host: str = DEFAULT_HOST,
    port: int = 0,
) -> AsyncIterator[RunningSandbox]:
    """Serve the documents in this event loop until the block ends.

    Args:
        documents: OpenAPI documents by name; see `load_documents`.
        ledger: left open at the end; by default one in memory, closed at the end.
        faults: planned faults; may be changed while it runs.
        clock: returns the current time in UTC.
        seed: of all random values.
        tokens: accepted credentials; empty accepts any.
        playbook: hand-written behaviour in addition to the generic one.
        is_stocked: every id in a request exists.
        host: address to listen on.
        port: 0 takes a free one.

    Raises:
        DocumentError: a document cannot be served.
        OSError: the port is taken.
    """
    plan = faults or FaultPlan()
    with ExitStack() as stack:
        kept = ledger or stack.enter_context(EffectLedger())
        app = create_app(
            documents,
            ledger=kept,
            faults=plan,
            clock=clock,
            seed=seed,
            tokens=tokens,
            playbook=playbook,
            is_stocked=is_stocked,
        )
        listener = stack.enter_context(_listen(host, port))
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
        documents: by name, instead of files: already read, with overlays applied.
        host: address to listen on.
        port: 0 takes a free one.
        db: SQLite file of the ledger; kept for the next run.
        seed: of all random values.
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
    # Declared as TCP, or asyncio keeps Nagle's algorithm on: 40 ms per answer.
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
