"""Decisions on cards through the forms of pages, over a real server: what is sent, what is not."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.confirmation.policy import ConfirmationPolicy, TwoApprovers
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.runtime.demo import DINING, LEAVING
from orchestrator.testing import eventually, run_to_end
from orchestrator.web.people import Role
from tests.guarded_examples import card_of
from tests.guarded_workflows import PERSON
from tests.integration.web_pages.forms import form_with, forms_in, send

if TYPE_CHECKING:
    import httpx

    from tests.integration.conftest import Witness
    from tests.integration.web_pages.conftest import BrowserOf

TABLE = f"Reserve a table for two at an Italian restaurant in Lisbon on {DINING} at 20:00"
FLIGHT = f"Book a flight from Berlin to Lisbon on {LEAVING}"


async def waiting_card(
    client: MissionClient, goal: str = TABLE, **changes: object
) -> tuple[MissionHandle, ConfirmationCard]:
    request = MissionRequest(goal=goal, requester="ana@example.com")
    mission = await client.start(request.model_copy(update=changes))
    card, *_ = await eventually(mission.confirmations)
    return mission, card


def at(card: ConfirmationCard) -> str:
    return f"/cards/{card.confirmation_id}"


async def test_an_approved_call_is_made_once(
    client: MissionClient, sandbox: Witness, ana: httpx.AsyncClient
) -> None:
    """The form is sent twice, as by a reader who goes back: the second changes nothing."""
    mission, card = await waiting_card(client)
    form = await form_with(ana, at(card), "decision", "approve")
    first = await send(ana, form, "decision", "approve")
    result = await run_to_end(mission)
    again = await send(ana, form, "decision", "approve")
    closed = await ana.get(at(card))

    assert (first.status_code, again.status_code) == (303, 409)
    assert result.status is MissionStatus.SUCCEEDED
    assert len(await sandbox.ledger(mission.mission_id)) == 1
    assert "Approved by ana@example.com" in closed.text
    assert [one.kind for one in result.legs[0].decisions] == ["approved"]


async def test_an_amended_card_is_approved_as_changed(
    client: MissionClient, sandbox: Witness, ana: httpx.AsyncClient
) -> None:
    """The fields come from the tool's schema; a new card follows, and what it shows is sent."""
    mission, card = await waiting_card(client)
    form = await form_with(ana, at(card), "decision", "amend")
    amended = await send(ana, form, "decision", "amend", argument__special_request="by the window")
    following = await ana.get(amended.headers["location"])
    stale = await send(ana, form, "decision", "amend", argument__special_request="inside")
    approve = await form_with(ana, at(card), "decision", "approve")
    await send(ana, approve, "decision", "approve")
    result = await run_to_end(mission)

    assert amended.status_code == 303
    assert "Nothing is sent yet" in following.text
    assert stale.status_code == 409
    assert result.status is MissionStatus.SUCCEEDED
    made = await sandbox.made(mission.mission_id, "dining_reserve_table")
    assert made["special_request"] == "by the window"
    assert [one.kind for one in result.legs[0].decisions] == ["amended", "approved"]


async def test_a_value_that_the_schema_refuses_is_no_amendment(
    client: MissionClient, ana: httpx.AsyncClient
) -> None:
    """The form comes back with the text and the reason; the card is as it was."""
    mission, card = await waiting_card(client)
    form = await form_with(ana, at(card), "decision", "amend")
    long = "x" * 501
    refused = await send(ana, form, "decision", "amend", argument__special_request=long)
    (now,) = await mission.confirmations()
    await mission.cancel()

    assert refused.status_code == 422
    (again,) = [one for one in forms_in(refused.text) if one.has("decision", "amend")]
    assert again.values["argument.special_request"] == long
    assert now == card


async def test_a_stale_digest_leaves_no_trace(
    client: MissionClient, ana: httpx.AsyncClient, browser_of: BrowserOf
) -> None:
    """Somebody amended the card meanwhile: an approval of the old one decides nothing."""
    mission, card = await waiting_card(client)
    old = await form_with(ana, at(card), "decision", "approve")
    bo = browser_of("bo@example.com")
    amend = await form_with(bo, at(card), "decision", "amend")
    await send(bo, amend, "decision", "amend", argument__special_request="outside")
    refused = await send(ana, old, "decision", "approve")
    forged = await ana.post(at(card), data={"decision": "approve", "digest": "ab" * 32})
    result = await mission.snapshot()
    await mission.cancel()

    assert (refused.status_code, forged.status_code) == (409, 409)
    assert "has changed" in refused.text
    assert [one.approver for one in result.legs[0].decisions] == ["bo@example.com"]


async def test_two_people_decide_at_once(
    client: MissionClient, sandbox: Witness, browser_of: BrowserOf
) -> None:
    """One decision counts, and the other person reads whose it was."""
    mission, card = await waiting_card(client)
    people = [browser_of(f"{name}@example.com") for name in ("ana", "bo")]
    forms = [await form_with(one, at(card), "decision", "approve") for one in people]
    answers = await asyncio.gather(
        *(send(one, form, "decision", "approve") for one, form in zip(people, forms, strict=True))
    )
    result = await run_to_end(mission)
    (decided,) = result.legs[0].decisions
    late = next(one for one in answers if one.status_code != 303)

    assert sorted(one.status_code for one in answers) == [303, 409]
    assert len(await sandbox.ledger(mission.mission_id)) == 1
    assert "did not count" in late.text
    assert decided.approver in late.text


