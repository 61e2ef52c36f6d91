"""The transport of tool calls: checked addresses, and the faults of httpx's errors.

The worker resolves a name here and connects to the address that was checked, so that a name which
resolves differently a moment later (DNS rebinding) changes nothing.
"""

import asyncio
import json
import logging
import socket
import ssl
import traceback
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import httpcore
import httpx
from pydantic import ValidationError

from orchestrator.adapters.http.destinations import AddressPolicy, OnlyHosts, addresses_written
from orchestrator.catalog.python_functions import KEY, FunctionTool, Rejected
from orchestrator.core.errors import TransportFailed, UsageError
from orchestrator.saga.outcome import TransportFault, classify

_LIMITS = httpx.Limits(max_connections=200, max_keepalive_connections=50, keepalive_expiry=2.0)
"""Idle connections are closed sooner than servers close them (uvicorn: 5 s).

A request on a connection that the server is closing breaks in a way that leaves its outcome
unclear.
"""

_SocketOption = (
    tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]
)


class NameNotResolved(httpx.ConnectError):
    """The host's name resolves to no address."""


class CheckedTransport(httpx.AsyncHTTPTransport):
    """HTTP/1.1 over connections to addresses that a policy permits."""

    def __init__(
        self, policy: AddressPolicy, *, proxy: str | None = None, only: OnlyHosts | None = None
    ) -> None:
        """Configure the transport; connections open at the first request.

        Args:
            policy: of the addresses. A proxy resolves names itself: with one, only hosts that are
                written as addresses can be checked here.
            proxy: URL of an HTTP proxy for all requests. The environment's HTTP_PROXY and its kin
                are not read: they would decide unseen where credentials go.
            only: the only hosts that are called, with or without a proxy.

        Raises:
            UsageError: the proxy cannot be used.
        """
        # The environment may name certificates (SSL_CERT_FILE): they only decide which servers to
        # trust.
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
            # httpx accepts no backend. If it renames its pool, this line fails.
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
            AddressRefused: the host may not be called, or has no address that may be called.
        """
        self._only.check(request.url)
        if self._by_proxy:
            self._policy.permitted(request.url.host, addresses_written(request.url.host))
        return await super().handle_async_request(request)


class _CheckedBackend(httpcore.AsyncNetworkBackend):
    """Connects to the permitted addresses of a host, one after the other."""

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
                    # An address that does not answer must leave time for the next one.
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

    A name that does not resolve in time is not refused: it may resolve when the call is made, where
    every connection is checked again.

    Raises:
        AddressRefused: the host has no address that may be called.
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
    """Return the addresses of a host, each once, in the order that the system prefers."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        raise NameNotResolved(f"{host} cannot be resolved") from error
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


# -- faults ---------------------------------------------------------------------------------------

FAULTS: dict[type[Exception], TransportFault] = {
    NameNotResolved: TransportFault.NAME,
    httpx.ConnectTimeout: TransportFault.CONNECT_TIMEOUT,
    httpx.ConnectError: TransportFault.CONNECT,
    httpx.PoolTimeout: TransportFault.POOL,
    httpx.ProxyError: TransportFault.PROXY,
    httpx.UnsupportedProtocol: TransportFault.ADDRESS,
    httpx.InvalidURL: TransportFault.ADDRESS,
    httpx.CookieConflict: TransportFault.REQUEST,
    httpx.RequestNotRead: TransportFault.REQUEST,
    # Raised while writing as well as by an answer that comes too early.
    httpx.LocalProtocolError: TransportFault.SEND,
    httpx.ReadTimeout: TransportFault.READ_TIMEOUT,
    httpx.WriteTimeout: TransportFault.SEND_TIMEOUT,
    httpx.ReadError: TransportFault.READ,
    httpx.WriteError: TransportFault.SEND,
    httpx.CloseError: TransportFault.OTHER,
    httpx.RemoteProtocolError: TransportFault.PROTOCOL,
    httpx.DecodingError: TransportFault.ANSWER,
    httpx.TooManyRedirects: TransportFault.OTHER,
    httpx.HTTPStatusError: TransportFault.OTHER,
    httpx.StreamConsumed: TransportFault.ANSWER,
    httpx.StreamClosed: TransportFault.ANSWER,
    httpx.ResponseNotRead: TransportFault.ANSWER,
    httpx.TimeoutException: TransportFault.OTHER,
    httpx.NetworkError: TransportFault.OTHER,
    httpx.ProtocolError: TransportFault.OTHER,
    httpx.TransportError: TransportFault.OTHER,
    httpx.RequestError: TransportFault.OTHER,
    httpx.HTTPError: TransportFault.OTHER,
    httpx.StreamError: TransportFault.OTHER,
}
"""Faults by exception; the last entries are base classes.

An exception that httpx adds below one of them counts as entirely unclear until it gets an entry.
"""

