"""Notices: what is announced of cards and questions, and how each announcement was delivered."""

import hashlib
from datetime import datetime, timedelta
from typing import Final, Literal, get_args

from pydantic import Field

from orchestrator.core.budget import Money
from orchestrator.core.record import Record, shared_fields
from orchestrator.messages.events import AnyEvent, CardEvent, QuestionEvent

NoticeEvent = Literal[
    "card.opened", "card.reminded", "card.decided", "card.expired", "card.withdrawn",
    "question.opened", "question.closed", "notice.failed", "notice.test",
]  # fmt: skip
EVENTS: Final[tuple[str, ...]] = get_args(NoticeEvent)
ANNOUNCES_OPEN: Final = frozenset({"card.opened", "card.reminded", "question.opened"})
"""Events that are not delivered once their card or question is closed."""

DeliveryState = Literal["waiting", "delivered", "skipped", "failed"]
"""`skipped`: the card was closed before it could be announced, or nothing was to be updated."""


class Notice(Record):
    """One announcement. It holds no argument, no answer and no text of a planner or a person."""

    notice_id: str = Field(description="the same for every attempt and channel: `webhook-id`")
    event: NoticeEvent
    at: datetime = Field(description="server time of what is announced")
    mission_id: str = ""
    leg_id: str = ""
    wait_id: str = Field(default="", description="id of the card or the question")
    digest: str = ""
    tool: str = ""
    card_type: str = ""
    title: str = Field(default="", description="the card's title, in which values are masked")
    agent: str = ""
    requester: str = ""
    price: Money | None = None
    round: int = 1
    expires_at: datetime | None = None
    fields: tuple[str, ...] = Field(default=(), description="names of a question's fields")
    outcome: str = Field(default="", description="as a decision, or: answered, expired")
    decided_by: str = Field(default="", description="approvers, for channels that know people")
    failed: str = Field(default="", description="id of the notice that no channel delivered")


def announced(event: AnyEvent, *, requester: str = "", decided_by: str = "") -> Notice | None:
    """Return the notice about an event of the feed; None for an event that is not announced.

    The same event gives the same id, whenever it is read. The text of a question is left out: a
    planner writes it, and may quote anything that it was given.
    """
    if isinstance(event, CardEvent):
        states: dict[str, NoticeEvent] = {
            "opened": "card.opened",
            "reminded": "card.reminded",
            "expired": "card.expired",
            "withdrawn": "card.withdrawn",
        }
        is_decided = event.state not in states
        return Notice(
            **{**shared_fields(event, Notice), "requester": event.requester or requester},
            notice_id=_notice_id(event.confirmation_id, event.digest, event.state, event.at),
            event=states.get(event.state, "card.decided"),
            wait_id=event.confirmation_id,
            outcome=event.state if is_decided else "",
            decided_by=decided_by,
        )
    if isinstance(event, QuestionEvent):
        is_opened = event.state == "opened"
        return Notice(
            **shared_fields(event, Notice),
            notice_id=_notice_id(event.question_id, "", event.state, event.at),
            event="question.opened" if is_opened else "question.closed",
            wait_id=event.question_id,
            requester=requester,
            outcome="" if is_opened else event.state,
        )
    return None


def failure_of(notice: Notice) -> Notice:
    """Return the notice that no channel has delivered another one."""
    return Notice(
        notice_id=_notice_id(notice.notice_id, "", "failed", notice.at),
        event="notice.failed",
        at=notice.at,
        mission_id=notice.mission_id,
        leg_id=notice.leg_id,
        wait_id=notice.wait_id,
        failed=notice.notice_id,
    )


def _notice_id(wait_id: str, digest: str, state: str, at: datetime) -> str:
    words = "\n".join((wait_id, digest, state, at.isoformat()))
    return f"msg_{hashlib.sha256(words.encode()).hexdigest()[:32]}"


class NoticesInput(Record):
    """The input of the workflow that follows the feed, and of the activity that reads it."""

    cursor: str = Field(default="", description="position in the feed; empty at the first start")
    began_at: datetime | None = Field(default=None, description="what closed before stays quiet")


class Delivery(Record):
    """A notice and the channels that it goes to, each after the one before could not deliver it."""

    notice: Notice
    channels: tuple[str, ...]
    next_after: timedelta = Field(description="time for each channel but the last")
    give_up_after: timedelta = Field(description="time for the last channel")
    route: int = Field(default=0, description="the route's position in the configuration")
    again: bool = Field(default=False, description="deliver it although it was delivered")


class NoticePage(Record):
    """What the feed had after a cursor."""

    deliveries: tuple[Delivery, ...] = ()
    cursor: str = ""


class DeliverInput(Record):
    """The input of one delivery to one channel."""

    notice: Notice
    channel: str
    again: bool = Field(default=False, description="deliver it although it was delivered")


class Delivered(Record):
    """How a delivery to a channel ended."""

    state: DeliveryState
    note: str = ""


class UndeliveredInput(Record):
    """A channel that could not deliver a notice, and if another one follows."""

    notice: Notice
    channel: str
    why: str
    is_last: bool
    before: tuple[str, ...] = Field(default=(), description="channels given up before this one")


class Undelivered(Record):
    """The notice about a failed notice, if there is a channel for it."""

    delivery: Delivery | None = None


class DeliveryReport(Record):
    """The result of a notice's workflow."""

    notice_id: str
    event: str
    delivered_by: str = Field(default="", description="the channel; empty if none")
    state: DeliveryState = "failed"
    why: str = Field(default="", description="the last error")


class NoticeRecord(Record):
    """The state of one notice in one channel, as the store has it."""

    notice_id: str
    channel: str
    event: str
    mission_id: str = ""
    wait_id: str = ""
    digest: str = ""
    state: DeliveryState
    attempts: int = 0
    error: str = Field(default="", description="why the last attempt failed")
    receipt: str = Field(default="", description="where the channel shows it, for updates")
    first_at: datetime
    last_at: datetime


class DisabledChannel(Record):
    """A channel whose receiver answered that it is gone."""

    channel: str
    since: datetime
    why: str


class NoticeOfCard(Record):
    """How the announcement of an open card or question stands: what pages and the API show."""

    state: Literal["none", "waiting", "delivered", "failed"] = Field(
        description="none: no route announces it, or notices are not configured"
    )
    channels: tuple[str, ...] = Field(default=(), description="channels that delivered it")
    error: str = Field(default="", description="the last error of a channel that did not")
    at: datetime | None = None


def notice_of_records(records: tuple[NoticeRecord, ...]) -> NoticeOfCard:
    """Return how the announcement of a card stands, from the records of its opening."""
    opened = [one for one in records if one.event in ("card.opened", "question.opened")]
    if not opened:
        return NoticeOfCard(state="none")
    by = tuple(sorted({one.channel for one in opened if one.state == "delivered"}))
    at = max(one.last_at for one in opened)
    errors = [one.error for one in sorted(opened, key=lambda one: one.last_at) if one.error]
    error = errors[-1] if errors else ""
    if by:
        return NoticeOfCard(state="delivered", channels=by, error=error, at=at)
    waits = any(one.state == "waiting" for one in opened)
    return NoticeOfCard(state="waiting" if waits else "failed", error=error, at=at)
