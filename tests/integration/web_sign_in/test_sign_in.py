"""Sign-in at a real issuer: who comes in as whom, and all that lets nobody in."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from orchestrator.web.sign_in.session_cookies import Session, Sessions
from tests.integration.web_sign_in.browsers import HTML, Browser, Issuer, query_of, served

if TYPE_CHECKING:
    from tests.integration.web_sign_in.conftest import Clock, MakeApp

ANA = "ana@example.com"
COOKIE = "orchestrator_session"


async def ana(issuer: Issuer, *groups: str, sub: str = "u-ana", **claims: Any) -> str:
    """A user whose address the issuer has verified."""
    verified = {"email": ANA, "email_verified": True, "name": "Ana <b>Oak</b>"}
    return await issuer.user(sub, **{**verified, "groups": list(groups), **claims})


async def who(browser: Browser) -> Any:
    return (await browser.get("/who")).json()


async def test_a_person_signs_in_and_out(browser: Browser, issuer: Issuer, url: str) -> None:
    """With PKCE, which this issuer enforces; a page that was asked for is shown afterwards."""
    refused = await browser.get("/api/v1/missions")
    back = await browser.sign_in(await ana(issuer, "finance"), next="/api/v1/missions?limit=1")
    shown = await browser.get(back.headers["location"])
    person = await who(browser)
    (cookie,) = (one for one in back.headers.get_list("set-cookie") if one.startswith(COOKIE))
    kept = browser.cookies[COOKIE]
    out = await browser.send_form("/sign-out")
    browser.cookies.set(COOKIE, kept, domain="127.0.0.1", path="/")
    replayed = await browser.get("/api/v1/missions")

    assert refused.status_code == 401
    assert (back.status_code, back.headers["location"]) == (303, "/api/v1/missions?limit=1")
    assert shown.status_code == 200
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(cookie.split("; "))
    assert (person["subject"], person["issuer"], person["proved_by"]) == (ANA, issuer.url, "cookie")
    assert person["roles"] == ["approver", "requester"]
    assert person["sees_all"]
    assert person["signed_in_at"]
    assert out.status_code == 200
    assert query_of(out.headers["refresh"].partition("url=")[2]) == {
        "client_id": "missions",
        "post_logout_redirect_uri": f"{url}/signed-out",
    }
    assert replayed.status_code == 401


async def test_the_request_to_the_issuer_says_all_that_protects_it(browser: Browser) -> None:
    """State, nonce, challenge, and exactly the one address to come back to; no secret in it."""
    begun = await browser.get("/sign-in", params={"next": "/who", "max_age": "60"})
    asked = query_of(begun.headers["location"])

    assert asked["response_type"] == "code"
    assert asked["code_challenge_method"] == "S256"
    assert len(asked["code_challenge"]) == 43
    assert asked["redirect_uri"] == f"{str(browser.base_url).rstrip('/')}/sign-in/callback"
    assert (asked["max_age"], asked["prompt"]) == ("60", "login")
    assert len({asked["state"], asked["nonce"], asked["code_challenge"]}) == 3
    assert "planted" not in begun.headers["location"]
    assert begun.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "wanted",
    [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "/a\r\nX: y",
        "evil",
        "",
        "/" * 2,
    ],
)
async def test_only_pages_of_the_service_are_gone_on_to(
    browser: Browser, issuer: Issuer, wanted: str
) -> None:
    """Whatever a link to the sign-in page asks for."""
    back = await browser.sign_in(await ana(issuer), next=wanted)

    assert back.headers["location"] == "/"


async def test_the_answer_to_another_sign_in_lets_nobody_in(
    browser: Browser, issuer: Issuer, url: str
) -> None:
    """Another browser's, one with a changed state, and the same one twice."""
    address = await browser.at_issuer(await ana(issuer))
    async with Browser(url) as other:
        foreign = await other.get(address, headers=HTML)
        await other.get("/sign-in")
        mixed = await other.get(address, headers=HTML)
    changed = await browser.get(address.replace("state=", "state=x"), headers=HTML)
    right = await browser.sign_in(await ana(issuer))
    again = await browser.get(address, headers=HTML)

    assert [one.status_code for one in (foreign, mixed, changed, again)] == [400] * 4
    assert not any(COOKIE + "=" in str(one.headers) for one in (foreign, mixed, changed, again))
    assert "Sign in again" in foreign.text
    assert right.status_code == 303


