"""Which network addresses a request may be sent to: public ones, and those that are configured."""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

_IPAddress = IPv4Address | IPv6Address

_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")


class AddressRefused(Exception):
    """A host leads to no address that may be called; nothing was sent to it."""

    def __init__(self, host: str, address: str, kind: str) -> None:
        """Name the host, the address that it led to, and what kind of address that is."""
        self.host = host
        self.address = address
        self.kind = kind
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
    if not ip.is_global or (isinstance(ip, IPv6Address) and ip not in _GLOBAL_UNICAST):
        return "private or reserved"
    return None


def _innermost(ip: _IPAddress) -> _IPAddress:
    if isinstance(ip, IPv4Address):
        return ip
    if ip in _NAT64:
        return IPv4Address(int(ip) & 0xFFFFFFFF)
    teredo = ip.teredo[1] if ip.teredo else None
    return ip.ipv4_mapped or ip.sixtofour or teredo or ip


def _bare(host: str) -> str:
    return host.strip().lower().removeprefix("[").removesuffix("]").removesuffix(".")
