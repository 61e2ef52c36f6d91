"""MissionHandle: one mission by its id: its result, its cards and questions, its end."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import aclosing
from typing import TYPE_CHECKING

from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError

from orchestrator.client.answer_sending import send_answer
from orchestrator.client.connection import Connection, until_answered
from orchestrator.client.decisions import send_decision
from orchestrator.client.known_mission import stuck_in
from orchestrator.client.mission_rollback import roll_back
from orchestrator.client.opened_cards import opened_cards
from orchestrator.client.snapshot import standing, take_snapshot
from orchestrator.client.understood import Understood
from orchestrator.client.waiting_legs import leg_of, waiting_in, warn_of_unasked
from orchestrator.confirmation.models import (
    Amend,
    Approve,
    ConfirmationCard,
    DecisionReceipt,
    Reject,
    Respond,
    Then,
)
from orchestrator.core import errors
from orchestrator.core.record import JsonObject
from orchestrator.messages import names
from orchestrator.messages.leg import Question
from orchestrator.messages.mission import MissionResult
from orchestrator.messages.model_trouble import ModelPause, ResumeInput, resume_action
from orchestrator.messages.open_waits import Waiting
from orchestrator.messages.rollback import RollbackReport

if TYPE_CHECKING:
    from orchestrator.messages.events import AnyEvent


class MissionHandle:
    """One mission, known by its id alone: any process can take it up."""

    def __init__(
        self,
        connection: Connection,
        mission_id: str,
        *,
        undeclared_inputs: tuple[str, ...] = (),
        queued: str = "",
    ) -> None:
        """Take what to speak through; nothing is asked of the server yet."""
        self._connection = connection
        self.mission_id = mission_id
        self.undeclared_inputs = undeclared_inputs
        """Of a mission that was just started: inputs that no tool takes."""
        self.queued = queued
        """Of a mission that was just started: why no worker has taken it up yet; empty: one has."""

    async def result(self) -> MissionResult:
        """Wait for the end and give the result document, whether it succeeded or not.

        With what a rollback has made of it, when there was one by now.
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
        return await standing(self._connection, result)

    async def snapshot(self) -> MissionResult:
        """The result document as it stands now, without waiting.

        Running legs are asked themselves, what a rollback did shows in the ledger, and a mission
        that was stopped from outside is told as terminated, which it could not say itself.
        """
        return await take_snapshot(self._connection, self.mission_id)

    async def confirmations(self) -> list[ConfirmationCard]:
        """The cards of this mission that wait for a decision."""
        return list((await self._waiting()).cards)

    def cards(self) -> AsyncGenerator[ConfirmationCard]:
        """Each card of this mission once, as soon as it is open, until the mission is over.

        Pushed by the server: nothing is asked again and again. What an amendment makes of a card is
        one more. A worker or a server that is away is waited for, for minutes.
        """
        return opened_cards(self._connection, self.mission_id)

    async def next_card(self, *, besides: Collection[str] = ()) -> ConfirmationCard | None:
        """Wait for an open card; None once the mission is over.

        Args:
            besides: ids of cards that are known already.
        """
        async with aclosing(self.cards()) as cards:
            async for card in cards:
                if card.confirmation_id not in besides:
                    return card
        return None

    async def questions(self) -> list[Question]:
        """The questions of this mission that wait for an answer."""
        return list((await self._waiting()).questions)

    async def pauses(self) -> list[ModelPause]:
        """The legs of this mission that wait for the provider of their model."""
        return list((await self._waiting()).pauses)

    async def waiting(self) -> Waiting:
        """Its cards and questions, and those of its legs that could not be asked.

        Before its first leg, what is to be said of its plan.
        """
        legs = await self._connection.query(self.mission_id, names.LEGS_QUERY, list[str])
        ids = [names.leg_workflow_id(self.mission_id, leg) for leg in legs]
        return await waiting_in(self._connection, ids or [self.mission_id])

    async def _waiting(self) -> Waiting:
        waiting = await self.waiting()
        warn_of_unasked(waiting)
        return waiting

    async def _is_running(self) -> bool:
        mission = await self._connection.mission(self.mission_id)
        return mission.status is WorkflowExecutionStatus.RUNNING

    async def approve(self, card: ConfirmationCard, *, approver: str) -> DecisionReceipt:
        """Yes, to exactly what the card shows."""
        return await send_decision(
            self._connection,
            Approve(confirmation_id=card.confirmation_id, digest=card.digest, approver=approver),
        )

    async def amend(
        self, card: ConfirmationCard, changes: JsonObject, *, approver: str
    ) -> DecisionReceipt:
        """Change arguments; the receipt holds the new card, to be approved in its turn."""
        return await send_decision(
            self._connection,
            Amend(confirmation_id=card.confirmation_id, changes=changes, approver=approver),
        )

    async def reject(
        self, card: ConfirmationCard, *, reason: str, approver: str, then: Then = "replan"
    ) -> DecisionReceipt:
        """No.

        Args:
            card: what is rejected.
            reason: why, for planner and record.
            approver: who decides.
            then: what follows: the planner looks for another way (`replan`), the leg is left out
                (`skip`), or all that the mission did is undone (`undo`).
        """
        return await send_decision(
            self._connection,
            Reject(
                confirmation_id=card.confirmation_id, reason=reason, approver=approver, then=then
            ),
        )

    async def respond(self, card: ConfirmationCard, *, text: str, approver: str) -> DecisionReceipt:
        """Not this: the planner looks again, with a hint such as "a later flight"."""
        return await send_decision(
            self._connection,
            Respond(confirmation_id=card.confirmation_id, text=text, approver=approver),
        )

    async def answer(
        self, question_id: str, values: JsonObject | str | None = None, *, answered_by: str = ""
    ) -> Understood:
        """Answer a leg's question; without values one that asks to store personal fields.

        Texts are read by the fields that were asked for: "tomorrow", "8 pm", "120 euros", "two".
        Where one thing is asked for, its text needs no name: `answer(question_id, "go on")`.
        What they were understood as is returned; it is what the mission goes on with.

        Raises:
            QuestionUnknown: no such question is open.
            AnswerInvalid: it is not what was asked for, or can be read in two ways; it stays open.
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
        """Ask the model of a leg that waits for it again now, or another one, or give up.

        Args:
            pause_id: of one leg; None: all legs of this mission that wait for their model.
            model: `provider:model` to go on with.
            give_up: fail the leg, so that the mission is rolled back.
            by: who decides, for the record.

        Returns:
            The pauses as they stood.

        Raises:
            PauseUnknown: no leg waits for its model, or not under that id.
            ModelUnusable: the model cannot be asked where the leg runs; it goes on waiting.
        """
        ids = [pause_id] if pause_id else [one.pause_id for one in await self.pauses()]
        if not ids:
            raise errors.PauseUnknown(self.mission_id, "none of its legs waits for its model")
        action = resume_action(model, give_up=give_up)
        wanted = [ResumeInput(pause_id=i, action=action, model=model or "", by=by) for i in ids]
        return [await self._resume(one) for one in wanted]

    async def _resume(self, wanted: ResumeInput) -> ModelPause:
        return await self._connection.update(
            leg_of(wanted.pause_id),
            names.RESUME_UPDATE,
            wanted,
            ModelPause,
            about=wanted.pause_id,
        )

    async def cancel(self) -> None:
        """Ask the mission to stop and to roll back what it did.

        Raises:
            UsageError: it is over.
            CancelUnheard: it was asked; but it, or a leg of it, cannot go on to hear it.
        """
        if not await self._is_running():
            raise errors.UsageError(
                f"mission {self.mission_id} is over; undo what it did with: "
                f"orchestrator mission rollback {self.mission_id}"
            )
        with self._connection.explaining(self.mission_id):
            await self._connection.temporal.get_workflow_handle(self.mission_id).cancel()
        for why in await stuck_in(self._connection, self.mission_id):
            raise errors.CancelUnheard(**why.details)

    async def rollback(
        self, *, reason: str = "asked for", approver: str | None = None
    ) -> RollbackReport:
        """Roll back a mission that is over; waits until everything was tried.

        Raises:
            UsageError: it still runs; or it ended with what is meant to stand, and no `approver` is
                named who decided.
        """
        return await roll_back(self._connection, self.mission_id, reason=reason, approver=approver)

    async def record(self) -> JsonObject:
        """All that is on record of it, for audit; it and its rollback are over.

        `orchestrator.confirmation.mission_records.seal` puts a digest and a signature on it.

        Raises:
            UsageError: it still goes on.
        """
        from orchestrator.client.mission_record import mission_record  # reads signatures

        return await mission_record(self._connection, self.mission_id)

    async def watch(
        self, *, every_s: float = 0.5, tell: Callable[[Exception], None] | None = None
    ) -> AsyncGenerator[MissionResult]:
        """The result document each time it changed, until the mission is over.

        Args:
            every_s: seconds between two looks.
            tell: given what is in the way while nobody answers; with it, that is waited for without
                end, else for minutes.
        """
        before: MissionResult | None = None
        while True:
            now = await until_answered(self.snapshot, tell=tell)
            if now != before:
                yield now
                before = now
            if now.finished_at is not None or not await until_answered(self._is_running, tell=tell):
                return
            await asyncio.sleep(every_s)

    async def events(
        self, *, after: str | None = None, tell: Callable[[Exception], None] | None = None
    ) -> "AsyncGenerator[AnyEvent, None]":
        """What happens in it, event by event, until it is over and its rollback has tried all.

        Read from recorded history: no worker is needed, and it costs the mission nothing. Each
        event has a `cursor`; whoever gives it as `after` gets exactly the events that follow.

        Args:
            after: the cursor of an event; None: from the beginning.
            tell: given what is in the way while the server does not answer; with it, that is
                waited for without end, else for minutes.
        """
        from orchestrator.client.live.mission_events import mission_events  # loads the workflows

        async for event in mission_events(
            self._connection, self.mission_id, after=after, tell=tell
        ):
            yield event
