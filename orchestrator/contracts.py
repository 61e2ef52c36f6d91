"""Every name and message that crosses the Temporal boundary; no other module spells one."""

from datetime import datetime, timedelta
from typing import Final, Literal

from pydantic import Field, JsonValue

from orchestrator.budget import Money, Spend, Usage
from orchestrator.confirm import ConfirmationCard, DecisionRecord, Grant
from orchestrator.mission import (
    LegResult,
    LegStatus,
    MissionPolicy,
    MissionRequest,
    Question,
    StepRecord,
)
from orchestrator.planning.decision import (
    Fact,
    LegPlan,
    MissionPlan,
    Observation,
    StepContext,
    StepDecision,
)
from orchestrator.record import JsonObject, Record
from orchestrator.routing.selection import Selection
from orchestrator.saga import CancelCall, Ledger, Obligation, Resolution

MISSION_WORKFLOW: Final = "MissionWorkflow"
LEG_WORKFLOW: Final = "LegWorkflow"
ROLLBACK_WORKFLOW: Final = "RollbackWorkflow"
SWEEP_WORKFLOW: Final = "SweepWorkflow"

PIN_CATALOG: Final = "pin_catalog"
SPLIT_GOAL: Final = "split_goal"
SELECT_TOOLS: Final = "select_tools"
PLAN_STEP: Final = "plan_step"
DISCOVER_TOOLS: Final = "discover_tools"
PREPARE_CALL: Final = "prepare_call"
INVOKE_TOOL: Final = "invoke_tool"
COLLECT_LEGS: Final = "collect_legs"
UNDO_OBLIGATION: Final = "undo_obligation"
FIND_STRANDED: Final = "find_stranded"
RECOVER_MISSION: Final = "recover_mission"

ACTIVITIES: Final = (
    PIN_CATALOG,
    SPLIT_GOAL,
    SELECT_TOOLS,
    PLAN_STEP,
    DISCOVER_TOOLS,
    PREPARE_CALL,
    INVOKE_TOOL,
    COLLECT_LEGS,
    UNDO_OBLIGATION,
    FIND_STRANDED,
    RECOVER_MISSION,
)

DECIDE_UPDATE: Final = "decide"
ANSWER_UPDATE: Final = "answer"
TAKE_ON_UPDATE: Final = "take_on"
PLAN_UPDATE: Final = "plan"
RESOLVE_UPDATE: Final = "resolve"
RESULT_QUERY: Final = "result"
LEGS_QUERY: Final = "legs"
ACCEPTED_QUERY: Final = "accepted"
WAITING_QUERY: Final = "waiting"
REPORT_QUERY: Final = "report"
RUN_REPLAYED: Final = (
    "a query had moved this run past its last workflow task; it is replayed from its history"
)
"""Why a worker fails a workflow task, and a query that came with it: either is done again."""
ROLLBACK_SETTLED_SIGNAL: Final = "rollback_settled"
RESERVE_SIGNAL: Final = "reserve_budget"
RESERVED_SIGNAL: Final = "budget_reserved"

MISSION_ID_ATTRIBUTE: Final = "OrchetMissionId"
STATUS_ATTRIBUTE: Final = "OrchetStatus"
SEARCH_ATTRIBUTES: Final = (MISSION_ID_ATTRIBUTE, STATUS_ATTRIBUTE)
"""Keyword search attributes. They are not encrypted: ids and statuses only."""

REMINDERS_METRIC: Final = "orchestrator_confirmation_reminders"

MISSION_FAILED: Final = "MissionFailed"
LEG_FAILED: Final = "LegFailed"
PROVIDER_BUSY: Final = "ProviderBusy"
LEGS_RUNNING: Final = "LegsRunning"


def leg_workflow_id(mission_id: str, leg_id: str) -> str:
    """The workflow id of a leg; a mission id has no dot, so the parts can be told apart."""
    return f"{mission_id}.{leg_id}"


def rollback_workflow_id(mission_id: str) -> str:
    """The workflow id of a mission's rollback: derived, so that it can't run twice at once."""
    return f"{mission_id}.rollback"


def mission_of(workflow_id: str) -> str:
    """The mission that a workflow belongs to: itself, or that of a leg or a rollback."""
    return workflow_id.partition(".")[0]


def sweep_schedule_id(task_queue: str) -> str:
    """The id of the schedule that sweeps; each task queue has its own, run by its own workers."""
    return f"orchestrator-sweep-{task_queue}"


def call_id(mission_id: str, leg_id: str, step: int) -> str:
    """The id of one tool call: its idempotency key, and the id of its card and its obligation."""
    return f"{leg_workflow_id(mission_id, leg_id)}.{step}"


def confirmation_id(call_id: str, asked: int) -> str:
    """The id of the card on which a call is asked about for the nth time."""
    return call_id if asked == 1 else f"{call_id}-{asked}"


def leg_of_confirmation(confirmation_id: str) -> str:
    """The workflow id of the leg that a confirmation belongs to."""
    return confirmation_id.rpartition(".")[0]


def cancel_key(idempotency_key: str) -> str:
    """The idempotency key of the call that undoes the one with this key: never the same."""
    return f"{idempotency_key}.cancel"


class CatalogPin(Record):
    """The catalog that a mission began with and keeps."""

    digest: str
    size: int


class MissionInput(Record):
    """What starts a mission."""

    request: MissionRequest


