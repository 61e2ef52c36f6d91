"""Announce cards and questions: one workflow follows the feed, one more delivers each notice.

Nothing is added to the history of a mission. The cursor moves past an event only when the workflow
that delivers it has started. The id of that workflow derives from the event, so that an event which
is read again is not delivered again.

Unlike missions, both move to the current build of the workers, as the first never ends: a change of
their commands needs `workflow.patched`.
"""

import contextlib
from datetime import timedelta
from typing import Final, NamedTuple

from temporalio import workflow
from temporalio.common import RetryPolicy, VersioningBehavior, WorkflowIDReusePolicy
from temporalio.exceptions import ActivityError, WorkflowAlreadyStartedError

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.shown_text import markdown_summary
    from orchestrator.messages import names
    from orchestrator.messages.notice import (
        Delivered,
        DeliverInput,
        Delivery,
        DeliveryReport,
        NoticePage,
        NoticesInput,
        Undelivered,
        UndeliveredInput,
    )
    from orchestrator.workflows import running
    from orchestrator.workflows.failures import first_words

_PAGES_PER_RUN: Final = 200
_SHORTEST: Final = timedelta(seconds=1)
_UNTIL_READ: Final[running.Limits] = {
    "start_to_close_timeout": timedelta(minutes=5),
    "heartbeat_timeout": timedelta(seconds=5),
    "retry_policy": RetryPolicy(
        initial_interval=timedelta(seconds=1), maximum_interval=timedelta(minutes=1)
    ),
}
"""For the feed: as often as it takes, as its failures are those of the server and of workers."""
_DELIVERY: Final = RetryPolicy(
    initial_interval=timedelta(seconds=2), maximum_interval=timedelta(minutes=10)
)


@workflow.defn(name=names.NOTICES_WORKFLOW)
class NoticesWorkflow:
    """Follows the feed of all missions, for as long as the installation lives."""

    @workflow.run
    async def run(self, notices: NoticesInput) -> None:
        """Start a delivery for each event that a route announces."""
        notices = NoticesInput(cursor=notices.cursor, began_at=notices.began_at or workflow.now())
        for _ in range(_PAGES_PER_RUN):
            page = await running.once(
                names.READ_NOTICES,
                notices,
                result_type=NoticePage,
                summary="read what is to be announced",
                **_UNTIL_READ,
            )
            for delivery in page.deliveries:
                notice, own_id = delivery.notice, workflow.info().workflow_id
                # A notice that was read before is or was delivered.
                with contextlib.suppress(WorkflowAlreadyStartedError):
                    await workflow.start_child_workflow(
                        names.NOTICE_WORKFLOW,
                        delivery,
                        id=names.notice_workflow_id(own_id, notice.notice_id, delivery.route),
                        result_type=DeliveryReport,
                        id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                        parent_close_policy=workflow.ParentClosePolicy.ABANDON,
                        cancellation_type=workflow.ChildWorkflowCancellationType.ABANDON,
                        static_summary=markdown_summary(f"{notice.event} {notice.wait_id}"),
                    )
            notices = notices.model_copy(update={"cursor": page.cursor})
            if workflow.info().is_continue_as_new_suggested():
                break
        workflow.continue_as_new(notices)


class _Outcome(NamedTuple):
    """How a chain of channels ended."""

    state: str
    channel: str = ""
    why: str = ""
    next_delivery: Delivery | None = None


@workflow.defn(name=names.NOTICE_WORKFLOW)
class NoticeWorkflow:
    """Delivers one notice by the channels of a route, in their order."""

    @workflow.run
    async def run(self, delivery: Delivery) -> DeliveryReport:
        """Return how it was delivered; if it was not, another channel is notified of that."""
        ended = await _deliver(delivery)
        if ended.next_delivery is not None:
            await _deliver(ended.next_delivery)
        return DeliveryReport.model_validate(
            {
                "notice_id": delivery.notice.notice_id,
                "event": delivery.notice.event,
                "delivered_by": ended.channel,
                "state": ended.state,
                "why": ended.why,
            }
        )


async def _deliver(delivery: Delivery) -> _Outcome:
    """Try the channels one after the other, until one has taken the notice."""
    failed: list[str] = []
    ended = _Outcome("failed")
    for channel in delivery.channels:
        is_last = channel == delivery.channels[-1]
        within = delivery.give_up_after if is_last else delivery.next_after
        notice = delivery.notice
        try:
            done = await running.once(
                names.DELIVER_NOTICE,
                DeliverInput(notice=notice, channel=channel, again=delivery.again),
                result_type=Delivered,
                summary=markdown_summary(f"{notice.event} to {channel}"),
                start_to_close_timeout=timedelta(minutes=2),
                schedule_to_close_timeout=max(within, _SHORTEST),
                heartbeat_timeout=timedelta(seconds=5),
                retry_policy=_DELIVERY,
            )
        except ActivityError as error:
            why = first_words(error)
        else:
            return _Outcome(done.state, channel if done.state == "delivered" else "")
        noted = await running.once(
            names.NOTE_UNDELIVERED,
            UndeliveredInput(
                notice=notice, channel=channel, why=why, is_last=is_last, before=tuple(failed)
            ),
            result_type=Undelivered,
            summary=markdown_summary(f"note that {channel} has not delivered it"),
            **_UNTIL_READ,
        )
        failed.append(channel)
        ended = _Outcome("failed", why=why, next_delivery=noted.delivery)
    return ended


@workflow.defn(name=names.NOTICES_WORKFLOW, versioning_behavior=VersioningBehavior.AUTO_UPGRADE)
class UpgradedNoticesWorkflow(NoticesWorkflow):
    """Moves to the current build. The server takes this of workers alone that declare a build."""

    @workflow.run
    async def run(self, notices: NoticesInput) -> None:
        """See `NoticesWorkflow.run`."""
        await super().run(notices)


@workflow.defn(name=names.NOTICE_WORKFLOW, versioning_behavior=VersioningBehavior.AUTO_UPGRADE)
class UpgradedNoticeWorkflow(NoticeWorkflow):
    """Moves to the current build, like the workflow that started it."""

    @workflow.run
    async def run(self, delivery: Delivery) -> DeliveryReport:
        """See `NoticeWorkflow.run`."""
        return await super().run(delivery)
