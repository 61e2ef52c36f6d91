"""Destinations: the addresses, hosts and servers that may be called."""

from contextlib import nullcontext
from ipaddress import IPv4Address, IPv6Address
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.adapters.http.destinations import (
    AddressPolicy,
    AddressRefused,
    OnlyHosts,
    addresses_written,
    base_url,
    declared_origins,
    origin_of,
    unusual_kind,
)
from orchestrator.adapters.http.transport import CheckedTransport
from orchestrator.catalog.operations import operations
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import EgressRefused, UsageError
from orchestrator.json_schema.document import DocumentNode
from tests.fakes import fake_tool

_NOT_PUBLIC = {
    "loopback": "127.0.0.1 127.255.255.254 ::1 ::ffff:127.0.0.1 64:ff9b::7f00:1 2002:7f00:1::1",
    "unspecified": "0.0.0.0 ::",
    "link-local": "169.254.169.254 fe80::1 fe80::1%eth0 ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe",
    "multicast": "224.0.0.1 239.255.255.250 ff02::1",
    "cloud": "168.63.129.16 ::ffff:168.63.129.16 64:ff9b::a83f:8110 2002:a83f:8110::1",
    "private": "10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1 100.127.255.255 fc00::1"
    " fd12:3456::1 fec0::1 192.0.2.1 198.18.0.1 240.0.0.1 255.255.255.255 2001:db8::1 4000::1"
    " ::ffff:10.0.0.1 2002:a00:1::1 192.0.0.192 ::ffff:192.0.0.192 192.0.0.8 192.0.0.9"
    " 192.0.0.170 192.88.99.1 192.31.196.1 192.52.193.1 192.175.48.1 2620:4f:8000::1"
    " 100.100.100.200 198.19.255.254 fd00:ec2::254 fd20:ce::254 64:ff9b:1::7f00:1"
    " 2001:0:4136:e378:8000:63bf:80ff:fffe 2001:0:7f00:1:8000:63bf:a247:2877 2001:20::1 3fff::1"
    " 5f00::1 100::1 ::127.0.0.1",
}
_PUBLIC = ["93.184.216.34", "172.32.0.1", "100.128.0.1", "2606:2800:220:1::1", "64:ff9b::5db8:d822"]


@pytest.mark.parametrize(
    ("address", "kind"),
    [(address, kind) for kind, addresses in _NOT_PUBLIC.items() for address in addresses.split()],
)
def test_what_is_not_public_is_named(address: str, kind: str) -> None:
    """Loopback, private, link-local, carrier-grade NAT, multicast; also inside of IPv6."""
    assert kind in (unusual_kind(address) or "")


@pytest.mark.parametrize("address", _PUBLIC)
def test_public_addresses_are_not_unusual(address: str) -> None:
    """IPv4, IPv6, and IPv4 behind a NAT64 gateway."""
    assert unusual_kind(address) is None


_NETWORKS = ["10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"]
_NETWORKS += ["192.168.0.0/16", "224.0.0.0/4", "fc00::/7", "fe80::/10", "ff00::/8"]


@given(st.sampled_from(_NETWORKS).flatmap(lambda network: st.ip_addresses(network=network)))
def test_no_address_of_a_closed_network_passes(address: IPv4Address | IPv6Address) -> None:
    """Neither by itself nor, if it is IPv4, inside of an IPv6 address."""
    assert unusual_kind(str(address)) is not None
    if address.version == 4:
        assert unusual_kind(f"::ffff:{address}") is not None
        assert unusual_kind(f"64:ff9b::{address}") is not None


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("127.1.", "127.0.0.1"),
        ("0xa9fea9fe", "169.254.169.254"),
        ("[::1]", "::1"),
        ("localhost", "127.0.0.1"),
        ("LOCALHOST.", "127.0.0.1"),
        ("x.localhost.", "127.0.0.1"),
        ("example.com", None),
        ("localhost.example", None),
    ],
)
def test_a_host_that_is_an_address_is_seen_through(host: str, address: str | None) -> None:
    """In every notation that a resolver takes, for where a proxy resolves names."""
    assert addresses_written(host) == ([] if address is None else [address])


def test_a_host_keeps_its_public_addresses_only() -> None:
    """A name that leads to both kinds is called at the public ones.

    Without any the error names the host, the address and its kind.
    """
    policy = AddressPolicy(["b.example"])

    assert policy.permitted("a.example", ["10.0.0.1", "93.184.216.34"]) == ["93.184.216.34"]
    assert policy.permitted("a.example", []) == []
    with pytest.raises(AddressRefused, match=r"a\.example leads to 10\.0\.0\.1, which is private"):
        policy.permitted("a.example", ["10.0.0.1", "::1"])


def test_allowed_hosts_may_have_any_address() -> None:
    """By the name that stands in the URL, whatever its case; no name like it is allowed."""
    policy = AddressPolicy(["Sandbox", "::1", " 10.0.0.7", "box.example"])

    for host in ("sandbox", "SANDBOX", "sandbox.", "[::1]", "::1", "10.0.0.7"):
        assert policy.permitted(host, ["127.0.0.1"]) == ["127.0.0.1"]
    for host in ("sandbox.example", "box.example.org", "box"):
        with pytest.raises(AddressRefused):
            policy.permitted(host, ["127.0.0.1"])


SANDBOX = OnlyHosts(["127.0.0.1:8700", "[::1]:8700", "API.example.com"])


