"""NoticeDesk: delivers notices to their channels, and notes how that went."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, Protocol

from orchestrator.adapters.notices.notice_rules import (
    NoticeRules,
    SlackChannel,
    WebhookChannel,
    channel_kind,
)
from orchestrator.adapters.notices.webhook_payloads import payload
from orchestrator.adapters.telemetry import conventions
from orchestrator.adapters.telemetry.instruments import Telemetry, default_telemetry
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.errors import NoticeUndelivered, SecretMissing
from orchestrator.messages.notice import (
    ANNOUNCES_OPEN,
    Delivered,
    DeliverInput,
    Delivery,
    DeliveryState,
    Notice,
    NoticeRecord,
    Undelivered,
    UndeliveredInput,
    failure_of,
)

if TYPE_CHECKING:  # imports a database library
    from orchestrator.adapters.storage.sql_notices import SqlNotices

_log = logging.getLogger(__name__)
_SECOND_LOOK_S: Final = 1.0
OpenCard = Callable[[str], Awaitable[ConfirmationCard | None]]
"""Returns the open card of an id; None if it is closed."""
IsOpen = Callable[[str], Awaitable[bool]]
"""Returns True if the question of an id is open."""


class WebhookDesk(Protocol):
    """Sends webhooks."""

    async def send(self, name: str, channel: WebhookChannel, message_id: str, body: bytes) -> None:
        """Send one webhook; raises NoticeUndelivered and SecretMissing."""


class SlackDesk(Protocol):
    """Shows cards in Slack."""

    async def show(
        self, name: str, channel: SlackChannel, notice: Notice, record: NoticeRecord
    ) -> tuple[DeliveryState, str | None]:
        """Post or update the message of a card; return the state, and the message's place."""


class NoticeDesk:
    """Delivers notices; safe to call again after any interruption."""

    def __init__(
        self,
        rules: NoticeRules,
        book: "SqlNotices",
        webhooks: WebhookDesk,
        *,
        open_card: OpenCard,
        question_is_open: IsOpen,
        slack: SlackDesk | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        self.rules = rules
        self._book = book
        self._webhooks = webhooks
        self._slack = slack
        self._open_card = open_card
        self._question_is_open = question_is_open
        self._telemetry = telemetry or default_telemetry()

    async def deliver(self, wanted: DeliverInput) -> Delivered:
        """Make one attempt.

        Raises:
            NoticeUndelivered: the channel did not take it, or is disabled.
            StoreUnavailable: it was not attempted, or may be attempted again.
        """
        notice, name = wanted.notice, wanted.channel
        channel = self.rules.channels.get(name)
        if channel is None:
            # Another worker may know a channel that was added a moment ago.
            why = "the configuration of this worker has no such channel"
            raise NoticeUndelivered(name, why, final=notice.event == "notice.test")
        before = await asyncio.to_thread(self._book.attempt, notice, name)
        if before.state == "delivered" and not wanted.again:
            return Delivered(state="delivered", note="an earlier attempt has delivered it")
        try:
            state, receipt = await self._attempt(notice, name, channel, before)
        except (NoticeUndelivered, SecretMissing) as error:
            failed = NoticeUndelivered(name, str(error))
            if isinstance(error, NoticeUndelivered):
                failed = error
            await self._end(notice, name, "waiting", error=failed.reason)
            if failed.gone and isinstance(channel, WebhookChannel):
                await asyncio.to_thread(self._book.disable, name, channel.webhook, failed.reason)
            raise failed from None
        await self._end(notice, name, state, receipt=receipt)
        self._count(notice, channel_kind(channel), state)
        return Delivered(state=state)

    async def _attempt(
        self,
        notice: Notice,
        name: str,
        channel: WebhookChannel | SlackChannel,
        before: NoticeRecord,
    ) -> tuple[DeliveryState, str | None]:
        if notice.event in ANNOUNCES_OPEN and not await self._is_open(notice):
            # An event may be read a moment before the list of what is open shows it.
            await asyncio.sleep(_SECOND_LOOK_S)
            if not await self._is_open(notice):
                return "skipped", None
        if isinstance(channel, SlackChannel):
            assert self._slack is not None, "the configuration requires slack: for such a channel"
            return await self._slack.show(name, channel, notice, before)
        off = None
        if notice.event != "notice.test":
            off = await asyncio.to_thread(self._book.disabled, name, channel.webhook)
        if off is not None:
            why = (
                f"it is disabled since {off.since:%Y-%m-%d %H:%M}: {off.why}; "
                f"orchestrator confirm notices --test {name} enables it"
            )
            raise NoticeUndelivered(name, why, final=True)
        body = payload(notice, link=self.rules.link(notice))
        await self._webhooks.send(name, channel, notice.notice_id, body)
        if notice.event == "notice.test":
            await asyncio.to_thread(self._book.enable, name)
        return "delivered", None

    async def undelivered(self, wanted: UndeliveredInput) -> Undelivered:
        """Note that a channel was given up; after the last one, announce that to another."""
        notice, name = wanted.notice, wanted.channel
        await self._end(notice, name, "failed", error=wanted.why)
        if not wanted.is_last:
            return Undelivered()
        channel = self.rules.channels.get(name)
        self._count(notice, "unknown" if channel is None else channel_kind(channel), "failed")
        _log.error(
            "no channel has delivered the notice %s (%s of %s): %s",
            *(notice.notice_id, notice.event, notice.wait_id or notice.mission_id, wanted.why),
        )
        others = self.rules.fallbacks((name, *wanted.before))
        if notice.event in ("notice.failed", "notice.test") or not others:
            return Undelivered()
        return Undelivered(
            delivery=Delivery(
                notice=failure_of(notice),
                channels=others,
                next_after=self.rules.next_after,
                give_up_after=self.rules.give_up_after,
            )
        )

    async def _is_open(self, notice: Notice) -> bool:
        if notice.event == "question.opened":
            return await self._question_is_open(notice.wait_id)
        card = await self._open_card(notice.wait_id)
        return card is not None and card.digest == notice.digest

    async def _end(
        self,
        notice: Notice,
        name: str,
        state: DeliveryState,
        *,
        error: str = "",
        receipt: str | None = None,
    ) -> None:
        await asyncio.to_thread(
            self._book.end, notice.notice_id, name, state, error=error, receipt=receipt
        )

    def _count(self, notice: Notice, kind: str, outcome: str) -> None:
        self._telemetry.notices.add(
            1,
            {
                conventions.NOTICE_EVENT: notice.event,
                conventions.NOTICE_CHANNEL: kind,
                conventions.OUTCOME: outcome,
            },
        )