async def test_a_code_counts_once(browser: Browser, issuer: Issuer) -> None:
    """Also with the right state in the right browser."""
    address = await browser.at_issuer(await ana(issuer))
    under_way = browser.cookies["orchestrator_sign_in"]
    first = await browser.get(address)
    browser.cookies.clear()
    browser.cookies.set("orchestrator_sign_in", under_way, domain="127.0.0.1", path="/")
    second = await browser.get(address)

    assert (first.status_code, second.status_code) == (303, 403)
    assert second.json()["code"] == "SignInFailed"
    assert await who(browser) is None


@pytest.mark.parametrize(
    "forged",
    [
        {"nonce": "another"},
        {"aud": "another"},
        {"aud": ["missions", "another"]},
        {"iss": "https://another.example"},
        {"exp": 1},
        {"at_hash": "another"},
    ],
    ids=lambda one: next(iter(one)),
)
async def test_an_id_token_for_something_else_lets_nobody_in(
    browser: Browser, issuer: Issuer, forged: dict[str, Any]
) -> None:
    """Though the issuer itself has signed it."""
    back = await browser.sign_in(await ana(issuer, sub="u-forged", **forged))

    assert back.status_code == 403
    assert "ID token is not valid" in back.text
    assert await who(browser) is None


async def test_who_is_refused_at_the_issuer_reads_why(browser: Browser) -> None:
    """The words of a link to the callback are not repeated on the page."""
    begun = await browser.get("/sign-in")
    state = query_of(begun.headers["location"])["state"]
    hostile = "<script>alert(1)</script>"
    back = await browser.get(
        "/sign-in/callback",
        params={"state": state, "error": "access_denied", "error_description": hostile},
        headers=HTML,
    )

    assert back.status_code == 403
    assert "access_denied" in back.text
    assert "script" not in back.text
    assert "default-src 'none'" in back.headers["content-security-policy"]


async def test_an_unverified_address_is_nobodys_name(browser: Browser, issuer: Issuer) -> None:
    """The subject of the issuer counts in its place, which here has no role."""
    await browser.sign_in(await ana(issuer, sub="u-unverified", email_verified=False))
    person = await who(browser)
    listed = await browser.get("/api/v1/missions")

    assert (person["subject"], person["roles"]) == ("u-unverified", [])
    assert listed.status_code == 403


async def test_other_groups_are_other_rights_at_the_next_sign_in(
    browser: Browser, issuer: Issuer
) -> None:
    """And all sessions of a person can be ended at once, so that it comes at once."""
    await browser.sign_in(await ana(issuer, "admins", sub="u-boss", email="boss@example.com"))
    first = await who(browser)
    ended = await browser.post(
        "/api/v1/ended-sessions", json={"subject": "Boss@example.com"}, headers=browser.own
    )
    between = await who(browser)
    await ana(issuer, "interns", sub="u-boss", email="boss@example.com")
    await browser.sign_in("u-boss")
    second = await who(browser)

    assert "admin" in first["roles"]
    assert (ended.status_code, between) == (204, None)
    assert second["roles"] == ["approver", "requester"]
    assert not second["sees_all"]


async def test_a_session_ends_by_time(browser: Browser, issuer: Issuer, clock: Clock) -> None:
    """After an hour without use, and after twelve with any use."""
    await browser.sign_in(await ana(issuer))
    clock.ahead = timedelta(minutes=50)
    used = await who(browser)
    clock.ahead = timedelta(minutes=100)
    still = await who(browser)
    clock.ahead = timedelta(minutes=161)
    idle = await who(browser)
    clock.ahead = timedelta(0)
    await browser.sign_in(await ana(issuer))
    seen = []
    for minutes in range(30, 12 * 60 + 31, 30):
        clock.ahead = timedelta(minutes=minutes)
        seen.append(await who(browser) is not None)

    assert used
    assert still
    assert idle is None
    assert seen == [True] * 23 + [False] * 2


