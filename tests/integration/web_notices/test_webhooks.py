"""Webhooks over real sockets: signed as receivers check it, and careful about where they go."""

import json
import logging
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from orchestrator.adapters.notices.notice_rules import WebhookChannel
from orchestrator.adapters.notices.webhooks import WebhookSender
from orchestrator.core.errors import NoticeUndelivered, SecretMissing
from tests.fakes import MemorySecrets
from tests.integration.web_notices.receiver import OLD_SECRET, SECRET, Answer, Receiver, receiving

SECRETS = MemorySecrets({"hook": SECRET, "old": OLD_SECRET, "bad": "not base64!"})
BODY = json.dumps({"type": "card.opened", "data": {"title": "Zürich"}}).encode()


def channel(receiver: Receiver, *secrets: str) -> WebhookChannel:
    return WebhookChannel(webhook=receiver.url, secrets=secrets or ("hook",))


def sender(*, allowed: tuple[str, ...] = ("127.0.0.1",), answer_s: float = 5) -> WebhookSender:
    return WebhookSender(SECRETS, allowed_private_hosts=allowed, answer_s=answer_s)


async def failure(receiver: Receiver, *, answer_s: float = 5) -> NoticeUndelivered:
    """How a receiver's answer fails a delivery."""
    with pytest.raises(NoticeUndelivered) as failed:
        await sender(answer_s=answer_s).send("ops", channel(receiver), "msg_1", BODY)
    return failed.value


async def test_a_receiver_can_check_what_it_gets() -> None:
    with receiving() as receiver:
        await sender().send("ops", channel(receiver), "msg_1", BODY)

    assert [(one.message_id, one.body) for one in receiver.received] == [
        ("msg_1", json.loads(BODY))
    ]
    assert receiver.forged == []


@pytest.mark.parametrize("knows", [SECRET, OLD_SECRET])
async def test_two_secrets_sign_while_one_replaces_the_other(knows: str) -> None:
    with receiving(Receiver(secret=knows)) as receiver:
        await sender().send("ops", channel(receiver, "hook", "old"), "msg_1", BODY)

    assert len(receiver.received) == 1


async def test_a_receiver_with_another_secret_refuses() -> None:
    with receiving(Receiver(secret=OLD_SECRET)) as receiver:
        failed = await failure(receiver)

    assert "answered 400" in failed.reason
    assert receiver.forged


@pytest.mark.parametrize("status", [400, 401, 404, 408, 429, 500, 502, 503, 504])
async def test_a_failure_may_be_tried_again(status: int) -> None:
    with receiving(Receiver(script=[Answer(status)])) as receiver:
        failed = await failure(receiver)

    assert not failed.final
    assert str(status) in failed.reason


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_is_refused(status: int) -> None:
    """Not even one to itself is followed: the body would go where nobody declared it."""
    with receiving() as elsewhere, receiving() as receiver:
        receiver.script = [Answer(status, {"Location": elsewhere.url})]
        failed = await failure(receiver)

    assert failed.final
    assert "redirect" in failed.reason
    assert elsewhere.received == []


async def test_a_receiver_that_is_gone_says_so() -> None:
    with receiving(Receiver(script=[Answer(410)])) as receiver:
        failed = await failure(receiver)

    assert failed.gone
    assert failed.final


@pytest.mark.parametrize(
    ("written", "at_least", "at_most"),
    [
        ("7", 7, 7),
        ("999999", 3600, 3600),
        ("in an hour", 3500, 3600),
        ("soon", None, None),
        ("-5", None, None),
        ("9" * 50, 3600, 3600),
    ],
)
async def test_the_wait_that_a_receiver_asks_for(
    written: str, at_least: float | None, at_most: float | None
) -> None:
    if written == "in an hour":
        written = format_datetime(datetime.now(UTC) + timedelta(hours=1))
    with receiving(Receiver(script=[Answer(429, {"Retry-After": written})])) as receiver:
        wait = (await failure(receiver)).retry_after_s

    if at_least is None or at_most is None:
        assert wait is None
    else:
        assert wait is not None
        assert at_least <= wait <= at_most


async def test_a_slow_receiver_is_not_waited_for_long() -> None:
    with receiving(Receiver(script=[Answer(after_s=30)])) as receiver:
        failed = await failure(receiver, answer_s=0.3)

    assert "has not answered within 0.3 s" in failed.reason
    assert not failed.final


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:9/", "http://localhost:9/", "http://[::1]:9/", "http://169.254.169.254/"],
)
async def test_a_private_address_is_refused(url: str) -> None:
    """As for tools: unless ORCHESTRATOR_ALLOWED_PRIVATE_HOSTS names the host."""
    with pytest.raises(NoticeUndelivered, match="ORCHESTRATOR_ALLOWED_PRIVATE_HOSTS") as failed:
        private = WebhookChannel(webhook=url, secrets=("hook",))
        await sender(allowed=()).send("ops", private, "msg_1", BODY)

    assert failed.value.final


async def test_neither_address_nor_secret_is_logged_or_quoted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The path of such an address often is a password."""
    caplog.set_level(logging.DEBUG)
    with receiving(Receiver(script=[Answer(500), Answer(302), Answer(410)])) as receiver:
        said = [str(await failure(receiver)) for _ in range(3)]
    with pytest.raises(NoticeUndelivered) as refused:
        await sender().send("ops", channel(receiver), "msg_1", BODY)
    with pytest.raises(NoticeUndelivered) as bad:
        await sender().send("ops", channel(receiver, "bad"), "msg_1", BODY)

    text = "\n".join((*said, str(refused.value), str(bad.value), caplog.text))
    assert "a-path-that-is-a-secret" not in text
    assert SECRET.removeprefix("whsec_") not in text
    assert "not base64!" not in text


async def test_a_secret_that_is_missing_is_named() -> None:
    with receiving() as receiver, pytest.raises(SecretMissing, match="unknown"):
        await sender().send("ops", channel(receiver, "unknown"), "msg_1", BODY)

    assert receiver.received == []
