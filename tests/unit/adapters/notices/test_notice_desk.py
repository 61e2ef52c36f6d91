"""NoticeDesk: what is delivered, what is left out, and what the records say of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.adapters.notices.notice_desk import NoticeDesk
from orchestrator.adapters.notices.notice_rules import WebhookChannel
from orchestrator.adapters.storage.store import Store
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.errors import NoticeUndelivered, SecretMissing
from orchestrator.messages.notice import (
    DeliverInput,
    Notice,
    UndeliveredInput,
    failure_of,
    notice_of_records,
)
from orchestrator.settings import Settings
from orchestrator.web.sight import notice_of, notices_of
from orchestrator.web.web_service import Service
from tests.unit.adapters.notices.notices import notice, rules

CARD = ConfirmationCard(
    confirmation_id="trip-1.1-flights.2",
    mission_id="trip-1",
    leg_id="1-flights",
    card_type="structured-itinerary",
    title="Book flight",
    tool="flight_book_offer",
    digest="d" * 64,
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path) as opened:
        yield opened


class Desk:
    """A desk whose channels fail as they are asked, and a card that is open or not."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("orchestrator.adapters.notices.notice_desk._SECOND_LOOK_S", 0)
        self.sent: list[tuple[str, str]] = []
        self.failures: list[Exception] = []
        self.card: ConfirmationCard | None = CARD
        self.question = True
        self.store = store
        self.desk = NoticeDesk(
            rules(), store.notices, self, open_card=self._card, question_is_open=self._question
        )

    async def send(self, name: str, channel: WebhookChannel, message_id: str, body: bytes) -> None:
        self.sent.append((name, message_id))
        if self.failures:
            raise self.failures.pop(0)

    async def _card(self, _: str) -> ConfirmationCard | None:
        return self.card

    async def _question(self, _: str) -> bool:
        return self.question

    async def deliver(self, one: Notice, channel: str = "ops", *, again: bool = False) -> str:
        wanted = DeliverInput(notice=one, channel=channel, again=again)
        return (await self.desk.deliver(wanted)).state

    def record(self, one: Notice, channel: str = "ops") -> Any:
        return self.store.notices.one(one.notice_id, channel)


@pytest.fixture
def desk(store: Store, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(store, monkeypatch)


async def test_a_delivered_notice_is_not_sent_again_unless_it_is_asked_for(desk: Desk) -> None:
    states = [await desk.deliver(notice(), again=again) for again in (False, False, True)]

    assert states == ["delivered"] * 3
    assert len(desk.sent) == 2


async def test_a_closed_or_changed_card_is_not_announced_as_open(desk: Desk) -> None:
    desk.card = None
    closed = await desk.deliver(notice())
    desk.card = CARD.model_copy(update={"digest": "e" * 64})
    changed = await desk.deliver(notice(state="reminded"))
    decided = await desk.deliver(notice(state="approved"))

    assert (closed, changed, decided) == ("skipped", "skipped", "delivered")
    assert [message for _, message in desk.sent] == [notice(state="approved").notice_id]


async def test_a_failed_attempt_is_on_record(desk: Desk) -> None:
    desk.failures = [NoticeUndelivered("ops", "answered 500")]
    with pytest.raises(NoticeUndelivered):
        await desk.deliver(notice())
    waiting = desk.record(notice())
    await desk.deliver(notice())
    done = desk.record(notice())

    assert (waiting.state, waiting.error, waiting.attempts) == ("waiting", "answered 500", 1)
    assert (done.state, done.error, done.attempts) == ("delivered", "", 2)


async def test_a_missing_secret_or_channel_may_be_there_on_another_worker(desk: Desk) -> None:
    desk.failures = [SecretMissing("hook", "ORCHESTRATOR_SECRET_HOOK")]
    for channel, why in (("ops", "ORCHESTRATOR_SECRET_HOOK"), ("new", "no such channel")):
        with pytest.raises(NoticeUndelivered, match=why) as failed:
            await desk.deliver(notice(), channel)
        assert not failed.value.final


async def test_a_receiver_that_is_gone_is_asked_again_only_by_a_test(desk: Desk) -> None:
    desk.failures = [NoticeUndelivered("ops", "answered 410", final=True, gone=True)]
    for _ in range(2):
        with pytest.raises(NoticeUndelivered) as failed:
            await desk.deliver(notice())
    asked = len(desk.sent)
    test = Notice(notice_id="msg_test1", event="notice.test", at=notice().at)
    tested = await desk.deliver(test)
    state = await desk.deliver(notice())

    assert "is disabled since" in failed.value.reason
    assert failed.value.final
    assert asked == 1
    assert (tested, state) == ("delivered", "delivered")


@pytest.mark.parametrize(
    ("event", "reported"), [("card.opened", True), ("notice.failed", False), ("notice.test", False)]
)
async def test_the_last_failure_is_reported_to_a_channel_outside(
    desk: Desk, event: str, reported: bool
) -> None:
    """A report that fails is not reported: it would go on for ever."""
    one = notice().model_copy(update={"event": event})
    early = UndeliveredInput(notice=one, channel="ops", why="answered 500", is_last=False)
    last = UndeliveredInput(
        notice=one, channel="audit", why="answered 500", is_last=True, before=("ops",)
    )
    none = await desk.desk.undelivered(early)
    made = (await desk.desk.undelivered(last)).delivery

    assert none.delivery is None
    assert (made is not None) is reported
    if made is not None:
        assert made.channels == ("chat",)
        assert made.notice == failure_of(one)


async def test_a_card_says_how_its_notice_stands(desk: Desk, store: Store, tmp_path: Path) -> None:
    """For pages and the API; nothing is said where nothing is announced."""
    settings = Settings(notices=tmp_path / "notices.yaml")
    parts: dict[str, Any] = {"client": None, "identify": None}
    service = Service(**parts, settings=settings, store=store)
    before = await notice_of(service, CARD.confirmation_id)
    desk.failures = [NoticeUndelivered("ops", "answered 500")]
    with pytest.raises(NoticeUndelivered):
        await desk.deliver(notice())
    waiting = await notice_of(service, CARD.confirmation_id)
    await desk.desk.undelivered(
        UndeliveredInput(notice=notice(), channel="ops", why="answered 500", is_last=True)
    )
    both = await notices_of(service, [CARD.confirmation_id, "other.1-leg.1"])
    silent = Service(**parts, settings=Settings(), store=store)

    assert before == notice_of_records(())
    assert waiting is not None
    assert (waiting.state, waiting.error) == ("waiting", "answered 500")
    assert both[CARD.confirmation_id].state == "failed"
    assert both["other.1-leg.1"].state == "none"
    assert await notice_of(silent, CARD.confirmation_id) is None
