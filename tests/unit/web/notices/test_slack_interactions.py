"""Decisions in Slack: signed requests, known people, and the card that the button was about."""

import asyncio
import json
import time
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from slack_sdk.signature import SignatureVerifier

from orchestrator.adapters.notices import slack_messages
from orchestrator.adapters.notices.slack_messages import CardKey
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import (
    PAST,
    Approve,
    ConfirmationCard,
    Decision,
    DecisionReceipt,
    Reject,
)
from orchestrator.core.errors import CardUnknown, MissionNotFound, SignatureRefused
from orchestrator.settings import Settings
from orchestrator.web.notices.slack_interactions import PATH, SlackDoor
from orchestrator.web.people import Person, Role
from orchestrator.web.web_app import create_app
from orchestrator.web.web_service import Service
from tests.fakes import MemorySecrets
from tests.unit.adapters.notices.notices import rules
from tests.unit.cards import open_card

SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
TEAM, ANA, EVE = "T0001", "U0ANA", "U0EVE"
CARD = open_card(
    "trip-1.1-flights.2", "pay", "structured-payment", title="Pay", requester="rex@example.com"
)
KEY = CardKey(confirmation_id=CARD.confirmation_id, digest=CARD.digest)


class Client:
    """The one card that is open, and the decisions on it."""

    def __init__(self) -> None:
        self.card: ConfirmationCard | None = CARD
        self.decisions: list[Decision] = []
        self.refusal: Exception | None = None
        self.wait = asyncio.Event()
        self.wait.set()
        self.connection = SimpleNamespace(workflow_of=lambda _: None)

    def get(self, mission_id: str) -> MissionHandle:
        raise MissionNotFound(mission_id)

    async def confirmation(self, confirmation_id: str) -> ConfirmationCard:
        if self.card is None or confirmation_id != self.card.confirmation_id:
            raise CardUnknown(confirmation_id, "no such confirmation is open")
        return self.card

    async def decide(self, decision: Decision) -> DecisionReceipt:
        await self.wait.wait()
        if self.refusal is not None:
            raise self.refusal
        self.decisions.append(decision)
        self.card = None
        past, at = PAST[decision.kind], datetime.now(UTC)
        return DecisionReceipt(confirmation_id=CARD.confirmation_id, accepted=past, at=at)


