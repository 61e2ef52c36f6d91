"""Protection from forged requests: other sites that use a person's cookie, or the loopback address.

A request that changes something has to come from a page of this service, and a form has to carry
the page's token. A request with a bearer token is exempt: no browser sends one by itself.
"""

import hmac
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from orchestrator.web.problem_details import ProblemError
from orchestrator.web.request_limits import read_body, received_again
from orchestrator.web.sign_in.notice_page import TOKEN_FIELD, refusal_response

TOKEN_HEADER: Final = "X-CSRF-Token"
"""The header of requests that a page's script sends."""
LOOPBACK: Final = "loopback"
"""The session of the one local user, whom the address alone identifies."""
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_FORMS: Final = frozenset(
    {"application/x-www-form-urlencoded", "multipart/form-data", "text/plain"}
)
"""Content types that a page of another site may send without asking this service first."""
_BY_BROWSERS: Final = ("sec-fetch-site", "origin")
"""Headers by which a browser states where a request comes from; no page can change them."""
_MOST_BYTES: Final = 2_000_000
"""The largest form."""


def csrf_token(connection: HTTPConnection) -> str:
    """Return the token for the forms of a page; empty where nobody is signed in."""
    return str(connection.scope.get("state", {}).get("csrf_token", ""))


@dataclass(frozen=True)
class CsrfProtection:
    """ASGI middleware that refuses requests which another site may have caused.

    Each process of the service has the same secret. `session_of` returns the session that the
    browser proves by itself, `LOOPBACK` for the local user, or '' if it proves nobody. The origin
    is that of this service's pages; '' for that of the request, whose host was checked.
    """

    app: ASGIApp
    secret: bytes = field(repr=False)
    session_of: Callable[[HTTPConnection], str]
    origin: str = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        session = self.session_of(HTTPConnection(scope))
        made = hmac.new(self.secret, f"csrf {session}".encode(), "sha256").hexdigest()
        token = made if session else ""
        scope = {**scope, "state": {**scope.get("state", {}), "csrf_token": token}}
        request = Request(scope, receive)
        if session and scope["method"] not in _SAFE and not has_bearer(request):
            try:
                receive = await self._checked(request, session, token)
            except ProblemError as refusal:
                await refusal_response(request, refusal)(scope, receive, send)
                return
        await self.app(scope, receive, send)

    async def _checked(self, request: Request, session: str, token: str) -> Receive:
        """Return how the app receives the body of a request that is not forged, else refuse it."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        check_origin(request, self.origin, is_stated=session != LOOPBACK)
        # Another site needs this service's consent to send JSON, or other methods than POST.
        is_of_browser = any(name in request.headers for name in _BY_BROWSERS)
        is_simple = kind in _FORMS or (not kind and is_of_browser and request.method == "POST")
        if not is_simple:
            return request.receive
        sent = request.headers.get(TOKEN_HEADER, "")
        receive = request.receive
        if not sent and kind in _FORMS:
            sent, receive = await _token_in_form(request)
        if not hmac.compare_digest(sent.encode(), token.encode()):
            raise ProblemError(
                HTTPStatus.FORBIDDEN,
                "the form is not one that this service has made for this session: load its page "
                "again, and send it from there",
                code="ForeignForm",
            )
        return receive


def check_origin(request: Request, own: str, *, is_stated: bool = False) -> None:
    """Refuse what a page of another site makes a browser send, by a ProblemError.

    The own origin is as of `CsrfProtection`; if it `is_stated`, a request has to state one.
    """
    site, origin = (request.headers.get(name) for name in _BY_BROWSERS)
    if site is None and origin is None and not is_stated:
        return
    own = own or f"{request.url.scheme}://{request.headers.get('host', '')}"
    if origin in (None, "null"):  # null: of a page that sends no referrer, or of a sandbox
        is_ours = site == "same-origin"
    else:
        is_ours = origin == own and site in (None, "same-origin", "none")
    if not is_ours:
        raise ProblemError(
            HTTPStatus.FORBIDDEN,
            "the request comes from another site: use the pages of this service, or send an API "
            "token",
            code="ForeignOrigin",
        )


def has_bearer(connection: HTTPConnection) -> bool:
    """Return True if the request has a bearer token."""
    return connection.headers.get("authorization", "")[:7].lower() == "bearer "


async def _token_in_form(request: Request) -> tuple[str, Receive]:
    body = await read_body(request, most=_MOST_BYTES)
    try:
        form = await Request(request.scope, received_again(body)).form(
            max_files=0, max_fields=1_000, max_part_size=_MOST_BYTES
        )
    except HTTPException as error:
        raise ProblemError(HTTPStatus.BAD_REQUEST, "the form cannot be read") from error
    found = form.get(TOKEN_FIELD)
    return found if isinstance(found, str) else "", received_again(body, then=request.receive)
