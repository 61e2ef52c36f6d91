"""Slack's API: posts and updates messages, and looks up who a user is."""

import asyncio
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError

from orchestrator.adapters.http.destinations import AddressPolicy, AddressRefused
from orchestrator.adapters.http.transport import check_destination
from orchestrator.adapters.notices import slack_messages
from orchestrator.adapters.notices.notice_rules import SlackApp, SlackChannel
from orchestrator.adapters.secrets import SecretStore
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.errors import NoticeUndelivered
from orchestrator.core.record import JsonObject
from orchestrator.messages.notice import DeliveryState, Notice, NoticeRecord

_TIMEOUT_S: Final = 10
_RESOLVED_S: Final = 3.0
_LOOKED_BACK: Final = timedelta(hours=1)
_LOOKED_THROUGH: Final = 100
_PASSING: Final = frozenset(
    {"ratelimited", "rate_limited", "internal_error", "fatal_error", "service_unavailable"}
    | {"request_timeout", "team_added_to_org", "accesslimited"}
)
"""Errors of Slack after which another attempt may succeed; its others are for good."""
_NO_MESSAGE: Final = frozenset({"message_not_found", "cant_update_message", "edit_window_closed"})


class SlackApi:
    """Calls of one workspace, each in a thread, without the library's own retries."""

    def __init__(
        self,
        app: SlackApp,
        secrets: SecretStore,
        *,
        allowed_private_hosts: Iterable[str] = (),
        proxy: str | None = None,
    ) -> None:
        self._app = app
        self._secrets = secrets
        self._policy = AddressPolicy(allowed_private_hosts)
        self._proxy = proxy
        self._client: WebClient | None = None

    async def call(self, channel: str, method: str, /, **arguments: Any) -> dict[str, Any]:
        """Return the answer to a call, such as `chat_postMessage`.

        Raises:
            NoticeUndelivered: Slack refused it, or did not answer.
            SecretMissing: this process has no token.
        """
        if self._proxy is None:
            host = urlsplit(self._app.api).hostname or ""
            try:
                await check_destination(self._policy, host, within_s=_RESOLVED_S)
            except AddressRefused as refused:
                why = f"{refused}; {refused.remedy}"
                raise NoticeUndelivered(channel, why, final=True) from None
        token = self._secrets.get(self._app.token)
        if self._client is None or self._client.token != token:
            self._client = WebClient(
                token=token,
                base_url=self._app.api,
                timeout=_TIMEOUT_S,
                proxy=self._proxy,
                retry_handlers=[],
            )
        client = self._client
        work: Callable[..., Any] = getattr(client, method)
        try:
            response = await asyncio.to_thread(work, **arguments)
        except SlackApiError as error:
            raise _refusal(channel, error) from None
        except (SlackClientError, OSError, ValueError) as error:
            reason = f"Slack did not answer: {type(error).__name__}"
            raise NoticeUndelivered(channel, reason) from None
        answer: dict[str, Any] = dict(response.data)
        return answer


def _refusal(channel: str, error: SlackApiError) -> NoticeUndelivered:
    response = error.response
    status = getattr(response, "status_code", 0)
    data = getattr(response, "data", None)
    code = str(data.get("error", "")) if isinstance(data, dict) else ""
    wait = None
    if status == 429:
        headers = {str(k).lower(): str(v) for k, v in dict(response.headers).items()}
        written = headers.get("retry-after", "")
        wait = min(float(written), 3600.0) if written.isascii() and written.isdigit() else 30.0
    is_passing = status == 429 or status >= 500 or not code or code in _PASSING
    reason = f"Slack refused it: {code or status}"
    return NoticeUndelivered(channel, reason, final=not is_passing, retry_after_s=wait)


