"""Destinations of requests: the servers of a document, and the addresses that may be called."""

import re
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from socket import AI_NUMERICHOST, gaierror, getaddrinfo
from urllib.parse import urlsplit

import httpx

from orchestrator.catalog.operations import Operation
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import EgressRefused, UsageError
from orchestrator.core.shown_text import address_shown

_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_CLOUD_SERVICES = IPv4Network("168.63.129.16/32")
"""Azure's platform, which serves each machine its certificates and settings at a public address.

See learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16.
"""
_SPECIAL_PURPOSE = (
    IPv4Network("192.0.0.0/24"),  # IETF protocols; 192.0.0.192 serves credentials on Oracle's cloud
    IPv4Network("192.88.99.0/24"),  # former relays of 6to4
    IPv4Network("192.31.196.0/24"),  # AS112, which answers for names of private networks
    IPv4Network("192.175.48.0/24"),
    IPv6Network("2620:4f:8000::/48"),
    IPv4Network("192.52.193.0/24"),  # multicast relays
    IPv6Network("2001::/23"),  # IETF protocols, Teredo among them
    IPv6Network("3fff::/20"),  # documentation
)
"""Special-purpose ranges that `ipaddress` calls global in some supported Python.

The ranges are from IANA's registries; `ipaddress` may call them global in whole or in part. No
provider uses one.
"""


class AddressRefused(Exception):
    """A host has no address that may be called; nothing was sent to it."""

    def __init__(
        self,
        host: str,
        address: str,
        kind: str,
        *,
        remedy: str = "to allow it, add the host to ORCHESTRATOR_ALLOWED_PRIVATE_HOSTS",
    ) -> None:
        self.host = host
        self.address = address
        self.kind = kind
        self.remedy = remedy
        super().__init__(f"{host} leads to {address}, which is {kind}")


class AddressPolicy:
    """Allows public addresses for every host, and any address for hosts allowed by name."""

    def __init__(self, allowed_hosts: Iterable[str] = ()) -> None:
        """Allow hosts by names and IP addresses as in URLs, in any case, without ports."""
        self._allowed = frozenset(_bare(host) for host in allowed_hosts)

    def permitted(self, host: str, addresses: Iterable[str]) -> list[str]:
        """Return the addresses of a host that may be connected to, in their order.

        Raises:
            AddressRefused: no address may be connected to.
        """
        found = list(addresses)
        if _bare(host) in self._allowed:
            return found
        public = [address for address in found if unusual_kind(address) is None]
        if not public and found:
            raise AddressRefused(host, found[0], unusual_kind(found[0]) or "not public")
        return public


def unusual_kind(address: str) -> str | None:
    """Return the reason why an IP address is not public; None if it is public.

    The IPv4 address inside an IPv6 address is checked: `::ffff:127.0.0.1` is this machine.
    """
    ip = ip_address(address)
    if isinstance(ip, IPv6Address):
        nat64 = IPv4Address(int(ip) & 0xFFFFFFFF) if ip in _NAT64 else None
        ip = nat64 or ip.ipv4_mapped or ip.sixtofour or ip
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
    """Return the address that a host name states, in any notation that a resolver accepts.

    `0x7f.1` and `2130706433` are 127.0.0.1, and `localhost` and all its subdomains are this machine
    by definition (RFC 6761); any other name states none.
    """
    name = _bare(host)
    if name == "localhost" or name.endswith(".localhost"):
        return ["127.0.0.1"]
    try:
        found = getaddrinfo(name, None, flags=AI_NUMERICHOST)
    except (gaierror, UnicodeError):
        return []
    return [str(address[0]) for *_, address in found[:1]]


def _bare(host: str) -> str:
    return host.strip().lower().removeprefix("[").removesuffix("]").removesuffix(".")


DEFAULT_PORTS = {"http": 80, "https": 443}


class OnlyHosts:
    """The only hosts that an installation calls, with or without ports; none: every host."""

    def __init__(self, hosts: Iterable[str] = ()) -> None:
        """Take hosts as in URLs: `127.0.0.1:8700`, `[::1]:8700`, `api.example.com`."""
        self._hosts = frozenset(host.strip().lower() for host in hosts)

    def check(self, url: httpx.URL) -> None:
        """Refuse a URL of another host, or of another port if the host is given with one.

        Raises:
            AddressRefused: nothing was sent, and the host's name was not resolved.
        """
        host = f"[{url.host}]" if ":" in url.host else url.host
        with_port = f"{host}:{url.port or DEFAULT_PORTS.get(url.scheme, 0)}".lower()
        if self._hosts and not {host.lower(), with_port} & self._hosts:
            raise AddressRefused(
                url.host,
                with_port,
                "none of ORCHESTRATOR_ONLY_HOSTS",
                remedy=f"what is called here is {', '.join(sorted(self._hosts))} alone",
            )


