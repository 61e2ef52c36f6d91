"""A leg in the middle of its work: what it shows of the step that it is at, for those who watch."""

from pydantic import Field

from orchestrator.confirmation.models import DecisionRecord
from orchestrator.core.record import Record
from orchestrator.messages.leg import LegStatus, LegWaiting
from orchestrator.messages.step import StepRecord
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.outcome import OutcomeKind


class SelectedTools(Record):
    """What the router forwarded for a step."""

    step: int
    tools: tuple[str, ...]
    band: str
    catalog_size: int


class CallMade(Record):
    """A call of the step that was sent."""

    call_id: str
    tool: str
    outcome: OutcomeKind | None = Field(default=None, description="None: it is on its way")
    error: str | None = None


class LegProgress(Record):
    """Where a leg stands, as far as those see it who watch; its ledger and steps are whole."""

    agent: str = ""
    goal: str = ""
    status: LegStatus = LegStatus.WAITING
    selection: SelectedTools | None = None
    calls: tuple[CallMade, ...] = Field(
        default=(), description="of the step that it is at, and some before"
    )
    steps: tuple[StepRecord, ...] = ()
    steps_before: int = Field(default=0, description="how many older ones there are")
    decisions: tuple[DecisionRecord, ...] = ()
    ledger: Ledger = Field(default_factory=Ledger)
    waiting: LegWaiting = Field(default_factory=LegWaiting)
    summary: str = ""
    error: str | None = None
