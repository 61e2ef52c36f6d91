"""The transports: standard input and output of one local user, and streamable HTTP with tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcp import types
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from orchestrator.core.errors import OrchestratorError
from orchestrator.mcp.mcp_server import mcp_server
from orchestrator.web.api_operations import Gate, identified
from orchestrator.web.health import health_routes
from orchestrator.web.people import Person
from orchestrator.web.problem_details import ProblemError, problem_of, response_of
from orchestrator.web.sign_in.csrf import check_origin
from orchestrator.web.sign_in.door import local_person
from orchestrator.web.sign_in.hosts import KnownHosts
from orchestrator.web.web_service import Service

PATH: Final = "/mcp"
_METADATA: Final = "/.well-known/oauth-protected-resource"
_PERSON: Final = "orchestrator.person"


async def serve_stdio(service: Service, subject: str, *, inbox: str) -> None:
    """Serve the local user on standard input and output, until the input ends."""
    person = local_person(subject)
    server = mcp_server(service, lambda _: person, inbox=inbox)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


@dataclass(frozen=True)
class ProtectedResource:
    """The OAuth resource that clients get tokens for."""

    url: str
    """How clients reach this server, without a path."""
    issuers: Sequence[str]
    """Authorization servers whose tokens are accepted."""


def mcp_app(
    service: Service,
    *,
    inbox: str,
    resource: ProtectedResource | None = None,
    proxies: Sequence[str] = (),
) -> Starlette:
    """Return the server as an ASGI application.

    Args:
        service: the connections; `identify` proves persons by bearer tokens, or is the local user.
        inbox: the address at which people decide.
        resource: the OAuth resource; None: only the local user of this machine is served.
        proxies: addresses of reverse proxies whose X-Forwarded headers are believed.
    """
    server = mcp_server(service, _person_of, inbox=inbox)
    manager = StreamableHTTPSessionManager(server, max_request_body_size=service.limits.body_bytes)
    routes = [
        Route(PATH, endpoint=_Identified(StreamableHTTPASGIApp(manager), service, resource)),
        *health_routes(service),
    ]
    if resource is not None:
        described = _metadata_of(resource)
        routes += [Route(path, described) for path in (f"{_METADATA}{PATH}", _METADATA)]
    url = resource.url if resource is not None else ""
    guards = [
        *([Middleware(ProxyHeadersMiddleware, list(proxies))] if proxies else []),
        Middleware(KnownHosts, url=url),
    ]
    return Starlette(routes=routes, middleware=guards, lifespan=lambda _: manager.run())


def _person_of(context: ServerRequestContext[Any, Any]) -> Person:
    request = context.request
    person = request.scope.get(_PERSON) if isinstance(request, Request) else None
    if not isinstance(person, Person):
        raise MCPError(types.INVALID_REQUEST, "nothing proves who sends this request")
    return person


def _metadata_of(resource: ProtectedResource) -> Any:
    """Return the handler of the protected-resource metadata (RFC 9728)."""

    async def endpoint(_: Request) -> Response:
        content = {
            "resource": f"{resource.url}{PATH}",
            "authorization_servers": list(resource.issuers),
            "bearer_methods_supported": ["header"],
            "resource_name": "Orchestrator missions",
        }
        return JSONResponse(content, headers={"Cache-Control": "no-cache"})

    return endpoint


class _Identified:
    """Passes a request on with its person, whom each request proves again.

    A session of the transport belongs to the person who began it: the SDK compares them.
    """

    def __init__(self, app: ASGIApp, service: Service, resource: ProtectedResource | None) -> None:
        self._app = app
        self._service = service
        self._resource = resource
        self._gate = Gate.of(service)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            person = await identified(request, self._service, self._gate)
            check_origin(request, self._service.url)  # of token bearers too: the protocol asks
        except (ProblemError, OrchestratorError) as error:
            await self._refusal(problem_of(error))(scope, receive, send)
            return
        token = AccessToken(
            token="",
            client_id=person.subject.casefold(),
            scopes=[],
            subject=person.subject.casefold(),
            claims={"iss": person.issuer},
        )
        scope = {**scope, "user": AuthenticatedUser(token), _PERSON: person}
        await self._app(scope, receive, send)

    def _refusal(self, error: ProblemError) -> Response:
        asks = error.headers.get("WWW-Authenticate")
        if asks is not None and self._resource is not None:
            where = f'resource_metadata="{self._resource.url}{_METADATA}{PATH}"'
            separator = " " if asks == "Bearer" else ", "
            error.headers["WWW-Authenticate"] = f"{asks}{separator}{where}"
        return response_of(error)
