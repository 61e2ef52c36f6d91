"""API tokens and access tokens of machines: what each lets through, and what not."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.integration.web_sign_in.browsers import Browser, Issuer

if TYPE_CHECKING:
    from tests.integration.web_sign_in.conftest import Clock

BOSS = {"email": "boss@example.com", "email_verified": True, "groups": ["admins"]}
MINE = {"subject": "ci@example.com", "scopes": ["read"]}
MISSIONS, TOKENS = "/api/v1/missions", "/api/v1/tokens"


@pytest.fixture
async def boss(browser: Browser, issuer: Issuer) -> Browser:
    """A browser in which an admin has signed in."""
    await browser.sign_in(await issuer.user("u-boss", **BOSS))
    return browser


async def created(boss: Browser, **wanted: Any) -> httpx.Response:
    return await boss.post(TOKENS, json={**MINE, **wanted}, headers=boss.own)


def by(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def test_a_token_gives_its_scopes_until_it_is_revoked(boss: Browser, url: str) -> None:
    """No more of its creator's rights; it is shown once, and never listed."""
    made = await created(boss)
    token = made.json()["token"]
    async with httpx.AsyncClient(base_url=url, trust_env=False) as machine:
        person = (await machine.get("/who", headers=by(token))).json()
        read = await machine.get(MISSIONS, headers=by(token))
        beyond = [
            await machine.get(TOKENS, headers=by(token)),
            await machine.post(TOKENS, json=MINE, headers=by(token)),
            await machine.delete(f"{TOKENS}/{made.json()['token_id']}", headers=by(token)),
        ]
        listed = await boss.get(TOKENS)
        revoked = await boss.delete(f"{TOKENS}/{made.json()['token_id']}", headers=boss.own)
        after = await machine.get(MISSIONS, headers=by(token))

    assert made.status_code == 201
    assert (person["subject"], person["proved_by"]) == ("ci@example.com", "api token")
    assert not person["sees_all"]
    assert read.status_code == 200
    assert [one.status_code for one in beyond] == [403] * 3
    assert made.json()["token_id"] in listed.text
    assert token not in listed.text
    assert (revoked.status_code, after.status_code) == (204, 401)
    assert after.json()["code"] == "TokenInvalid"
    assert "invalid_token" in after.headers["www-authenticate"]


async def test_a_token_expires(boss: Browser, clock: Clock) -> None:
    """As its creation said."""
    token = (await created(boss, expires_in_s=60)).json()["token"]
    before = await boss.get("/who", headers=by(token))
    clock.ahead = timedelta(minutes=2)
    after = await boss.get("/who", headers=by(token))

    assert before.json()["subject"] == "ci@example.com"
    assert after.status_code == 401


@pytest.mark.parametrize(
    "wanted",
    [
        {"scopes": ["decide"], "subject": "cfo@example.com"},
        {"scopes": []},
        {"scopes": ["everything"]},
        {"subject": "policy:meals"},
        {"subject": "group:finance"},
        {"subject": ""},
        {"expires_in_s": 10**9},
        {"expires_in_s": 0},
    ],
    ids=str,
)
async def test_a_token_is_not_made_for_more_than_its_creator_may(
    boss: Browser, wanted: dict[str, Any]
) -> None:
    """Nor for a name that is no person's, nor for ever, nor to decide as somebody else."""
    refused = await created(boss, **wanted)

    assert refused.status_code in (400, 403, 422)
    assert "token" not in refused.json()


async def test_a_token_makes_no_token(boss: Browser) -> None:
    """Whatever its scopes: else a stolen one would never end."""
    token = (await created(boss, scopes=["administer", "read"])).json()["token"]
    refused = await boss.post(TOKENS, json=MINE, headers=by(token))
    listed = await boss.get(TOKENS, headers=by(token))

    assert refused.status_code == 403
    assert listed.status_code == 200


async def test_a_bad_token_is_refused_next_to_a_good_cookie(boss: Browser) -> None:
    """The header says who asks; the cookie does not step in for it."""
    for bad in ("orchestrator_0_x", "x", "a.b.c", "orchestrator_" + "0" * 500):
        refused = await boss.get(MISSIONS, headers=by(bad))
        assert refused.status_code == 401, bad


async def test_a_machine_comes_with_a_token_of_its_issuer(
    issuer: Issuer, url: str, clock: Clock
) -> None:
    """For the audience of this service alone; its roles are those of its name."""
    machine = {"aud": "missions-api", "name": "Nightly"}
    right = await issuer.id_token(await issuer.user("machine-nightly", **machine))
    wrong: dict[str, dict[str, Any]] = {
        "another audience": {"aud": "another"},
        "the audience of browsers": {"aud": "missions"},
        "another issuer": {**machine, "iss": "https://another.example"},
        "expired": {**machine, "exp": 1},
        "no expiry": {**machine, "exp": None},
    }
    async with httpx.AsyncClient(base_url=url, trust_env=False) as http:
        person = (await http.get("/who", headers=by(right))).json()
        read = await http.get(MISSIONS, headers=by(right))
        admin = await http.get(TOKENS, headers=by(right))
        unsigned = right.rpartition(".")[0] + "."
        statuses = {"no signature": (await http.get("/who", headers=by(unsigned))).status_code}
        for name, claims in wrong.items():
            token = await issuer.id_token(await issuer.user("machine-wrong", **claims))
            statuses[name] = (await http.get("/who", headers=by(token))).status_code

    assert (person["subject"], person["proved_by"]) == ("machine-nightly", "access token")
    assert (person["roles"], person["issuer"]) == (["requester"], issuer.url)
    assert (read.status_code, admin.status_code) == (200, 403)
    assert set(statuses.values()) == {401}, statuses
