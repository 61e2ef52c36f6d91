"""The pages of sign-in: to the issuer, back from it, and sign-out."""

import asyncio
import hmac
import re
import secrets
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from orchestrator.adapters.storage.sql_sign_in import SqlSignOuts
from orchestrator.web.config import ServeConfig, groups_of, subject_of
from orchestrator.web.problem_details import ProblemError
from orchestrator.web.sign_in.csrf import csrf_token
from orchestrator.web.sign_in.identity import Clock, session_of, utc_now
from orchestrator.web.sign_in.issuer import CALLBACK, SIGNED_OUT, Issuer, refused
from orchestrator.web.sign_in.notice_page import (
    SIGN_IN,
    local_path,
    notice_page,
    refusal_response,
    sign_in_address,
)
from orchestrator.web.sign_in.session_cookies import Sessions, SignInUnderWay

SIGN_OUT: Final = "/sign-out"
_ERROR: Final = re.compile(r"[a-z_]{1,40}")
_NO_STORE: Final = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}


@dataclass(frozen=True)
class SignInPages:
    """Handlers of the routes of sign-in."""

    config: ServeConfig
    issuer: Issuer
    sessions: Sessions
    sign_outs: SqlSignOuts
    now: Clock = utc_now

    @property
    def routes(self) -> list[Route]:
        """The routes of sign-in."""
        return [
            Route(SIGN_IN, self.begin, methods=["GET"]),
            Route(CALLBACK, self.finish, methods=["GET"]),
            Route(SIGN_OUT, self.ask_to_sign_out, methods=["GET"]),
            Route(SIGN_OUT, self.sign_out, methods=["POST"]),
            Route(SIGNED_OUT, self.signed_out, methods=["GET"]),
        ]

    async def begin(self, request: Request) -> Response:
        """Send the browser to the issuer."""
        asked = request.query_params.get("max_age", "")
        under_way = SignInUnderWay(
            state=secrets.token_urlsafe(24),
            next=local_path(request.query_params.get("next", "/")),
            begun=int(self.now().timestamp()),
            max_age=int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 9 else None,
        )
        try:
            url = await self.issuer.sign_in_url(under_way.state, max_age=under_way.max_age)
        except ProblemError as problem:
            return refusal_response(request, problem)
        response = RedirectResponse(url, HTTPStatus.SEE_OTHER, headers=_NO_STORE)
        response.headers.append("set-cookie", self.sessions.set_sign_in(under_way))
        return response

    async def finish(self, request: Request) -> Response:
        """Take the answer of the issuer, and begin a session."""
        text = request.cookies.get(self.sessions.sign_in_cookie, "")
        under_way = self.sessions.read_sign_in(text, now=self.now())
        try:
            code, begun = self._code(request, under_way)
            auth_after = None if begun.max_age is None else begun.begun - begun.max_age
            claims = await self.issuer.claims(code, begun.state, auth_after=auth_after)
            subject = subject_of(claims, self.config.sign_in.subject_claim)
            if not subject:
                raise refused("the issuer names nobody who could stand in a policy")
        except ProblemError as problem:
            if "text/html" not in request.headers.get("accept", ""):
                return refusal_response(request, problem)
            again = SIGN_IN if under_way is None else sign_in_address(under_way.next)
            shown, label = problem.problem, "Sign in again"
            page = notice_page(
                shown.title, shown.detail, status=shown.status, link=again, label=label
            )
            if under_way is not None:
                self._forget(page, self.sessions.sign_in_cookie)
            return page
        name, auth_time = claims.get("name"), claims.get("auth_time")
        # Groups first on which roles depend: a cookie has no place for hundreds.
        rules = [rule for rule in self.config.roles if rule.group is not None]
        groups = sorted(
            groups_of(claims, self.config.sign_in.groups_claim),
            key=lambda one: not any(rule.covers("", (one,)) for rule in rules),
        )
        session = self.sessions.begin(
            subject=subject,
            name=name[:100] if isinstance(name, str) and name.isprintable() else "",
            issuer=self.config.sign_in.issuer,
            groups=groups,
            auth_time=int(auth_time) if isinstance(auth_time, int | float) else None,
            now=self.now(),
        )
        response = RedirectResponse(local_path(begun.next), HTTPStatus.SEE_OTHER, headers=_NO_STORE)
        response.headers.append("set-cookie", self.sessions.set_session(session))
        self._forget(response, self.sessions.sign_in_cookie)
        return response

    async def ask_to_sign_out(self, request: Request) -> Response:
        """Show the button that signs out: a link of another site must not do it."""
        if session_of(request) is None:
            return await self.signed_out(request)
        name, detail = "Sign out", "This ends your session in this browser."
        return notice_page(name, detail, link=SIGN_OUT, label=name, token=csrf_token(request))

    async def sign_out(self, request: Request) -> Response:
        """End the session here, and lead on to the end of that at the issuer."""
        session = session_of(request)
        if session is not None:
            await asyncio.to_thread(
                self.sign_outs.end_session,
                session.session_id,
                now=self.now(),
                until=self.sessions.end_of(session),
            )
        at_issuer = await self.issuer.end_session_url()
        if at_issuer is None:
            response = await self.signed_out(request)
        else:
            response = notice_page(
                "Signed out",
                "You are signed out here, and go on to sign out of your organisation's account.",
                link=at_issuer,
                label="Go on",
            )
            # No redirect: a page's policy may limit where its forms lead.
            response.headers["Refresh"] = f"0; url={at_issuer}"
        self._forget(response, self.sessions.cookie)
        return response

    async def signed_out(self, _: Request) -> Response:
        """Show that nobody is signed in any more."""
        return notice_page("Signed out", "You are signed out.", link=SIGN_IN, label="Sign in")

    def _code(
        self, request: Request, under_way: SignInUnderWay | None
    ) -> tuple[str, SignInUnderWay]:
        """Return the code that the issuer gave, and its sign-in; a ProblemError without one."""
        given = request.query_params
        state = given.get("state", "")
        if under_way is None or not hmac.compare_digest(state.encode(), under_way.state.encode()):
            raise ProblemError(
                HTTPStatus.BAD_REQUEST,
                "this sign-in was not begun in this browser, or has taken too long: sign in again",
                code="SignInUnknown",
            )
        if given.get("iss", self.config.sign_in.issuer).rstrip("/") != self.config.sign_in.issuer:
            raise refused("the answer is of another issuer")
        if "error" in given:
            said = given["error"]
            raise refused(f"the issuer says {said if _ERROR.fullmatch(said) else 'no'}")
        return given.get("code", ""), under_way

    def _forget(self, response: Response, cookie: str) -> None:
        response.headers.append("set-cookie", self.sessions.set_cookie(cookie, "", max_age_s=0))
