"""Cards in Slack over real sockets: posted once, decided by a button, updated when they close."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import httpx
import pytest
from slack_sdk.signature import SignatureVerifier

from orchestrator.adapters.notices import slack_messages
from orchestrator.adapters.notices.notice_rules import SlackApp, SlackChannel
from orchestrator.adapters.notices.slack_api import SlackApi, SlackMessages
from orchestrator.adapters.notices.slack_messages import CardKey
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.errors import NoticeUndelivered
from orchestrator.messages.notice import Notice, NoticeRecord
from orchestrator.testing import eventually
from orchestrator.web.notices.slack_interactions import PATH, door_of
from orchestrator.web.people import Person, Role
from orchestrator.web.web_app import create_app
from orchestrator.web.web_service import Service
from tests.fakes import MemorySecrets
from tests.integration.web_notices.conftest import announcing
from tests.integration.web_notices.slack_server import TOKEN, SlackServer, slack
from tests.integration.web_notices.test_announcing import card_of

if TYPE_CHECKING:
    from orchestrator.runtime.devserver import Stack

SIGNING = "8f742231b10e8888abcd99yyyzzz85a5"
SECRETS = MemorySecrets({"slack_token": TOKEN, "slack_signing_secret": SIGNING})
CHANNEL = SlackChannel(slack="C0123456")
AT = datetime(2026, 11, 30, tzinfo=UTC)
HOSTILE = "<!channel> <https://evil.example|Approve> *now* & `x`\n:tada: \u202eevil"
CARD = ConfirmationCard(
    confirmation_id="m.1-leg.1",
    mission_id="m",
    leg_id="1-leg",
    card_type="structured-payment",
    heading=HOSTILE,
    title=HOSTILE,
    tool="pay",
    warnings=(f"first {HOSTILE}", "second"),
    cancellation=f"to ana.private@example.com {HOSTILE}",
    digest="d" * 64,
)


@pytest.fixture
def workspace() -> Iterator[SlackServer]:
    with slack() as server:
        yield server


def notice(event: str = "card.opened", **changes: Any) -> Notice:
    fields = {"notice_id": f"msg_{event}", "event": event, "at": AT, "wait_id": "m.1-leg.1"}
    return Notice.model_validate({**fields, "digest": CARD.digest, "title": CARD.title, **changes})


def record(**changes: Any) -> NoticeRecord:
    fields = {"notice_id": "msg_card.opened", "channel": "chat", "event": "card.opened"}
    times = {"first_at": AT, "last_at": AT, "digest": CARD.digest}
    return NoticeRecord.model_validate({**fields, **times, "state": "waiting", **changes})


class Desk:
    """Messages of a workspace, with a card that is open or not."""

    def __init__(self, workspace: SlackServer) -> None:
        api = SlackApi(SlackApp(api=workspace.url), SECRETS, allowed_private_hosts=("127.0.0.1",))
        self.card: ConfirmationCard | None = CARD
        self.earlier: list[NoticeRecord] = []
        self.messages = SlackMessages(
            api,
            open_card=self._open,
            shown=lambda *_: self.earlier,
            link=lambda one: f"https://inbox.example.com/cards/{one.wait_id}",
        )

    async def _open(self, _: str) -> ConfirmationCard | None:
        return self.card

    async def show(self, one: Notice, before: NoticeRecord | None = None) -> tuple[str, str | None]:
        return await self.messages.show("chat", CHANNEL, one, before or record())


def buttons(message: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = [e for b in message["blocks"] if b["type"] == "actions" for e in b["elements"]]
    return {element["action_id"]: element for element in found}


def texts(value: Any) -> Iterator[dict[str, Any]]:
    """Every text object of a message."""
    if isinstance(value, dict):
        if value.get("type") in ("plain_text", "mrkdwn"):
            yield value
        for one in value.values():
            yield from texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)


async def test_hostile_text_is_shown_and_does_nothing(workspace: SlackServer) -> None:
    """Blocks hold plain text alone; the notification's text is escaped; personal text is masked."""
    state, receipt = await Desk(workspace).show(notice())
    (message,) = workspace.messages.values()

    assert (state, receipt) == ("delivered", "C0123456:1700000000.000000")
    assert {one["type"] for one in texts(message["blocks"])} == {"plain_text"}
    assert not any(one["emoji"] for one in texts(message["blocks"]))
    assert "<" not in message["text"]
    assert "&lt;!channel&gt;" in message["text"]
    assert "\u202e" not in json.dumps(message, ensure_ascii=False)
    assert "ana.private@example.com" not in str(message)
    assert "2 warnings. first" in str(message)
    assert set(buttons(message)) == {
        slack_messages.APPROVE,
        slack_messages.REJECT,
        slack_messages.OPEN,
    }
    key = CardKey.read(buttons(message)[slack_messages.APPROVE]["value"])
    assert key.digest == CARD.digest


