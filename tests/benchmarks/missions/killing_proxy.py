"""A proxy before the providers that kills a worker at one request, after the provider did it."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_DROPPED: Final = frozenset(
    {"content-length", "content-encoding", "transfer-encoding", "connection", "host"}
)
_METHODS: Final = ["GET", "POST", "PUT", "PATCH", "DELETE"]


class KillingProxy:
    """Passes requests on; armed, it kills when a provider has answered, before that is heard."""

    def __init__(self, sandbox_url: str, port: int) -> None:
        self._http = httpx.AsyncClient(base_url=sandbox_url, timeout=30, trust_env=False)
        app = Starlette(routes=[Route("/{path:path}", self._pass, methods=_METHODS)])
        config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error", lifespan="off")
        self._server = uvicorn.Server(config)
        self._path = ""
        self._kill: Callable[[], Awaitable[None]] | None = None
        self.struck_at = 0.0
        """When it killed, by the monotonic clock; 0: not yet."""

    async def __aenter__(self) -> "KillingProxy":
        self._serving = asyncio.create_task(self._server.serve())
        while not self._server.started:  # noqa: ASYNC110 -- it has no event of its own
            await asyncio.sleep(0.02)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.should_exit = True
        await self._serving
        await self._http.aclose()

    def arm(self, path: str, kill: Callable[[], Awaitable[None]]) -> None:
        """Kill at the next request to this path."""
        self._path, self._kill, self.struck_at = path, kill, 0.0

    async def _pass(self, request: Request) -> Response:
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        answer = await self._http.request(
            request.method,
            path,
            headers=_passed(request.headers),
            content=await request.body(),
        )
        if request.url.path == self._path and self._kill is not None:
            kill, self._kill, self.struck_at = self._kill, None, time.monotonic()
            await kill()
        headers = _passed(answer.headers)
        return Response(answer.content, status_code=answer.status_code, headers=headers)


def _passed(headers: object) -> dict[str, str]:
    return {k: v for k, v in dict(headers).items() if k.lower() not in _DROPPED}  # type: ignore[call-overload]
