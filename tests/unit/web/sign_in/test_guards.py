"""Guards of requests to a service without sign-in, and of one behind https."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from orchestrator.web.config import ServeConfig
from orchestrator.web.sign_in.csrf import LOOPBACK, CsrfProtection, csrf_token
from orchestrator.web.sign_in.hosts import KnownHosts
from orchestrator.web.sign_in.identity import (
    SessionCookies,
    SignedIn,
    checked_again,
    session_id_of,
    session_of,
)
from orchestrator.web.sign_in.session_cookies import Session, Sessions

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
HERE = "http://127.0.0.1:8600"
OWN = {"Origin": HERE, "Sec-Fetch-Site": "same-origin"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


async def echo(request: Request) -> Response:
    body = await request.body()
    return JSONResponse({"token": csrf_token(request), "body": body.decode()})


def client(guards: Sequence[Middleware], url: str = HERE) -> httpx.AsyncClient:
    routes = [Route("/", echo, methods=["GET", "POST", "PUT", "DELETE"]), Route("/healthz", echo)]
    app = Starlette(routes=routes, middleware=guards)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=url)


@pytest.fixture
async def local() -> AsyncIterator[httpx.AsyncClient]:
    guards = [
        Middleware(KnownHosts),
        Middleware(CsrfProtection, secret=b"s" * 32, session_of=lambda _: LOOPBACK),
    ]
    async with client(guards) as http:
        yield http


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8600", "127.0.0.1", "127.0.0.1:80", "localhost:1", "", "127.0.0.1:x",
        "127.0.0.1.evil.example:8600", "evil.example#@127.0.0.1:8600", "a@127.0.0.1:8600",
        "[::1", "0.0.0.0:8600",
    ],
)  # fmt: skip
async def test_another_name_is_a_rebound_one(local: httpx.AsyncClient, host: str) -> None:
    """Refused before anything else is looked at; platforms may ask for health by any name."""
    for own in ("127.0.0.1:8600", "localhost:8600", "LOCALHOST:8600", "[::1]:8600"):
        assert (await local.get("/", headers={"Host": own})).status_code == 200
    refused = await local.get("/", headers={"Host": host})
    healthy = await local.get("/healthz", headers={"Host": host})
    assert (refused.status_code, healthy.status_code) == (421, 200)
    assert refused.json()["code"] == "HostUnknown"


async def test_a_program_of_this_machine_needs_no_token(local: httpx.AsyncClient) -> None:
    """It sends JSON, or nothing, and no header of a browser."""
    answers = [await local.post("/", json={}), await local.post("/"), await local.delete("/")]

    assert [one.status_code for one in answers] == [200] * 3


@pytest.mark.parametrize(
    ("headers", "content", "status"),
    [
        ({**OWN, **FORM}, "csrf_token={token}&a=1", 200),
        ({**OWN, **FORM}, "a=1", 403),
        ({**OWN, **FORM}, "csrf_token=x", 403),
        ({**OWN, **FORM}, "csrf_token=\u00e4", 403),
        (FORM, "a=1", 403),
        ({**OWN, "Content-Type": "text/plain"}, "{}", 403),
        ({**OWN, "Content-Type": "text/plain", "X-CSRF-Token": "{token}"}, "{}", 200),
        ({**OWN, "Content-Type": "application/json"}, "{}", 200),
        ({**OWN, "X-CSRF-Token": "{token}"}, "", 200),
        (OWN, "", 403),
        ({"Origin": "null", "Sec-Fetch-Site": "same-origin", **FORM}, "csrf_token={token}", 200),
        ({"Origin": "null", **FORM}, "csrf_token={token}", 403),
        ({**OWN, "Origin": "http://localhost:8600", **FORM}, "csrf_token={token}", 403),
        ({**OWN, "Origin": "http://127.0.0.1:3000", **FORM}, "csrf_token={token}", 403),
        ({**OWN, "Sec-Fetch-Site": "cross-site", **FORM}, "csrf_token={token}", 403),
        ({"Sec-Fetch-Site": "cross-site", "Content-Type": "application/json"}, "{}", 403),
        ({"Origin": "https://evil.example", "Content-Type": "application/json"}, "{}", 403),
        ({"Origin": "https://evil.example", "Authorization": "Bearer x", **FORM}, "a=1", 200),
    ],
)  # fmt: skip
async def test_what_a_page_may_send(
    local: httpx.AsyncClient, headers: dict[str, str], content: str, status: int
) -> None:
    """Its own origin, and the token with all that another site could send as well."""
    token = (await local.get("/")).json()["token"]
    given = {name: value.replace("{token}", token) for name, value in headers.items()}
    body = content.replace("{token}", token)
    answer = await local.post("/", headers=given, content=body.encode())

    assert answer.status_code == status, answer.text
    if status == 200:
        assert answer.json()["body"] == body


async def test_a_form_with_parts_is_read_for_its_token(local: httpx.AsyncClient) -> None:
    token = (await local.get("/")).json()["token"]
    parts = {"csrf_token": (None, token), "a": (None, "1")}
    sent = await local.post("/", files=parts, headers=OWN)
    malformed = await local.post(
        "/", content=b"--x", headers={**OWN, "Content-Type": "multipart/form-data; boundary=y"}
    )
    huge = await local.post("/", content=b"a" * 2_000_001, headers={**OWN, **FORM})

    assert sent.status_code == 200
    assert token in sent.json()["body"]
    assert malformed.status_code in (400, 403)
    assert huge.status_code == 413


# -- behind https ---------------------------------------------------------------------------------


def sessions(**changes: Any) -> Sessions:
    limits: dict[str, Any] = {"lifetime": timedelta(hours=12), "idle": timedelta(hours=1)}
    return Sessions(["k" * 32], **{**limits, "is_https": True, **changes})


def begun(written: Sessions) -> Session:
    who: dict[str, Any] = {"subject": "ana@example.com", "name": "", "issuer": "https://id"}
    return written.begin(**who, groups=(), auth_time=None, now=NOW)


async def test_with_https_no_other_host_sets_the_cookie() -> None:
    """Its name has the prefix that browsers check, and one without it is not read."""
    written = sessions()
    session = begun(written)
    text = written.written(session)
    header = written.set_session(session)
    url = "https://missions.example.com"
    guards = [
        Middleware(ProxyHeadersMiddleware, ["10.0.0.1"]),
        Middleware(KnownHosts, url=url),
        Middleware(SessionCookies, sessions=written, now=lambda: NOW),
        Middleware(CsrfProtection, secret=b"s" * 32, session_of=session_id_of, origin=url),
    ]
    async with client(guards, url) as http:
        right = await http.get("/", headers={"Cookie": f"__Host-orchestrator_session={text}"})
        wrong = await http.get("/", headers={"Cookie": f"orchestrator_session={text}"})

    assert header.startswith("__Host-orchestrator_session=")
    assert "; Secure" in header
    assert right.json()["token"]
    assert wrong.json()["token"] == ""


class Ended:
    """Sessions that people have ended."""

    is_ended = False

    def has_ended(self, *_: object, **__: object) -> bool:
        return self.is_ended

    def end_session(self, *_: object, **__: object) -> None:
        self.is_ended = True


async def test_a_request_that_lasts_is_checked_again() -> None:
    """A stream learns that its session has been ended, or has expired, since it was opened."""
    written, moment, ended = sessions(), [NOW], Ended()
    issuer = {"issuer": "https://id", "client_id": "missions"}
    roles = [{"person": "*", "roles": ["viewer"]}]
    config = ServeConfig.model_validate({"url": HERE, "sign_in": issuer, "roles": roles})
    identify = SignedIn(config, cast("Any", None), cast("Any", ended))
    seen: list[bool] = []

    async def lasting(request: Request) -> Response:
        async def look() -> None:
            seen.append(await identify(checked_again(request)) is not None)

        assert await identify(request) is not None
        await look()
        ended.end_session()
        await look()
        ended.is_ended = False
        await look()
        moment[0] += timedelta(hours=2)
        await look()
        return Response()

    guards = [Middleware(SessionCookies, sessions=written, now=lambda: moment[0])]
    app = Starlette(routes=[Route("/", lasting)], middleware=guards)
    cookie = f"{written.cookie}={written.written(begun(written))}"
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=HERE) as http:
        await http.get("/", headers={"Cookie": cookie})

    assert seen == [True, False, True, False]


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("missions.example.com", 200),
        ("missions.example.com:443", 200),
        ("Missions.Example.com", 200),
        ("missions.example.com:8600", 421),
        ("example.com", 421),
        ("127.0.0.1:8600", 421),
    ],
)
async def test_a_service_behind_a_proxy_has_one_host(host: str, status: int) -> None:
    """Requests come by http there, and name the host as browsers do."""
    async with client([Middleware(KnownHosts, url="https://missions.example.com")]) as http:
        assert (await http.get("/", headers={"Host": host})).status_code == status


async def test_a_proxy_is_believed_only_where_it_is_named() -> None:
    seen: list[str] = []

    async def scheme(request: Request) -> Response:
        seen.append(f"{request.url.scheme} {request.client.host if request.client else ''}")
        return Response()

    headers = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.7"}
    for address in ("10.0.0.1", "10.0.0.2"):
        guards = [Middleware(ProxyHeadersMiddleware, ["10.0.0.1/32"])]
        app = Starlette(routes=[Route("/", scheme)], middleware=guards)
        transport = httpx.ASGITransport(app=app, client=(address, 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as http:
            await http.get("/", headers=headers)

    assert seen == ["https 192.0.2.7", "http 10.0.0.2"]


async def test_a_session_that_nobody_identified_is_not_renewed() -> None:
    """A cookie alone keeps no ended session alive."""
    written = sessions()
    session = begun(written)
    later = NOW + timedelta(minutes=30)
    guards = [Middleware(SessionCookies, sessions=written, now=lambda: later)]

    async def seen(request: Request) -> Response:
        found = session_of(request)
        return JSONResponse(None if found is None else found.subject)

    app = Starlette(routes=[Route("/", seen)], middleware=guards)
    cookie = {"Cookie": f"{written.cookie}={written.written(session)}"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="https://x") as http:
        answer = await http.get("/", headers=cookie)

    assert answer.json() == "ana@example.com"
    assert "set-cookie" not in answer.headers
