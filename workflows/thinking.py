"""Plan a step of a leg: with its model, with the next listed model, or after a pause.

Trouble of a model costs a step or a pause, which a timer or a person ends, and never the effects of
the mission.
"""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.errors import ModelUnusable, QuestionError
    from orchestrator.core.shown_text import markdown_summary
    from orchestrator.messages import names
    from orchestrator.messages.failure_details import (
        ModelCheck,
        ModelPause,
        ModelTrouble,
        ResumeInput,
    )
    from orchestrator.messages.leg import LegStatus
    from orchestrator.messages.step import Thought
    from orchestrator.planning.models import ANSWER, CallTool
    from orchestrator.workflows import calls, logs, running
    from orchestrator.workflows.failures import (
        LegFailed,
        first_words,
        refuse,
        trouble_of,
        usage_of,
    )
    from orchestrator.workflows.leg_view import step_context
    from orchestrator.workflows.mission_limits import LegLimits
    from orchestrator.workflows.progress import Progress
    from orchestrator.workflows.waiting import Pending, wait_with_timers

_FIRST_WAIT: Final = timedelta(seconds=15)
_LONGEST_WAIT: Final = timedelta(minutes=15)
_MOST_ROUNDS: Final = 100
"""Approximate number of retries until the deadline: each adds a few events to the history."""


