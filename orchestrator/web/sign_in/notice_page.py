"""The page that says why a request was refused or a sign-in failed, and the way to sign in."""

import re
from html import escape
from typing import Final
from urllib.parse import quote

from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, Response

from orchestrator.web.problem_details import ProblemError, response_of

SIGN_IN: Final = "/sign-in"
_LOCAL_PATH: Final = re.compile(r"/(?![/\\])[!-\[\]-~]*")
"""One slash, then printable ASCII without backslashes, which browsers read as slashes."""
TOKEN_FIELD: Final = "csrf_token"
"""The hidden field of forms."""
_PAGE: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
</head>
<body>
<main>
<h1>{title}</h1>
<p>{detail}</p>
{action}
</main>
</body>
</html>
"""
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


_LINK: Final = '<p><a href="{link}">{label}</a></p>'
_FORM: Final = (
    '<form method="post" action="{link}"><input type="hidden" name="csrf_token" value="{token}">'
    "<button>{label}</button></form>"
)


def local_path(text: str) -> str:
    """Return a path of this service to go on to; `/` in place of anything else."""
    return text if len(text) <= 1_000 and _LOCAL_PATH.fullmatch(text) else "/"


def sign_in_address(next_path: str, *, max_age_s: float | None = None) -> str:
    """Return the address that signs a person in, and then goes on to a path.

    With `max_age_s` people sign in again whose sign-in is older, as a policy requires of approvers.
    """
    fresh = "" if max_age_s is None else f"&max_age={max_age_s:.0f}"
    return f"{SIGN_IN}?next={quote(local_path(next_path), safe='/')}{fresh}"


def notice_page(
    title: str,
    detail: str,
    *,
    status: int = 200,
    link: str = "/",
    label: str = "Inbox",
    token: str | None = None,
) -> Response:
    """Return a page with a title, one paragraph and one link, or with a token one button."""
    parts = {"title": title, "detail": detail, "link": link, "label": label, "token": token or ""}
    escaped = {name: escape(text) for name, text in parts.items()}
    action = _LINK if token is None else _FORM
    content = _PAGE.format(action=action.format(**escaped), **escaped)
    return HTMLResponse(content, status, headers=_HEADERS)


def refusal_response(connection: HTTPConnection, refusal: ProblemError) -> Response:
    """Return a refusal as a page for a browser, else as a problem."""
    if "text/html" not in connection.headers.get("accept", ""):
        return response_of(refusal)
    problem = refusal.problem
    page = notice_page(problem.title, problem.detail, status=problem.status)
    for name, value in refusal.headers.items():
        page.headers[name] = value
    return page
