"""One step of a leg: what its planner is asked and answers, and what is kept of it."""

from datetime import datetime

from pydantic import Field

from orchestrator.core.budget import Usage
from orchestrator.core.call_ref import step_label
from orchestrator.core.record import Record
from orchestrator.core.wall import Wall
from orchestrator.planning.models import Dropped, StepContext, StepDecision
from orchestrator.routing.selection import Selection
from orchestrator.saga.outcome import FollowUp


class PlanStepInput(Record):
    """What a planner gets for one step."""

    context: StepContext
    selection: Selection


class PlanStepOutput(Record):
    """What it decided; a union travels inside a model so that its kind is kept."""

    decision: StepDecision
    refusal: str | None = Field(
        default=None,
        description="why the call that was decided on is not made, its arguments left out, or why "
        "the leg is not ended yet; the planner is told",
    )
    usage: Usage | None = Field(default=None, description="None: no model was asked")
    unusable: str | None = Field(
        default=None,
        description="why no answer of the planner can be carried out: nothing was decided, and the "
        "step is spent",
    )
    unproved: str = Field(
        default="", description="why the ending is its planner's word alone; empty: it is not"
    )
    follow_ups: tuple[FollowUp, ...] = Field(
        default=(), description="what the last answer makes possible, where the leg ends with it"
    )
    unheld: tuple[str, ...] = Field(
        default=(), description="ids of the summary that stand in no answer"
    )
    dropped: tuple[Dropped, ...] = Field(
        default=(), description="what the planner wanted beside it; it is not done"
    )
    conversation: str = Field(
        default="", description="where what was said to decide it is kept; empty: nowhere"
    )


class DiscoverInput(Record):
    """A search for tools that were not forwarded."""

    query: str
    catalog_digest: str
    limit: int = 3
    agent: Wall | None = Field(default=None, description="for whom; it finds nothing outside")


class DiscoverOutput(Record):
    """Names of the tools found, best first."""

    tools: tuple[str, ...]


class StepRecord(Record):
    """One step of a leg, as it is shown: how many tools it saw, what it did, what came of it."""

    step: int
    part: int = Field(default=0, description="of several calls that were made at once: which")
    tools_forwarded: tuple[str, ...]
    catalog_size: int
    band: str
    did: str
    outcome: str
    error: str | None = None
    at: datetime | None = None
    usage: Usage | None = Field(
        default=None, description="of its planner, on its first part; None: no model was asked"
    )

    @property
    def label(self) -> str:
        """How it is named: 3, and of calls that were made at once 3, 3b, 3c."""
        return step_label(self.step, self.part)

    @property
    def called(self) -> str:
        """The tool that it called; empty when it called none."""
        verb, _, tool = self.did.partition(" ")
        return tool if verb == "call" else ""