class Api:
    """Slack's API, which answers as its script says."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.users: dict[str, dict[str, Any]] = {}

    async def call(self, channel: str, method: str, /, **arguments: Any) -> dict[str, Any]:
        self.calls.append((method, arguments))
        return {"ok": True, "user": self.users.get(arguments.get("user", ""), {})}

    def said(self) -> list[str]:
        return [a["text"] for method, a in self.calls if method == "chat_postEphemeral"]


class Workspace:
    """A service with interactions, and the requests that Slack sends it."""

    def __init__(self, **app: Any) -> None:
        self.client, self.api = Client(), Api()
        made = rules(slack={"team": TEAM, "people": {ANA: "ana@example.com"}, **app})
        secrets = MemorySecrets({"slack_signing_secret": SECRET})
        self.door = SlackDoor(rules=made, secrets=secrets, api=self.api, standing=self._standing)
        client: Any = self.client
        self.app = create_app(
            Service(client=client, settings=Settings(), identify=_nobody, slack=self.door)
        )

    @staticmethod
    def _standing(subject: str, _: tuple[str, ...]) -> tuple[tuple[Role, ...], bool]:
        return ((Role.APPROVER,) if subject.endswith("@example.com") else ()), False

    async def send(
        self, payload: Any, *, secret: str = SECRET, at: float | None = None, **headers: str
    ) -> httpx.Response:
        """Send one interaction, signed as Slack signs it."""
        body = urlencode({"payload": json.dumps(payload)})
        timestamp = str(int(time.time() if at is None else at))
        made = SignatureVerifier(secret).generate_signature(timestamp=timestamp, body=body)
        return await self.post(timestamp, body.encode(), headers.get("signature", str(made)))

    async def post(self, timestamp: str, body: bytes, signature: str) -> httpx.Response:
        headers = [
            (b"content-type", b"application/x-www-form-urlencoded"),
            (b"x-slack-request-timestamp", timestamp.encode()),
            (b"x-slack-signature", signature.encode()),
        ]
        transport = httpx.ASGITransport(self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://web") as http:
            return await http.post(PATH, content=body, headers=headers)


async def _nobody(_: Any) -> Person | None:
    return None


def click(action: str = slack_messages.APPROVE, *, user: str = ANA, **changes: Any) -> Any:
    value = changes.pop("value", KEY.text())
    return {
        "type": "block_actions",
        "user": {"id": user, "name": "ana@example.com", "team_id": TEAM},
        "team": {"id": TEAM},
        "channel": {"id": "C0123456"},
        "trigger_id": "1.2.3",
        "actions": [{"action_id": action, "value": value}],
        **changes,
    }


def submission(reason: str | None = "too dear", *, user: str = ANA, key: CardKey = KEY) -> Any:
    entered = {slack_messages.REASON: {slack_messages.REASON: {"value": reason}}}
    return {
        "type": "view_submission",
        "user": {"id": user},
        "team": {"id": TEAM},
        "view": {
            "callback_id": slack_messages.REJECT,
            "private_metadata": key.text(),
            "state": {"values": entered},
        },
    }


async def test_an_approval_is_the_mapped_persons_with_the_digest_of_the_button() -> None:
    slack = Workspace()
    answer = await slack.send(click())

    assert answer.status_code == 200
    (made,) = slack.client.decisions
    assert made == Approve(**KEY.model_dump(), approver="ana@example.com")
    assert slack.api.said() == []


async def test_a_rejection_asks_for_its_reason_first() -> None:
    slack = Workspace()
    await slack.send(click(slack_messages.REJECT))
    ((method, opened),) = slack.api.calls
    asked = list(slack.client.decisions)
    answer = await slack.send(submission())

    assert (method, opened["trigger_id"]) == ("views_open", "1.2.3")
    assert CardKey.read(opened["view"]["private_metadata"]) == KEY
    assert asked == []
    assert answer.json() == {"response_action": "clear"}
    assert slack.client.decisions == [
        Reject(confirmation_id=CARD.confirmation_id, reason="too dear", approver="ana@example.com")
    ]


@pytest.mark.parametrize("payload", [click(), submission()])
async def test_a_card_that_changed_is_not_decided(payload: Any) -> None:
    """Neither approved nor rejected: the person has read another one."""
    slack = Workspace()
    slack.client.card = CARD.model_copy(update={"digest": "e" * 64})
    answer = await slack.send(payload)

    assert slack.client.decisions == []
    shown = slack.api.said() or [answer.json()["errors"][slack_messages.REASON]]
    assert "has changed since this message" in shown[0]
    assert f"https://inbox.example.com/cards/{CARD.confirmation_id}" in shown[0]


async def test_a_request_counts_once() -> None:
    """The same signed request again finds that the card is closed."""
    slack = Workspace()
    await slack.send(click())
    await slack.send(click())

    assert len(slack.client.decisions) == 1
    assert "no such confirmation is open" in slack.api.said()[0]


@pytest.mark.parametrize(
    ("person", "changes", "why"),
    [
        ("ana@example.com", {"user": EVE}, "is not known here"),
        ("ana@example.com", {"team": {"id": "T0OTHER"}}, "is not known here"),
        ("ana@example.com", {"user": "ana@example.com"}, "is not known here"),
        ("ana@elsewhere.org", {}, "no such confirmation is open"),
    ],
    ids=["unknown", "another team", "a name", "without the role"],
)
async def test_an_unknown_user_decides_nothing(person: str, changes: Any, why: str) -> None:
    """A name that reads like somebody's proves nothing; nor does the same id elsewhere."""
    slack = Workspace(people={ANA: person})
    await slack.send(click(**changes))

    assert slack.client.decisions == []
    assert why in slack.api.said()[0]


@pytest.mark.parametrize(
    "forged",
    [
        {"secret": "another secret"},
        {"signature": "v0=" + "0" * 64},
        {"signature": ""},
        {"at": 0},
        {"at": time.time() - 301},
        {"at": time.time() + 900},
    ],
)
async def test_a_forged_or_old_request_is_refused(forged: Any) -> None:
    slack = Workspace()
    answer = await slack.send(click(), **forged)

    assert answer.status_code == 401
    assert answer.json()["code"] == "SlackSignatureInvalid"
    assert slack.client.decisions == []
    assert slack.api.calls == []


