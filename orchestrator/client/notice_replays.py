"""Notices from outside a worker: how they stand, sent again, and a test of a channel."""

import asyncio
import secrets
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from pydantic import Field
from temporalio.client import WorkflowFailureError
from temporalio.common import WorkflowIDReusePolicy

from orchestrator.adapters.temporal.rollbacks import started_with
from orchestrator.adapters.temporal.search_attributes import quoted
from orchestrator.client.connection import Connection
from orchestrator.client.obstacles import no_worker
from orchestrator.core.errors import UsageError
from orchestrator.core.record import Record
from orchestrator.core.shown_text import markdown_summary
from orchestrator.messages import names
from orchestrator.messages.notice import (
    Delivery,
    DeliveryReport,
    DeliveryState,
    DisabledChannel,
    Notice,
    NoticeRecord,
)

if TYPE_CHECKING:  # imports a database library
    from orchestrator.adapters.storage.store import Store

_MOST_REPLAYED: Final = 1_000
_TEST: Final = timedelta(seconds=15)


class NoticeList(Record):
    """Notices, the newest first, and the channels that are disabled."""

    notices: tuple[NoticeRecord, ...] = ()
    disabled: tuple[DisabledChannel, ...] = ()


class Replayed(Record):
    """Notices that are sent again."""

    started: tuple[str, ...] = Field(default=(), description="their ids")
    gone: tuple[str, ...] = Field(
        default=(), description="ids that the Temporal server no longer knows"
    )


async def notice_list(
    store: "Store",
    *,
    state: DeliveryState | None = None,
    since: datetime | None = None,
    most: int = 200,
) -> NoticeList:
    """Return how notices stand, from the store."""

    def read() -> NoticeList:
        found = store.notices.listed(state=state, since=since, most=most)
        return NoticeList(notices=tuple(found), disabled=tuple(store.notices.all_disabled()))

    return await asyncio.to_thread(read)


async def replay_since(connection: Connection, store: "Store", since: datetime) -> Replayed:
    """Send again every notice whose delivery changed since then."""
    records = await asyncio.to_thread(store.notices.listed, since=since, most=_MOST_REPLAYED)
    return await replay(connection, list(dict.fromkeys(one.notice_id for one in records)))


async def replay(connection: Connection, notice_ids: Sequence[str]) -> Replayed:
    """Send notices again, with their ids, by their routes; what is closed is not announced as open.

    A notice is read from the workflow that delivered it, for as long as the server keeps that.
    """
    temporal = connection.temporal
    started: list[str] = []
    gone: list[str] = []
    for notice_id in notice_ids:
        if not notice_id.startswith("msg_"):
            raise UsageError(
                f"{notice_id!r} is no id of a notice; see: orchestrator confirm notices"
            )
        prefix = f"{names.notices_workflow_id(connection.task_queue)}:{notice_id}:"
        query = (
            f"WorkflowType = '{names.NOTICE_WORKFLOW}' AND WorkflowId STARTS_WITH {quoted(prefix)}"
        )
        deliveries: list[Delivery] = []  # one for each route
        with connection.explaining():
            async for run in temporal.list_workflows(query):
                if ":replay-" not in run.id:
                    handle = temporal.get_workflow_handle(run.id, run_id=run.run_id)
                    with suppress(LookupError):
                        deliveries.append(await started_with(temporal, handle, Delivery))
        for one in deliveries:
            await _start(connection, one.model_copy(update={"again": True}))
        (started if deliveries else gone).append(notice_id)
    return Replayed(started=tuple(started), gone=tuple(gone))


async def try_channel(connection: Connection, channel: str) -> DeliveryReport:
    """Have a worker send a test notice to a channel; one that was disabled is enabled by success.

    Raises:
        NoWorker: no worker has sent it in time.
    """
    now = datetime.now(UTC)
    notice = Notice(notice_id=f"msg_test{secrets.token_hex(8)}", event="notice.test", at=now)
    delivery = Delivery(notice=notice, channels=(channel,), next_after=_TEST, give_up_after=_TEST)
    workflow_id = await _start(connection, delivery)
    handle = connection.temporal.get_workflow_handle(workflow_id, result_type=DeliveryReport)
    try:
        async with asyncio.timeout(2 * _TEST.total_seconds()):
            report: DeliveryReport = await handle.result()
            return report
    except (TimeoutError, WorkflowFailureError) as late:
        absent = await connection.absence(connection.task_queue)
        raise absent or no_worker(connection.task_queue) from late


async def _start(connection: Connection, delivery: Delivery) -> str:
    queue, notice = connection.task_queue, delivery.notice
    again = secrets.token_hex(4)
    notices_id = names.notices_workflow_id(queue)
    workflow_id = names.notice_workflow_id(notices_id, notice.notice_id, delivery.route, again)
    with connection.explaining():
        await connection.temporal.start_workflow(
            names.NOTICE_WORKFLOW,
            delivery,
            id=workflow_id,
            task_queue=queue,
            id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
            static_summary=markdown_summary(f"{notice.event} {notice.wait_id}"),
        )
    return workflow_id