class ModelPauses:
    """Waits until the model of a leg may be asked again, one pause at a time.

    A pause begins with the first failed request and ends with the first answer. In between, the
    model is asked repeatedly; a person may retry at once, change the model, or give up.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._is_waiting = False
        self._pending = Pending()
        self._given_up_by: str | None = None
        self._rounds = 0 if self._pause is None else self._pause.attempts
        """Retries since a person last acted.

        After a person's fix the next retry comes soon, instead of after the long wait of a trouble
        that nobody attends to.
        """

    @property
    def is_waiting(self) -> bool:
        """True if the pause is waiting, and the model is neither being asked nor about to be."""
        return self._is_waiting and not self._pending.is_over()

    @property
    def _pause(self) -> ModelPause | None:
        return self._progress.state.pause

    async def wait(
        self, trouble: ModelTrouble, before: Sequence[ModelTrouble] = (), *, retries: bool = True
    ) -> None:
        """Wait until the model is to be asked again; without `retries`, only a person decides that.

        Raises:
            LegFailed: the policy's deadline has passed, or a person gave up.
        """
        leg, now, last = self._progress.leg, workflow.now(), self._pause
        since = now if last is None else last.since
        deadline = since + leg.policy.model_wait
        self._rounds += 1
        # A policy that waits for weeks asks less often, so that the history stays short.
        longest = max(_LONGEST_WAIT, leg.policy.model_wait / _MOST_ROUNDS)
        wait = min(_FIRST_WAIT * 2 ** min(self._rounds - 1, 20), longest)
        wait = max(wait, trouble.retry_after or wait)
        pause = ModelPause(
            pause_id=names.model_pause_id(leg.call_id),
            mission_id=leg.mission_id,
            leg_id=leg.leg.leg_id,
            model=trouble.model,
            reason=trouble.reason,
            remedy=trouble.remedy,
            before=tuple(one.sentence for one in before),
            since=since,
            attempts=1 if last is None else last.attempts + 1,
            retried_at=now + wait if retries and wait < deadline - now else None,
            deadline=deadline,
        )
        self._progress.update(pause=pause)
        logs.waits("model", pause.pause_id, trouble.sentence if retries else "")
        self._progress.show(LegStatus.AWAITING_MODEL)
        await self._until_due(pause)

    async def go_on(self) -> None:
        """Continue the pause of the previous run, as `wait` does."""
        if self._pause is not None:
            await self._until_due(self._pause)

    async def _until_due(self, pause: ModelPause) -> None:
        self._check_given_up()
        moment = pause.retried_at or pause.deadline
        summary = markdown_summary(f"until the model is asked again: {pause.reason}")
        timer = asyncio.create_task(self._pending.expire(moment, summary))
        self._is_waiting = True
        try:
            await wait_with_timers([timer], self._pending.is_over)
        finally:
            self._is_waiting = False
        # A decision that arrives while the model is being asked again applies to the next pause.
        self._pending = Pending()
        self._check_given_up()
        if workflow.now() >= pause.deadline:
            since = f"{pause.since:%Y-%m-%d %H:%M:%S %Z}"
            raise self._lost(
                f"{pause.model or 'its model'} gave no usable answer since {since}: "
                f"{pause.reason}; a policy's model_wait may be longer"
            )

    def over(self) -> None:
        """End the pause, because the model has answered; LegFailed: a person gave up meanwhile."""
        if self._pause is None:
            return
        self._check_given_up()
        self._pending, self._rounds = Pending(), 0
        self._progress.update(pause=None)
        self._progress.show(LegStatus.RUNNING)

    def close(self) -> None:
        """End the pause, because the step is planned or the leg ends."""
        self._rounds = 0
        if self._pause is not None:
            self._progress.update(pause=None)

    def _check_given_up(self) -> None:
        if self._given_up_by is not None and self._pause is not None:
            by = self._given_up_by or "a person"
            raise self._lost(f"{by} gave up waiting for the model provider: {self._pause.reason}")

    def _lost(self, why: str) -> LegFailed:
        self._progress.update(pause=None)
        self._progress.show(LegStatus.RUNNING)
        self._progress.record("wait for the model", "lost", why)
        return LegFailed(why)

    async def take(self, wanted: ResumeInput) -> ModelPause:
        """Apply a decision that `check` accepted; return the pause that it applies to.

        As with `ConfirmationGate.is_open`, a replay may deliver the decision before the event that
        opens the pause.

        Raises:
            ApplicationError: typed ModelUnusable or PauseUnknown; the leg keeps waiting.
        """
        if not self._holds(wanted.pause_id):
            await workflow.wait_condition(lambda: self._holds(wanted.pause_id))
        taken = self._pause
        if taken is None:
            raise _unknown(wanted.pause_id, "the leg has gone on meanwhile")
        if wanted.action == "give_up":
            self._given_up_by = wanted.by
        if wanted.action == "change_model":
            if problem := await self._why_not(wanted.model):
                raise refuse(ModelUnusable(wanted.model, problem))
            if not self._holds(wanted.pause_id):
                raise _unknown(wanted.pause_id, "the leg has gone on meanwhile")
            self._progress.change_model(wanted.model, why=taken.reason, by=wanted.by or "a person")
        self._rounds = 0
        self._pending.ends("resumed")
        return taken

    async def _why_not(self, model: str) -> str:
        try:
            checked = await running.run(
                names.CHECK_MODEL,
                ModelCheck(model=model),
                result_type=ModelCheck,
                summary=markdown_summary(f"look up the model {model}"),
                start_to_close_timeout=timedelta(seconds=15),
                schedule_to_close_timeout=timedelta(seconds=60),
                retry_policy=RetryPolicy(maximum_attempts=2),
            )
        except ActivityError as error:
            return f"no worker could look it up: {first_words(error)}"
        return checked.problem

    def _holds(self, pause_id: str) -> bool:
        return self._pause is not None and self._pause.pause_id == pause_id

    def check(self, wanted: ResumeInput) -> None:
        """Refuse a decision on another pause, and one whose fields contradict its action.

        Raises:
            ApplicationError: typed PauseUnknown or ModelUnusable.
        """
        if not self._holds(wanted.pause_id):
            raise _unknown(wanted.pause_id, "this leg does not wait for its model under that id")
        if (wanted.action == "change_model") is not bool(wanted.model.strip()):
            raise refuse(ModelUnusable(wanted.model, "name it exactly when it is to be changed"))


def _unknown(pause_id: str, why: str) -> ApplicationError:
    return refuse(QuestionError(pause_id, why, code="PauseUnknown"))


class Thinking:
    """Has the steps of a leg planned, despite failures of its models."""

    def __init__(self, progress: Progress, limits: LegLimits, pauses: ModelPauses) -> None:
        self._progress = progress
        self._limits = limits
        self._pauses = pauses

    async def next_step(self) -> Thought:
        """Select tools, plan one step and prepare its call.

        Raises:
            LegFailed: no model answered until the policy's deadline, or a person gave up.
            ActivityError: the planner ended the leg by its error.
        """
        try:
            await self._pauses.go_on()
            return await self._thought()
        finally:
            self._pauses.close()

    async def _thought(self) -> Thought:
        failed: dict[str, ModelTrouble] = {}
        here = self._progress.leg.leg.is_planned_by_rules
        while True:
            try:
                thought = await self._asked(here=here)
            except ActivityError as error:
                trouble = trouble_of(error)
                if trouble is None:
                    raise
                here = False  # the thought may be the cause of workers' deaths
                failed[self._current] = trouble
                following = self._following(set(failed))
                if following is not None:
                    self._progress.change_model(following, why=trouble.reason)
                    continue
                *before, last = failed.values()
                failed.clear()
                await self._pauses.wait(last, before)
            else:
                self._pauses.over()
                return thought

    async def _asked(self, *, here: bool) -> Thought:
        """Think once; the model usage is counted, whatever the outcome."""
        async with self._limits.thinking() as allowance:
            context = step_context(self._progress.leg, self._progress.budget_left, allowance)
            try:
                thought = await calls.think(context, self._progress, here=here)
            except ActivityError as error:
                self._progress.count_usage(usage_of(error))
                raise
            self._progress.count_usage(thought.planned.usage)
        return thought

    async def spend(self, wrong: str) -> None:
        """Spend the step on unusable answers; the next step reports them to the model.

        A model that gives too many unusable answers is passed over; after the last model the leg
        waits for a person.

        Raises:
            LegFailed: the person gives up, or does not decide in time.
        """
        paused = self._progress.state.pause is not None  # the previous run has reported it
        if not paused:
            self._progress.observe(CallTool(tool=ANSWER), outcome="unusable", error=wrong)
            self._progress.record(ANSWER, "unusable", wrong)
            spent = self._progress.state.model
            counted = spent.model_copy(update={"bad_answers": spent.bad_answers + 1})
            self._progress.update(model=counted)
        state = self._progress.state.model
        if state.bad_answers < self._progress.leg.leg.agent.max_bad_answers:
            return
        why = f"{state.bad_answers} answers of no use, the last: {wrong}"
        following = self._following({self._current, *state.passed_over})
        if following is not None:
            self._progress.change_model(following, why=why, passing_over=self._current)
            return
        try:
            if paused:
                await self._pauses.go_on()
            else:
                no_other = "no other model is set in the `fallback` of the agent"
                trouble = ModelTrouble(model=self._current, reason=why, remedy=no_other)
                await self._pauses.wait(trouble, retries=False)
            self._pauses.over()
        finally:
            self._pauses.close()
        renewed = {"bad_answers": 0, "passed_over": ()}
        self._progress.update(model=self._progress.state.model.model_copy(update=renewed))

    @property
    def _current(self) -> str:
        """Return the current model; empty for the worker's default."""
        changed = self._progress.state.model.name
        return self._progress.leg.leg.agent.model or "" if changed is None else changed

    def _following(self, without: set[str]) -> str | None:
        """Return the next model: a person's choice, then the profile's; None if none is left."""
        agent, state = self._progress.leg.leg.agent, self._progress.state.model
        chosen = [change.model for change in state.changes if change.by][-1:]
        listed = (*chosen, agent.model or "", *agent.fallback)
        without = without.union(state.passed_over)
        return next((one for one in listed if one not in without), None)
