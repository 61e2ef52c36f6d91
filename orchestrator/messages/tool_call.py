"""One tool call: as it is wanted, as it was prepared, as it is sent."""

from datetime import datetime

from pydantic import Field

from orchestrator.confirmation.asked_before import AskedCall
from orchestrator.confirmation.models import ConfirmationCard, Grant
from orchestrator.confirmation.signatures import PublicKeys
from orchestrator.core.budget import Money, Spend
from orchestrator.core.call_ref import CallRef
from orchestrator.core.record import JsonObject, Record
from orchestrator.core.spending_limit import SpendingLimit
from orchestrator.core.wall import Wall
from orchestrator.messages.call_limits import CALL_TIMEOUT
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.planning.models import Fact, Observation
from orchestrator.saga.ledger import CancelCall, Obligation
from orchestrator.saga.orders import Effect, Order


class ToolCall(CallRef):
    """One call, with its final arguments; personal fields are handles."""

    arguments: JsonObject
    agent: Wall | None = Field(default=None, description="who calls, and what it may touch")
    card_type: str | None = None
    grant: Grant | None = None
    timeout_s: float = CALL_TIMEOUT.total_seconds()
    deadline: datetime | None = Field(
        default=None, description="nothing is sent after this: set just before a side effect"
    )
    held_back: int = Field(
        default=0, description="how often no worker could send it for want of what it needs"
    )
    may_have_arrived: bool = Field(
        default=False,
        description="before it was held back, an attempt may have reached its provider: what came "
        "of it is found out by its key, and no refusal settles it",
    )
    requester: str = Field(default="", description="who asked for the mission")
    amounts: tuple[Money, ...] | None = Field(
        default=None, description="its price and all other amounts; None: what it costs is unknown"
    )
    approvals_needed: int = Field(default=1, description="by the mission's policy or the worker's")
    reserved: Money | None = Field(
        default=None, description="of the mission's budget, for this call; None: nothing had to be"
    )
    price: Money | None = Field(
        default=None,
        description="what its card says it costs; None: unknown, or nobody is asked",
    )
    past: str = Field(
        default="",
        description="the key of what its leg has seen: a long answer is kept where that is, and "
        "told by reference; empty: it is told whole",
    )

    @property
    def approval_terms(self) -> JsonObject:
        """What an approval covers beside the call: what rules on approvers go by, where it is."""
        terms: JsonObject = {}
        if self.requester:
            terms["requester"] = self.requester
        if self.amounts is not None:
            terms["amounts"] = [one.model_dump(mode="json") for one in self.amounts]
        if self.approvals_needed > 1:
            terms["approvals_needed"] = self.approvals_needed
        if self.price is not None:
            terms["price"] = self.price.model_dump(mode="json")
        return terms


class PrepareInput(CallRef):
    """A call that a planner or a person wants, before anything is checked."""

    arguments: JsonObject
    agent: Wall | None = Field(default=None, description="who wants it, and what it may touch")
    observations: tuple[Observation, ...] = ()
    policy: MissionPolicy = Field(default_factory=MissionPolicy)
    requester: str = ""
    now: datetime
    round: int = Field(default=1, description="how often it is asked about, this time included")
    brought: tuple[str, ...] = Field(
        default=(), description="the handles of the values that its mission was started with"
    )
    decided_by_people: bool = Field(
        default=False, description="it was put before a person, and stays with them"
    )
    facts: tuple[Fact, ...] = Field(
        default=(), description="of other legs: those that may tell what its arguments name"
    )
    goal: str = Field(default="", description="of the mission")
    clause: str = Field(default="", description="the goal of the leg")
    reason: str = Field(default="", description="why, as the planner says")
    said_at: datetime | None = Field(
        default=None,
        description="when the goal was said, by which its card compares values with it; None: the "
        "planner by rules compared them before",
    )
    given: JsonObject = Field(
        default_factory=dict, description="what people gave with the goal and as answers"
    )
    orders: tuple[Order, ...] = Field(default=(), description="of its leg")
    covered: tuple[Order, ...] = Field(
        default=(), description="those of them that a standing approval may cover"
    )
    effects: tuple[Effect, ...] = Field(default=(), description="of its leg, those that stand")
    read_only: bool = Field(default=False, description="its mission may change nothing")
    most_each: int = Field(
        default=1, description="how many effects an `each` order may have at most, by its agent"
    )
    budget_left: Money | None = None
    asked: tuple[AskedCall, ...] = Field(
        default=(), description="the last that people were asked in this leg, the newest last"
    )
    proposals: int = Field(
        default=1, description="the cards of this leg since its last success, this one included"
    )
    changed_by_people: tuple[str, ...] = Field(
        default=(), description="the arguments that a person amended"
    )
    budget: Money | None = Field(default=None, description="the mission's; None: there is no limit")
    spent: Spend = Field(default_factory=Spend, description="what its leg has taken of that budget")


class PreparedCall(Record):
    """The same call checked and completed, with its card and its entry in the ledger."""

    problems: tuple[str, ...] = Field(
        default=(), description="why it cannot be made; the rest is empty then"
    )
    missing_personal: tuple[str, ...] = Field(
        default=(),
        description="personal fields that the vault must hold first; the rest is empty then",
    )
    obstacles: tuple[str, ...] = Field(
        default=(),
        description="what must be configured before it can be sent; the rest is empty then",
    )
    call: ToolCall | None = None
    title: str = ""
    side_effect: bool = False
    spends: bool = False
    repeatable: bool = Field(
        default=True, description="whether the same call may be sent again after an unclear attempt"
    )
    price: Money | None = None
    fee: Money | None = Field(
        default=None, description="what undoing it may cost: kept aside of a budget"
    )
    limit: SpendingLimit | None = Field(
        default=None,
        description="what it may cost, and what follows when it costs more; None: unknown",
    )
    card: ConfirmationCard | None = None
    approval_keys: PublicKeys | None = Field(
        default=None, description="those that sign decisions on the card; None: nobody has to sign"
    )
    standing_approver: str | None = Field(
        default=None, description="the standing approval that makes asking unnecessary"
    )
    unordered: str = Field(
        default="", description="why no order of its leg covers it; empty: one does, or none need"
    )
    obligation: Obligation | None = None
    meaning: str = Field(
        default="",
        description="digest of tool and arguments without our own references: what a planner wants",
    )
    cancel: CancelCall | None = Field(
        default=None, description="set for a cancel tool: what it may cancel of this mission"
    )

    @property
    def reserves(self) -> Money | None:
        """What it takes of a budget first of all: its price, else what undoing it may cost."""
        return (self.price if self.spends else None) or self.fee


class OverchargeInput(PrepareInput):
    """A call that cost more than was approved, and whose leg asks whether to keep it."""

    obligation: Obligation
