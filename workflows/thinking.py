"""Plan a step of a leg: with its model, with the next listed model, or after a pause.

Trouble of a model costs a step or a pause, and never the effects of the mission.
"""

from typing import Final

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from orchestrator.messages.failure_details import ModelTrouble
    from orchestrator.messages.step import Thought
    from orchestrator.planning.models import ANSWER, CallTool
    from orchestrator.workflows import calls
    from orchestrator.workflows.failures import trouble_of, usage_of
    from orchestrator.workflows.leg_view import step_context
    from orchestrator.workflows.mission_limits import LegLimits
    from orchestrator.workflows.model_pause import ModelPauses
    from orchestrator.workflows.progress import Progress

_NO_OTHER: Final = "no other model is set in the `fallback` of the agent"


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
                trouble = ModelTrouble(model=self._current, reason=why, remedy=_NO_OTHER)
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
