"""Pages: identification, forms, errors and security headers of every request of the inbox."""

import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from orchestrator.core.errors import OrchestratorError
from orchestrator.web.pages.rendering import render
from orchestrator.web.people import Person, Right
from orchestrator.web.problem_details import ProblemError, status_of
from orchestrator.web.request_limits import read_body, received_again
from orchestrator.web.web_service import Service

_log: Final = logging.getLogger(__name__)
SECURITY_HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
_GROUPED: Final = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_RETRY_S: Final = 3  # after which the page of an unavailable service loads again


@dataclass(frozen=True)
class Visit:
    """One request for a page, by a person who was identified."""

    service: Service
    person: Person
    request: Request
    form: FormData = field(default_factory=FormData)

    def part(self, name: str) -> str:
        """Return a part of the path."""
        return str(self.request.path_params[name])

    def asked(self, name: str) -> str:
        """Return a parameter of the query, without blanks around it."""
        return self.request.query_params.get(name, "").strip()

    def sent(self, name: str) -> str:
        r"""Return a field of the form, with line ends as `\n`; empty if it is missing."""
        value = self.form.get(name, "")
        return value.replace("\r\n", "\n") if isinstance(value, str) else ""

    def sent_or_none(self, name: str) -> str | None:
        """Return a field of the form; None if the form does not have it."""
        return self.sent(name) if name in self.form else None

    def may(self, right: str) -> bool:
        """Return True if the person has a right, by its name."""
        return self.person.may(Right(right))

    def page(
        self, template: str, *, status: HTTPStatus = HTTPStatus.OK, **context: Any
    ) -> HTMLResponse:
        """Return a rendered page, which no cache keeps."""
        html = render(template, visit=self, person=self.person, request=self.request, **context)
        return HTMLResponse(html, status, headers=SECURITY_HEADERS)


Handler = Callable[[Visit], Awaitable[Response]]


def to(*parts: str, **query: str | int) -> RedirectResponse:
    """Return the redirect after a form: to the page of these path parts, with GET."""
    path = "/" + "/".join(quote(part, safe="") for part in parts)
    asked = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in query.items())
    return RedirectResponse(f"{path}?{asked}" if asked else path, HTTPStatus.SEE_OTHER)


def page_route(
    service: Service, path: str, *, get: Handler | None = None, post: Handler | None = None
) -> Route:
    """Return the route of a page, whose forms are sent to its own address."""
    handlers = {"GET": get, "POST": post}

    async def endpoint(request: Request) -> Response:
        handler = handlers["POST" if request.method == "POST" else "GET"]
        assert handler is not None  # Starlette answers 405 to other methods
        return await _answered(service, request, handler)

    return Route(path, endpoint, methods=[method for method, one in handlers.items() if one])


async def _answered(service: Service, request: Request, handler: Handler) -> Response:
    is_form = request.method == "POST"
    person: Person | None = None
    headers: Mapping[str, str] = {}
    try:
        person = await service.identify(request)
        if person is None and is_form:  # it is not repeated after the sign-in
            detail = "You are signed out, so nothing was done. Sign in, and send the form again."
            return error_page(request, None, HTTPStatus.UNAUTHORIZED, detail)
        if person is None:
            asked = f"?{request.url.query}" if request.url.query else ""
            return to("sign-in", next=request.url.path + asked)
        if not person.may(Right.READ):
            raise ProblemError(HTTPStatus.FORBIDDEN, "None of your roles lets you see this page.")
        form = FormData()
        if is_form:
            body = await read_body(request, most=256_000, within_s=service.limits.body_s)
            sent = Request(request.scope, received_again(body))
            form = await sent.form(max_files=0, max_fields=500)
        return await handler(Visit(service, person, request, form))
    except (ProblemError, OrchestratorError) as error:
        status, detail, headers = status_of(error), str(error), getattr(error, "headers", {})
    except HTTPException as error:
        status, detail = HTTPStatus(error.status_code), error.detail
    except Exception:
        # A bug costs its page alone. The page does not quote it, as its text may hold data.
        _log.exception("a page failed: %s", request.url.path)
        status = HTTPStatus.INTERNAL_SERVER_ERROR
        detail = "The page failed; the log of the service says why."
    answer = error_page(request, person, status, detail)
    answer.headers.update(headers)
    return answer


def typed_amount(text: str) -> str:
    """Return an amount without its thousands separators; a decimal comma stays, and is refused."""
    text = text.strip()
    return text.replace(",", "") if _GROUPED.fullmatch(text) else text


def refused_form(detail: str) -> ProblemError:
    """Return the problem of a form with a field that cannot be used."""
    return ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, detail)


def error_page(
    request: Request, person: Person | None, status: HTTPStatus, detail: str
) -> Response:
    """Return a page with one sentence about an error, and a way on."""
    is_away = status is HTTPStatus.SERVICE_UNAVAILABLE
    html = render(
        "error.html",
        request=request,
        person=person,
        status=status,
        detail=detail,
        is_away=is_away,
        nothing_done=request.method == "POST",
        # A form is not sent again by itself: a person looks first whether it was carried out.
        retry_s=_RETRY_S if is_away and request.method == "GET" else None,
    )
    away = {"Retry-After": str(_RETRY_S)} if is_away else {}
    return HTMLResponse(html, status, headers={**SECURITY_HEADERS, **away})
