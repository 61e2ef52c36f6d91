"""The ASGI application: health, the API with its document, AG-UI, Slack, sign-in, and the inbox."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route

from orchestrator.web import pages
from orchestrator.web.api.api_app import create_api, document_endpoint
from orchestrator.web.api_operations import PREFIX
from orchestrator.web.health import ServerTelemetry, health_routes
from orchestrator.web.pages.page import error_page
from orchestrator.web.problem_details import ON_PROBLEM, on_problem
from orchestrator.web.web_service import Service


def create_app(service: Service) -> Starlette:
    """Return the API and the inbox as an ASGI application."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await service.feed.close()

    of_extras: list[BaseRoute] = []
    if service.slack is not None:
        from orchestrator.web.notices.slack_interactions import slack_routes

        of_extras += slack_routes(service, service.slack)
    try:
        from orchestrator.web.ag_ui.runs import ag_ui_routes
    except ModuleNotFoundError as missing:
        if missing.name is None or not missing.name.startswith("ag_ui"):
            raise
    else:
        of_extras += ag_ui_routes(service)
    app = Starlette(
        routes=[
            *health_routes(service),
            Route("/openapi.json", document_endpoint(service)),
            Mount(PREFIX, app=create_api(service)),
            *service.door.routes,
            *of_extras,
            *pages.routes(service),
        ],
        middleware=service.door.middleware,
        lifespan=lifespan,
        exception_handlers={**ON_PROBLEM, HTTPException: _on_no_route},
    )
    app.add_middleware(ServerTelemetry, routes=app.routes)
    return app


async def _on_no_route(request: Request, error: Exception) -> Response:
    """Answer an unknown address, or a method that an address does not have."""
    assert isinstance(error, HTTPException)
    if "text/html" not in request.headers.get("accept", ""):
        return await on_problem(request, error)
    status = HTTPStatus(error.status_code)
    answer = error_page(request, None, status, "There is no such page.")
    answer.headers.update(error.headers or {})
    return answer
