"""Callers of the codec server: proved by its token, a signed access token, or a session."""

import asyncio
import hmac
import secrets
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Final

import httpx
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from orchestrator.core.errors import UsageError

COOKIE: Final = "orchestrator_codec_session"
SESSION_S: Final = 12 * 3_600
_SCHEME: Final = "bearer "
_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA", "Ed25519")
"""Asymmetric signatures only: with a shared key, a verifier could also sign."""
_FRESH_S: Final = 300.0
_PAUSE_S: Final = 10.0
"""Between two requests to a provider that gives no keys."""
_LEEWAY_S: Final = 30
_TIMEOUT_S: Final = 5.0


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
            fetch: reads a URL; None: with an own client.
            clock: in seconds.

        Raises:
            UsageError: the source is a URL without https, or there is no audience.
        """
        if "://" in source and not source.startswith("https://"):
            raise UsageError(f"--jwks takes a file or an https URL, not {source}")
        if not audience:
            raise UsageError("--jwks needs --audience, the audience of the access tokens")
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
        """Return the subject of a token; None if it is not valid."""
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
                    pass  # the previous keys stay valid until there are others
            return self._keys

    async def _read(self) -> bytes:
        if "://" not in self._source:
            return await asyncio.to_thread(Path(self._source).read_bytes)
        if self._fetch is not None:
            return await self._fetch(self._source)
        async with httpx.AsyncClient(timeout=_TIMEOUT_S) as http:
            return (await http.get(self._source)).raise_for_status().content


class Callers:
    """Identifies callers; without a token and without access tokens it accepts nobody."""

    def __init__(
        self,
        *,
        token: str = "",
        access_tokens: AccessTokens | None = None,
        origins: Collection[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Take the accepted proofs.

        Args:
            token: that callers present; '' when there is none.
            access_tokens: checks tokens of an identity provider.
            origins: of pages whose requests may use a session's cookie.
            clock: in seconds since 1970.
        """
        self._token = token.encode()
        self._access_tokens = access_tokens
        self._origins = frozenset(origins)
        self._clock = clock

    async def name_of(self, headers: Mapping[str, str], session: str | None) -> str | None:
        """Return the caller's name for the log; None without a proof."""
        given = headers.get("authorization", "")
        if given[: len(_SCHEME)].lower() == _SCHEME:
            presented = given[len(_SCHEME) :].strip()
            if self.knows(presented):
                return "a holder of the token"
            if self._access_tokens is not None:
                return await self._access_tokens.subject_of(presented)
            return None
        # A cookie is sent by the browser, whichever page asks: only those of the UI count.
        if session is not None and headers.get("origin", "") in self._origins:
            return "a session" if self._is_open(session) else None
        return None

    def knows(self, presented: str) -> bool:
        """Return true if this is the token."""
        return bool(self._token) and hmac.compare_digest(self._token, presented.encode())

    @property
    def take_tokens(self) -> bool:
        """True if a session can be opened."""
        return bool(self._token)

    def open_session(self) -> str:
        """Return the cookie of a new session: its end, signed with the token.

        So it survives a restart of the server, and ends when the token changes.
        """
        return self._sealed(f"{self._clock() + SESSION_S:.0f}.{secrets.token_urlsafe(16)}")

    def _is_open(self, session: str) -> bool:
        named = session.rpartition(".")[0]
        is_ours = hmac.compare_digest(self._sealed(named).encode(), session.encode())
        return bool(self._token) and is_ours and float(named.partition(".")[0]) > self._clock()

    def _sealed(self, named: str) -> str:
        return f"{named}.{hmac.new(self._token, f'session {named}'.encode(), 'sha256').hexdigest()}"
