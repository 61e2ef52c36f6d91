"""The hosts that an installation is held to: every other is refused before it is looked up."""

import httpx
import pytest

from orchestrator.adapters.http.addresses import AddressPolicy, AddressRefused
from orchestrator.adapters.http.only_hosts import OnlyHosts
from orchestrator.adapters.http.transport import CheckedTransport

SANDBOX = OnlyHosts(["127.0.0.1:8700", "[::1]:8700", "API.example.com"])


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8700/flights",
        "http://[::1]:8700/",
        "https://api.example.com/",
        "http://api.EXAMPLE.com:81/",
    ],
)
def test_what_is_named_is_called(url: str) -> None:
    """With its port where one is given, at any port otherwise, in any case."""
    SANDBOX.check(httpx.URL(url))


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8701/flights",
        "http://127.0.0.1/",
        "https://127.0.0.1/",
        "http://localhost:8700/",
        "http://[::2]:8700/",
        "https://api.example.com.evil.example/",
        "https://user:127.0.0.1:8700@evil.example/",
    ],
)
def test_what_is_not_named_is_refused(url: str) -> None:
    """Another port, another spelling, a host that only looks like it."""
    with pytest.raises(AddressRefused, match="ORCHESTRATOR_ONLY_HOSTS"):
        SANDBOX.check(httpx.URL(url))


def test_without_any_every_host_is_called() -> None:
    """Then only its document and its address decide."""
    OnlyHosts().check(httpx.URL("https://anything.example"))


@pytest.mark.parametrize("proxy", [None, "http://127.0.0.1:9"])
async def test_a_transport_asks_before_it_connects(proxy: str | None) -> None:
    """To the host, and to a proxy that would know of the call."""
    transport = CheckedTransport(AddressPolicy(["127.0.0.1"]), proxy=proxy, only=SANDBOX)
    async with httpx.AsyncClient(transport=transport) as client:
        with pytest.raises(AddressRefused):
            await client.get("http://127.0.0.1:8701/")
