"""Every exception of httpx is mapped to a fault, and a proxy that cannot be used is refused."""

import inspect
import ssl
from types import ModuleType

import httpcore
import httpx
import pytest

from orchestrator.adapters.http.destinations import AddressPolicy
from orchestrator.adapters.http.transport import (
    FAULTS,
    HTTPX_ERRORS,
    CheckedTransport,
    NameNotResolved,
    fault_of,
    transport_failure,
)
from orchestrator.core.errors import UsageError
from orchestrator.saga.outcome import TransportFault


def _exceptions(module: ModuleType, package: str) -> list[type[Exception]]:
    """Those that a module exports, and all that its package derives from them."""
    exported = [
        kind
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if issubclass(kind, Exception) and not issubclass(kind, Warning)
    ]
    return list(
        dict.fromkeys(kind for base in exported for kind in (base, *_derived(base, package)))
    )


def _derived(base: type[Exception], package: str) -> list[type[Exception]]:
    own = [kind for kind in base.__subclasses__() if kind.__module__.split(".")[0] == package]
    return [found for kind in own for found in (kind, *_derived(kind, package))]


def _without_a_line(package: str = "httpx") -> list[str]:
    return [kind.__name__ for kind in _exceptions(httpx, package) if kind not in FAULTS]


def test_every_exception_of_httpx_has_its_own_line() -> None:
    """One that a new httpx brings fails here until somebody decides what it means.

    None slips past the clauses that catch them.
    """
    every = _exceptions(httpx, "httpx")

    assert _without_a_line() == []
    assert len(every) > 20
    assert [kind for kind in every if not issubclass(kind, HTTPX_ERRORS)] == []


def test_an_exception_that_httpx_grows_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check above can fail: on a subclass that nobody exports, and on a new export."""
    derived = type("DerivedError", (httpx.NetworkError,), {"__module__": "planted.deep"})
    exported = type("ExportedError", (Exception,), {"__module__": "planted"})
    assert _without_a_line("planted") == [derived.__name__]

    monkeypatch.setattr(httpx, "ExportedError", exported, raising=False)
    assert _without_a_line() == ["ExportedError"]


class NewError(httpx.NetworkError):
    """A kind without a line."""


def _handshake() -> httpx.ConnectError:
    failed = httpx.ConnectError("x")
    failed.__cause__ = httpcore.ConnectError()
    failed.__cause__.__context__ = ssl.SSLCertVerificationError("self-signed")
    return failed


@pytest.mark.parametrize(
    ("error", "fault", "may_have_arrived"),
    [
        (NameNotResolved("x"), TransportFault.NAME, False),
        (httpx.ConnectError("x"), TransportFault.CONNECT, False),
        (httpx.ConnectTimeout("x"), TransportFault.CONNECT_TIMEOUT, False),
        (httpx.PoolTimeout("x"), TransportFault.POOL, False),
        (httpx.ReadTimeout("x"), TransportFault.READ_TIMEOUT, True),
        (httpx.WriteError("x"), TransportFault.SEND, True),
        (httpx.RemoteProtocolError("x"), TransportFault.PROTOCOL, True),
        (NewError("x"), fault_of(httpx.NetworkError("x")), True),
        (_handshake(), TransportFault.TLS, False),
    ],
)
def test_an_error_becomes_its_fault(
    error: Exception, fault: TransportFault, may_have_arrived: bool
) -> None:
    """By the line of its own class, or its base's; only what never left did not arrive.

    What caused it tells a failed handshake from a refused connection.
    """
    failure = transport_failure("flight_book", fault_of(error))

    assert fault_of(error) is fault
    assert failure.may_have_arrived is may_have_arrived
    assert str(failure).startswith("flight_book: ")


def test_what_is_not_of_httpx_is_not_mapped() -> None:
    """A mistake of ours is not dressed up as the network's."""
    with pytest.raises(TypeError, match="KeyError"):
        fault_of(KeyError("x"))


@pytest.mark.parametrize("proxy", ["socks5://ann:pw@proxy:1080", "proxy", "http://[::1"])
def test_a_proxy_that_cannot_be_used_is_one_sentence(proxy: str) -> None:
    """It names the variable and what is wanted, and not the password that a URL may hold."""
    with pytest.raises(UsageError, match=r"ORCHESTRATOR_PROXY: an http:// or https://") as refused:
        CheckedTransport(AddressPolicy(()), proxy=proxy)

    assert proxy not in str(refused.value)
