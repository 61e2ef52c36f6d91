"""Which network addresses a request may be sent to: public ones, and those that are configured."""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from socket import AI_NUMERICHOST, gaierror, getaddrinfo

_IPAddress = IPv4Address | IPv6Address

_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_CLOUD_SERVICES = IPv4Network("168.63.129.16/32")
"""Looks public, and is the platform itself to each machine on Azure, with its certificates and
settings (learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16)."""
_SPECIAL_PURPOSE = (
    IPv4Network("192.0.0.0/24"),  # IETF protocols; 192.0.0.192 gives out credentials on Oracle's
    IPv4Network("192.88.99.0/24"),  # what were relays of 6to4
    IPv4Network("192.31.196.0/24"),  # AS112, which answers for names of private networks
    IPv4Network("192.175.48.0/24"),
    IPv6Network("2620:4f:8000::/48"),
    IPv4Network("192.52.193.0/24"),  # relays of multicast
    IPv6Network("2001::/23"),  # IETF protocols, Teredo among them
    IPv6Network("3fff::/20"),  # documentation
)
"""Of IANA's registries of special-purpose addresses, what `ipaddress` takes for global, in whole or
in part, in some Python that we run on. None is a provider's."""


class AddressRefused(Exception):
    """A host leads to no address that may be called; nothing was sent to it."""

    def __init__(
        self,
        host: str,
        address: str,
        kind: str,
        *,
        remedy: str = "to allow it, add the host to ORCHESTRATOR_ALLOWED_PRIVATE_HOSTS",
    ) -> None:
        """Name the host, the address that it led to, what kind that is, and what to do about it."""
        self.host = host
        self.address = address
        self.kind = kind
        self.remedy = remedy
        super().__init__(f"{host} leads to {address}, which is {kind}")


class AddressPolicy:
    """Public addresses for every host; any address for the hosts that are allowed by name."""

    def __init__(self, allowed_hosts: Iterable[str] = ()) -> None:
        """Take host names and IP addresses as they stand in URLs, in any case, without ports."""
        self._allowed = frozenset(_bare(host) for host in allowed_hosts)

    def permitted(self, host: str, addresses: Iterable[str]) -> list[str]:
        """Those of a host's addresses that may be connected to, in their order.

        Raises:
            AddressRefused: none may be.
        """
        found = list(addresses)
        if _bare(host) in self._allowed:
            return found
        public = [address for address in found if unusual_kind(address) is None]
        if not public and found:
            raise AddressRefused(host, found[0], unusual_kind(found[0]) or "not public")
        return public


def unusual_kind(address: str) -> str | None:
    """Why an IP address is not a public one; None when it is.

    An IPv4 address inside an IPv6 one is judged by itself: `::ffff:127.0.0.1` is this machine.
    """
    ip = _innermost(ip_address(address))
    if ip.is_unspecified:
        return "unspecified"
    if ip.is_loopback:
        return "this machine's own (loopback)"
    if ip.is_link_local:
        return "link-local, where cloud machines find their credentials"
    if ip.is_multicast:
        return "multicast"
    if ip in _CLOUD_SERVICES:
        return "a cloud's own service, where its machines find their credentials"
    if not ip.is_global or any(ip in network for network in _SPECIAL_PURPOSE):
        return "private or reserved"
    if isinstance(ip, IPv6Address) and ip not in _GLOBAL_UNICAST:
        return "private or reserved"
    return None


def addresses_written(host: str) -> list[str]:
    """The address that a host is by itself, in whatever notation a resolver takes.

    `0x7f.1` and `2130706433` are 127.0.0.1, and `localhost` and all below it are this machine by
    definition (RFC 6761); any other name is none.
    """
    name = _bare(host)
    if name == "localhost" or name.endswith(".localhost"):
        return ["127.0.0.1"]
    try:
        found = getaddrinfo(name, None, flags=AI_NUMERICHOST)
    except (gaierror, UnicodeError):
        return []
    return [str(address[0]) for *_, address in found[:1]]


def _innermost(ip: _IPAddress) -> _IPAddress:
    if isinstance(ip, IPv4Address):
        return ip
    if ip in _NAT64:
        return IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour or ip


def _bare(host: str) -> str:
    return host.strip().lower().removeprefix("[").removesuffix("]").removesuffix(".")
