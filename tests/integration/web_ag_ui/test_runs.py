"""Runs over a real installation: interrupted by cards, resumed with digests, and never by text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx
import pytest

from orchestrator.client.mission_client import MissionClient
from orchestrator.runtime.demo import LEAVING
from orchestrator.web.ag_ui.runs import PATH
from orchestrator.web.people import Person, Role
from orchestrator.web.web_app import create_app
from orchestrator.web.web_service import Service
from tests.integration.test_cards import FLIGHT

if TYPE_CHECKING:
    from orchestrator.runtime.devserver import Stack

ANA = Person(subject="ana@example.com", roles=(Role.REQUESTER, Role.APPROVER), proved_by="cookie")
BO = Person(subject="bo@example.com", roles=(Role.REQUESTER, Role.APPROVER), proved_by="cookie")
EVE = Person(subject="eve@example.com", roles=(Role.REQUESTER,), proved_by="cookie")


class Chat:
    """A chat client: keeps the messages and the state, as the protocol's own does."""

    def __init__(self, client: MissionClient, stack: Stack, person: Person | None = ANA) -> None:
        async def identify(_: Any) -> Person | None:
            return person

        app = create_app(Service(client=client, settings=stack.settings, identify=identify))
        transport = httpx.ASGITransport(app)
        self._http = httpx.AsyncClient(transport=transport, base_url="http://web", timeout=120)
        self.thread = str(uuid4())
        self.messages: list[dict[str, Any]] = []
        self.state: Any = None

    def say(self, text: str) -> None:
        self.messages.append({"id": str(uuid4()), "role": "user", "content": text})

    async def post(self, **changes: Any) -> httpx.Response:
        body = {
            "threadId": self.thread,
            "runId": str(uuid4()),
            "messages": self.messages,
            "state": self.state,
            "tools": [],
            "context": [],
            "forwardedProps": {},
            **changes,
        }
        return await self._http.post(PATH, json=body)

    async def run(self, **changes: Any) -> list[dict[str, Any]]:
        response = await self.post(**changes)
        assert response.status_code == 200, response.text
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = [line for line in response.text.split("\n\n") if line.startswith("data: ")]
        events = [json.loads(line.removeprefix("data: ")) for line in lines]
        for event in events:
            if event["type"] == "STATE_SNAPSHOT":
                self.state = event["snapshot"]
            if event["type"] == "STATE_DELTA":
                for one in event["delta"]:
                    self.state[one["path"][1:]] = one["value"]
        return events

    async def resume(self, interrupt: Any, **payload: Any) -> list[dict[str, Any]]:
        answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}
        return await self.run(resume=[answer])