@pytest.mark.parametrize(
    ("url", "is_called"),
    [
        ("http://127.0.0.1:8700/flights", True),
        ("http://[::1]:8700/", True),
        ("https://api.example.com/", True),
        ("http://api.EXAMPLE.com:81/", True),
        ("http://127.0.0.1:8701/flights", False),
        ("http://127.0.0.1/", False),
        ("https://127.0.0.1/", False),
        ("http://localhost:8700/", False),
        ("http://[::2]:8700/", False),
        ("https://api.example.com.evil.example/", False),
        ("https://user:127.0.0.1:8700@evil.example/", False),
    ],
)
def test_only_what_is_named_is_called(url: str, is_called: bool) -> None:
    """With its port where one is given, at any port otherwise, in any case.

    Refused are another port, another spelling, a host that only looks like it. Without any name
    only the document and the address decide.
    """
    OnlyHosts().check(httpx.URL(url))
    refusal = pytest.raises(AddressRefused, match="ORCHESTRATOR_ONLY_HOSTS")
    with nullcontext() if is_called else refusal:
        SANDBOX.check(httpx.URL(url))


@pytest.mark.parametrize("proxy", [None, "http://127.0.0.1:9"])
async def test_a_transport_asks_before_it_connects(proxy: str | None) -> None:
    """To the host, and to a proxy that would know of the call."""
    transport = CheckedTransport(AddressPolicy(["127.0.0.1"]), proxy=proxy, only=SANDBOX)
    async with httpx.AsyncClient(transport=transport) as client:
        with pytest.raises(AddressRefused):
            await client.get("http://127.0.0.1:8701/")


def _tool(server: str, **defaults: str) -> Tool:
    return fake_tool("t").model_copy(
        update={"document": "d", "server": server, "server_variables": defaults}
    )


def _operations(*servers: Any, **paths: Any) -> Any:
    """Those of a document with these servers, by default one GET."""
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "servers": list(servers),
        "paths": {"/a": paths or {"get": {}}},
    }
    return operations(DocumentNode.of("d", document))


@pytest.mark.parametrize(
    ("server", "configured", "url"),
    [
        ("https://api.example.com/v1/", {}, "https://api.example.com/v1"),
        ("http://{host}:{port}/x", {}, "http://127.0.0.1:8700/x"),
        ("http://{host}:{port}/x", {"port": "9", "other": "y"}, "http://127.0.0.1:9/x"),
        ("http://{host}:{port}/x", {"host": "[::1]"}, "http://[::1]:8700/x"),
        ("https://api.example.com/{host}", {"host": "a/b"}, "https://api.example.com/a/b"),
    ],
)
def test_configuration_wins_over_the_documents_defaults(
    server: str, configured: dict[str, str], url: str
) -> None:
    """Variables are filled from both; a value is for one document."""
    tool = _tool(server, host="127.0.0.1", port="8700")

    assert base_url(tool, {"d": configured, "other": {"host": "other.example"}}) == url


@pytest.mark.parametrize("value", ["evil.example/", "a@b", "a?b", "a#b", "a\\b", "a b", "a\nb"])
def test_a_value_cannot_move_the_host(value: str) -> None:
    """What would end the host early is refused."""
    with pytest.raises(UsageError, match="'host'"):
        base_url(_tool("https://{host}.example.com/x"), {"d": {"host": value}})


def test_a_variable_without_a_value_is_named() -> None:
    """Neither the document nor the configuration has it."""
    with pytest.raises(UsageError, match="'region'"):
        base_url(_tool("https://{region}.example.com"), {})


@pytest.mark.parametrize(
    ("server", "secret"),
    [
        *[(url, "u:p") for url in ("", "/v1", "ftp://h/x", "file:///etc", "http://u:p@h/x")],
        *[(url, "u:p") for url in ("https://xn--/x", "https://ä..b")],
        *[(url, "x=1") for url in ("https://h/v1#f", "https://h/v1?x=1", "https://h?", "//h/#")],
    ],
)
def test_what_names_no_http_host_is_refused(server: str, secret: str) -> None:
    """Relative servers, other schemes, credentials in them, and what no request could go to.

    A path cannot follow a query or a fragment; neither is quoted, for it may hold a token.
    """
    with pytest.raises(EgressRefused) as refused:
        base_url(_tool(server), {})
    assert secret not in str(refused.value)


def test_all_servers_of_an_operation_are_declared() -> None:
    """With their variables filled in; those of other operations are not among them."""
    named = {"url": "https://{n}.x", "variables": {"n": {"default": "one"}}}
    get, post = _operations(
        {"url": "http://root"}, get={"servers": [named, {"url": "http://two:81"}]}, post={}
    )
    two = ("http", "two", 81)

    assert declared_origins(get, {}) == {("https", "one.x", 443), two}
    assert declared_origins(get, {"d": {"n": "other"}}) == {("https", "other.x", 443), two}
    assert declared_origins(post, {}) == {("http", "root", 80)}


def test_a_value_outside_its_enum_is_refused() -> None:
    """The document says which there are; the sentence says them, and not the value."""
    variables = {"region": {"default": "eu", "enum": ["eu", "us"]}}
    (get,) = _operations({"url": "https://{region}.example.com", "variables": variables})

    assert declared_origins(get, {"d": {"region": "us"}}) == {("https", "us.example.com", 443)}
    with pytest.raises(UsageError, match="one of eu, us") as refused:
        declared_origins(get, {"d": {"region": "staging-5"}})
    assert "staging-5" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("HTTP://API.Example.com/x", ("http", "api.example.com", 80)),
        ("https://h:8443", ("https", "h", 8443)),
        ("https://h:notaport", None),
        ("//h/x", None),
        ("https://h /x", None),
        ("https://h%20/x", None),
        ("https://[2001:db8::1]:8443/x", ("https", "2001:db8::1", 8443)),
        ("https://b\u00fccher.example/x", ("https", "b\u00fccher.example", 443)),
    ],
)
def test_origins(url: str, origin: tuple[str, str, int] | None) -> None:
    """Scheme, host and port; case does not matter."""
    assert origin_of(url) == origin
