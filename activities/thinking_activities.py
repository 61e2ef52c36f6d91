"""A step of a leg thought through in one activity, so that history records it once.

Whatever dies in it is thought through again: nothing was sent, and what is kept of the step has the
keys that its leg gives it each time.
"""

from typing import Any, Final

from temporalio import activity

from activities.boundary import heartbeats, translated_errors
from activities.kept_messages import KeptMessages
from activities.planning_activities import PlanningActivities
from activities.prepare_activities import PrepareActivities
from orchestrator.language.intent import IntentFrame
from orchestrator.messages import names
from orchestrator.messages.kept import KeptMessage
from orchestrator.messages.step import PlanStepInput, PlanStepOutput
from orchestrator.messages.thought import ThinkInput, Thought
from orchestrator.messages.tool_call import PreparedCall
from orchestrator.planning.models import CallTool

_TRACED: Final[dict[str, Any]] = {"frame": IntentFrame(), "scores": {}, "chances": ()}
"""Of a selection, what it was made by: its trace has that, and no leg goes by it."""


class ThinkingActivities:
    """Selects, plans and prepares, one after the other."""

    def __init__(
        self, planning: PlanningActivities, preparing: PrepareActivities, kept: KeptMessages
    ) -> None:
        self._planning = planning
        self._preparing = preparing
        self._kept = kept

    @activity.defn(name=names.THINK)
    async def think(self, wanted: ThinkInput) -> Thought:
        """The tools of a step, what its planner decides, and the call that it decides on."""
        async with heartbeats():
            with translated_errors():
                context = await self._kept.context(wanted.step)
                selection = await self._planning.selected(context, wanted.step)
                kept = await self._kept.learn(wanted.call)
            step = PlanStepInput(context=context, selection=selection)
            planned = await self._planning.plan_step(step)
            prepared = await self._prepared(kept, planned)
        return Thought(
            selection=selection.model_copy(update=_TRACED), planned=planned, prepared=prepared
        )

    async def _prepared(self, message: KeptMessage, planned: PlanStepOutput) -> PreparedCall | None:
        call = planned.decision
        if not isinstance(call, CallTool) or planned.refusal or planned.unusable:
            return None
        decided = call.model_dump(mode="json", include={"tool", "arguments", "reason"})
        changes = {**message.changes, **decided}
        return await self._preparing.prepare_call(message.model_copy(update={"changes": changes}))
