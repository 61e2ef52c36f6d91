"""Identity: the person or machine of a request, by its session or its bearer token."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orchestrator.adapters.access_tokens import AccessTokens
from orchestrator.adapters.storage.sql_sign_in import TOKEN_PREFIX, SqlApiTokens, SqlSignOuts
from orchestrator.web.config import MachineConfig, ServeConfig, groups_of, subject_of
from orchestrator.web.people import Person, Right, Role
from orchestrator.web.problem_details import ProblemError
from orchestrator.web.sign_in.csrf import has_bearer
from orchestrator.web.sign_in.session_cookies import Session, Sessions
from orchestrator.web.web_service import Identify

_KEPT: Final = "orchestrator.session"
Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the time in UTC."""
    return datetime.now(UTC)


@dataclass
class _Presented:
    """The session in the cookie of a request."""

    session: Session
    is_open: Callable[[], bool]
    """Returns False once the session of this cookie has expired."""
    person: Person | None = None
    is_checked: bool = False


def session_of(connection: HTTPConnection) -> Session | None:
    """Return the session of a request's cookie, which may have been ended since."""
    presented: _Presented | None = connection.scope.get(_KEPT)
    return None if presented is None else presented.session


def session_id_of(connection: HTTPConnection) -> str:
    """Return the id of the session of a request's cookie; '' without one."""
    session = session_of(connection)
    return "" if session is None else session.session_id


def checked_again(connection: HTTPConnection) -> HTTPConnection:
    """Return a request whose session is checked as that of a new one."""
    presented: _Presented | None = connection.scope.get(_KEPT)
    if presented is not None:
        is_open = presented.is_open()
        presented = replace(presented, person=None, is_checked=False) if is_open else None
    return HTTPConnection({**connection.scope, _KEPT: presented})


@dataclass(frozen=True)
class SessionCookies:
    """ASGI middleware that reads a session's cookie, and renews it while the session is used."""

    app: ASGIApp
    sessions: Sessions
    now: Clock = utc_now

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its session."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        text = HTTPConnection(scope).cookies.get(self.sessions.cookie, "")

        def read() -> Session | None:
            return self.sessions.read(text, now=self.now()) if text else None

        session = read()
        presented = None if session is None else _Presented(session, lambda: read() is not None)

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and presented and presented.person:
                headers, cookie = MutableHeaders(scope=message), f"{self.sessions.cookie}="
                used = self.sessions.used_now(presented.session, now=self.now())
                is_set = any(one.startswith(cookie) for one in headers.getlist("set-cookie"))
                if used is not None and not is_set:
                    headers.append("set-cookie", self.sessions.set_session(used))
            await send(message)

        await self.app({**scope, _KEPT: presented}, receive, sent)


@dataclass(frozen=True)
class BearerTokens:
    """Proves machines and people by tokens in the Authorization header.

    API tokens of this installation count, and access tokens of the machines' issuers, whose roles
    are those of the configuration.
    """

    tokens: SqlApiTokens
    machines: Sequence[tuple[MachineConfig, AccessTokens]] = ()
    config: ServeConfig | None = None
    now: Clock = utc_now

    async def person_of(self, connection: HTTPConnection) -> Person:
        """Return the person of a request with a bearer token.

        A token that is not valid is a ProblemError, a store that cannot be used StateMissing.
        """
        text = connection.headers["authorization"].partition(" ")[2].strip()
        if text.startswith(TOKEN_PREFIX):
            token = await asyncio.to_thread(self.tokens.find, text, now=self.now())
            if token is not None:
                return Person(
                    subject=token.subject,
                    roles=(Role.ADMIN,),
                    scopes=tuple(right for right in Right if right.value in token.scopes),
                    sees_all=token.sees_all,
                    proved_by="api token",
                )
        elif (person := await self._of_machine(text)) is not None:
            return person
        raise ProblemError(
            HTTPStatus.UNAUTHORIZED,
            "the token is not valid here: it is unknown, expired, revoked, or for another audience",
            code="TokenInvalid",
            headers={"WWW-Authenticate": 'Bearer error="invalid_token"'},
        )

    async def _of_machine(self, text: str) -> Person | None:
        if self.config is None:
            return None
        for machine, tokens in self.machines:
            claims = await tokens.claims_of(text)
            if claims is None:
                continue
            subject = subject_of(claims, machine.subject_claim)
            if not subject:
                return None
            groups = groups_of(claims, machine.groups_claim)
            roles, sees_all = self.config.standing_of(subject, groups)
            return Person(
                subject=subject,
                issuer=machine.issuer,
                roles=roles,
                groups=groups,
                sees_all=sees_all,
                proved_by="access token",
                signed_in_at=_time(claims.get("auth_time")),
            )
        return None


def token_bearer(bearer: BearerTokens) -> Identify:
    """Return an identification by bearer tokens alone: cookies do not count."""

    async def identify(connection: HTTPConnection) -> Person | None:
        return await bearer.person_of(connection) if has_bearer(connection) else None

    return identify


@dataclass(frozen=True)
class SignedIn:
    """Identifies requests by bearer tokens, or by the sessions of people who have signed in."""

    config: ServeConfig
    bearer: BearerTokens
    sign_outs: SqlSignOuts

    async def __call__(self, connection: HTTPConnection) -> Person | None:
        """Return the person of a request; None if nothing proves one.

        A cookie next to a bearer token does not count, even if the token is not valid.
        """
        if has_bearer(connection):
            return await self.bearer.person_of(connection)
        presented: _Presented | None = connection.scope.get(_KEPT)
        if presented is None:
            return None
        session = presented.session
        if presented.is_checked or session.issuer != self.config.sign_in.issuer:
            return presented.person
        presented.is_checked = True
        begun_at = datetime.fromtimestamp(session.begun, UTC)
        ended = self.sign_outs.has_ended
        if not await asyncio.to_thread(
            ended, session.session_id, session.subject, begun_at=begun_at
        ):
            roles, sees_all = self.config.standing_of(session.subject, session.groups)
            presented.person = Person(
                subject=session.subject,
                name=session.name,
                issuer=session.issuer,
                roles=roles,
                groups=session.groups,
                sees_all=sees_all,
                proved_by="cookie",
                signed_in_at=_time(session.auth_time),
            )
        return presented.person


def _time(seconds: object) -> datetime | None:
    is_time = isinstance(seconds, int | float) and 0 <= seconds < 1e11
    return datetime.fromtimestamp(float(seconds), UTC) if is_time else None  # type: ignore[arg-type]
