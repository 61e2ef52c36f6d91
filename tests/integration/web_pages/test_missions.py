"""Missions through pages: started, held, repaired, rolled back, parked and resolved; and live."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.runtime.demo import DINING, DINNER
from orchestrator.sandbox import FaultRule
from orchestrator.testing import approve, eventually, run_to_end
from orchestrator.web.people import Role
from tests.integration.web_pages.forms import form_with, forms_in, send

if TYPE_CHECKING:
    import httpx

    from orchestrator.messages.leg import Question
    from tests.integration.conftest import Witness
    from tests.integration.web_pages.conftest import BrowserOf

TABLE = f"Reserve a table for two at an Italian restaurant in Lisbon on {DINING} at 20:00"
REFUSED = FaultRule(operation_id="message_send", kind="status_before", status=409)
NOT_CANCELLED = FaultRule(operation_id="dining_cancel_reservation", kind="refuse_cancel")


async def held(client: MissionClient, sandbox: Witness) -> tuple[MissionHandle, Question]:
    """A dinner whose message is refused, and that asks before its table is cancelled."""
    await sandbox.set_faults([REFUSED])
    request = MissionRequest(goal=DINNER, requester="ana@example.com", on_failure="ask")
    mission = await client.start(request)

    async def asks() -> Question | None:
        for card in await mission.confirmations():
            await approve(mission, card)
        return next(iter(await mission.questions()), None)

    question = await eventually(asks)
    assert question is not None
    return mission, question


async def _answered(mission: MissionHandle) -> bool:
    return not await mission.questions()


async def parked(client: MissionClient, sandbox: Witness) -> MissionHandle:
    """A dinner that failed, and whose table the restaurant does not cancel."""
    await sandbox.set_faults([REFUSED, NOT_CANCELLED])
    mission = await client.start(MissionRequest(goal=DINNER, requester="ana@example.com"))
    await run_to_end(mission)
    return mission


async def test_a_plan_is_shown_and_its_request_started_once(
    client: MissionClient, ana: httpx.AsyncClient
) -> None:
    """Nothing begins with the plan; the form that starts it, sent twice, starts one mission."""
    planned = await ana.post(
        "/start", data={"goal": TABLE, "action": "plan", "amount": "300", "currency": "eur"}
    )
    (form,) = [one for one in forms_in(planned.text) if one.has("action", "start")]
    form.action = "/start"
    known = [one.mission_id for one in await client.missions()]
    first = await send(ana, form, "action", "start")
    again = await send(ana, form, "action", "start")
    mission = client.get(form.values["mission_id"])
    result = await eventually(mission.snapshot)
    await mission.cancel()

    assert planned.status_code == 200
    assert "dining_reserve_table" in planned.text or "Reserve" in planned.text
    assert form.values["mission_id"] not in known
    assert first.headers["location"] == again.headers["location"]
    assert str(result.budget) == "300.00 EUR"
    assert result.requester == "ana@example.com"


async def test_a_goal_that_cannot_be_planned_is_said_so(ana: httpx.AsyncClient) -> None:
    """The form keeps what was typed."""
    goal = "Paint my fence <b>green</b>"
    answer = await ana.post("/start", data={"goal": goal, "action": "plan"})

    assert answer.status_code == 422
    assert "Nothing was started" in answer.text
    (form,) = [one for one in forms_in(answer.text) if one.has("action", "plan")]
    assert form.values["goal"] == goal


async def test_a_held_mission_is_repaired(
    client: MissionClient, sandbox: Witness, ana: httpx.AsyncClient
) -> None:
    """The page says what stands; a repair continues, and nothing that stands is done again."""
    mission, question = await held(client, sandbox)
    address = f"/questions/{question.question_id}"
    page = await ana.get(address)
    form = await form_with(ana, address, "decision", "repair")
    await sandbox.clear_faults()
    answer = await send(ana, form, "decision", "repair", argument__text="Dinner at eight!")

    assert answer.status_code == 303, answer.text
    await eventually(lambda: _answered(mission))
    result = await run_to_end(mission)

    assert "What stands" in page.text
    assert answer.headers["location"] == f"/missions/{mission.mission_id}"
    assert result.status is MissionStatus.SUCCEEDED
    (record,) = result.holds
    assert (record.decision, record.by) == ("repair", "ana@example.com")
    assert record.arguments == {"text": "Dinner at eight!"}
    tables = [e for e in await sandbox.live(mission.mission_id) if "dining" in e["operation"]]
    assert len(tables) == 1


async def test_a_held_mission_is_kept_or_rolled_back(
    client: MissionClient, sandbox: Witness, ana: httpx.AsyncClient, browser_of: BrowserOf
) -> None:
    """One button each; a viewer has none, and no answer of theirs counts."""
    mission, question = await held(client, sandbox)
    address = f"/questions/{question.question_id}"
    viewer = browser_of("vi@example.com", Role.VIEWER)
    refused = await viewer.post(address, data={"decision": "roll back"})
    form = await form_with(ana, address, "decision", "roll back")
    answer = await send(ana, form, "decision", "roll back")
    assert answer.status_code == 303, answer.text
    await eventually(lambda: _answered(mission))
    result = await run_to_end(mission)

    assert refused.status_code == 403
    assert answer.status_code == 303
    assert result.status is MissionStatus.ROLLED_BACK
    assert result.holds[0].by == "ana@example.com"
    assert await sandbox.live(mission.mission_id) == []


async def test_a_parked_obligation_is_resolved_with_a_note(
    client: MissionClient, sandbox: Witness, ana: httpx.AsyncClient, browser_of: BrowserOf
) -> None:
    """What, why and what to do are listed; the rollback then says who resolved it and how."""
    mission = await parked(client, sandbox)
    listed = await eventually(lambda: _listing(ana, mission.mission_id))
    (form,) = [
        one
        for one in forms_in(listed)
        if one.values.get("obligation", "").startswith(f"{mission.mission_id}.")
    ]
    form.action = "/parked"
    approver = browser_of("bo@example.com", Role.APPROVER)
    refused = await send(approver, form, "resolution", "accept", note="mine")
    without = await send(ana, form, "resolution", "cancelled")
    done = await send(ana, form, "resolution", "cancelled", note="called them <b>twice</b>")
    again = await send(ana, form, "resolution", "accept", note="late")
    page = await ana.get(done.headers["location"])

    assert [one.status_code for one in (refused, without, done, again)] == [403, 422, 303, 409]
    assert "ana@example.com resolved it as cancelled" in page.text
    assert "called them &lt;b&gt;twice&lt;/b&gt;" in page.text
    assert mission.mission_id not in await _listing(ana, "")


async def _listing(browser: httpx.AsyncClient, mission_id: str) -> str:
    text = (await browser.get("/parked")).text
    return text if mission_id in text else ""


async def test_a_mission_is_rolled_back_after_its_success(
    client: MissionClient, sandbox: Witness, ana: httpx.AsyncClient
) -> None:
    """The preview names what is cancelled; nothing is without a reason."""
    mission = await client.start(MissionRequest(goal=TABLE, requester="ana@example.com"))
    await run_to_end(mission)
    address = f"/missions/{mission.mission_id}/rollback"
    page = await ana.get(address)
    (form,) = [one for one in forms_in(page.text) if "reason" in one.values]
    form.action = address
    without = await send(ana, form)
    ordered = await send(ana, form, reason="plans changed")
    done = await eventually(lambda: _rolled_back(mission))
    after = await ana.get(address)

    assert "What a rollback would cancel" in page.text
    assert without.status_code == 422
    assert ordered.status_code == 303
    assert done
    assert "plans changed, decided by ana@example.com" in after.text
    assert await sandbox.live(mission.mission_id) == []


async def _rolled_back(mission: MissionHandle) -> bool:
    return (await mission.snapshot()).status is MissionStatus.ROLLED_BACK_AFTER_SUCCESS


async def test_a_running_mission_is_cancelled(
    client: MissionClient, ana: httpx.AsyncClient, browser_of: BrowserOf
) -> None:
    """By its page; a second time it is over, and a stranger does not find it."""
    mission = await client.start(MissionRequest(goal=TABLE, requester="ana@example.com"))
    await eventually(mission.confirmations)
    address = f"/missions/{mission.mission_id}"
    stranger = browser_of("eve@example.com", Role.REQUESTER, sees_all=False)
    unseen = await stranger.post(address, data={"action": "cancel"})
    form = await form_with(ana, address, "action", "cancel")
    first = await send(ana, form, "action", "cancel")
    result = await run_to_end(mission)
    again = await send(ana, form, "action", "cancel")

    assert (unseen.status_code, first.status_code, again.status_code) == (404, 303, 409)
    assert result.status is MissionStatus.CANCELLED


async def test_the_list_is_searched(
    client: MissionClient, ana: httpx.AsyncClient, browser_of: BrowserOf
) -> None:
    """By words, status and what is waited for; a requester sees only their own."""
    mission = await client.start(MissionRequest(goal=TABLE, requester="ana@example.com"))
    await eventually(mission.confirmations)
    stranger = browser_of("eve@example.com", Role.REQUESTER, sees_all=False)
    queries = (
        {"q": mission.mission_id},
        {"waits": "confirmation"},
        {"status": "awaiting_confirmation"},
    )
    for query in queries:
        await eventually(partial(_found, ana, query, mission.mission_id))
    none = await ana.get("/missions", params={"q": mission.mission_id, "status": "succeeded"})
    unseen = await stranger.get("/missions", params={"q": mission.mission_id})
    await mission.cancel()

    link = f'href="/missions/{mission.mission_id}"'
    assert link not in none.text
    assert link not in unseen.text


async def _found(browser: httpx.AsyncClient, query: dict[str, str], mission_id: str) -> bool:
    return f'href="/missions/{mission_id}"' in (await browser.get("/missions", params=query)).text


async def test_an_open_page_hears_of_a_card(client: MissionClient, ana: httpx.AsyncClient) -> None:
    """The stream names what changed and holds nothing of the card."""
    hearing = asyncio.create_task(_first_change(ana))
    await asyncio.sleep(1)
    mission = await client.start(MissionRequest(goal=TABLE, requester="ana@example.com"))
    heard = await asyncio.wait_for(hearing, 30)
    await mission.cancel()

    assert "event: change" in heard
    assert "Italian" not in heard


async def _first_change(browser: httpx.AsyncClient) -> str:
    """The first change that the stream names."""
    # The transport of httpx collects an answer whole: the application is asked itself.
    app = browser._transport.app  # type: ignore[attr-defined]
    heard: asyncio.Queue[str] = asyncio.Queue()
    left = asyncio.Event()

    async def receive() -> dict[str, object]:
        await left.wait()
        return {"type": "http.disconnect"}

    async def send_part(message: dict[str, object]) -> None:
        if message["type"] == "http.response.body":
            body = message.get("body", b"")
            assert isinstance(body, bytes)
            await heard.put(body.decode())

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/events",
        "raw_path": b"/events",
        "query_string": b"",
        "headers": [(b"host", b"inbox.example")],
        "http_version": "1.1",
        "scheme": "http",
        "server": ("inbox.example", 80),
        "client": ("127.0.0.1", 1),
        "root_path": "",
    }
    going = asyncio.create_task(app(scope, receive, send_part))
    try:
        while True:
            line = await heard.get()
            if "event: change" in line:
                return line
    finally:
        left.set()
        going.cancel()
        await asyncio.gather(going, return_exceptions=True)
