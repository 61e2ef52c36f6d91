"""Access tokens of an identity provider, as the Web UI passes them on: signed, for us, in time."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import httpx
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from orchestrator.core.errors import UsageError

_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA", "Ed25519")
"""Signatures by a private key alone: with a shared one, whoever checks could also sign."""
_FRESH_S: Final = 300.0
_PAUSE_S: Final = 10.0
"""Between two questions to a provider that gives no keys."""
_LEEWAY_S: Final = 30
_TIMEOUT_S: Final = 5.0


class AccessTokens:
    """Checks JSON Web Tokens with the keys of a JWK set."""

    def __init__(
        self,
        source: str,
        *,
        audience: str,
        issuer: str = "",
        fetch: Callable[[str], Awaitable[bytes]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take where the keys are and whom tokens have to be for.

        Args:
            source: a file, or an https URL.
            audience: tokens for others are refused: their holders gave them to somebody else.
            issuer: the only one that counts; '' for any whose key is in the set.
            fetch: asks a URL, in place of a client of its own.
            clock: in seconds.

        Raises:
            UsageError: it is a URL, and not https; or there is no audience.
        """
        if "://" in source and not source.startswith("https://"):
            raise UsageError(f"--jwks takes a file or an https URL, not {source}")
        if not audience:
            raise UsageError("--jwks needs --audience: whom the access tokens have to be for")
        self._source = source
        self._fetch = fetch
        self._clock = clock
        self._keys: KeySet | None = None
        self._asked_at = -_FRESH_S
        self._asking = asyncio.Lock()
        wanted = {"aud": audience, **({"iss": issuer} if issuer else {})}
        options: dict[str, Any] = {
            name: {"essential": True, "value": value} for name, value in wanted.items()
        }
        self._claims = jwt.JWTClaimsRegistry(leeway=_LEEWAY_S, exp={"essential": True}, **options)

    async def subject_of(self, token: str) -> str | None:
        """Whom a token is about; None when it proves nothing."""
        keys = await self._current()
        if keys is None:
            return None
        try:
            decoded = jwt.decode(token, keys, algorithms=list(_ALGORITHMS))
            self._claims.validate(decoded.claims)
        except (JoseError, ValueError, TypeError, KeyError):
            return None
        return str(decoded.claims.get("email") or decoded.claims.get("sub") or "an access token")

    async def _current(self) -> KeySet | None:
        async with self._asking:
            since = self._clock() - self._asked_at
            if since >= (_FRESH_S if self._keys is not None else _PAUSE_S):
                self._asked_at = self._clock()
                try:
                    read = await self._read()
                    self._keys = KeySet.import_key_set(httpx.Response(200, content=read).json())
                except (OSError, httpx.HTTPError, JoseError, ValueError, KeyError, TypeError):
                    pass  # those of before count for as long as there are no others
            return self._keys

    async def _read(self) -> bytes:
        if "://" not in self._source:
            return await asyncio.to_thread(Path(self._source).read_bytes)
        if self._fetch is not None:
            return await self._fetch(self._source)
        async with httpx.AsyncClient(timeout=_TIMEOUT_S) as http:
            return (await http.get(self._source)).raise_for_status().content