Origin = tuple[str, str, int]
"""Scheme, host and port, which a request must share with a declared server."""

_VARIABLE = re.compile(r"\{([^{}]+)\}")
_HOST = re.compile(r"[\w.:-]+")
SETTING = "ORCHESTRATOR_SERVER_VARIABLES"
ServerVariables = Mapping[str, Mapping[str, str]]
"""Values of server variables by document name."""
_NO_PATH = (
    "is followed by a query or a fragment, to which no path can be added; remove it by an overlay, "
    "and declare a query that each call needs as a parameter"
)
_NO_HOST = (
    "names no host; say where the server is by an overlay that removes $.servers and then updates "
    '$ with {servers: [{url: "https://..."}]}'
)
_SAFE_VALUE = re.compile(r"[\w.~:/\[\]-]*")
"""Excludes `@`, `?`, `#`, `\\` and white space, which could end the host or begin a query."""


def base_url(tool: Tool, configured: ServerVariables) -> str:
    """Return the URL to which the tool's path is appended; it does not end in a slash.

    Values of `configured`, by document, override the document's defaults.

    Raises:
        UsageError: a variable has no value, or its value would change other parts of the URL.
        EgressRefused: the result names no host, or has a query or a fragment, in which the path
            would end up.
    """
    own = configured.get(tool.document, {})
    filled = _fill(tool.server, {**tool.server_variables, **own}, tool.document)
    if "?" in filled or "#" in filled:
        raise EgressRefused(tool.name, f"{address_shown(filled.partition('#')[0])} {_NO_PATH}")
    if origin_of(filled) is None:
        shown = address_shown(filled) or "a server without an address"
        raise EgressRefused(tool.name, f"{shown} {_NO_HOST}")
    return filled.rstrip("/")


def declared_origins(operation: Operation, configured: ServerVariables) -> frozenset[Origin]:
    """Return the origins of every server that applies to an operation.

    Raises:
        UsageError: a configured value is not one that the document allows.
    """
    servers = operation.inherited("servers")
    declared = servers.elements() if servers is not None else ()
    origins = set()
    for server in declared:
        own, defaults = configured.get(server.document, {}), {}
        for name, variable in server.items("variables"):
            allowed = [str(one.value) for one in variable.elements("enum")]
            if allowed and name in own and own[name] not in allowed:
                raise UsageError(
                    f"the server variable {name!r} of {server.document} must be one of "
                    f"{', '.join(allowed)}: change it in {SETTING}"
                )
            if (default := variable.text_at("default")) is not None:
                defaults[name] = default
        url = _fill(server.require("url").text(), {**defaults, **own}, server.document)
        if (origin := origin_of(url)) is not None:
            origins.add(origin)
    return frozenset(origins)


def origin_of(url: str) -> Origin | None:
    """Return the origin of an absolute HTTP URL that can be called; None for anything else."""
    try:
        parts = urlsplit(url)
        port = parts.port
        # This raises if a request to that host would.
        _ = httpx.URL(f"{parts.scheme}://{parts.netloc}").host
    except (ValueError, httpx.InvalidURL):
        return None
    if parts.scheme not in DEFAULT_PORTS or parts.username is not None:
        return None
    host = parts.hostname or ""
    if not _HOST.fullmatch(host):
        return None
    return parts.scheme, host, port if port is not None else DEFAULT_PORTS[parts.scheme]


def _fill(template: str, values: Mapping[str, str], document: str) -> str:
    scheme_end = template.find("://")
    authority_end = template.find("/", scheme_end + 3) if scheme_end >= 0 else 0

    def value_of(found: re.Match[str]) -> str:
        name = found[1]
        if name not in values:
            raise UsageError(
                f"no value for the server variable {name!r} of {document}; "
                f'set it in {SETTING}, as {{"{document}": {{"{name}": "..."}}}}'
            )
        value = values[name]
        in_authority = authority_end < 0 or found.start() < authority_end
        if not _SAFE_VALUE.fullmatch(value) or ("/" in value and in_authority):
            raise UsageError(
                f"the value of the server variable {name!r} is no part of a URL; "
                f"set one in {SETTING}"
            )
        return value

    return _VARIABLE.sub(value_of, template)
