"""The few hosts that an installation calls and no others, such as its own sandbox."""

from collections.abc import Iterable

import httpx

from orchestrator.adapters.http.addresses import AddressRefused

_PORTS = {"http": 80, "https": 443}


class OnlyHosts:
    """Hosts, each with or without a port; none: every host."""

    def __init__(self, hosts: Iterable[str] = ()) -> None:
        """Take them as they stand in URLs: `127.0.0.1:8700`, `[::1]:8700`, `api.example.com`."""
        self._hosts = frozenset(host.strip().lower() for host in hosts)

    def check(self, url: httpx.URL) -> None:
        """Refuse a URL of another host, or of another port where the host is given with one.

        Raises:
            AddressRefused: it is; nothing was sent, and its name was not looked up.
        """
        host = f"[{url.host}]" if ":" in url.host else url.host
        with_port = f"{host}:{url.port or _PORTS.get(url.scheme, 0)}".lower()
        if self._hosts and not {host.lower(), with_port} & self._hosts:
            raise AddressRefused(
                url.host,
                with_port,
                "none of ORCHESTRATOR_ONLY_HOSTS",
                remedy=f"what is called here is {', '.join(sorted(self._hosts))} alone",
            )