class AcceptedMission(Record):
    """A mission that was taken on, and what it is going to do."""

    mission_id: str
    plan: MissionPlan = Field(description="its legs; none when it was refused")
    catalog: CatalogPin
    request_digest: str = Field(description="tells another request under the same id apart")
    refusal: str | None = Field(default=None, description="why it could not be planned")


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


class ToolCall(Record):
    """One call, with its final arguments; personal fields are handles."""

    call_id: str
    mission_id: str
    leg_id: str
    tool: str
    catalog_digest: str
    arguments: JsonObject
    card_type: str | None = None
    grant: Grant | None = None
    timeout_s: float = 20.0
    deadline: datetime | None = Field(
        default=None, description="nothing is sent after this: set just before a side effect"
    )


class PrepareInput(Record):
    """A call that a planner or a person wants, before anything is checked."""

    call_id: str
    mission_id: str
    leg_id: str
    tool: str
    arguments: JsonObject
    catalog_digest: str
    observations: tuple[Observation, ...] = ()
    policy: MissionPolicy = Field(default_factory=MissionPolicy)
    now: datetime
    round: int = Field(default=1, description="how often it is asked about, this time included")


class PreparedCall(Record):
    """The same call checked and completed, with its card and its entry in the ledger."""

    problems: tuple[str, ...] = Field(
        default=(), description="why it cannot be made; the rest is empty then"
    )
    missing_personal: tuple[str, ...] = Field(
        default=(),
        description="personal fields that the vault must hold first; the rest is empty then",
    )
    call: ToolCall | None = None
    title: str = ""
    side_effect: bool = False
    spends: bool = False
    repeatable: bool = Field(
        default=True, description="whether the same call may be sent again after an unclear attempt"
    )
    price: Money | None = None
    card: ConfirmationCard | None = None
    standing_approver: str | None = Field(
        default=None, description="the standing approval that makes asking unnecessary"
    )
    obligation: Obligation | None = None
    cancel: CancelCall | None = Field(
        default=None, description="set for a tool that undoes: what it may undo of this mission"
    )


class CollectLegsInput(Record):
    """Whose legs to collect, and which broken-off rollback to take over from."""

    mission_id: str
    take_over: str | None = Field(
        default=None, description="run id of an earlier rollback of the mission that was broken off"
    )


class CollectLegsOutput(Record):
    """Every leg that was started, as it ended, and what an earlier rollback made of it."""

    legs: tuple[LegResult, ...]
    taken_over: Ledger = Field(
        default_factory=Ledger, description="the earlier rollback's ledger: newer than the legs'"
    )
    last_rollback: str | None = Field(
        default=None, description="run id of the mission's newest rollback, if there is one"
    )


class UndoInput(Record):
    """One obligation to undo."""

    obligation: Obligation


class RollbackInput(Record):
    """What starts a rollback."""

    mission_id: str
    reason: str = ""
    take_over: str | None = Field(
        default=None, description="run id of an earlier rollback of the mission that was broken off"
    )


class FindStrandedInput(Record):
    """Which page of the workflows that were stopped from outside to look up."""

    closed_after: datetime | None = Field(default=None, description="None: as long as is kept")
    page_token: str = Field(default="", description="of the page before; empty for the first")


class FindStrandedOutput(Record):
    """Missions of one page: they, a leg or a rollback of theirs was stopped from outside."""

    mission_ids: tuple[str, ...]
    page_token: str = Field(default="", description="of the next page; empty after the last")


class RecoverInput(Record):
    """A mission that may have been left with live obligations."""

    mission_id: str


class Recovery(Record):
    """What a sweep did about one mission."""

    mission_id: str
    done: Literal["started", "restarted", "nothing to do", "unreadable"]
    why: str = ""


class SweepReport(Record):
    """What a sweep found and did."""

    looked_at: int = Field(default=0, description="missions that were examined")
    started: tuple[str, ...] = Field(
        default=(), description="missions whose rollback it started, or started again"
    )
    unreadable: tuple[Recovery, ...] = Field(
        default=(), description="missions that it could not examine; the next sweep tries again"
    )
    swept_until: datetime | None = Field(
        default=None, description="what was stopped before this was dealt with"
    )


class SweepInput(Record):
    """What starts a sweep, or continues it in a new run."""

    closed_after: datetime | None = None
    began_at: datetime | None = Field(default=None, description="None: it begins with this run")
    page_token: str = ""
    report: SweepReport = Field(default_factory=SweepReport)


class ResolveInput(Record):
    """An operator's decision on a parked obligation."""

    obligation_id: str
    resolution: Resolution
    operator: str
    note: str = ""


class AnswerInput(Record):
    """The answer to a leg's question."""

    question_id: str
    values: dict[str, JsonValue]
    answered_by: str = ""


class ReserveInput(Record):
    """A leg asks its mission to set money aside for one call, beside what it has spent so far."""

    leg_id: str
    call_id: str
    spent: Spend = Field(default_factory=Spend)
    price: Money


class ReserveOutput(Record):
    """Whether the money was set aside; `refusal` says why not."""

    call_id: str
    refusal: str | None = None


class LegWaiting(Record):
    """What a leg waits for a person to do; at most one of the two."""

    card: ConfirmationCard | None = None
    question: Question | None = None


INVOKE_MARGIN: Final = timedelta(seconds=5)
"""Added to a call's own timeout for everything around the wire."""
