"""MissionHandle: one mission by its id, with its result, cards and questions."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError

from orchestrator.adapters.temporal.search_attributes import REQUESTER
from orchestrator.client.connection import Connection, Notify, until_answered
from orchestrator.client.mission_list import obstacle_of
from orchestrator.client.mission_rollback import roll_back
from orchestrator.client.mission_state import find_report, read_mission
from orchestrator.client.waits import (
    Understood,
    mission_of,
    opened_cards,
    send_answer,
    send_decision,
    waits_in,
)
from orchestrator.confirmation.models import (
    Amend,
    Approve,
    ConfirmationCard,
    DecisionReceipt,
    Reject,
    Respond,
    Then,
)
from orchestrator.confirmation.same_again import SameAgain
from orchestrator.core import errors
from orchestrator.core.record import JsonObject
from orchestrator.messages import names
from orchestrator.messages.failure_details import ModelPause, ResumeInput, resume_action
from orchestrator.messages.leg import Question
from orchestrator.messages.mission import MissionResult, MissionStatus, after_rollback
from orchestrator.messages.open_waits import Waiting
from orchestrator.messages.rollback import RollbackReport

if TYPE_CHECKING:
    from orchestrator.client.call_progress import CallProgress
    from orchestrator.messages.events import AnyEvent


@dataclass(frozen=True)
class MissionNow:
    """A mission at one moment."""

    requester: str
    waits: Waiting
    obstacle: errors.ServiceUnavailable | None
    """None: it can continue."""
    progress: "tuple[CallProgress, ...]"
    result: MissionResult | errors.EventsUnreadable
    """The result document, or why its history cannot be read."""


class MissionHandle:
    """A mission, identified by its id alone, so that any process can follow it."""

    def __init__(
        self,
        connection: Connection,
        mission_id: str,
        *,
        undeclared_inputs: tuple[str, ...] = (),
        queued: str = "",
    ) -> None:
        """Take the connection; the server is not called yet."""
        self._connection = connection
        self.mission_id = mission_id
        self.undeclared_inputs = undeclared_inputs
        """Inputs that no tool takes, right after the start."""
        self.queued = queued
        """Why no worker has started the mission, right after the start; empty if one has."""

    async def result(self) -> MissionResult:
        """Wait for the end and return the result document, of a success or a failure.

        The document includes the effects of a rollback, if there was one.
        """
        run = await self._connection.mission(self.mission_id)
        workflow = self._connection.temporal.get_workflow_handle(
            self.mission_id, run_id=run.run_id, result_type=MissionResult
        )
        try:
            with self._connection.explaining(self.mission_id):
                result: MissionResult = await workflow.result()
        except WorkflowFailureError:
            return await self.snapshot()
        report = await find_report(self._connection, result.mission_id)
        return result if report is None else after_rollback(result, report)

    async def snapshot(self) -> MissionResult:
        """Return the current result document, from recorded history.

        Effects of a rollback show in the ledger; a mission that was stopped from outside is
        `terminated`.

        Raises:
            EventsUnreadable: this release's code does not match the history.
        """
        return await read_mission(self._connection, self.mission_id)

    async def confirmations(self) -> list[ConfirmationCard]:
        """Return the open cards of this mission."""
        return list((await self.waiting()).cards)

    def cards(self) -> AsyncGenerator[ConfirmationCard]:
        """Yield each card of this mission as soon as it is open, until the mission is over.

        The server pushes them. An amended card counts as a new card. The call waits minutes for a
        server that is unavailable.
        """
        return opened_cards(self._connection, self.mission_id)

    async def questions(self) -> list[Question]:
        """Return the open questions of this mission."""
        return list((await self.waiting()).questions)

    async def pauses(self) -> list[ModelPause]:
        """Return the legs of this mission that wait for their model provider."""
        return list((await self.waiting()).pauses)

    async def waiting(self) -> Waiting:
        """Return the cards, questions and pauses of the plan and the legs."""
        return await waits_in(await self._connection.mission(self.mission_id))

    async def obstacle(self) -> errors.ServiceUnavailable | None:
        """Return why the mission cannot continue: no worker, or failing tasks; None if it can."""
        return await obstacle_of(self._connection, await self._connection.mission(self.mission_id))

    async def now(self) -> "MissionNow":
        """Return all that a page shows of the mission, by one description of it."""
        from orchestrator.client.call_progress import call_progress  # for doors alone

        mission = await self._connection.mission(self.mission_id)

        async def result_or_why() -> MissionResult | errors.EventsUnreadable:
            try:
                return await read_mission(self._connection, self.mission_id, mission)
            except errors.EventsUnreadable as unreadable:
                return unreadable

        waits, obstacle, progress, result = await asyncio.gather(
            waits_in(mission),
            obstacle_of(self._connection, mission),
            call_progress(self._connection, mission),
            result_or_why(),
        )
        requester = mission.typed_search_attributes.get(REQUESTER) or ""
        return MissionNow(requester, waits, obstacle, progress, result)

    async def approve(
        self, card: ConfirmationCard, *, approver: str, again: SameAgain | None = None
    ) -> DecisionReceipt:
        """Approve exactly the call that the card shows, and with `again` later ones like it."""
        return await send_decision(
            self._connection,
            Approve(
                confirmation_id=card.confirmation_id,
                digest=card.digest,
                approver=approver,
                again=again,
            ),
        )

    async def amend(
        self, card: ConfirmationCard, changes: JsonObject, *, approver: str
    ) -> DecisionReceipt:
        """Change arguments of a card; the receipt holds the new card, which must be approved."""
        return await send_decision(
            self._connection,
            Amend(confirmation_id=card.confirmation_id, changes=changes, approver=approver),
        )

    async def reject(
        self, card: ConfirmationCard, *, reason: str, approver: str, then: Then = "replan"
    ) -> DecisionReceipt:
        """Reject a card, for a reason that the planner and the record get.

        Then the planner looks for another way (`replan`), the leg is skipped (`skip`), or the
        mission is rolled back (`rollback`).
        """
        return await send_decision(
            self._connection,
            Reject(
                confirmation_id=card.confirmation_id, reason=reason, approver=approver, then=then
            ),
        )

    async def respond(self, card: ConfirmationCard, *, text: str, approver: str) -> DecisionReceipt:
        """Decline a card with a hint for the planner, such as "a later flight"."""
        return await send_decision(
            self._connection,
            Respond(confirmation_id=card.confirmation_id, text=text, approver=approver),
        )

    async def answer(
        self, question_id: str, values: JsonObject | str | None = None, *, answered_by: str = ""
    ) -> Understood:
        """Answer a leg's question; one that asks to store personal fields takes no values.

        Texts are read by the question's fields: "tomorrow", "8 pm", "120 euros", "two". A question
        with one field takes its text without a name: `answer(question_id, "go on")`. The values
        with which the mission continues are returned.

        Raises:
            QuestionError: no such question is open, or a text is invalid or ambiguous; then the
                question stays open.
        """
        return await send_answer(
            self._connection, question_id, values or {}, answered_by=answered_by
        )

    async def resume(
        self,
        pause_id: str | None = None,
        *,
        model: str | None = None,
        give_up: bool = False,
        by: str = "",
    ) -> list[ModelPause]:
        """Retry the model of a waiting leg now, continue with another model, or give up.

        Without `pause_id`, all waiting legs of this mission are meant. A leg that is given up
        fails, so that the mission is rolled back. The pauses before the call are returned.

        Raises:
            QuestionError: no leg waits for its model, or not under that id.
            ModelUnusable: the model is not available where the leg runs; the leg keeps waiting.
        """
        ids = [pause_id] if pause_id else [one.pause_id for one in await self.pauses()]
        if not ids:
            raise errors.QuestionError(
                self.mission_id, "none of its legs waits for its model", code="PauseUnknown"
            )
        action = resume_action(model, give_up=give_up)
        wanted = [ResumeInput(pause_id=i, action=action, model=model or "", by=by) for i in ids]
        return [
            await self._connection.update(
                mission_of(one.pause_id), names.RESUME_UPDATE, one, ModelPause, about=one.pause_id
            )
            for one in wanted
        ]

    async def cancel(self) -> None:
        """Ask the mission to stop and to cancel its effects.

        Raises:
            UsageError: the mission is over.
            ServiceUnavailable: as CancelUnheard: the request is recorded, but the mission is stuck.
        """
        mission = await self._connection.mission(self.mission_id)
        if mission.status is not WorkflowExecutionStatus.RUNNING:
            raise errors.UsageError(
                f"mission {self.mission_id} is over; roll back its effects with: "
                f"orchestrator mission rollback {self.mission_id}"
            )
        with self._connection.explaining(self.mission_id):
            await self._connection.temporal.get_workflow_handle(self.mission_id).cancel()
        if (why := await self._connection.stuck(mission)) is not None:
            about = "the request to stop waits with the server, and nothing has stopped"
            raise errors.ServiceUnavailable(f"{about}: {why}", code="CancelUnheard")

    async def rollback(
        self, *, reason: str = "asked for", approver: str | None = None
    ) -> RollbackReport:
        """Roll back a mission that is over. See `MissionClient.rollback`."""
        return await roll_back(self._connection, self.mission_id, reason=reason, approver=approver)

    async def record(self) -> JsonObject:
        """Return the audit record of a mission; both the mission and its rollback must be over.

        `orchestrator.client.mission_record.seal` adds a digest.
        """
        from orchestrator.client.mission_record import mission_record  # reads signatures

        return await mission_record(self._connection, self.mission_id)

    async def watch(
        self, *, every_s: float = 0.5, notify: Notify | None = None
    ) -> AsyncGenerator[MissionResult]:
        """Yield the result document each time it changes, until the mission is over.

        It is read every `every_s` seconds. `notify` is called with the reason while nobody answers;
        if given, the call waits forever, else for minutes.
        """
        before: MissionResult | None = None
        length = -1
        while True:
            mission = await until_answered(
                lambda: self._connection.mission(self.mission_id), notify=notify
            )
            # A rollback has its own history.
            rolls_back = before is not None and before.status is MissionStatus.ROLLING_BACK
            if mission.history_length != length or rolls_back:
                length = mission.history_length
                now = await until_answered(self.snapshot, notify=notify)
                if now != before:
                    yield now
                    before = now
            is_running = mission.status is WorkflowExecutionStatus.RUNNING
            if before is None or before.finished_at is not None or not is_running:
                return
            await asyncio.sleep(every_s)

    async def events(
        self, *, after: str | None = None, follow: bool = True, notify: Notify | None = None
    ) -> "AsyncGenerator[AnyEvent, None]":
        """Yield the events of a mission, until it is over and its rollback has tried everything.

        They are read from recorded history, which costs the mission nothing. The arguments are
        those of `MissionClient.events`; a cursor is of an event of this mission.
        """
        from orchestrator.client.mission_events import mission_events  # loads the workflows

        async for event in mission_events(
            self._connection, self.mission_id, after=after, follow=follow, notify=notify
        ):
            yield event
