"""Which addresses a request may be sent to."""

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.adapters.http.addresses import (
    AddressPolicy,
    AddressRefused,
    addresses_written,
    unusual_kind,
)

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
