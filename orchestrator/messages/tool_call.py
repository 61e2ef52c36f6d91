"""A tool call: as a planner wants it, as prepared, and as sent."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import ClassVar, Final

from pydantic import Field

from orchestrator.confirmation.asked_before import AskedCall
from orchestrator.confirmation.models import ConfirmationCard, Grant
from orchestrator.confirmation.policy import StandingApproval
from orchestrator.confirmation.signatures import PublicKeys
from orchestrator.core.budget import Money, Spend, SpendingLimit
from orchestrator.core.call_ref import CallRef, StatedCancel
from orchestrator.core.record import Enclosing, JsonObject
from orchestrator.core.wall import Wall
from orchestrator.messages.mission_policy import CALL_TIMEOUT, MissionPolicy
from orchestrator.planning.models import NO_TERMS, CallTerms, Fact, Observation
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import CancelCall, Obligation
from orchestrator.saga.orders import Effect, Order
from orchestrator.saga.outcome import InputGiven

_OF_CALL: Final = {
    "mission_id": "mission_id",
    "leg_id": "leg_id",
    "tool": "tool",
    "catalog_digest": "catalog_digest",
    "origin": "origin",
    "obligation_id": "call_id",
    "arguments": "arguments",
}
"""The fields of an obligation that repeat its call."""


class RecordedCall(CallRef, Enclosing):
    """A call with its entry in the ledger: all that the sweep reads of a history."""

    repeated: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "obligation": {**_OF_CALL, "deadline": "deadline", "approved_price": "limit.approved"}
    }

    arguments: JsonObject
    deadline: datetime | None = None
    """The call is not sent after this time."""
    obligation: Obligation | None = None
    """The call's ledger entry, recorded before the call is sent."""
    cancels: CancelCall | None = None
    """Set for a cancel tool: the ledger's entry of this call."""
    limit: SpendingLimit | None = None
    """The limit on its charge."""
    may_have_arrived: bool = False
    """An attempt may have reached the provider before the call was held back: its outcome is found
    out by its key, and no refusal settles it."""


class ToolCall(RecordedCall):
    """A call with its final arguments; personal fields are handles."""

    agent: Wall | None = Field(default=None, description="wall of the calling agent")
    card_type: str | None = None
    grant: Grant | None = None
    timeout_s: float = CALL_TIMEOUT.total_seconds()
    postponed: int = 0
    """The number of earlier sendings: those that found no worker with the needed state, and those
    that the server answered with a question."""
    given: InputGiven | None = None
    """The answer to the input that its server asked for."""
    requester: str = Field(default="", description="requester of the mission")
    amounts: tuple[Money, ...] | None = None
    """Its price and other amounts; empty: it costs nothing; None: the price is unknown."""
    approvals_needed: int = Field(default=1, description="by the mission's or the worker's policy")
    max_sign_in_age: timedelta | None = None
    """By the policies of the mission and the worker: the longest time from an approver's sign-in to
    the approval; None for any."""
    price: Money | None = None
    """From its card; None: unknown, or there is no card."""
    standing: StandingApproval | None = None
    """Its mission's standing approval that covers it, whoever approves it in the end."""
    named: tuple[Obligation, ...] = ()
    """The live obligations of the mission that a cancel without a card names when it is sent: there
    must be exactly one, or the cancel is refused."""
    stated_cancel: StatedCancel | None = None
    """The cancel that its written workflow states, as its card shows it."""
    approvers: tuple[str, ...] = ()
    """By its written workflow: the people who may approve it, in addition to the policy's rules."""
    repeats: str = ""
    """The call whose effect it repeats, as its card says."""
    headers: tuple[str, ...] = ()
    """Names of further headers of the answer that the outcome holds."""
    step_id: str = ""
    """The step of the written workflow that makes it."""
    past: str = ""
    """The key of its leg's observations. A long answer is stored there, and the outcome refers to
    it; empty: the outcome holds the whole answer."""

    @property
    def approval_terms(self) -> JsonObject:
        """The terms of its approval, in addition to the call itself."""
        terms: JsonObject = {}
        if self.requester:
            terms["requester"] = self.requester
        if self.amounts is not None:
            terms["amounts"] = [one.model_dump(mode="json") for one in self.amounts]
        if self.approvals_needed > 1:
            terms["approvals_needed"] = self.approvals_needed
        if self.max_sign_in_age is not None:
            terms["max_sign_in_age_s"] = self.max_sign_in_age.total_seconds()
        if self.price is not None:
            terms["price"] = self.price.model_dump(mode="json")
        if self.stated_cancel is not None:
            terms["stated_cancel"] = self.stated_cancel.model_dump(mode="json")
        if self.repeats:
            terms["repeats"] = self.repeats
        if self.approvers:
            terms["approvers"] = list(self.approvers)
        return terms


