"""The pause of a leg whose model's provider does not serve it: a timer, or a person's word."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.errors import ModelUnusable, PauseUnknown
    from orchestrator.messages import names
    from orchestrator.messages.leg import LegStatus
    from orchestrator.messages.model_trouble import ModelPause, ModelTrouble, ResumeInput
    from workflows import calls, telling, ui
    from workflows.failures import LegLost, refuse
    from workflows.progress import Progress
    from workflows.waiting import Pending, wait_beside

_FIRST_WAIT: Final = timedelta(seconds=15)
_LONGEST_WAIT: Final = timedelta(minutes=15)
_MOST_ROUNDS: Final = 100
"""Of retries until the deadline, about: each is a few events of the leg's history."""


class ModelPauses:
    """Waits until the model of a leg may be asked again, one pause at a time.

    A pause begins with the first request that came to nothing and ends with the first answer; in
    between the model is asked again and again, which a person may hasten, turn or end.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._pause: ModelPause | None = None
        self._pending = Pending()
        self._given_up_by: str | None = None
        self._rounds = 0
        """Of retries since a person last said something: what they have mended deserves a prompt
        one, and not the long wait of a trouble that nobody looks at."""

    @property
    def pause(self) -> ModelPause | None:
        """The pause that the leg is in."""
        return self._pause

    async def wait(self, trouble: ModelTrouble, before: Sequence[ModelTrouble] = ()) -> None:
        """Wait until the model is to be asked again.

        Args:
            trouble: of the model that was asked last.
            before: of the others that were asked in this round.

        Raises:
            LegLost: the policy's deadline has passed, or a person gave up.
        """
        self._pause = pause = self._following(trouble, before)
        telling.waits("model", pause.pause_id)
        self._progress.show(LegStatus.AWAITING_MODEL)
        self._check_given_up()
        moment = pause.retried_at or pause.deadline
        summary = ui.summary(ui.MODEL_RETRY, reason=trouble.reason)
        timer = asyncio.create_task(self._pending.expire(moment, summary))
        await wait_beside([timer], self._pending.is_over)
        # A word that is given while the model is being asked again counts for what follows.
        self._pending = Pending()
        self._check_given_up()
        if workflow.now() >= pause.deadline:
            since = f"{pause.since:%Y-%m-%d %H:%M:%S %Z}"
            why = f"{pause.model or 'its model'} has not answered since {since}: {pause.reason}"
            raise self._lost(f"{why}; a policy's model_wait may be longer")

    def over(self) -> None:
        """The model has answered.

        Raises:
            LegLost: a person gave up while it was being asked.
        """
        if self._pause is None:
            return
        self._check_given_up()
        self._pause, self._pending, self._rounds = None, Pending(), 0
        self._progress.show(LegStatus.RUNNING)

    def close(self) -> None:
        """The step is planned, or the leg ends: it waits for no model any more."""
        self._pause, self._rounds = None, 0

    def _following(self, trouble: ModelTrouble, before: Sequence[ModelTrouble]) -> ModelPause:
        """The pause as it goes on with one more round that came to nothing."""
        leg, now = self._progress.leg, workflow.now()
        since = now if self._pause is None else self._pause.since
        attempts = 1 if self._pause is None else self._pause.attempts + 1
        self._rounds += 1
        deadline = since + leg.policy.model_wait
        wait = _wait_of(self._rounds, leg.policy.model_wait, trouble.retry_after)
        return ModelPause(
            pause_id=names.model_pause_id(leg.call_id),
            mission_id=leg.mission_id,
            leg_id=leg.leg.leg_id,
            model=trouble.model,
            reason=trouble.reason,
            remedy=trouble.remedy,
            before=tuple(one.told for one in before),
            since=since,
            attempts=attempts,
            retried_at=now + wait if wait < deadline - now else None,
            deadline=deadline,
        )

    def _check_given_up(self) -> None:
        if self._given_up_by is not None and self._pause is not None:
            by = self._given_up_by or "a person"
            raise self._lost(f"{by} gave up waiting for the model provider: {self._pause.reason}")

    def _lost(self, why: str) -> LegLost:
        self._pause = None
        self._progress.show(LegStatus.RUNNING)
        self._progress.record("wait for the model", "lost", why)
        return LegLost(why)

    # -- what a person says -----------------------------------------------------------------------

    async def take(self, wanted: ResumeInput) -> ModelPause:
        """Do what `check` let through; the pause as it stood then.

        As with `ConfirmationGate.is_open`, a replay may bring it ahead of what opens its pause.

        Raises:
            ApplicationError: typed ModelUnusable or PauseUnknown; the leg goes on waiting.
        """
        if not self._holds(wanted.pause_id):
            await workflow.wait_condition(lambda: self._holds(wanted.pause_id))
        assert self._pause is not None
        taken = self._pause
        if wanted.action == "give_up":
            self._given_up_by = wanted.by
        if wanted.action == "change_model":
            await self._check_model(wanted.model)
            if not self._holds(wanted.pause_id):
                raise refuse(PauseUnknown(wanted.pause_id, "the leg has gone on meanwhile"))
            self._progress.change_model(wanted.model, why=taken.reason, by=wanted.by or "a person")
        self._rounds = 0
        self._pending.ends("resumed")
        return taken

    async def _check_model(self, model: str) -> None:
        problem = await calls.check_model(model)
        if problem:
            raise refuse(ModelUnusable(model, problem))

    def _holds(self, pause_id: str) -> bool:
        return self._pause is not None and self._pause.pause_id == pause_id

    def check(self, wanted: ResumeInput) -> None:
        """Refuse a word on another pause, or one that is in itself no word.

        Raises:
            ApplicationError: typed PauseUnknown or ModelUnusable.
        """
        if not self._holds(wanted.pause_id):
            raise refuse(
                PauseUnknown(wanted.pause_id, "this leg does not wait for its model under that id")
            )
        if (wanted.action == "change_model") is not bool(wanted.model.strip()):
            raise refuse(ModelUnusable(wanted.model, "name it exactly when it is to be changed"))


def _wait_of(rounds: int, whole: timedelta, asked: timedelta | None) -> timedelta:
    """How long until it is asked again: twice as long each time, and as long as its provider says.

    A policy that waits for weeks asks less often, so that the history of the leg stays short.
    """
    longest = max(_LONGEST_WAIT, whole / _MOST_ROUNDS)
    own: timedelta = min(_FIRST_WAIT * 2 ** min(rounds - 1, 20), longest)
    return own if asked is None else max(own, asked)
