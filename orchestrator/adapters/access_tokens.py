"""Access tokens of an identity provider (JWTs), checked with the keys of its JWK set."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from orchestrator.core.errors import UsageError

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA", "Ed25519")
"""Asymmetric signatures only: with a shared key, a verifier could also sign."""
LEEWAY_S: Final = 30
"""The accepted difference between the clocks of an issuer and of this machine."""
_FRESH_S: Final = 300.0
_PAUSE_S: Final = 10.0
"""Between two requests to a provider that gives no keys, or not those of a token."""
_TIMEOUT_S: Final = 5.0
_LONGEST: Final = 16_384
"""The maximum number of characters of a token."""


class AccessTokens:
    """Checks an identity provider's access tokens with the keys of a JWK set."""

    def __init__(
        self,
        source: str,
        *,
        audience: str,
        issuer: str = "",
        fetch: Callable[[str], Awaitable[bytes]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the source of the keys and the expected claims.

        Args:
            source: a file, or an https URL.
            audience: tokens for others are refused.
            issuer: the only accepted one; '' for any whose key is in the set.
            fetch: returns the JWK set of a URL; None: with an own client.
            clock: in seconds.

        Raises:
            UsageError: the source is a URL without https, or there is no audience.
        """
        if "://" in source and not is_secure(source):
            raise UsageError(
                f"the keys of access tokens come from a file or an https URL, not {source}"
            )
        if not audience:
            raise UsageError("access tokens are checked for their audience: name it (--audience)")
        self._source = source
        self._fetch = fetch
        self._clock = clock
        self._keys: KeySet | None = None
        self._asked_at = -_FRESH_S
        self._asking = asyncio.Lock()
        options: dict[str, Any] = {"aud": {"essential": True, "value": audience}}
        if issuer:
            bare = issuer.rstrip("/")
            options["iss"] = {"essential": True, "values": [bare, f"{bare}/"]}
        self._claims = jwt.JWTClaimsRegistry(leeway=LEEWAY_S, exp={"essential": True}, **options)

    async def claims_of(self, token: str) -> Mapping[str, Any] | None:
        """Return the claims of a token; None if it is not valid."""
        if len(token) > _LONGEST:
            return None
        kid = None
        with contextlib.suppress(JoseError, ValueError, TypeError, AttributeError):
            kid = jws.extract_compact(token.encode()).headers().get("kid")
        keys = await self._current(kid if isinstance(kid, str) else None)
        if keys is None:
            return None
        try:
            decoded = jwt.decode(token, keys, algorithms=list(ALGORITHMS))
            self._claims.validate(decoded.claims)
        except (JoseError, ValueError, TypeError, KeyError):
            return None
        return decoded.claims

    async def _current(self, kid: str | None) -> KeySet | None:
        async with self._asking:
            since = self._clock() - self._asked_at
            is_known = self._keys is not None and (
                kid is None or any(key.kid == kid for key in self._keys.keys)
            )
            if since >= (_FRESH_S if is_known else _PAUSE_S):
                self._asked_at = self._clock()
                try:
                    read = await self._read()
                    self._keys = KeySet.import_key_set(httpx.Response(200, content=read).json())
                except (OSError, httpx.HTTPError, JoseError, ValueError, KeyError, TypeError):
                    pass  # the previous keys stay valid until there are others
            return self._keys

    async def _read(self) -> bytes:
        if "://" not in self._source:
            return await asyncio.to_thread(Path(self._source).read_bytes)
        if self._fetch is not None:
            return await self._fetch(self._source)
        async with httpx.AsyncClient(timeout=_TIMEOUT_S) as http:
            return (await http.get(self._source)).raise_for_status().content


def is_secure(url: str) -> bool:
    """Return True for https, and for http to this machine, where nobody is in between."""
    parts = urlsplit(url)
    is_local = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1")
    return parts.scheme == "https" or is_local
