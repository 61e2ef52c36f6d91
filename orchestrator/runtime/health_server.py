"""A worker's HTTP endpoints for probes and scrapers: /healthz, /readyz and /metrics."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from orchestrator.core.errors import UsageError
from orchestrator.proxy.server import read_address, running_app
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