async def test_an_attempt_that_was_cut_off_is_not_repeated(workspace: SlackServer) -> None:
    """It had posted, and died before it could note that."""
    desk = Desk(workspace)
    _, first = await desk.show(notice())
    _, second = await desk.show(notice(), record(attempts=1))

    assert first == second
    assert len(workspace.messages) == 1


async def test_without_the_right_to_look_back_a_message_may_come_twice(
    workspace: SlackServer,
) -> None:
    desk = Desk(workspace)
    workspace.script["conversations.history"] = [(200, {"ok": False, "error": "missing_scope"}, {})]
    await desk.show(notice(), record(attempts=1))

    assert len(workspace.messages) == 1


@pytest.mark.parametrize(
    ("event", "outcome", "shown"),
    [
        ("card.decided", "rejected", "Rejected by bo@example.com"),
        ("card.decided", "amended", "A new card follows"),
        ("card.expired", "", "nobody decided in time"),
        ("card.withdrawn", "", "no longer asks"),
    ],
)
async def test_a_closed_card_loses_its_buttons(
    workspace: SlackServer, event: str, outcome: str, shown: str
) -> None:
    desk = Desk(workspace)
    _, receipt = await desk.show(notice())
    desk.earlier = [record(receipt=receipt)]
    closed = notice(event, outcome=outcome, decided_by="bo@example.com")
    state, _ = await desk.show(closed)
    (message,) = workspace.messages.values()

    assert state == "delivered"
    assert buttons(message) == {}
    assert shown in str(message)


async def test_a_card_that_closes_while_it_is_posted_is_shown_closed(
    workspace: SlackServer,
) -> None:
    desk = Desk(workspace)
    looks = iter([CARD, None])

    async def closing(_: str) -> ConfirmationCard | None:
        return next(looks)

    desk.messages._open_card = closing
    await desk.show(notice())
    (message,) = workspace.messages.values()

    assert buttons(message) == {}


@pytest.mark.parametrize(
    ("answer", "final", "wait"),
    [
        ((429, {"ok": False, "error": "ratelimited"}, {"Retry-After": "7"}), False, 7),
        ((500, {"ok": False}, {}), False, None),
        ((200, {"ok": False, "error": "internal_error"}, {}), False, None),
        ((200, {"ok": False, "error": "channel_not_found"}, {}), True, None),
        ((200, {"ok": False, "error": "token_revoked"}, {}), True, None),
    ],
)
async def test_a_refusal_is_for_now_or_for_good(
    workspace: SlackServer, answer: Any, final: bool, wait: float | None
) -> None:
    workspace.script["chat.postMessage"] = [answer]
    with pytest.raises(NoticeUndelivered) as refused:
        await Desk(workspace).show(notice())

    assert refused.value.final is final
    assert refused.value.retry_after_s == wait
    assert TOKEN not in str(refused.value)


async def test_an_api_that_is_away_may_come_back() -> None:
    with slack() as gone:
        desk = Desk(gone)
    with pytest.raises(NoticeUndelivered) as refused:
        await desk.show(notice())

    assert not refused.value.final


