"""httpx's exceptions, each with the fault that it stands for; what that means is outcome's."""

import ssl
from collections.abc import Iterator

import httpx

from orchestrator.adapters.http.transport import NameNotResolved
from orchestrator.core.errors import TransportFailed
from orchestrator.saga.outcome import TransportFault, classify

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
"""The last ones are bases: an exception that httpx adds under one of them is as unclear as can be
until it gets a line of its own."""

HTTPX_ERRORS = (httpx.HTTPError, httpx.InvalidURL, httpx.CookieConflict, httpx.StreamError)
"""What all of httpx's exceptions are under."""


def fault_of(error: Exception) -> TransportFault:
    """The fault that one of httpx's exceptions stands for, by its most specific line."""
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
    """Our error for a call that ended with a fault; `detail` quotes nothing of the request."""
    reason = f"{fault.value} ({detail})" if detail else fault.value
    return TransportFailed(tool, reason, may_have_arrived=classify(fault) == "unknown")


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """An exception, what caused it, what caused that, and so on."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__
