"""The hosts that a request may name: others are names of attackers that resolve to this service."""

from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from orchestrator.web.config import LOOPBACK_HOSTS
from orchestrator.web.problem_details import ProblemError
from orchestrator.web.sign_in.notice_page import refusal_response

_PORTS: Final = {"http": 80, "https": 443}
_PROBES: Final = frozenset({"/healthz", "/readyz", "/metrics"})
"""Platforms ask these by the address of the process; they say nothing about missions."""


class KnownHosts:
    """ASGI middleware that refuses requests for another host, such as by DNS rebinding.

    They have to name host and port of the service's URL; without one, any name of the loopback
    address, and the port that the service listens on.
    """

    def __init__(self, app: ASGIApp, *, url: str = "") -> None:
        self._app = app
        self._url = url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] == "lifespan" or scope["path"] in _PROBES or self._is_known(scope):
            await self._app(scope, receive, send)
            return
        refusal = ProblemError(
            HTTPStatus.MISDIRECTED_REQUEST,
            f"this service is not at that host; it is at {self._url or 'localhost'}",
            code="HostUnknown",
        )
        await refusal_response(HTTPConnection(scope), refusal)(scope, receive, send)

    def _is_known(self, scope: Scope) -> bool:
        named = HTTPConnection(scope).headers.get("host", "")
        # Behind a proxy that ends TLS, requests come by http, and name the host without a port.
        scheme = self._url.partition(":")[0] or scope["scheme"]
        host = _host_and_port(f"{scheme}://{named}")
        if self._url:
            return host is not None and host == _host_and_port(self._url)
        default = _PORTS.get(scope["scheme"])
        listens_on = (scope.get("server") or ("", default))[1] or default
        return host is not None and host[0] in LOOPBACK_HOSTS and host[1] == listens_on


def _host_and_port(url: str) -> tuple[str, int | None] | None:
    try:
        parts = urlsplit(url)
        named = parts.hostname, parts.port
    except ValueError:
        return None
    if named[0] is None or parts.path or parts.query or parts.username is not None:
        return None
    return named[0].lower(), named[1] or _PORTS.get(parts.scheme)
