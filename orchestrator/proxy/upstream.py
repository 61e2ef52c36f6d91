"""The model's provider: its address, and the headers of requests to it and of its answers."""

import base64
from collections.abc import AsyncIterable, Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import httpx

from orchestrator.core.errors import UsageError

Headers = list[tuple[str, str]]
_VERSION: Final = "/v1"
_HOP_BY_HOP: Final = frozenset(
    {
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te"),
        *("trailer", "transfer-encoding", "upgrade", "proxy-connection"),
    }
)
_OURS: Final = "x-orqen-"
_READABLE: Final = "gzip, deflate"
"""Content codings that the answer reader decodes."""
_CREDENTIALS: Final = ("authorization", "x-api-key", "api-key")


@dataclass(frozen=True, slots=True)
class Upstream:
    """A provider, by the base URL that its own clients take.

    The proxy's `/v1` maps to a `/v1` at the end of that URL.
    """

    base: str
    key: str = ""
    """Sent in place of the caller's key; empty: the caller's key is forwarded."""

    @classmethod
    def at(cls, url: str, *, key: str = "") -> "Upstream":
        """Return the provider at a base URL.

        Raises:
            UsageError: the text is no http or https address, or contains a query or a password.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"{url!r} is no base URL; give one as https://api.example.com/v1")
        if parts.query or parts.fragment or parts.username or parts.password:
            raise UsageError("the base URL of a provider has no query, no fragment and no password")
        return cls(url.rstrip("/").removesuffix(_VERSION), key)

    def url(self, target: str) -> httpx.URL:
        """Return the provider's URL of a path with its query, beginning with a slash."""
        return httpx.URL(f"{self.base}{target}")

    def headers(self, received: Iterable[tuple[str, str]], *, reads_answer: bool) -> Headers:
        """Return the headers of a request to the provider.

        Args:
            received: the caller's headers.
            reads_answer: True if the answer is read on its way, so that only decodable codings are
                accepted.
        """
        kept = _end_to_end(received, without=("host", "content-length"))
        if self.key:
            style = {name for name, _ in kept if name in _CREDENTIALS} or {"authorization"}
            kept = [pair for pair in kept if pair[0] not in _CREDENTIALS]
            kept += [(n, f"Bearer {self.key}" if n == "authorization" else self.key) for n in style]
        if reads_answer:
            codings = [value for name, value in kept if name == "accept-encoding"]
            kept = [pair for pair in kept if pair[0] != "accept-encoding"]
            can_unpack = any("gzip" in value for value in codings)
            kept.append(("accept-encoding", _READABLE if can_unpack else "identity"))
        return kept


def answer_headers(received: Iterable[tuple[str, str]]) -> Headers:
    """Return the headers of an answer to the caller."""
    return _end_to_end(received)


def token_of(received: Iterable[tuple[str, str]]) -> str:
    """Return the token that a caller presents, in the header that its client uses."""
    found = {name.lower(): value for name, value in received}
    for name in _CREDENTIALS:
        if value := found.get(name):
            kind, _, encoded = value.partition(" ")
            if kind.lower() == "basic":
                return _password(encoded)
            return value.removeprefix("Bearer ").strip()
    return ""


def _password(encoded: str) -> str:
    """Return the password of basic authentication; empty if there is none."""
    try:
        return base64.b64decode(encoded, validate=True).decode().partition(":")[2]
    except ValueError:
        return ""


def open_client(timeout_s: float) -> httpx.AsyncClient:
    """Return a client without redirects or a limit of connections.

    A provider may stay silent for `timeout_s`; connecting may take ten seconds.
    """
    return httpx.AsyncClient(
        timeout=httpx.Timeout(timeout_s, connect=min(10, timeout_s), pool=None),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=200),
        follow_redirects=False,
        trust_env=False,
    )


def request_of(
    client: httpx.AsyncClient,
    method: str,
    url: httpx.URL,
    headers: Headers,
    content: bytes | AsyncIterable[bytes],
) -> httpx.Request:
    """Return a request with exactly these headers, apart from its length and its host."""
    request = client.build_request(method, url, headers=headers, content=content)
    added = {"user-agent", "accept", "accept-encoding", "connection"} - {n for n, _ in headers}
    for name in added:
        request.headers.pop(name, None)
    return request


def _end_to_end(received: Iterable[tuple[str, str]], without: Iterable[str] = ()) -> Headers:
    """Return the end-to-end headers, with names in lower case."""
    pairs = [(name.lower(), value) for name, value in received]
    named = {one.strip().lower() for n, v in pairs if n == "connection" for one in v.split(",")}
    dropped = _HOP_BY_HOP | named | set(without)
    return [(n, v) for n, v in pairs if n not in dropped and not n.startswith(_OURS)]
