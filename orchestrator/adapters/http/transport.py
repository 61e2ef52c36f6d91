"""The transport of tool calls: it looks at the addresses that it connects to, and only then sends.

The name is resolved here and the connection is made to the address that was looked at, so that a
name which leads elsewhere a moment later (DNS rebinding) changes nothing.
"""

import asyncio
import socket
from collections.abc import Iterable

import httpcore
import httpx

from orchestrator.adapters.http.addresses import AddressPolicy, addresses_written
from orchestrator.adapters.http.only_hosts import OnlyHosts
from orchestrator.core.errors import UsageError

_LIMITS = httpx.Limits(max_connections=200, max_keepalive_connections=50, keepalive_expiry=2.0)
"""Idle for less than servers wait (uvicorn: 5 s): a request on a connection that the server is
closing breaks in a way that leaves its outcome unclear."""

_SocketOption = (
    tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]
)


class NameNotResolved(httpx.ConnectError):
    """The host's name leads to no address."""


class CheckedTransport(httpx.AsyncHTTPTransport):
    """HTTP/1.1 over connections to addresses that a policy permits."""

    def __init__(
        self, policy: AddressPolicy, *, proxy: str | None = None, only: OnlyHosts | None = None
    ) -> None:
        """Take where requests may go, and by which way.

        Args:
            policy: of the addresses. A proxy resolves names itself: with one, only hosts that are
                written as addresses can be judged here.
            proxy: URL of an HTTP proxy that all requests go through. The environment's HTTP_PROXY
                and its kin are not read: they would decide unseen where credentials go.
            only: the hosts that are called at all, by whichever way.

        Raises:
            UsageError: the proxy is none that can be used.
        """
        # The environment may name certificates (SSL_CERT_FILE): they only say whom to trust.
        tls = httpx.create_ssl_context()
        try:
            super().__init__(verify=tls, limits=_LIMITS, proxy=proxy)
        except (ImportError, ValueError, httpx.InvalidURL) as error:
            # Without the URL, which may hold a password.
            raise UsageError("ORCHESTRATOR_PROXY: an http:// or https:// URL is wanted") from error
        self._policy = policy
        self._only = only or OnlyHosts()
        self._by_proxy = proxy is not None
        if proxy is None:
            # httpx takes no backend. Should it call its pool by another name, this line fails.
            assert isinstance(self._pool, httpcore.AsyncConnectionPool)
            self._pool = httpcore.AsyncConnectionPool(
                ssl_context=tls,
                max_connections=_LIMITS.max_connections,
                max_keepalive_connections=_LIMITS.max_keepalive_connections,
                keepalive_expiry=_LIMITS.keepalive_expiry,
                network_backend=_CheckedBackend(policy),
            )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request.

        Raises:
            httpx.TransportError: as httpx's own transport does.
            AddressRefused: its host leads to no address that may be called, or is not to be called.
        """
        self._only.check(request.url)
        if self._by_proxy:
            self._policy.permitted(request.url.host, addresses_written(request.url.host))
        return await super().handle_async_request(request)


class _CheckedBackend(httpcore.AsyncNetworkBackend):
    """Connects to the permitted ones of a host's addresses, one after the other."""

    def __init__(self, policy: AddressPolicy) -> None:
        self._policy = policy
        self._connects = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # the name is httpcore's
        local_address: str | None = None,
        socket_options: Iterable[_SocketOption] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        addresses = self._policy.permitted(host, await _resolved(host, port))
        last: Exception | None = None
        for address in addresses:
            try:
                return await self._connects.connect_tcp(
                    address,
                    port,
                    # So that an address that does not answer leaves time for the next one.
                    timeout=None if timeout is None else timeout / len(addresses),
                    local_address=local_address,
                    socket_options=socket_options,
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                last = error
        raise last or NameNotResolved(f"{host} has no address")

    async def sleep(self, seconds: float) -> None:
        await self._connects.sleep(seconds)


async def check_destination(policy: AddressPolicy, host: str, *, within_s: float) -> None:
    """Refuse a host that could not be called, before there is anything to send.

    What does not resolve, or not in time, is no refusal: it may when the call is made, where every
    connection is looked at again.

    Raises:
        AddressRefused: it leads to no address that may be called.
    """
    addresses = addresses_written(host)
    if not addresses and within_s > 0:
        try:
            async with asyncio.timeout(within_s):
                addresses = await _resolved(host, 443)
        except (NameNotResolved, TimeoutError):
            return
    policy.permitted(host, addresses)


async def _resolved(host: str, port: int) -> list[str]:
    """The addresses of a host, each once, in the order in which the system prefers them."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        raise NameNotResolved(f"{host} cannot be resolved") from error
    return list(dict.fromkeys(str(address[0]) for *_, address in found))