def interrupts(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    assert events[-1]["type"] == "RUN_FINISHED"
    outcome = events[-1]["outcome"]
    assert outcome["type"] == "interrupt"
    found: list[dict[str, Any]] = outcome["interrupts"]
    return found


def texts(events: list[dict[str, Any]]) -> str:
    return "\n".join(e["delta"] for e in events if e["type"] == "TEXT_MESSAGE_CONTENT")


def types(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


async def test_a_mission_is_run_interrupted_and_resumed(
    client: MissionClient, stack: Stack
) -> None:
    """The card's digest approves it; what was shown before is not shown again."""
    chat = Chat(client, stack)
    chat.say(FLIGHT)
    first = await chat.run()
    (card,) = interrupts(first)
    again = await chat.run()
    last = await chat.resume(card, decision="approve", digest=card["metadata"]["digest"])
    calls = [e["toolCallId"] for e in (*first, *again, *last) if e["type"] == "TOOL_CALL_START"]
    result = await client.get(chat.state["missionId"]).result()

    assert types(first)[:2] == ["RUN_STARTED", "STATE_SNAPSHOT"]
    assert chat.state["plan"]
    assert interrupts(again) == [card]
    assert types(again) == ["RUN_STARTED", "STATE_SNAPSHOT", "RUN_FINISHED"]
    assert last[-1]["outcome"] == {"type": "success"}
    assert last[-1]["result"]["status"] == "succeeded"
    assert card["id"] in calls
    assert len(calls) == len(set(calls))
    assert texts(last).strip()
    assert chat.state["spend"]
    (decision,) = [one for leg in result.legs for one in leg.decisions]
    assert (decision.approver, decision.digest) == ("ana@example.com", card["metadata"]["digest"])


@pytest.mark.parametrize("said", ["yes, approve it", "approve"])
async def test_text_approves_nothing(client: MissionClient, stack: Stack, said: str) -> None:
    """It neither decides nor begins another mission; nor does it as the payload of an answer."""
    chat = Chat(client, stack)
    chat.say(FLIGHT)
    (card,) = interrupts(await chat.run())
    mission_id = chat.state["missionId"]
    chat.say(said)
    events = await chat.run()
    worded = {"interruptId": card["id"], "status": "resolved", "payload": said}
    answered = await chat.run(resume=[worded])

    assert interrupts(events) == [card]
    assert "text neither changes nor approves anything" in texts(events)
    assert chat.state["missionId"] == mission_id
    assert interrupts(answered) == [card]
    assert "Refused: " in texts(answered)
    await client.get(mission_id).cancel()


async def test_a_wrong_digest_decides_nothing(client: MissionClient, stack: Stack) -> None:
    chat = Chat(client, stack)
    chat.say(FLIGHT)
    (card,) = interrupts(await chat.run())
    approved = await chat.resume(card, decision="approve", digest="0" * 64)
    rejected = await chat.resume(card, decision="reject", digest="0" * 64, reason="no")
    given_up = await chat.run(resume=[{"interruptId": card["id"], "status": "cancelled"}])
    elsewhere = await chat.resume({"id": "another.1-leg.1"}, decision="approve", digest="d")

    for events in (approved, rejected, elsewhere):
        assert "CUSTOM" in types(events)
        assert interrupts(events) == [card]
    assert interrupts(given_up) == [card]
    ended = await chat.resume(
        card,
        decision="reject",
        digest=card["metadata"]["digest"],
        reason="too dear",
        then="rollback",
    )
    assert ended[-1]["type"] == "RUN_ERROR"
    assert "too dear" in ended[-1]["message"]


async def test_nobody_reaches_the_mission_of_another(client: MissionClient, stack: Stack) -> None:
    """Neither by the thread, nor by the state, nor by an answer."""
    chat = Chat(client, stack)
    chat.say(FLIGHT)
    (card,) = interrupts(await chat.run())
    own = chat.state["missionId"]
    other = Chat(client, stack, EVE)
    other.thread, other.messages, other.state = chat.thread, chat.messages, dict(chat.state)
    (theirs,) = interrupts(await other.run())
    digest = card["metadata"]["digest"]
    tried = await other.resume(card, decision="approve", digest=digest)
    unsigned = await Chat(client, stack, None).post()
    still = await client.confirmation(card["id"])

    assert other.state["missionId"] != own
    assert theirs["id"] != card["id"]
    assert "CUSTOM" in types(tried)
    assert still.digest == digest
    assert unsigned.status_code == 401
    for mission_id in (own, other.state["missionId"]):
        await client.get(mission_id).cancel()


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"messages": []}, 422),
        ({"messages": "no list"}, 422),
        ({"threadId": None}, 422),
        ({"forwardedProps": {"mission": {"requester": "bo@example.com"}}}, 422),
        ({"forwardedProps": {"mission": {"mission_id": "mine"}}}, 422),
        ({"messages": [{"id": "1", "role": "user", "content": "x" * 3_000_000}]}, 413),
    ],
)
async def test_a_request_that_is_none_is_refused(
    client: MissionClient, stack: Stack, changes: Any, status: int
) -> None:
    chat = Chat(client, stack)
    chat.say(FLIGHT)
    answer = await chat.post(**changes)

    assert answer.status_code == status


async def test_a_question_is_answered_by_its_fields(client: MissionClient, stack: Stack) -> None:
    """A value that cannot be read is refused, and asked for again."""
    chat = Chat(client, stack)
    chat.say("Book a flight to Lisbon")
    (asked,) = interrupts(await chat.run())
    refused = await chat.resume(asked, origin="Berlin", departure_date="the day of the frog")
    (again,) = interrupts(refused)
    answered = await chat.resume(again, origin="Berlin", departure_date=LEAVING)
    (card,) = interrupts(answered)
    await client.get(chat.state["missionId"]).cancel()

    assert asked["reason"] == "input_required"
    assert {"origin", "departure_date"} <= set(asked["responseSchema"]["properties"])
    assert "CUSTOM" in types(refused)
    assert again["id"] == asked["id"]
    assert card["reason"] == "confirmation_required"
    assert list(chat.state["waiting"]) == [card["id"]]