HTTPX_ERRORS = (httpx.HTTPError, httpx.InvalidURL, httpx.CookieConflict, httpx.StreamError)
"""The bases of all exceptions of httpx."""


def fault_of(error: Exception) -> TransportFault:
    """Return the fault of an exception of httpx, by its most specific entry."""
    for kind in type(error).__mro__:
        found = FAULTS.get(kind)
        if found is TransportFault.CONNECT and any(
            isinstance(cause, ssl.SSLError) for cause in causes_of(error)
        ):
            return TransportFault.TLS
        if found is not None:
            return found
    raise TypeError(f"{type(error).__name__} is no exception of httpx") from error


def transport_failure(tool: str, fault: TransportFault, detail: str = "") -> TransportFailed:
    """Return the error of a call that ended with a fault; `detail` quotes nothing that was sent."""
    reason = f"{fault.value} ({detail})" if detail else fault.value
    return TransportFailed(tool, reason, may_have_arrived=classify(fault) == "unknown")


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception, its cause, the cause of that, and so on."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


_log = logging.getLogger(__name__)


class FunctionTransport(httpx.AsyncBaseTransport):
    """Runs a function for each request, and answers as a provider would.

    Invalid arguments and `Rejected` are refusals: nothing was done. Any other exception is a 500,
    after which a call may have had its effect.
    """

    def __init__(self, functions: Mapping[str, FunctionTool[Any, Any]]) -> None:
        self._functions = dict(functions)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Run the function that the request names.

        Raises:
            httpx.ConnectError: this worker has no such function; another worker may have it.
        """
        name = request.url.path.strip("/")
        function = self._functions.get(name)
        if function is None:
            raise httpx.ConnectError(f"this worker has no function {name}", request=request)
        try:
            given = function.inputs.model_validate_json(await request.aread())
        except ValidationError as error:
            faults = error.errors(include_url=False, include_input=False, include_context=False)
            texts = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in faults)
            return _problem(400, "invalid arguments", "; ".join(texts))
        arguments = {field: getattr(given, field) for field in function.inputs.model_fields}
        if function.takes_key:
            arguments[KEY] = request.headers.get("Idempotency-Key", "")
        try:
            answer = await function.function(**arguments)
            written = function.answer.dump_json(answer)
        except Rejected as rejected:
            return _problem(422, "rejected", str(rejected))
        except Exception as error:
            # Without its text, which may be personal.
            kind, last = type(error).__name__, traceback.extract_tb(error.__traceback__)[-1]
            at = f"{last.filename}:{last.lineno}"
            _log.error("%s raised %s at %s: its effect is unknown", name, kind, at)
            return _problem(500, kind)
        if answer is None:
            status = 404 if function.may_find_nothing else 204
            return httpx.Response(status, stream=httpx.ByteStream(b""))
        return answer_of(200, "application/json", written)


def _problem(status: int, title: str, detail: str = "") -> httpx.Response:
    problem = {"title": title, "detail": detail} if detail else {"title": title}
    return answer_of(status, "application/problem+json", json.dumps(problem).encode())


def answer_of(
    status: int, content_type: str, body: bytes, headers: Mapping[str, str] = MappingProxyType({})
) -> httpx.Response:
    """Return an answer whose body is read as a stream, like one from the wire."""
    sent = {"Content-Type": content_type, "Content-Length": str(len(body)), **headers}
    return httpx.Response(status, headers=sent, stream=httpx.ByteStream(body))