@pytest.mark.parametrize("timestamp", ["", "soon", "9" * 400, "١٢٣"])
async def test_a_timestamp_that_is_no_number_is_refused(timestamp: str) -> None:
    slack = Workspace()
    answer = await slack.post(timestamp, b"payload=%7B%7D", "v0=0")
    large = await slack.post(timestamp, b"x" * 300_000, "v0=0")

    assert answer.status_code == 401
    assert large.status_code == 413


@pytest.mark.parametrize(
    "payload",
    [
        [],
        {},
        {"type": "block_actions"},
        click(value="not json"),
        click(value='{"a": 1}'),
        click(value='["x"]'),
        click(value="[" * 5000),
        {**submission(), "view": {"callback_id": slack_messages.REJECT}},
    ],
)
async def test_a_payload_that_is_none_of_ours_is_refused(payload: Any) -> None:
    slack = Workspace()
    answer = await slack.send(payload)

    assert answer.status_code == 400
    assert slack.client.decisions == []


async def test_a_click_on_a_link_asks_for_nothing() -> None:
    slack = Workspace()
    answer = await slack.send(click(slack_messages.OPEN))

    assert (answer.status_code, answer.content) == (200, b"")
    assert slack.client.decisions == []


async def test_a_refused_decision_leads_to_the_inbox() -> None:
    """Such as one that needs a signature, which nothing in Slack can give."""
    slack = Workspace()
    slack.client.refusal = SignatureRefused(CARD.confirmation_id, "decisions have to be signed")
    await slack.send(click())

    assert "have to be signed" in slack.api.said()[0]
    assert "Decide in the inbox: https://inbox.example.com/cards/" in slack.api.said()[0]


async def test_a_slow_decision_is_made_after_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slack waits for three seconds, and would show an error."""
    monkeypatch.setattr("orchestrator.web.notices.slack_interactions._ACK_S", 0.05)
    slack = Workspace()
    slack.client.wait.clear()
    answer = await slack.send(click())
    before = list(slack.client.decisions)
    (running,) = slack.door.running
    slack.client.wait.set()
    await running

    assert answer.status_code == 200
    assert before == []
    assert len(slack.client.decisions) == 1


MEMBER = {
    "id": EVE,
    "team_id": TEAM,
    "is_email_confirmed": True,
    "profile": {"email": "Eve@Example.com", "display_name": "ana@example.com"},
}


@pytest.mark.parametrize(
    ("changes", "approver"),
    [
        ({}, "eve@example.com"),
        ({"is_email_confirmed": False}, None),
        ({"is_restricted": True}, None),
        ({"is_bot": True}, None),
        ({"deleted": True}, None),
        ({"is_stranger": True}, None),
        ({"team_id": "T0OTHER"}, None),
        ({"id": "U0OTHER"}, None),
        ({"profile": {"email": "eve@elsewhere.org"}}, None),
        ({"profile": {"email": "eve@example.com.evil.org"}}, None),
        ({"profile": {"display_name": "ana@example.com"}}, None),
        ({"profile": None}, None),
    ],
)
async def test_a_confirmed_address_names_a_person(changes: Any, approver: str | None) -> None:
    slack = Workspace(by_email=True, email_domains=["example.com"])
    slack.api.users[EVE] = {**MEMBER, **changes}
    await slack.send(click(user=EVE))

    assert [one.approver for one in slack.client.decisions] == [approver] * bool(approver)


def test_a_card_whose_decisions_are_signed_is_decided_elsewhere() -> None:
    """Its message says so, and has no button that would be refused."""
    signed = CARD.model_copy(update={"signed": True})
    shown = json.dumps(slack_messages.open_card(signed, link="https://inbox.example/cards/1"))
    without_link = json.dumps(slack_messages.open_card(signed, link=""))

    assert slack_messages.APPROVE not in shown
    assert slack_messages.REJECT not in shown
    assert "signed" in shown
    assert slack_messages.OPEN in shown
    assert "actions" not in without_link
