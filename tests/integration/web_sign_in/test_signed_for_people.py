"""The service signs for who has signed in; the worker believes the signature and nothing else."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import Approve, ConfirmationCard
from orchestrator.confirmation.signatures import named_signer
from orchestrator.core import errors
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.testing import eventually
from tests.integration.test_signed_decisions import ALERTS, MESSAGE
from tests.integration.web_sign_in.browsers import HTML, Browser, Issuer

if TYPE_CHECKING:
    from orchestrator.client.mission_client import MissionClient

ZOE = "zoe@example.com"


async def asked(missions: MissionClient, goal: str) -> tuple[MissionHandle, ConfirmationCard]:
    mission = await missions.start(MissionRequest(goal=goal, requester=ZOE))
    (card,) = await eventually(mission.confirmations)
    return mission, card


async def history_of(missions: MissionClient, mission: MissionHandle) -> str:
    handle = missions.temporal.get_workflow_handle(mission.mission_id)
    return (await handle.fetch_history()).to_json()


def form_of(card: ConfirmationCard) -> dict[str, str]:
    return {"card": card.confirmation_id, "digest": card.digest}


async def signed_in(browser: Browser, issuer: Issuer, name: str, *groups: str, **more: Any) -> None:
    claims = {"email": f"{name}@example.com", "email_verified": True, "groups": list(groups)}
    back = await browser.sign_in(await issuer.user(f"u-{name}", **{**claims, **more}))
    assert back.status_code == 303, back.text


async def test_a_member_of_the_group_approves(
    missions: MissionClient, browser: Browser, issuer: Issuer, url: str
) -> None:
    """The signature says who, of which group, when they signed in, and by which service."""
    mission, card = await asked(missions, ALERTS)
    await signed_in(browser, issuer, "ann", "finance", "ops")
    approved = await browser.send_form("/decide", **form_of(card))
    result = await mission.result()
    (decision,) = result.legs[0].decisions
    signer = named_signer(decision.signature)

    assert (approved.status_code, approved.text) == (200, '{"approved_as":"ann@example.com"}')
    assert result.status is MissionStatus.SUCCEEDED
    assert (decision.approver, decision.issuer) == ("ann@example.com", url)
    assert tuple(signer[:2]) == (url, "ann@example.com")
    assert result.receipts[0].confirmed_by == "ann@example.com"


async def test_nothing_else_than_a_form_of_a_member_does(
    missions: MissionClient, browser: Browser, issuer: Issuer, url: str
) -> None:
    """Each refusal leaves the history of the mission as it was."""
    mission, card = await asked(missions, ALERTS)
    form = form_of(card)
    await signed_in(browser, issuer, "ann", "finance")
    token, own = await browser.form_token(), browser.own
    foreign = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    neighbour = {"Origin": url.replace("127.0.0.1", "localhost"), "Sec-Fetch-Site": "same-site"}
    sandboxed = {"Origin": "null", "Sec-Fetch-Site": "cross-site"}
    full = {**form, "csrf_token": token}
    refused = {
        "no token": await browser.post("/decide", data=form, headers=own),
        "another token": await browser.post(
            "/decide", data={**form, "csrf_token": "0" * 64}, headers=own
        ),
        "foreign": await browser.post("/decide", data=full, headers=foreign),
        "foreign JSON": await browser.post("/decide", json=form, headers=foreign),
        "neighbour": await browser.post("/decide", data=full, headers=neighbour),
        "sandbox": await browser.post("/decide", data=full, headers=sandboxed),
        "no origin": await browser.post("/decide", data=full),
        "JSON without origin": await browser.post("/decide", json=form),
        "JSON as text": await browser.post(
            "/decide", content=str(form), headers={**own, "Content-Type": "text/plain"}
        ),
        "another host": await browser.post(
            "/decide", data=full, headers={**own, "Host": "evil.example"}
        ),
        "another port": await browser.post(
            "/decide", data=full, headers={**own, "Host": "127.0.0.1:1"}
        ),
        "no session": await _anonymous(url, full, own),
    }
    async with Browser(url) as other:
        await signed_in(other, issuer, "eve", "interns")
        refused["no member"] = await other.send_form("/decide", **form)
        refused["token of another"] = await other.post("/decide", data=full, headers=own)
        claims = {"email": "group:finance", "email_verified": True, "groups": []}
        back = await other.sign_in(await issuer.user("u-odd", **claims))
        refused["named like a group"] = back
    replayed = await _after_sign_out(browser, full)
    after = await history_of(missions, mission)
    await mission.cancel()

    assert {name: one.status_code for name, one in refused.items()} == {
        **dict.fromkeys(refused, 403),
        "another host": 421,
        "another port": 421,
        "no session": 401,
        "no member": 404,
    }
    assert replayed == 401
    assert "UPDATE" not in after
    assert (await mission.result()).status is MissionStatus.CANCELLED


async def _anonymous(url: str, form: dict[str, str], own: dict[str, str]) -> Any:
    async with Browser(url) as nobody:
        return await nobody.post("/decide", data=form, headers=own)


async def _after_sign_out(browser: Browser, form: dict[str, str]) -> int:
    cookies = dict(browser.cookies)
    await browser.send_form("/sign-out")
    for name, value in cookies.items():
        browser.cookies.set(name, value, domain="127.0.0.1", path="/")
    return (await browser.post("/decide", data=form, headers=browser.own)).status_code


async def test_a_script_of_a_page_decides_too(
    missions: MissionClient, browser: Browser, issuer: Issuer
) -> None:
    """By JSON, which no page of another site can send; or with the token in a header."""
    (first, card), (second, other) = await asyncio.gather(
        asked(missions, ALERTS), asked(missions, ALERTS)
    )
    await signed_in(browser, issuer, "ann", "finance")
    by_json = await browser.post("/decide", json=form_of(card), headers=browser.own)
    header = {"X-CSRF-Token": await browser.form_token(), **browser.own}
    by_form = await browser.post("/decide", data=form_of(other), headers=header)

    assert (by_json.status_code, by_form.status_code) == (200, 200)
    for mission in (first, second):
        assert (await mission.result()).status is MissionStatus.SUCCEEDED


async def test_an_approval_needs_a_fresh_sign_in(
    missions: MissionClient, browser: Browser, issuer: Issuer
) -> None:
    """An old one leads to signing in again, and then the same card is approved."""
    mission, card = await asked(missions, MESSAGE)
    await signed_in(browser, issuer, "bob", auth_time=1_700_000_000)
    old = await browser.send_form("/decide", **form_of(card))
    untouched = await history_of(missions, mission)
    max_age = old.headers["www-authenticate"].partition("max_age=")[2]
    await issuer.user("u-bob", email="bob@example.com", email_verified=True)
    again = await browser.sign_in("u-bob", next="/who", max_age=max_age)
    fresh = await browser.send_form("/decide", **form_of(card))
    result = await mission.result()

    assert card.max_sign_in_age is not None
    assert (old.status_code, old.json()["code"]) == (401, "SignInTooOld")
    assert "sign in again" in old.json()["detail"]
    assert 'error="insufficient_user_authentication"' in old.headers["www-authenticate"]
    assert max_age == "300"
    assert "UPDATE" not in untouched
    assert (again.status_code, fresh.status_code) == (303, 200)
    assert result.status is MissionStatus.SUCCEEDED


async def test_the_worker_refuses_what_the_service_should_not_have_sent(
    missions: MissionClient, browser: Browser, issuer: Issuer
) -> None:
    """Unsigned, under the right name or with the name of the group."""
    mission, card = await asked(missions, ALERTS)
    approve = Approve(confirmation_id=card.confirmation_id, digest=card.digest)
    for name in ("ann@example.com", "group:finance", "finance"):
        with pytest.raises(errors.SignatureRefused):
            await missions.decide(approve.model_copy(update={"approver": name}))
    after = await history_of(missions, mission)
    await mission.cancel()

    assert "UPDATE" not in after


async def test_a_token_signs_for_nobody(
    missions: MissionClient, browser: Browser, issuer: Issuer, url: str
) -> None:
    """It proves no sign-in of a person, though it may decide where nothing is signed."""
    mission, card = await asked(missions, ALERTS)
    await signed_in(browser, issuer, "ann", "finance", "admins")
    body = {"subject": "ann@example.com", "scopes": ["read", "decide"], "sees_all": True}
    made = await browser.post("/api/v1/tokens", json=body, headers=browser.own)
    async with Browser(url) as machine:
        refused = await machine.post(
            "/decide",
            json=form_of(card),
            headers={"Authorization": f"Bearer {made.json()['token']}"},
        )
    history = await history_of(missions, mission)
    await mission.cancel()

    assert (refused.status_code, refused.json()["code"]) == (403, "SignInNeeded")
    assert "UPDATE" not in history


async def test_a_refused_form_is_a_page_for_a_browser(browser: Browser, issuer: Issuer) -> None:
    """With what to do, in one sentence."""
    await signed_in(browser, issuer, "ann", "finance")
    page = await browser.post("/decide", data={"card": "x"}, headers={**HTML, **browser.own})

    assert page.status_code == 403
    assert "load its page again" in page.text