async def test_a_forged_cookie_is_none(browser: Browser, issuer: Issuer, clock: Clock) -> None:
    """Changed, signed with another key, for another purpose, of another issuer, or too long."""
    await browser.sign_in(await ana(issuer))
    kept = browser.cookies[COOKIE]
    content, _, signature = kept.rpartition(".")
    forged = [
        content,
        f"{_other(content[0])}{content[1:]}.{signature}",
        f"{content}.{_other(signature[0])}{signature[1:]}",
        _written("x" * 40, issuer.url, clock),
        _written("k" * 40, "https://another.example", clock),
        "a" * 5_000,
    ]
    begun = await browser.get("/sign-in")
    forged.append(begun.cookies["orchestrator_sign_in"])
    answers = []
    for text in forged:
        browser.cookies.clear()
        cookie = {"Cookie": f"{COOKIE}={text}"}
        answers.append(await browser.get("/api/v1/missions", headers=cookie))
    right = await browser.get("/api/v1/missions", headers={"Cookie": f"{COOKIE}={kept}"})

    assert [one.status_code for one in answers] == [401] * len(forged)
    assert right.status_code == 200


def _other(letter: str) -> str:
    return "B" if letter == "A" else "A"


def _written(key: str, issuer: str, clock: Clock) -> str:
    sessions = _sessions(key)
    admin: dict[str, Any] = {"subject": "boss@example.com", "name": "", "groups": ["admins"]}
    return sessions.written(sessions.begin(issuer=issuer, auth_time=None, now=clock(), **admin))


def _sessions(*keys: str) -> Sessions:
    limit = timedelta(hours=1)
    return Sessions(keys, lifetime=limit, idle=limit, is_https=False)


async def test_any_process_with_the_keys_knows_a_session(
    app_at: MakeApp, issuer: Issuer, browser: Browser, url: str
) -> None:
    """Also after the key was replaced, while the old one is still accepted."""
    from tests.integration.web_sign_in.conftest import Values

    await browser.sign_in(await ana(issuer))
    cookie = {"Cookie": f"{COOKIE}={browser.cookies[COOKIE]}"}
    rotated = Values(serve__session_key=f"{'n' * 40}\n{'k' * 40}")
    replaced = Values(serve__session_key="n" * 40)
    statuses = []
    for values in (None, rotated, replaced):
        async with served(app_at(values)) as other, Browser(other) as there:
            statuses.append((await there.get("/api/v1/missions", headers=cookie)).status_code)
    await browser.send_form("/sign-out")
    async with served(app_at()) as other, Browser(other) as there:
        after = await there.get("/api/v1/missions", headers=cookie)

    assert statuses == [200, 200, 401]
    assert after.status_code == 401


async def test_a_cookie_holds_no_token_and_fits(issuer: Issuer, browser: Browser) -> None:
    """Hundreds of groups are cut, and those that give roles are kept."""
    groups = [f"team-{n:04}-with-a-long-name" for n in range(400)]
    await browser.sign_in(await ana(issuer, *groups, "finance", sub="u-many"))
    person = await who(browser)

    assert len(browser.cookies[COOKIE]) < 4_000
    assert "eyJ" not in json.dumps(dict(browser.cookies))
    assert "finance" in person["groups"]
    assert person["sees_all"]


async def test_an_issuer_that_is_away_is_said_in_one_sentence(
    app_at: MakeApp, caplog: pytest.LogCaptureFixture
) -> None:
    """On a page for people and as a problem for programs; nothing secret is logged."""
    known_as = {"client_id": "missions", "client_secret": "serve__client"}
    away = {"issuer": "http://127.0.0.1:9", **known_as}
    async with served(app_at(sign_in=away, machines=[])) as other, Browser(other) as there:
        page = await there.get("/sign-in", headers=HTML)
        problem = await there.get("/sign-in")
        api = await there.get("/api/v1/missions")

    assert (page.status_code, problem.status_code, api.status_code) == (503, 503, 401)
    assert "nobody can sign in now" in page.text
    assert problem.json()["code"] == "IssuerUnavailable"
    assert problem.headers["retry-after"]
    assert "planted" not in caplog.text + page.text


async def test_a_fresh_sign_in_is_checked(browser: Browser, issuer: Issuer) -> None:
    """An issuer that does not ask the person again, or does not say when it did."""
    fresh = await browser.sign_in(await ana(issuer, sub="u-fresh"), max_age="60")
    stale = await browser.sign_in(await ana(issuer, sub="u-stale", auth_time=1), max_age="60")
    any_time = await browser.sign_in("u-stale")

    assert (fresh.status_code, stale.status_code, any_time.status_code) == (303, 403, 303)
    assert "did not ask the person to sign in again" in stale.text


def test_a_session_is_a_record_without_secrets() -> None:
    """Whoever reads a cookie learns what its person knows anyway."""
    assert set(Session.model_fields) == {
        "session_id", "subject", "name", "issuer", "groups", "auth_time", "begun", "used",
    }  # fmt: skip
