"""One step of a leg thought through at once: tools selected, a decision made, its call prepared."""

from pydantic import Field

from orchestrator.core.record import Record
from orchestrator.messages.kept import KeptMessage
from orchestrator.messages.step import PlanStepOutput
from orchestrator.messages.thought_here import ThoughtHere
from orchestrator.messages.tool_call import PreparedCall
from orchestrator.routing.selection import Selection


class ThinkInput(Record):
    """What a step is thought through with."""

    step: KeptMessage
    call: KeptMessage = Field(
        description="what its call is prepared with; which one it is, the planner decides"
    )


class Thought(ThoughtHere):
    """What came of it, recorded once."""

    selection: Selection = Field(description="as legs go by it: what it was made by is traced")
    planned: PlanStepOutput
    prepared: PreparedCall | None = Field(
        default=None, description="the single call that was decided on; None: there is none"
    )
