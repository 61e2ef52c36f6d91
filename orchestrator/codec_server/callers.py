"""Callers of the codec server: proved by its token, a signed access token, or a session."""

import hmac
import secrets
import time
from collections.abc import Callable, Collection, Mapping
from typing import Final

from orchestrator.adapters.access_tokens import AccessTokens

COOKIE: Final = "orchestrator_codec_session"
SESSION_S: Final = 12 * 3_600
_SCHEME: Final = "bearer "


class Callers:
    """Identifies callers; without a token and without access tokens it accepts nobody.

    A session's cookie counts for requests of pages of these origins alone.
    """

    def __init__(
        self,
        *,
        token: str = "",
        access_tokens: AccessTokens | None = None,
        origins: Collection[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
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
                claims = await self._access_tokens.claims_of(presented)
                if claims is not None:
                    return str(claims.get("email") or claims.get("sub") or "an access token")
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
