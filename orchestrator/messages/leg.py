"""A leg: what starts it, what survives of it, what it asks its planner, its mission and people."""

from datetime import datetime

from pydantic import Field, JsonValue

from orchestrator.confirmation.models import ConfirmationCard, DecisionRecord
from orchestrator.core.budget import Money, Spend, Usage
from orchestrator.core.record import JsonObject, Record
from orchestrator.messages.mission import (
    CatalogPin,
    LegStatus,
    MissionPolicy,
    Question,
    StepRecord,
)
from orchestrator.messages.names import call_id
from orchestrator.planning.models import (
    Fact,
    LegPlan,
    Observation,
    StepContext,
    StepDecision,
)
from orchestrator.routing.selection import Selection
from orchestrator.saga.ledger import Ledger


class LegState(Record):
    """All of a leg that survives continue-as-new."""

    step: int = 0
    status: LegStatus = LegStatus.RUNNING
    observations: tuple[Observation, ...] = ()
    steps: tuple[StepRecord, ...] = ()
    answers: JsonObject = Field(default_factory=dict)
    discovered: tuple[str, ...] = ()
    ledger: Ledger = Field(default_factory=Ledger)
    spend: Spend = Field(default_factory=Spend)
    usage: Usage = Field(default_factory=Usage)
    tool_calls: int = 0
    decisions: tuple[DecisionRecord, ...] = ()
    summary: str = ""
    error: str | None = None


class LegInput(Record):
    """What starts a leg, or continues it in a new run."""

    mission_id: str
    mission_goal: str
    leg: LegPlan
    inputs: JsonObject = Field(default_factory=dict)
    facts: tuple[Fact, ...] = ()
    budget: Money | None = None
    policy: MissionPolicy = Field(default_factory=MissionPolicy)
    catalog: CatalogPin
    started_at: datetime
    state: LegState = Field(default_factory=LegState)

    @property
    def call_id(self) -> str:
        """The id of the tool call of the step that it is at."""
        return call_id(self.mission_id, self.leg.leg_id, self.state.step)


class PlanStepInput(Record):
    """What a planner gets for one step."""

    context: StepContext
    selection: Selection


class PlanStepOutput(Record):
    """What it decided; a union travels inside a model so that its kind is kept."""

    decision: StepDecision
    usage: Usage | None = Field(default=None, description="None: no model was asked")


class DiscoverInput(Record):
    """A search for tools that were not forwarded."""

    query: str
    catalog_digest: str
    limit: int = 3


class DiscoverOutput(Record):
    """Names of the tools found, best first."""

    tools: tuple[str, ...]


class AnswerInput(Record):
    """The answer to a leg's question."""

    question_id: str
    values: dict[str, JsonValue]
    answered_by: str = ""


class LegWaiting(Record):
    """What a leg waits for a person to do; at most one of the two."""

    card: ConfirmationCard | None = None
    question: Question | None = None
