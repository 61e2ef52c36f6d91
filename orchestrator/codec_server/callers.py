"""Who may ask a codec server: holders of its token, of a signed access token, or of a session."""

import hmac
import secrets
import time
from collections.abc import Callable, Collection, Mapping
from typing import Final

from orchestrator.codec_server.access_tokens import AccessTokens

COOKIE: Final = "orchestrator_codec_session"
SESSION_S: Final = 12 * 3_600
_SCHEME: Final = "bearer "


class Callers:
    """Tells callers apart; without a token and without access tokens nobody may ask."""

    def __init__(
        self,
        *,
        token: str = "",
        access_tokens: AccessTokens | None = None,
        origins: Collection[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Take what proves a caller.

        Args:
            token: what callers present; '' when there is none.
            access_tokens: how tokens of an identity provider are checked.
            origins: of pages whose requests a session's cookie counts for.
            clock: in seconds since 1970.
        """
        self._token = token.encode()
        self._access_tokens = access_tokens
        self._origins = frozenset(origins)
        self._clock = clock

    async def name_of(self, headers: Mapping[str, str], session: str | None) -> str | None:
        """Who asks, for the log; None when nothing proves who."""
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
        """Whether this is the token."""
        return bool(self._token) and hmac.compare_digest(self._token, presented.encode())

    @property
    def take_tokens(self) -> bool:
        """Whether a session can be opened."""
        return bool(self._token)

    def open_session(self) -> str:
        """What the cookie of a new session holds: its end, sealed with the token.

        So it goes on when this server is started again, and ends when the token is another.
        """
        return self._sealed(f"{self._clock() + SESSION_S:.0f}.{secrets.token_urlsafe(16)}")

    def _is_open(self, session: str) -> bool:
        named = session.rpartition(".")[0]
        is_ours = hmac.compare_digest(self._sealed(named).encode(), session.encode())
        return bool(self._token) and is_ours and float(named.partition(".")[0]) > self._clock()

    def _sealed(self, named: str) -> str:
        return f"{named}.{hmac.new(self._token, f'session {named}'.encode(), 'sha256').hexdigest()}"
