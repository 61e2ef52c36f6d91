"""Sessions of people in signed cookies, which any process with the same keys can read."""

import hashlib
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from itsdangerous import BadData, URLSafeSerializer
from pydantic import Field, ValidationError

from orchestrator.core.errors import UsageError
from orchestrator.core.record import Record

SHORTEST_KEY: Final = 32
"""The minimum number of characters of a key."""
_MOST_BYTES: Final = 3_800
"""The largest cookie: browsers drop those beyond 4,096 bytes, with name and attributes."""
_SIGN_IN_S: Final = 900
"""How long a person may take at the issuer."""


class Session(Record):
    """A person who has signed in. It contains nothing secret, and no token of the issuer."""

    session_id: str = Field(alias="i")
    subject: str = Field(alias="s")
    name: str = Field(default="", alias="n")
    issuer: str = Field(alias="o")
    groups: tuple[str, ...] = Field(default=(), alias="g")
    auth_time: int | None = Field(default=None, alias="a")
    begun: float = Field(alias="b")
    """To the microsecond: a sign-in counts right after all sessions of the person were ended."""
    used: int = Field(alias="u")


class SignInUnderWay(Record):
    """A sign-in between the redirect to the issuer and the return from it."""

    state: str
    next: str
    begun: int
    max_age: int | None = None
    """The most seconds since the person proved who they are; None for any."""


class Sessions:
    """Writes and reads the cookies of sessions, which end after a lifetime or an idle time.

    The first key signs, each is accepted. With https browsers send cookies over https only.

    Raises:
        UsageError: there is no key, or one is too short to be secret.
    """

    def __init__(
        self, keys: Sequence[str], *, lifetime: timedelta, idle: timedelta, is_https: bool
    ) -> None:
        if not keys or any(len(key) < SHORTEST_KEY for key in keys):
            raise UsageError(
                f"sessions are signed with random keys of at least {SHORTEST_KEY} characters"
            )
        self._serializers = {
            purpose: URLSafeSerializer(
                list(reversed(keys)),  # the library signs with the last
                salt=f"orchestrator {purpose}",
                signer_kwargs={"digest_method": hashlib.sha256, "key_derivation": "hmac"},
            )
            for purpose in ("session", "sign-in")
        }
        self.key = keys[0].encode()
        self.lifetime = lifetime
        self._idle = idle
        self._is_https = is_https
        prefix = "__Host-" if is_https else ""  # no other host can set a cookie of such a name
        self.cookie = f"{prefix}orchestrator_session"
        self.sign_in_cookie = f"{prefix}orchestrator_sign_in"

    def begin(
        self,
        *,
        subject: str,
        name: str,
        issuer: str,
        groups: Sequence[str],
        auth_time: int | None,
        now: datetime,
    ) -> Session:
        """Return a new session; groups beyond the size of a cookie are dropped, the last first."""
        at = now.timestamp()
        fields: dict[str, Any] = {"o": issuer, "n": name, "a": auth_time, "b": at, "u": int(at)}
        session = Session(i=secrets.token_urlsafe(16), s=subject, g=tuple(groups), **fields)
        while session.groups and len(self.written(session)) > _MOST_BYTES:
            fewer = session.groups[: len(session.groups) * 9 // 10]
            session = session.model_copy(update={"groups": fewer})
        return session

    def written(self, session: Session) -> str:
        """Return the signed text of a session."""
        content = session.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        return str(self._serializers["session"].dumps(content))

    def read(self, text: str, *, now: datetime) -> Session | None:
        """Return the session of a cookie; None if it is forged, or over."""
        try:
            session = Session.model_validate(self._loaded("session", text))
        except (BadData, ValidationError):
            return None
        at = now.timestamp()
        is_open = at < session.begun + self.lifetime.total_seconds()
        return session if is_open and at < session.used + self._idle.total_seconds() else None

    def used_now(self, session: Session, *, now: datetime) -> Session | None:
        """Return the session with its last use, where the cookie needs that; else None."""
        at = int(now.timestamp())  # written once in a tenth of the idle time
        is_due = at - session.used >= self._idle.total_seconds() / 10
        return session.model_copy(update={"used": at}) if is_due else None

    def end_of(self, session: Session) -> datetime:
        """Return when a session ends at the latest."""
        return datetime.fromtimestamp(session.begun, UTC) + self.lifetime

    def read_sign_in(self, text: str, *, now: datetime) -> SignInUnderWay | None:
        """Return the sign-in of a cookie; None if it is forged, or has taken too long."""
        try:
            found = SignInUnderWay.model_validate(self._loaded("sign-in", text))
        except (BadData, ValidationError):
            return None
        return found if now.timestamp() < found.begun + _SIGN_IN_S else None

    def set_cookie(self, name: str, text: str, *, max_age_s: float) -> str:
        """Return a Set-Cookie header; 0 seconds delete the cookie."""
        secure = "; Secure" if self._is_https else ""
        return f"{name}={text}; Path=/; Max-Age={max_age_s:.0f}; HttpOnly; SameSite=Lax{secure}"

    def set_session(self, session: Session) -> str:
        """Return the Set-Cookie header of a session."""
        return self.set_cookie(
            self.cookie, self.written(session), max_age_s=self.lifetime.total_seconds()
        )

    def set_sign_in(self, under_way: SignInUnderWay) -> str:
        """Return the Set-Cookie header of a sign-in under way."""
        content = under_way.model_dump(mode="json", exclude_none=True)
        text = str(self._serializers["sign-in"].dumps(content))
        return self.set_cookie(self.sign_in_cookie, text, max_age_s=_SIGN_IN_S)

    def _loaded(self, purpose: str, text: str) -> Any:
        if len(text) > _MOST_BYTES:
            raise BadData("the cookie is longer than any that is written here")
        return self._serializers[purpose].loads(text)
