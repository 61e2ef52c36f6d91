"""A step of a leg planned: by its model, by the next one of its list, or after a pause.

Trouble of a model costs a step or a pause, and never what the mission has done.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from orchestrator.messages import names
    from orchestrator.messages.field_kinds import open_choice
    from orchestrator.messages.leg import AnswerInput
    from orchestrator.messages.model_trouble import ModelTrouble
    from orchestrator.messages.step import PlanStepOutput
    from orchestrator.messages.thought import Thought
    from orchestrator.planning.models import ANSWER, AskUser, CallTool, StepContext
    from orchestrator.routing.selection import Selection
    from workflows import calls
    from workflows.failures import LegLost, trouble_of
    from workflows.leg_view import step_context
    from workflows.model_pause import ModelPauses
    from workflows.progress import Progress
    from workflows.questions import Questions

PATCH: Final = "model-pause"
"""Legs that failed for want of a planner before there were pauses are replayed as they failed."""
_THEN: Final = "then"
_GO_ON: Final = "go on"
_GIVE_UP: Final = "give up"
_CHOICES: Final = open_choice(
    {_GO_ON: "the same model is asked again", _GIVE_UP: "this part of the mission fails"},
    other="another model to go on with, as PROVIDER:MODEL",
)


class Thinking:
    """Has the steps of a leg planned, whatever becomes of the model that plans them."""

    def __init__(
        self,
        progress: Progress,
        pauses: ModelPauses,
        questions: Questions,
        plan: Callable[[StepContext, Selection], Awaitable[PlanStepOutput]],
    ) -> None:
        self._progress = progress
        self._pauses = pauses
        self._questions = questions
        self._plan = plan

    async def next_step(self, selection: Selection) -> PlanStepOutput:
        """What to do next, out of the selected tools.

        Raises:
            LegLost: no model answered until the policy's deadline, or a person gave up.
            ActivityError: the planner ended the leg by its error.
        """
        try:
            return await self._planned(selection)
        finally:
            self._pauses.close()

    async def whole_step(self) -> Thought:
        """A step that rules plan, thought through at once; trouble is waited out as a model's is.

        Raises:
            LegLost: it went on until the policy's deadline, or a person gave up.
            ActivityError: the planner ended the leg by its error.
        """
        here = True
        try:
            while True:
                context = step_context(self._progress.leg)
                try:
                    thought = await calls.think(context, self._progress, here=here)
                except ActivityError as error:
                    trouble = trouble_of(error)
                    if trouble is None:
                        raise
                    await self._pauses.wait(trouble)
                    here = False  # it may be what kills workers
                else:
                    self._pauses.over()
                    return thought
        finally:
            self._pauses.close()

    async def _planned(self, selection: Selection) -> PlanStepOutput:
        failed: dict[str, ModelTrouble] = {}
        while True:
            context = step_context(self._progress.leg)
            try:
                planned = await self._plan(context, selection)
            except ActivityError as error:
                trouble = trouble_of(error)
                if trouble is None or not workflow.patched(PATCH):
                    raise
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
                return planned

    # -- answers of no use ------------------------------------------------------------------------

    async def spend(self, wrong: str) -> None:
        """Spend the step on answers of no use, which the next one tells the model.

        A model that gives too many of them is passed over; after the last one a person is asked.

        Raises:
            LegLost: the person gives up, or does not answer in time.
        """
        self._progress.observe(CallTool(tool=ANSWER), outcome="unusable", error=wrong)
        self._progress.record(ANSWER, "unusable", wrong)
        self._progress.spend_on_answers()
        state = self._progress.state.model
        if state.bad_answers < self._progress.leg.leg.agent.max_bad_answers:
            return
        following = self._following({self._current, *state.passed_over})
        if following is None:
            await self._ask_what_follows(wrong, state.bad_answers)
            return
        why = f"{state.bad_answers} answers of no use, the last: {wrong}"
        self._progress.change_model(following, why=why, passing_over=self._current)

    async def _ask_what_follows(self, wrong: str, count: int) -> None:
        problem = ""
        while True:
            answer = await self._asked(wrong, count, problem)
            then, by = str(answer.values[_THEN]).strip(), answer.answered_by or "a person"
            if then == _GIVE_UP:
                raise LegLost(f"{by} gave up on the model: {count} answers of no use: {wrong}")
            if then == _GO_ON:
                self._progress.renew_model()
                return
            problem = await calls.check_model(then)
            if not problem:
                self._progress.change_model(then, why=f"{count} answers of no use", by=by)
                return
            problem = f"{then!r} cannot be asked: {problem}. "

    async def _asked(self, wrong: str, count: int, problem: str) -> AnswerInput:
        named = self._current or "the worker's default model"
        wanted = AskUser(
            question=f"{problem}{named} gave {count} answers in this part that cannot be carried "
            f"out, the last: {wrong}. What now?",
            why="nothing was done with these answers, and no other model is set in the `fallback` "
            "of the agent",
            fields={_THEN: _CHOICES},
        )
        question_id = names.model_question_id(
            self._progress.leg.call_id, self._progress.ask_about_model()
        )
        return await self._questions.ask_about(wanted, question_id=question_id)

    # -- which model ------------------------------------------------------------------------------

    @property
    def _current(self) -> str:
        """The model that is asked now; empty for the worker's default."""
        changed = self._progress.state.model.name
        return self._progress.leg.leg.agent.model or "" if changed is None else changed

    def _following(self, without: set[str]) -> str | None:
        """The next model: a person's choice, then the profile's; None when none is left."""
        agent, state = self._progress.leg.leg.agent, self._progress.state.model
        chosen = [change.model for change in state.changes if change.by][-1:]
        listed = (*chosen, agent.model or "", *agent.fallback)
        without = without.union(state.passed_over)
        return next((one for one in listed if one not in without), None)
