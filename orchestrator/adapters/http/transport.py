"""The transport of tool calls: it looks at the addresses that it connects to, and only then sends.

The name is resolved here and the connection is made to the address that was looked at, so that a
name which leads elsewhere a moment later (DNS rebinding) changes nothing.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterable, Iterator

import httpcore
import httpx

from orchestrator.adapters.http.addresses import AddressPolicy

_KEEPALIVE_S = 2.0
"""Shorter than servers wait (uvicorn: 5 s): a request on a connection that the server is closing
breaks in a way that leaves its outcome unclear."""
_MAX_CONNECTIONS = 200
_MAX_IDLE = 50

_SocketOption = (
    tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]
)


class NameNotResolved(httpx.ConnectError):
    """The host's name leads to no address."""


class CheckedTransport(httpx.AsyncBaseTransport):
    """HTTP/1.1 over connections to addresses that a policy permits."""

    def __init__(self, policy: AddressPolicy, *, proxy: str | None = None) -> None:
        """Take where requests may go, and by which way.

        Args:
            policy: of the addresses. A proxy resolves names itself: with one, only hosts that are
                written as addresses can be judged here.
            proxy: URL of an HTTP proxy that all requests go through. The environment's HTTP_PROXY
                and its kin are not read: they would decide unseen where credentials go.
        """
        self._policy = policy
        self._by_proxy = proxy is not None
        # The environment may name certificates (SSL_CERT_FILE): they only say whom to trust.
        tls = httpx.create_ssl_context()
        if proxy is None:
            self._pool = httpcore.AsyncConnectionPool(
                ssl_context=tls,
                max_connections=_MAX_CONNECTIONS,
                max_keepalive_connections=_MAX_IDLE,
                keepalive_expiry=_KEEPALIVE_S,
                network_backend=_CheckedBackend(policy),
            )
        else:
            spoken_to = httpx.Proxy(proxy)
            self._pool = httpcore.AsyncHTTPProxy(
                proxy_url=_core_url(spoken_to.url),
                proxy_auth=spoken_to.raw_auth,
                ssl_context=tls,
                max_connections=_MAX_CONNECTIONS,
                max_keepalive_connections=_MAX_IDLE,
                keepalive_expiry=_KEEPALIVE_S,
            )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request.

        Raises:
            httpx.TransportError: as httpx's own transport does.
            AddressRefused: its host leads to no address that may be called.
        """
        assert isinstance(request.stream, httpx.AsyncByteStream)
        if self._by_proxy:
            self._policy.permitted(request.url.host, _as_address(request.url.host))
        sent = httpcore.Request(
            method=request.method,
            url=_core_url(request.url),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _errors_of_httpx():
            response = await self._pool.handle_async_request(sent)
        assert not isinstance(response.stream, Iterable)
        return httpx.Response(
            status_code=response.status,
            headers=response.headers,
            stream=_Stream(response),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()


class _Stream(httpx.AsyncByteStream):
    """The body of an answer, its errors as httpx's."""

    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _errors_of_httpx():
            async for part in self._response.aiter_stream():
                yield part

    async def aclose(self) -> None:
        await self._response.aclose()


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


async def _resolved(host: str, port: int) -> list[str]:
    """The addresses of a host, each once, in the order in which the system prefers them."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        raise NameNotResolved(f"{host} cannot be resolved") from error
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def _as_address(host: str) -> list[str]:
    """The host itself when it is an address, in whatever notation; nothing when it is a name."""
    try:
        found = socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)
    except (socket.gaierror, UnicodeError):
        return []
    return [str(address[0]) for *_, address in found[:1]]


def _core_url(url: httpx.URL) -> httpcore.URL:
    return httpcore.URL(
        scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
    )


@contextlib.contextmanager
def _errors_of_httpx() -> Iterator[None]:
    """Raise httpcore's errors as those of httpx that have the same names."""
    try:
        yield
    except tuple(_ERRORS) as error:
        found = next(_ERRORS[kind] for kind in type(error).__mro__ if kind in _ERRORS)
        raise found(str(error)) from error


_ERRORS: dict[type[Exception], type[httpx.TransportError]] = {
    getattr(httpcore, name): getattr(httpx, name)
    for name in (
        "ConnectError",
        "ConnectTimeout",
        "LocalProtocolError",
        "NetworkError",
        "PoolTimeout",
        "ProtocolError",
        "ProxyError",
        "ReadError",
        "ReadTimeout",
        "RemoteProtocolError",
        "TimeoutException",
        "UnsupportedProtocol",
        "WriteError",
        "WriteTimeout",
    )
}
