"""API tokens and ended sessions in the store: of a token only a digest is kept."""

import hmac
import secrets
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa
from pydantic import Field

from orchestrator.adapters.storage.schema import api_tokens, sign_outs
from orchestrator.adapters.storage.store_database import StoreDatabase, digest_of
from orchestrator.core.record import Record

TOKEN_PREFIX: Final = "orchestrator_"
"""The beginning of each token, by which scanners of source code find lost ones."""
_ID_BYTES: Final = 8
_SECRET_BYTES: Final = 32
"""Too many to guess, so that a fast digest protects the secret as well as a slow one."""
_LONGEST: Final = 200
_KEPT: Final = timedelta(days=90)
"""How long an expired token is still listed."""
_OF: Final = api_tokens.c


class ApiToken(Record):
    """An API token as it is listed, without its secret."""

    token_id: str
    subject: str = Field(description="the person or machine that its requests are recorded as")
    scopes: tuple[str, ...] = Field(description="the rights that it gives")
    sees_all: bool = Field(default=False, description="False: only missions of its subject")
    created_by: str
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None = None


class SqlApiTokens:
    """The API tokens; each method raises StoreUnavailable or StoreRefused without a store."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    def create(
        self,
        *,
        subject: str,
        scopes: Collection[str],
        sees_all: bool,
        created_by: str,
        expires_at: datetime,
        now: datetime,
    ) -> tuple[ApiToken, str]:
        """Create a token; return it with its text, which cannot be read again."""
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        made = ApiToken(
            token_id=secrets.token_hex(_ID_BYTES),
            subject=subject,
            scopes=tuple(sorted(scopes)),
            sees_all=sees_all,
            created_by=created_by,
            created_at=now,
            expires_at=expires_at,
        )
        row = {**made.model_dump(), "scopes": " ".join(made.scopes)}
        with self._database.write() as connection:
            connection.execute(sa.delete(api_tokens).where(_OF.expires_at < now - _KEPT))
            connection.execute(sa.insert(api_tokens), {**row, "secret_digest": digest_of(secret)})
        return made, f"{TOKEN_PREFIX}{made.token_id}_{secret}"

    def find(self, text: str, *, now: datetime) -> ApiToken | None:
        """Return the token with this text; None if it is unknown, expired or revoked."""
        token_id, _, secret = text.removeprefix(TOKEN_PREFIX).partition("_")
        if not text.startswith(TOKEN_PREFIX) or len(text) > _LONGEST:
            return None
        rows = self._database.fetch(sa.select(api_tokens).where(_OF.token_id == token_id))
        if not rows or not hmac.compare_digest(rows[0].secret_digest, digest_of(secret)):
            return None
        found = _token(rows[0])
        return found if found.revoked_at is None and now < found.expires_at else None

    def list(self) -> list[ApiToken]:
        """Return all tokens, the newest first, with the expired and revoked ones."""
        query = sa.select(api_tokens).order_by(_OF.created_at.desc(), _OF.token_id)
        return [_token(row) for row in self._database.fetch(query)]

    def revoke(self, token_id: str, *, now: datetime) -> bool:
        """Revoke a token; return False if there is none with this id. It may be revoked already."""
        is_known = _OF.token_id == token_id
        live = sa.update(api_tokens).where(is_known, _OF.revoked_at.is_(None))
        if self._database.run(live.values(revoked_at=now)):
            return True
        return bool(self._database.fetch(sa.select(_OF.token_id).where(is_known)))


class SqlSignOuts:
    """Sessions that ended before their time: one, or all of a person; errors as of API tokens."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    def end_session(self, session_id: str, *, now: datetime, until: datetime) -> None:
        """Accept a session no longer; `until` its end it is remembered."""
        self._put(_session(session_id), now=now, until=until)

    def end_sessions_of(self, subject: str, *, now: datetime, until: datetime) -> None:
        """Accept no session of a person that has begun until now."""
        self._put(_person(subject), now=now, until=until)

    def has_ended(self, session_id: str, subject: str, *, begun_at: datetime) -> bool:
        """Return True if a session was ended, or all of its person that began no later."""
        of = sign_outs.c
        either = of.session.in_([_session(session_id), _person(subject)])
        rows = self._database.fetch(sa.select(of.session, of.at).where(either))
        own = _session(session_id)
        return any(row.session == own or begun_at <= row.at for row in rows)

    def _put(self, session: str, *, now: datetime, until: datetime) -> None:
        with self._database.write() as connection:
            connection.execute(sa.delete(sign_outs).where(sign_outs.c.until < now))
            connection.execute(
                self._database.put(sign_outs, "at", "until"),
                {"session": session, "at": now, "until": until},
            )


def _session(session_id: str) -> str:
    return f"s:{digest_of(session_id)}"


def _person(subject: str) -> str:
    return f"p:{digest_of(subject.casefold())}"


def _token(row: Any) -> ApiToken:
    fields = {name: getattr(row, name) for name in ApiToken.model_fields}
    for name in ("created_at", "expires_at", "revoked_at"):
        fields[name] = fields[name] and fields[name].astimezone(UTC)
    return ApiToken.model_validate({**fields, "scopes": tuple(row.scopes.split())})
