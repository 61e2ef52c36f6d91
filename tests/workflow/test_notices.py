"""The workflows of notices: each event once, channels in order, new runs without a gap."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from temporalio import activity
from temporalio.client import WorkflowHandle
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

from orchestrator.messages import names
from orchestrator.messages.notice import (
    Delivered,
    DeliverInput,
    Delivery,
    DeliveryReport,
    Notice,
    NoticePage,
    NoticesInput,
    Undelivered,
    UndeliveredInput,
    failure_of,
)
from orchestrator.runtime.worker import workflow_runner
from orchestrator.testing import eventually
from orchestrator.workflows import ALL_WORKFLOWS

if TYPE_CHECKING:
    from tests.workflow.conftest import Stage

AT = datetime(2026, 11, 30, tzinfo=UTC)
Answer = Callable[[DeliverInput, int], None]


def delivery(number: int = 1, *channels: str, **changes: Any) -> Delivery:
    notice = Notice(notice_id=f"msg_{number}", event="card.opened", at=AT, wait_id="m.1-leg.1")
    return Delivery(
        notice=notice,
        channels=channels or ("ops",),
        next_after=timedelta(seconds=30),
        give_up_after=timedelta(minutes=10),
        **changes,
    )


class Channels:
    """Plays the activities: a feed of scripted pages, and channels that fail as they are asked."""

    def __init__(self, *pages: tuple[Delivery, ...]) -> None:
        self.pages = list(pages)
        self.cursors: list[str] = []
        self.began: set[datetime | None] = set()
        self.tried: list[tuple[str, str]] = []
        self.given_up: list[UndeliveredInput] = []
        self.failures: dict[str, ApplicationError | None] = {}
        self.reports_to: tuple[str, ...] = ()

    @activity.defn(name=names.READ_NOTICES)
    async def read(self, wanted: NoticesInput) -> NoticePage:
        self.cursors.append(wanted.cursor)
        self.began.add(wanted.began_at)
        place = int(wanted.cursor or 0)
        found = self.pages[place] if place < len(self.pages) else ()
        return NoticePage(deliveries=found, cursor=str(place + 1))

    @activity.defn(name=names.DELIVER_NOTICE)
    async def deliver(self, wanted: DeliverInput) -> Delivered:
        self.tried.append((wanted.channel, wanted.notice.notice_id))
        if (failure := self.failures.get(wanted.channel)) is not None:
            raise failure
        return Delivered(state="delivered")

    @activity.defn(name=names.NOTE_UNDELIVERED)
    async def note(self, wanted: UndeliveredInput) -> Undelivered:
        self.given_up.append(wanted)
        if not wanted.is_last or not self.reports_to:
            return Undelivered()
        report = delivery(9, *self.reports_to)
        changes = {"notice": failure_of(wanted.notice), "give_up_after": timedelta(seconds=1)}
        return Undelivered(delivery=report.model_copy(update=changes))

    @asynccontextmanager
    async def working(self, stage: Stage) -> AsyncIterator[str]:
        """Run a worker on a task queue of its own; give the queue."""
        queue = f"{stage.task_queue}-notices"
        async with Worker(
            stage.env.client,
            task_queue=queue,
            workflows=ALL_WORKFLOWS,
            workflow_runner=workflow_runner(),
            activities=[self.read, self.deliver, self.note],
        ):
            yield queue


async def deliver(stage: Stage, channels: Channels, wanted: Delivery) -> DeliveryReport:
    async with channels.working(stage) as queue:
        report: DeliveryReport = await stage.env.client.execute_workflow(
            names.NOTICE_WORKFLOW,
            wanted,
            id=f"{queue}-{wanted.notice.notice_id}",
            task_queue=queue,
            result_type=DeliveryReport,
        )
    return report


def failing(*, final: bool) -> ApplicationError:
    return ApplicationError("ops answered 500", type="NoticeUndelivered", non_retryable=final)


async def test_the_first_channel_is_enough(stage: Stage) -> None:
    channels = Channels()
    report = await deliver(stage, channels, delivery(1, "ops", "chat"))

    assert (report.state, report.delivered_by) == ("delivered", "ops")
    assert channels.tried == [("ops", "msg_1")]


async def test_the_next_channel_has_its_turn_after_a_while(stage: Stage) -> None:
    """The first is tried several times within its time."""
    channels = Channels()
    channels.failures["ops"] = failing(final=False)
    report = await deliver(stage, channels, delivery(1, "ops", "chat"))

    tries = [channel for channel, _ in channels.tried]
    assert (report.state, report.delivered_by) == ("delivered", "chat")
    assert tries.count("ops") >= 3
    assert tries.count("chat") == 1
    (given_up,) = channels.given_up
    assert (given_up.channel, given_up.is_last) == ("ops", False)
    assert "ops answered 500" in given_up.why


async def test_a_final_failure_is_not_repeated(stage: Stage) -> None:
    channels = Channels()
    channels.failures["ops"] = failing(final=True)
    await deliver(stage, channels, delivery(1, "ops", "chat"))

    assert [channel for channel, _ in channels.tried] == ["ops", "chat"]


async def test_a_notice_that_nobody_takes_is_reported_elsewhere(stage: Stage) -> None:
    """The report of a report is not: it would go on for ever."""
    channels = Channels()
    channels.failures |= {"ops": failing(final=True), "chat": failing(final=True)}
    channels.reports_to = ("audit", "chat")
    wanted = delivery(1, "ops", "chat")
    report = await deliver(stage, channels, wanted)

    assert (report.state, report.delivered_by) == ("failed", "")
    assert "ops answered 500" in report.why
    assert channels.tried[-1] == ("audit", failure_of(wanted.notice).notice_id)
    assert [one.is_last for one in channels.given_up] == [False, True]
    assert channels.given_up[1].before == ("ops",)


async def follow(stage: Stage, queue: str) -> WorkflowHandle[Any, None]:
    return await stage.env.client.start_workflow(
        names.NOTICES_WORKFLOW,
        NoticesInput(),
        id=names.notices_workflow_id(queue),
        task_queue=queue,
    )


async def test_an_event_that_is_read_again_is_delivered_once(stage: Stage) -> None:
    """By another run, after a failed read, or after the workflow was terminated."""
    same, other = delivery(1), delivery(2)
    channels = Channels((same, same), (other, same))
    async with channels.working(stage) as queue:
        first = await follow(stage, queue)
        await eventually(lambda: _reached(channels, 4))
        await first.terminate()
        again = await follow(stage, queue)
        await eventually(lambda: _begun_again(channels))
        await again.terminate()

    assert sorted(channels.tried) == [("ops", "msg_1"), ("ops", "msg_2")]


async def test_new_runs_follow_each_other_without_a_gap(stage: Stage) -> None:
    """The cursor and the first start are passed on; the history stays short."""
    channels = Channels()
    async with channels.working(stage) as queue:
        handle = await follow(stage, queue)
        await eventually(lambda: _reached(channels, 250))
        described = await stage.env.client.get_workflow_handle(handle.id).describe()
        await stage.env.client.get_workflow_handle(handle.id).terminate()

    assert described.run_id != handle.first_execution_run_id
    assert described.history_length < 2_000
    assert channels.cursors[:250] == ["", *map(str, range(1, 250))]
    assert len(channels.began) == 1
    assert None not in channels.began


async def _reached(channels: Channels, reads: int) -> bool:
    return len(channels.cursors) >= reads


async def _begun_again(channels: Channels) -> bool:
    second = [n for n, cursor in enumerate(channels.cursors) if cursor == ""][1:]
    return bool(second) and len(channels.cursors) >= second[0] + 4
