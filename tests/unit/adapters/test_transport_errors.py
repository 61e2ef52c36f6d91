"""httpx's exceptions, every one of them, as ours."""

import inspect

import httpx
import pytest

from orchestrator.adapters.http import _TRANSPORT_ERRORS, map_transport_error

_OF_HTTPX = [
    kind
    for _, kind in inspect.getmembers(httpx, inspect.isclass)
    if issubclass(kind, Exception) and not issubclass(kind, Warning)
]


@pytest.mark.parametrize("kind", _OF_HTTPX, ids=lambda kind: kind.__name__)
def test_every_exception_of_httpx_has_its_own_line(kind: type[Exception]) -> None:
    """One that a new httpx brings fails here until somebody decides what it means."""
    assert kind in _TRANSPORT_ERRORS


@pytest.mark.parametrize(
    ("error", "may_have_arrived"),
    [
        (httpx.ConnectError("x"), False),
        (httpx.ConnectTimeout("x"), False),
        (httpx.PoolTimeout("x"), False),
        (httpx.ReadTimeout("x"), True),
        (httpx.WriteError("x"), True),
        (httpx.RemoteProtocolError("x"), True),
    ],
)
def test_only_what_never_left_did_not_arrive(error: Exception, may_have_arrived: bool) -> None:
    """From the first byte on, the provider may have acted."""
    failure = map_transport_error("flight_book", error)

    assert failure.may_have_arrived is may_have_arrived
    assert str(failure).startswith("flight_book: ")


def test_an_unknown_kind_is_as_unclear_as_its_base() -> None:
    """A subclass without a line takes its base's, which assumes the worst."""

    class NewError(httpx.NetworkError):
        pass

    assert map_transport_error("t", NewError("x")).may_have_arrived is True


def test_what_is_not_of_httpx_is_not_mapped() -> None:
    """A mistake of ours is not dressed up as the network's."""
    with pytest.raises(TypeError, match="KeyError"):
        map_transport_error("t", KeyError("x"))