async def test_a_second_approver_is_needed(
    client: MissionClient, sandbox: Witness, browser_of: BrowserOf
) -> None:
    """The page says whose approval it has, offers the first approver none, and waits."""
    policy = MissionPolicy(confirmation=ConfirmationPolicy(two_approvers=(TwoApprovers(),)))
    mission, card = await waiting_card(client, policy=policy)
    ana, bo = browser_of("ana@example.com"), browser_of("bo@example.com")
    await send(ana, await form_with(ana, at(card), "decision", "approve"), "decision", "approve")
    hers, his = await ana.get(at(card)), await bo.get(at(card))
    made_before = await sandbox.ledger(mission.mission_id)
    await send(bo, await form_with(bo, at(card), "decision", "approve"), "decision", "approve")
    result = await run_to_end(mission)

    assert "You have approved this card" in hers.text
    assert not [one for one in forms_in(hers.text) if one.has("decision", "approve")]
    assert "ana@example.com approved it" in his.text
    assert made_before == []
    assert result.status is MissionStatus.SUCCEEDED


async def test_several_cards_in_one_go(
    client: MissionClient, sandbox: Witness, ana: httpx.AsyncClient
) -> None:
    """The review lists each with its digest; one form approves both."""
    missions = [await waiting_card(client, goal) for goal in (TABLE, FLIGHT)]
    chosen = [("card", card.confirmation_id) for _, card in missions]
    page = await ana.get("/review", params={"card": [value for _, value in chosen]})
    (form,) = [one for one in forms_in(page.text) if one.action == "/review"]
    fields = [*chosen, *((n, v) for n, v in form.values.items() if n != "card")]
    pairs: dict[str, list[str]] = {}
    for name, value in fields:
        pairs.setdefault(name, []).append(value)
    done = await ana.post("/review", data=pairs)
    for mission, _ in missions:
        await run_to_end(mission)

    assert all(card.digest in page.text for _, card in missions)
    assert (done.status_code, done.headers["location"]) == (303, "/?approved=2")
    for mission, _ in missions:
        assert len(await sandbox.live(mission.mission_id)) == 1


async def test_a_rejection_says_what_follows(
    client: MissionClient, sandbox: Witness, ana: httpx.AsyncClient
) -> None:
    """Roll back: the mission ends, and nothing was made."""
    mission, card = await waiting_card(client)
    form = await form_with(ana, at(card), "decision", "reject")
    answer = await send(ana, form, "decision", "reject", reason="off", then="rollback")
    result = await run_to_end(mission)

    assert answer.headers["location"] == f"/missions/{mission.mission_id}"
    assert result.status is MissionStatus.FAILED
    assert result.legs[0].decisions[-1].then == "rollback"
    assert await sandbox.ledger(mission.mission_id) == []


async def test_a_sent_back_card_is_planned_again(
    client: MissionClient, ana: httpx.AsyncClient
) -> None:
    """The rules ask instead of guessing, and the question's form offers what there is."""
    mission, card = await waiting_card(client, FLIGHT)
    form = await form_with(ana, at(card), "decision", "respond")
    await send(ana, form, "decision", "respond", text="a later flight")
    (question,) = await eventually(mission.questions)
    address = f"/questions/{question.question_id}"
    page = await ana.get(address)
    answered = await ana.post(address, data={"choice.offer_id": "2"})
    second, *_ = await eventually(mission.confirmations)
    await mission.cancel()

    assert 'type="radio"' in page.text
    assert answered.status_code == 303
    assert second.arguments["offer_id"] != card.arguments["offer_id"]


async def test_people_who_may_not_decide_leave_no_trace(
    client: MissionClient, browser_of: BrowserOf
) -> None:
    """A viewer reads the card; a requester of other missions does not find it."""
    mission, card = await waiting_card(client)
    viewer = browser_of("vi@example.com", Role.VIEWER)
    other = browser_of("eve@example.com", Role.REQUESTER, sees_all=False)
    form = {"decision": "approve", "digest": card.digest}
    read = await viewer.get(at(card))
    refused = [(await one.post(at(card), data=form)).status_code for one in (viewer, other)]
    unseen = await other.get(at(card))
    result = await mission.snapshot()
    await mission.cancel()

    assert read.status_code == 200
    assert not forms_in(read.text)
    assert refused == [403, 404]
    assert unseen.status_code == 404
    assert result.legs[0].decisions == ()


async def test_a_card_of_a_session_is_approved_like_any_other(
    ana: httpx.AsyncClient, client: MissionClient
) -> None:
    """A session has no page: the person comes back to the inbox."""
    session = await client.session()
    found: Any = await session.call("dining_search_tables", {"city": "Lisbon", "date": DINING})
    slot = {"table_slot_id": found["tables"][0]["table_slot_id"], **PERSON}
    await session.begin("dining_reserve_table", slot)
    card = await card_of(client, "session", "dining_reserve_table")
    shown = await ana.get(f"/cards/{card.confirmation_id}")
    decided = await ana.post(
        f"/cards/{card.confirmation_id}", data={"decision": "approve", "digest": card.digest}
    )
    await session.rollback()

    assert card.digest in shown.text
    assert (decided.status_code, decided.headers["location"]) == (303, "/?approved=1")