class Interactions:
    """What Slack sends when people click."""

    def __init__(self, app: Any) -> None:
        self._http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://web")

    async def send(self, payload: dict[str, Any]) -> httpx.Response:
        body, timestamp = urlencode({"payload": json.dumps(payload)}), str(int(time.time()))
        signed = SignatureVerifier(SIGNING).generate_signature(timestamp=timestamp, body=body)
        headers = {
            "x-slack-request-timestamp": timestamp,
            "x-slack-signature": str(signed),
            "content-type": "application/x-www-form-urlencoded",
        }
        return await self._http.post(PATH, content=body, headers=headers)

    async def click(self, button: dict[str, Any], user: str) -> httpx.Response:
        return await self.send(
            {
                "type": "block_actions",
                "user": {"id": user},
                "team": {"id": "T1"},
                "channel": {"id": "C0123456"},
                "trigger_id": "1.1",
                "actions": [{"action_id": button["action_id"], "value": button["value"]}],
            }
        )


async def _nobody(_: Any) -> Person | None:
    return None


@pytest.fixture
async def live(
    stack: Stack, tmp_path: Path, workspace: SlackServer
) -> AsyncIterator[tuple[Any, Interactions]]:
    """A worker that posts to the workspace, and a service that it sends clicks to."""
    rules = {
        "inbox": "https://inbox.example.com",
        "channels": {"chat": {"slack": "C0123456"}},
        "routes": [{"channels": ["chat"]}],
        "slack": {"api": workspace.url, "team": "T1", "people": {"U1": "bo@example.com"}},
    }
    async with announcing(
        stack, tmp_path, f"notices-slack-{tmp_path.name}"[:60], rules, slack_token=TOKEN
    ) as (running, client):
        door = door_of(running.settings, lambda *_: ((Role.APPROVER,), False), secrets=SECRETS)
        service = Service(client=client, settings=running.settings, identify=_nobody, slack=door)
        yield client, Interactions(create_app(service))


async def test_a_card_is_posted_decided_and_updated(
    live: tuple[Any, Interactions], workspace: SlackServer
) -> None:
    """Approved by a button, as the mapped person; the message shows who decided."""
    client, interactions = live
    mission, card = await card_of(client)
    (message,) = await eventually(lambda: _posted(workspace, 1))
    unknown = await interactions.click(buttons(message)[slack_messages.APPROVE], "U2")
    still = [one.digest for one in await mission.confirmations()]
    await interactions.click(buttons(message)[slack_messages.APPROVE], "U1")
    await eventually(lambda: _shows(workspace, "Approved by bo@example.com"))
    result = await mission.result()

    assert "Price: " in str(message)
    assert card.confirmation_id in str(message)
    assert unknown.status_code == 200
    assert still == [card.digest]
    said = [a for method, a in workspace.calls if method == "chat.postEphemeral"]
    assert [one["user"] for one in said] == ["U2"]
    (decision,) = [one for leg in result.legs for one in leg.decisions]
    assert (decision.kind, decision.approver, decision.digest) == (
        "approved",
        "bo@example.com",
        card.digest,
    )


async def test_a_message_shows_what_another_decided(
    live: tuple[Any, Interactions], workspace: SlackServer
) -> None:
    """A click on the old buttons decides nothing more."""
    client, interactions = live
    mission, card = await card_of(client)
    (message,) = await eventually(lambda: _posted(workspace, 1))
    await mission.reject(card, reason="private words", approver="ann", then="rollback")
    await eventually(lambda: _shows(workspace, "Rejected by ann"))
    await interactions.click(buttons(message)[slack_messages.APPROVE], "U1")

    (said,) = [a for method, a in workspace.calls if method == "chat.postEphemeral"]
    assert "inbox" in said["text"]
    assert "private words" not in str(workspace.calls)


async def _posted(workspace: SlackServer, number: int) -> list[dict[str, Any]]:
    found = list(workspace.messages.values())
    return found if len(found) >= number else []


async def _shows(workspace: SlackServer, text: str) -> bool:
    return any(text in shown for shown in workspace.shown())
