"""A worker's HTTP endpoints for probes and scrapers: /healthz, /readyz and /metrics."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from orchestrator.core.errors import UsageError
from orchestrator.proxy.server import read_address, running_app

if TYPE_CHECKING:  # loads the SDK's worker
    from orchestrator.runtime.worker_state import WorkerState

MetricsText = Callable[[], tuple[bytes, str]]
"""Returns the current metrics and their content type."""

_log = logging.getLogger(__name__)
_VARIABLE = "ORCHESTRATOR_HEALTH"
_CLOSES_WITHIN_S = 1


def probe_routes(
    hindrance: Callable[[], Awaitable[str | None]],
    *,
    shown: Callable[[], dict[str, object]] = dict,
    metrics: MetricsText | None = None,
) -> list[Route]:
    """Return the routes for probes and scrapers of a process.

    `hindrance` returns why the process cannot work now, `shown` more fields of /readyz, `metrics`
    the text of /metrics; without it, the path answers 404.
    """

    async def healthz(_: Request) -> Response:
        """Answer if the process can answer at all, which a stuck event loop cannot."""
        return JSONResponse({"status": "alive"})

    async def readyz(_: Request) -> Response:
        why_not = await hindrance()
        state = {"ready": why_not is None, "why_not": why_not, **shown()}
        return JSONResponse(state, status_code=200 if why_not is None else 503)

    async def measured(_: Request) -> Response:
        if metrics is None:
            return PlainTextResponse("this process keeps no metrics\n", status_code=404)
        text, content_type = await asyncio.to_thread(metrics)
        return Response(text, media_type=content_type)

    return [Route("/healthz", healthz), Route("/readyz", readyz), Route("/metrics", measured)]


def health_app(state: "WorkerState", metrics: MetricsText | None = None) -> Starlette:
    """Return the app of a worker; it shows counts and task queues, and nothing about missions."""

    def shown() -> dict[str, object]:
        return {
            "phase": state.phase,
            "task_queues": state.task_queues,
            "activities_in_flight": state.running,
        }

    return Starlette(routes=probe_routes(state.hindrance, shown=shown, metrics=metrics))


@asynccontextmanager
async def served_health(
    address: str, state: "WorkerState", metrics: MetricsText | None = None
) -> AsyncIterator[str]:
    """Answer probes while the block runs; yield the URL.

    The server runs in the worker's event loop, so that a stuck loop stops the answers too.
    """
    app = health_app(state, metrics)
    async with AsyncExitStack() as stack:
        try:
            host, port = read_address(address)
            serving = running_app(app, host=host, port=port, grace_s=_CLOSES_WITHIN_S)
            url = await stack.enter_async_context(serving)
        except UsageError as error:
            raise UsageError(f"{_VARIABLE}: {error}") from error
        except OSError as error:
            raise UsageError(
                f"{_VARIABLE}: cannot listen on {address}: {error.strerror}; "
                "choose another port, or stop what listens there"
            ) from error
        _log.info("health and metrics at %s", url)
        yield url
