"""Destinations: the addresses, hosts and servers that may be called."""

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

_NOT_PUBLIC = [
    ("127.0.0.1", "loopback"),
    ("127.255.255.254", "loopback"),
    ("::1", "loopback"),
    ("0.0.0.0", "unspecified"),
    ("::", "unspecified"),
    ("169.254.169.254", "link-local"),
    ("fe80::1", "link-local"),
    ("fe80::1%eth0", "link-local"),
    ("224.0.0.1", "multicast"),
    ("239.255.255.250", "multicast"),
    ("ff02::1", "multicast"),
    ("10.0.0.1", "private"),
    ("172.16.0.1", "private"),
    ("172.31.255.255", "private"),
    ("192.168.1.1", "private"),
    ("100.64.0.1", "private"),
    ("100.127.255.255", "private"),
    ("fc00::1", "private"),
    ("fd12:3456::1", "private"),
    ("fec0::1", "private"),
    ("192.0.2.1", "private"),
    ("198.18.0.1", "private"),
    ("240.0.0.1", "private"),
    ("255.255.255.255", "private"),
    ("2001:db8::1", "private"),
    ("4000::1", "private"),
    ("::ffff:127.0.0.1", "loopback"),
    ("::ffff:169.254.169.254", "link-local"),
    ("::ffff:10.0.0.1", "private"),
    ("64:ff9b::7f00:1", "loopback"),
    ("64:ff9b::a9fe:a9fe", "link-local"),
    ("2002:7f00:1::1", "loopback"),
    ("2002:a00:1::1", "private"),
    ("168.63.129.16", "cloud"),
    ("::ffff:168.63.129.16", "cloud"),
    ("64:ff9b::a83f:8110", "cloud"),
    ("2002:a83f:8110::1", "cloud"),
    ("192.0.0.192", "private"),
    ("::ffff:192.0.0.192", "private"),
    ("192.0.0.8", "private"),
    ("192.0.0.9", "private"),
    ("192.0.0.170", "private"),
    ("192.88.99.1", "private"),
    ("192.31.196.1", "private"),
    ("192.52.193.1", "private"),
    ("192.175.48.1", "private"),
    ("2620:4f:8000::1", "private"),
    ("100.100.100.200", "private"),
    ("198.19.255.254", "private"),
    ("fd00:ec2::254", "private"),
    ("fd20:ce::254", "private"),
    ("64:ff9b:1::7f00:1", "private"),
    ("2001:0:4136:e378:8000:63bf:80ff:fffe", "private"),
    ("2001:0:7f00:1:8000:63bf:a247:2877", "private"),
    ("2001:20::1", "private"),
    ("3fff::1", "private"),
    ("5f00::1", "private"),
    ("100::1", "private"),
    ("::127.0.0.1", "private"),
]
_PUBLIC = ["93.184.216.34", "172.32.0.1", "100.128.0.1", "2606:2800:220:1::1", "64:ff9b::5db8:d822"]


@pytest.mark.parametrize(("address", "kind"), _NOT_PUBLIC)
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
    """A name that leads to both kinds is called at the public ones."""
    policy = AddressPolicy()

    assert policy.permitted("a.example", ["10.0.0.1", "93.184.216.34"]) == ["93.184.216.34"]
    assert policy.permitted("a.example", []) == []


def test_a_host_without_public_addresses_is_refused() -> None:
    """The error names the host, the address and its kind."""
    with pytest.raises(AddressRefused, match=r"a\.example leads to 10\.0\.0\.1, which is private"):
        AddressPolicy(["b.example"]).permitted("a.example", ["10.0.0.1", "::1"])


@pytest.mark.parametrize("host", ["sandbox", "SANDBOX", "sandbox.", "[::1]", "::1", "10.0.0.7"])
def test_allowed_hosts_may_have_any_address(host: str) -> None:
    """By the name that stands in the URL, whatever its case."""
    policy = AddressPolicy(["Sandbox", "::1", " 10.0.0.7"])

    assert policy.permitted(host, ["127.0.0.1"]) == ["127.0.0.1"]


def test_allowing_one_name_allows_no_other() -> None:
    """Nor what ends or begins like it."""
    policy = AddressPolicy(["box.example"])

    for host in ("sandbox.example", "box.example.org", "box"):
        with pytest.raises(AddressRefused):
            policy.permitted(host, ["127.0.0.1"])


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


def _tool(server: str, **defaults: str) -> Tool:
    return Tool(
        name="t",
        document="d",
        domain="d",
        input_schema={"type": "object"},
        server=server,
        server_variables=defaults,
    )


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
    """Variables are filled from both."""
    found = base_url(_tool(server, host="127.0.0.1", port="8700"), {"d": configured})

    assert found == url


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
    "server",
    ["", "/v1", "ftp://h/x", "file:///etc", "http://u:p@h/x", "https://xn--/x", "https://ä..b"],
)
def test_what_names_no_http_host_is_refused(server: str) -> None:
    """Relative servers, other schemes, credentials in them, and what no request could go to."""
    with pytest.raises(EgressRefused) as refused:
        base_url(_tool(server), {})
    assert "u:p" not in str(refused.value)


def test_all_servers_of_an_operation_are_declared() -> None:
    """With their variables filled in; those of other operations are not among them."""
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "servers": [{"url": "http://root"}],
        "paths": {
            "/a": {
                "get": {
                    "servers": [
                        {"url": "https://{n}.x", "variables": {"n": {"default": "one"}}},
                        {"url": "http://two:81"},
                    ]
                },
                "post": {},
            }
        },
    }
    get, post = operations(DocumentNode.of("d", document))

    assert declared_origins(get, {}) == {("https", "one.x", 443), ("http", "two", 81)}
    assert declared_origins(get, {"d": {"n": "other"}}) == {
        ("https", "other.x", 443),
        ("http", "two", 81),
    }
    assert declared_origins(post, {}) == {("http", "root", 80)}


def test_a_value_is_for_one_document() -> None:
    """Another one that has a variable of that name keeps its own default."""
    configured = {"other": {"host": "other.example"}}

    assert base_url(_tool("https://{host}/v1", host="own.example"), configured) == (
        "https://own.example/v1"
    )


@pytest.mark.parametrize("server", ["https://h/v1#f", "https://h/v1?x=1", "https://h?", "//h/#"])
def test_a_server_that_would_swallow_the_path_is_refused(server: str) -> None:
    """A path cannot follow a query or a fragment; neither is quoted, for it may hold a token."""
    with pytest.raises(EgressRefused, match="query or a fragment") as refused:
        base_url(_tool(server), {})
    assert "x=1" not in str(refused.value)


def test_a_value_outside_its_enum_is_refused() -> None:
    """The document says which there are; the sentence says them, and not the value."""
    variable = {"default": "eu", "enum": ["eu", "us"]}
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "servers": [{"url": "https://{region}.example.com", "variables": {"region": variable}}],
        "paths": {"/a": {"get": {}}},
    }
    (get,) = operations(DocumentNode.of("d", document))

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