class SlackMessages:
    """Shows cards in channels of Slack, and updates them when they are closed."""

    def __init__(
        self,
        api: SlackApi,
        *,
        open_card: Callable[[str], Any],
        shown: Callable[[str, str], list[NoticeRecord]],
        link: Callable[[Notice], str],
    ) -> None:
        self._api = api
        self._open_card = open_card
        self._shown = shown
        self._link = link

    async def show(
        self, name: str, channel: SlackChannel, notice: Notice, record: NoticeRecord
    ) -> tuple[DeliveryState, str | None]:
        """Post or update the message of a card; return the state, and the message's place."""
        match notice.event:
            case "card.opened":
                return await self._open(name, channel, notice, record)
            case "question.opened":
                message = slack_messages.question(notice, link=self._link(notice))
                return "delivered", await self._post(name, channel, notice, record, message)
            case "card.reminded":
                earlier = await self._earlier(name, notice)
                if not earlier:
                    return await self._open(name, channel, notice, record)
                place, _, ts = earlier[-1].receipt.partition(":")
                text = slack_messages.escaped(slack_messages.reminder(notice))
                await self._api.call(
                    name,
                    "chat_postMessage",
                    channel=place,
                    thread_ts=ts,
                    reply_broadcast=True,
                    text=text,
                )
                return "delivered", None
            case "notice.test" | "notice.failed":
                message = slack_messages.other(notice)
                return "delivered", await self._post(name, channel, notice, record, message)
        earlier = await self._earlier(name, notice)
        for one in earlier:
            await self._update(name, one.receipt, slack_messages.closed_card(notice))
        return "delivered" if earlier else "skipped", None

    async def _open(
        self, name: str, channel: SlackChannel, notice: Notice, record: NoticeRecord
    ) -> tuple[DeliveryState, str | None]:
        card = await self._card(notice)
        if card is None:
            return "skipped", None
        message = slack_messages.open_card(card, link=self._link(notice))
        receipt = await self._post(name, channel, notice, record, message)
        if await self._card(notice) is None:
            # It was closed while it was posted, when its closing found nothing to update.
            closed = notice.model_copy(update={"event": "card.decided", "outcome": "closed"})
            await self._update(name, receipt, slack_messages.closed_card(closed))
        return "delivered", receipt

    async def _card(self, notice: Notice) -> ConfirmationCard | None:
        card: ConfirmationCard | None = await self._open_card(notice.wait_id)
        return card if card is not None and card.digest == notice.digest else None

    async def _earlier(self, name: str, notice: Notice) -> list[NoticeRecord]:
        """Return the messages of this card; an amended card has another digest, and its own."""
        found = await asyncio.to_thread(self._shown, name, notice.wait_id)
        return [one for one in found if one.digest == notice.digest]

    async def _post(
        self,
        name: str,
        channel: SlackChannel,
        notice: Notice,
        record: NoticeRecord,
        message: JsonObject,
    ) -> str:
        """Post a message, unless an attempt that was cut off has posted it; return its place."""
        if record.attempts and (found := await self._posted(name, channel, notice, record)):
            return found
        payload = {"notice_id": notice.notice_id}
        answer = await self._api.call(
            name,
            "chat_postMessage",
            channel=channel.slack,
            metadata={"event_type": slack_messages.EVENT_TYPE, "event_payload": payload},
            unfurl_links=False,
            unfurl_media=False,
            **message,
        )
        return f"{answer['channel']}:{answer['ts']}"

    async def _posted(
        self, name: str, channel: SlackChannel, notice: Notice, record: NoticeRecord
    ) -> str:
        """Return the place of an earlier post; empty without one, or without the right to look."""
        if record.receipt:
            return record.receipt
        since = (record.first_at - _LOOKED_BACK).timestamp()
        try:
            answer = await self._api.call(
                name,
                "conversations_history",
                channel=channel.slack,
                include_all_metadata=True,
                oldest=f"{since:.6f}",
                limit=_LOOKED_THROUGH,
            )
        except NoticeUndelivered as refused:
            if not refused.final:
                raise
            return ""
        for one in answer.get("messages", ()):
            about = one.get("metadata", {}).get("event_payload", {})
            if about.get("notice_id") == notice.notice_id:
                return f"{channel.slack}:{one['ts']}"
        return ""

    async def _update(self, name: str, receipt: str, message: JsonObject) -> None:
        place, _, ts = receipt.partition(":")
        try:
            await self._api.call(name, "chat_update", channel=place, ts=ts, **message)
        except NoticeUndelivered as refused:
            if not any(code in refused.reason for code in _NO_MESSAGE):
                raise
