"""The HTTP API as an application of its own, whose every failure is a problem."""

import asyncio
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from orchestrator.core.record import JsonObject
from orchestrator.web.api import (
    cards,
    event_operations,
    missions,
    question_operations,
    rollback_operations,
    sessions,
    tokens,
    tools,
)
from orchestrator.web.api_operations import Gate, Operation, routes_of
from orchestrator.web.openapi_document import document_of
from orchestrator.web.problem_details import ON_PROBLEM
from orchestrator.web.web_service import Service

_PARTS: Final = (
    *(missions, cards, question_operations, rollback_operations),
    *(event_operations, sessions, tokens, tools),
)
OPERATIONS: Final[tuple[Operation, ...]] = tuple(one for part in _PARTS for one in part.api)


def create_api(service: Service) -> Starlette:
    """Return the API, to be mounted at its prefix."""
    routes = routes_of(OPERATIONS, service, Gate.of(service))
    return Starlette(routes=routes, exception_handlers=ON_PROBLEM)


def api_document(url: str = "/") -> JsonObject:
    """Return the OpenAPI 3.1 document of the API at the address of a service."""
    return document_of(OPERATIONS, version=version("orchestrator-missions"), url=url)


def document_endpoint(service: Service) -> Callable[[Request], Awaitable[Response]]:
    """Return the handler of `/openapi.json`, which needs no sign-in."""
    document: list[JsonObject] = []  # made when it is first asked for, which takes half a second

    async def endpoint(_: Request) -> Response:
        if not document:
            document.append(await asyncio.to_thread(api_document, service.url or "/"))
        return JSONResponse(document[0], headers={"Cache-Control": "no-cache"})

    return endpoint