class PrepareInput(CallRef):
    """A call that a planner or a person wants, before any check."""

    arguments: JsonObject
    agent: Wall | None = Field(default=None, description="wall of the calling agent")
    observations: tuple[Observation, ...] = ()
    policy: MissionPolicy = Field(default_factory=MissionPolicy)
    requester: str = ""
    now: datetime
    round: int = Field(default=1, description="how often it was asked about, this time included")
    brought: tuple[str, ...] = ()
    """The handles of the personal values that its mission was started with."""
    decided_by_people: bool = False
    """True if a person was asked about the call before."""
    facts: tuple[Fact, ...] = ()
    """Facts of other legs that may name its arguments."""
    goal: str = Field(default="", description="goal of the mission")
    clause: str = Field(default="", description="goal of the leg")
    reason: str = Field(default="", description="the planner's reason")
    call_terms: CallTerms = NO_TERMS
    said_at: datetime | None = None
    """The time of the goal, to read its dates; None: the rules have compared the values already."""
    given: JsonObject = Field(default_factory=dict)
    """Values from the goal's inputs and from answers."""
    orders: tuple[Order, ...] = Field(default=(), description="orders of the leg")
    covered: tuple[Order, ...] = ()
    """Orders that a standing approval may cover."""
    effects: tuple[Effect, ...] = Field(default=(), description="effects of the leg that stand")
    repeats: Effect | None = None
    """The effect of the mission that the call repeats, as found after an earlier preparation."""
    read_only: bool = Field(default=False, description="True if the mission may change nothing")
    most_each: int = 1
    """The most effects of an `each` order, by its agent."""
    budget_left: Money | None = None
    """The mission's budget after all other calls."""
    ledger: Ledger = Field(default_factory=Ledger)
    """The mission's obligations that its tools can cancel."""
    asked: tuple[AskedCall, ...] = ()
    """The last calls that people were asked about in this leg, the newest last."""
    proposals: int = 1
    """The number of cards of this leg since its last success, this one included."""
    changed_by_people: tuple[str, ...] = ()
    """The arguments that a person amended."""
    budget: Money | None = Field(default=None, description="of the mission; None: no limit")
    spent: Spend = Field(default_factory=Spend, description="spending of all legs")


class PreparedCall(Enclosing):
    """The same call checked and completed, with its card and its ledger entry."""

    repeated: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "card": {
            "mission_id": "call.mission_id",
            "leg_id": "call.leg_id",
            "tool": "call.tool",
            "confirmation_id": "call.call_id",
            "arguments": "call.arguments",
            "card_type": "call.card_type",
            "price": "call.price",
            "title": "title",
        },
        "obligation": {
            **{field: f"call.{path}" for field, path in _OF_CALL.items()},
            "essence": "meaning",
            "title": "title",
        },
    }

    problems: tuple[str, ...] = ()
    """Reasons against the call; all other fields are empty then."""
    missing_personal: tuple[str, ...] = ()
    """Personal fields that the vault must hold first; all other fields are empty then."""
    obstacles: tuple[str, ...] = ()
    """Missing configuration; all other fields are empty then."""
    call: ToolCall | None = None
    title: str = ""
    side_effect: bool = False
    spends: bool = False
    repeatable: bool = True
    """True if the call may be sent again after an unclear attempt."""
    price: Money | None = None
    fee: Money | None = None
    """The fee of a cancel, which a budget reserves."""
    limit: SpendingLimit | None = None
    """None: its price is unknown."""
    card: ConfirmationCard | None = None
    approval_keys: PublicKeys | None = None
    """The keys for signed decisions; None: no signature is needed."""
    standing_approver: str | None = None
    """The standing approval that makes asking unnecessary."""
    unordered: str = ""
    """Set if no order of its leg covers it."""
    obligation: Obligation | None = None
    meaning: str = ""
    """Digest of tool and arguments without the orchestrator's own references: the planner's
    intent."""
    cancel: CancelCall | None = None
    """Set for a cancel tool: the effects of this mission that it may cancel."""

    @property
    def made(self) -> ToolCall:
        """The call, which has to be there."""
        if self.call is None:
            raise RuntimeError(f"{self.title} cannot be called")
        return self.call


class OverchargeInput(PrepareInput):
    """A call that cost more than was approved; its leg asks whether to keep the effect."""

    obligation: Obligation
