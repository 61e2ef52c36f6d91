"""A worker's HTTP endpoints for probes and scrapers: /healthz, /readyz and /metrics."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from orchestrator.core.errors import UsageError
from orchestrator.runtime.worker_state import WorkerState

MetricsText = Callable[[], tuple[bytes, str]]
"""Returns the current metrics and their content type."""

_log = logging.getLogger(__name__)
_VARIABLE = "ORCHESTRATOR_HEALTH"
_CLOSES_WITHIN_S = 1


def health_app(state: WorkerState, metrics: MetricsText | None = None) -> Starlette:
    """Return the app; it shows counts, task queues and the server, and nothing about missions.

    Args:
        state: the state of the worker.
        metrics: the text of /metrics; None: the path answers 404.
    """

    async def healthz(_: Request) -> Response:
        """Answer if the process can answer at all, which a stuck event loop cannot."""
        return JSONResponse({"status": "alive", "phase": state.phase})

    async def readyz(_: Request) -> Response:
        """Answer if the worker can work now, or why not."""
        hindrance = await state.hindrance()
        shown = {
            "ready": hindrance is None,
            "phase": state.phase,
            "why_not": hindrance,
            "task_queues": state.task_queues,
            "activities_in_flight": state.running,
        }
        return JSONResponse(shown, status_code=200 if hindrance is None else 503)

    async def measured(_: Request) -> Response:
        if metrics is None:
            return PlainTextResponse("this worker keeps no metrics\n", status_code=404)
        text, content_type = await asyncio.to_thread(metrics)
        return Response(text, media_type=content_type)

    return Starlette(
        routes=[
            Route("/healthz", healthz),
            Route("/readyz", readyz),
            Route("/metrics", measured),
        ]
    )


@asynccontextmanager
async def served_health(
    address: str, state: WorkerState, metrics: MetricsText | None = None
) -> AsyncIterator[str]:
    """Answer probes while the block runs; yield the URL.

    The server runs in the worker's event loop, so that a stuck loop stops the answers too.

    Raises:
        UsageError: the address is invalid, or is taken.
    """
    host, port = read_address(address)
    with _listening(host, port) as listener:
        server = _Server(
            uvicorn.Config(
                health_app(state, metrics),
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                timeout_graceful_shutdown=_CLOSES_WITHIN_S,
            )
        )
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            shown = f"[{host}]" if ":" in host else host
            url = f"http://{shown}:{listener.getsockname()[1]}"
            _log.info("health and metrics at %s", url)
            yield url
        finally:
            server.should_exit = True
            await serving


def read_address(address: str) -> tuple[str, int]:
    """Return host and port of `127.0.0.1:8080` or `[::]:8080`.

    Raises:
        UsageError: the text has another form.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise UsageError(f"{_VARIABLE}: {address!r} is no HOST:PORT, e.g. 127.0.0.1:8080")
    return host.strip("[]"), int(port)


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise UsageError(
            f"{_VARIABLE}: cannot listen on {host}:{port}: {error.strerror}; "
            "choose another port, or stop what listens there"
        ) from error
    return listener


class _Server(uvicorn.Server):
    """A server that leaves the signals to the worker in whose process it runs."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
