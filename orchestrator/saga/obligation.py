"""Obligations: the possible effects of calls at providers, and how each is cancelled.

An obligation is written before its call is sent. From then on it moves only along `_NEXT`:

    intended ──> committed ──> cancelled
        │  └───────────────────────┘ │
        ├──> void                    │
        └──> parked <────────────────┘   parked ──> cancelled | accepted | committed (retry)

Everything here is total and pure: workflows call it, so its answers are replayed for ever.
"""

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal

from pydantic import Field, JsonValue

from orchestrator.core import compensation_limits
from orchestrator.core.budget import Money, Overcharge, SpendingLimit
from orchestrator.core.call_ref import StatedCancel, key_of_call
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.record import JsonObject, Record, id_text, same_id
from orchestrator.saga.agreed_days import other_days
from orchestrator.saga.outcome import (
    CompensationFailure,
    CompensationOutcome,
    FollowUp,
    OutcomeKind,
    ToolOutcome,
)


class ObligationState(StrEnum):
    """The state of an obligation."""

    INTENDED = "intended"
    """Written before its call is sent; the call may or may not have had an effect."""
    COMMITTED = "committed"
    """The provider has the booking."""
    VOID = "void"
    """The booking never existed: the provider refused, or a probe found nothing."""
    CANCELLED = "cancelled"
    """The booking was cancelled at the provider."""
    PARKED = "parked"
    """The booking could not be cancelled; an operator has to decide."""
    ACCEPTED = "accepted"
    """An operator decided to leave it."""


_S = ObligationState
_NEXT: dict[ObligationState, frozenset[ObligationState]] = {
    _S.INTENDED: frozenset({_S.COMMITTED, _S.VOID, _S.CANCELLED, _S.PARKED}),
    _S.COMMITTED: frozenset({_S.CANCELLED, _S.PARKED}),
    _S.PARKED: frozenset({_S.COMMITTED, _S.INTENDED, _S.CANCELLED, _S.ACCEPTED}),
    _S.VOID: frozenset(),
    _S.CANCELLED: frozenset(),
    _S.ACCEPTED: frozenset(),
}


Resolution = Literal["retry", "cancelled", "accept"]
"""The decisions that an operator can make on a parked obligation."""


class IllegalTransition(OrchestratorError):
    """An obligation cannot move to the given state: a bug in this project, never in the input."""


class CancelCall(Record):
    """A call of a cancel tool that a leg made itself, outside of any rollback."""

    call_id: str
    tool: str
    arguments: JsonObject = Field(description="as sent, personal fields as handles")
    names: JsonObject = Field(description="arguments that identify the obligation, if any do")
    idempotency_key: str | None = None
    written_at: datetime
    outcome: OutcomeKind = Field(default="unknown", description="unknown until it is answered")
    settled_at: datetime | None = None
    refund: Money | None = Field(default=None, description="refund stated in the answer")
    fee: Money | None = Field(default=None, description="fee stated in the answer")
    named: tuple[Money, ...] = Field(default=(), description="all amounts in the answer")
    confirmed_by: str | None = Field(default=None, description="the approver, if one was needed")

    def answered(self, outcome: ToolOutcome, *, at: datetime) -> "CancelCall":
        """Return this call with its outcome."""
        paid = {"refund": outcome.refund, "fee": outcome.fee, "named": outcome.named}
        return self.model_copy(update={"outcome": outcome.kind, "settled_at": at, **paid})

    def means(self, obligation: "Obligation") -> bool:
        """Return True if this call was made to cancel exactly that obligation."""
        if self.tool != obligation.cancel_tool or obligation.written_at > self.written_at:
            return False
        if obligation.cancelled_by == self.call_id:
            return True
        over = None if obligation.is_live else obligation.settled_at
        if over is not None and over <= self.written_at:
            return False
        known = obligation.cancel_inputs
        return bool(self.names) and all(
            name in known and same_id(known[name], value) for name, value in self.names.items()
        )


class RollbackOrder(Record):
    """The reason for a rollback, and the person who decided on it."""

    reason: str = ""
    approver: str | None = Field(default=None, description="who ordered it; None: the mission did")
    asked_at: datetime | None = None

    def __str__(self) -> str:
        """Return reason and approver in one line; the name is the one that the caller gave."""
        parts = [self.reason, f"decided by {self.approver}" if self.approver else ""]
        return ", ".join(part for part in parts if part)


class ResolutionRecord(Record):
    """An operator's decision on a parked obligation."""

    resolution: Resolution
    operator: str = Field(description="name that the operator gave")
    at: datetime
    note: str = ""
    parked_at: datetime | None = None
    parked_because: str = Field(default="", description="why it was parked")

    def __str__(self) -> str:
        """Return the time, the operator, the decision and the note in one line."""
        said = f": {self.note}" if self.note else ""
        return f"{self.at:%Y-%m-%d %H:%M} {self.operator} resolved it as {self.resolution}{said}"


class Obligation(Record):
    """An effect that a call may have had at a provider, and how to cancel it."""

    obligation_id: str = Field(description="the call's id: mission, leg and step")
    origin: str = Field(default="", description="first run id of its mission")
    mission_id: str
    workflow_id: str = Field(default="", description="workflow of its saga; empty for a mission")
    observed: bool = Field(default=False, description="its call was not guarded")
    leg_id: str
    tool: str
    cancel_tool: str | None = Field(description="None if no cancel tool is declared")
    catalog_digest: str
    arguments: JsonObject = Field(description="as sent, personal fields as handles")
    essence: str = Field(default="", description="digest of tool and essential arguments")
    idempotency_key: str | None
    task_queue: str | None = Field(default=None, description="of its agent, for the cancel too")
    title: str = ""
    agreed: JsonObject = Field(default_factory=dict, description="days that its answer may state")
    differs: tuple[str, ...] = Field(default=(), description="agreed days that the answer denies")
    contract: StatedCancel | None = Field(default=None, description="how a workflow cancels it")
    cancel_timeout: timedelta = compensation_limits.CALL_TIMEOUT
    cancel_max_attempts: int = compensation_limits.ATTEMPTS
    cancel_window: timedelta | None = Field(default=None, description="from its commitment on")
    on_failure: Literal["park", "continue"] = "park"
    state: ObligationState = ObligationState.INTENDED
    written_at: datetime
    deadline: datetime = Field(description="time after which the call can no longer arrive")
    settled_at: datetime | None = None
    committed_at: datetime | None = None
    """When the effect was known to exist; it stays when it is parked."""
    cancel_inputs: JsonObject = Field(default_factory=dict, description="as far as they are known")
    cancel_call: CancelCall | None = Field(default=None, description="a leg's own, if unclear")
    cancelled_by: str | None = Field(default=None, description="a leg's own call that cancelled it")
    cancel_sent: bool = Field(default=False, description="a cancel of unknown outcome was sent")
    answered_ids: JsonObject = Field(default_factory=dict, description="cancel inputs answered")
    namesake: str = ""
    """An earlier obligation of the mission with these ids, by which no cancel is sent."""
    cancel_answered: bool = Field(default=False, description="a success that was not believed")
    missing_for: timedelta = Field(default=timedelta(0), description="how long it was not shown")
    accepted: bool = Field(default=False, description="by a 202: it may be carried out any time")
    verify_cancel: bool = Field(default=True, description="the probe is asked after its cancel")
    response: JsonValue = None
    response_headers: dict[str, str] = Field(default_factory=dict)
    follow_ups: tuple[FollowUp, ...] = Field(default=(), description="next actions, a cancel first")
    price: Money | None = Field(default=None, description="charge stated in the answer")
    fee: Money | None = Field(default=None, description="cost of a cancel, by document or policy")
    kept_fee: Money | None = Field(default=None, description="cost of its cancel, as answered")
    approved_price: Money | None = Field(default=None, description="expected at the approval")
    overcharged: Money | None = None
    """The amount above the approved price; the whole charge if the currency differs."""
    spends: bool = Field(default=True, description="True if the price is money that leaves")
    has_price: bool = Field(default=False, description="True if its document declares a price")
    confirmed_by: str | None = None
    rollback: RollbackOrder | None = Field(default=None, description="None: it was not rolled back")
    note: str = ""
    """The reason for its present state, for the operator."""
    stalled: bool = Field(default=False, description="it waits for a worker, and is retried then")
    resolutions: tuple[ResolutionRecord, ...] = ()
    """Operators' decisions on it, in order."""

    def moved(self, state: ObligationState, *, at: datetime, note: str = "") -> "Obligation":
        """Return this obligation in another state; IllegalTransition: that cannot follow."""
        if state not in _NEXT[self.state]:
            raise IllegalTransition(f"{self.obligation_id}: {self.state} cannot become {state}")
        changes = {"state": state, "settled_at": at, "note": note, "stalled": False}
        return self.model_copy(update=changes)

    def answered(self, outcome: ToolOutcome, *, at: datetime) -> "Obligation":
        """Return this obligation with its call's outcome; an unknown one leaves it intended."""
        if outcome.kind == "unknown":
            # The deadline is for attempts that may still arrive, and for accepted calls.
            is_over = outcome.alone and not outcome.accepted
            return self.model_copy(
                update={
                    "deadline": min(self.deadline, at) if is_over else self.deadline,
                    "note": outcome.reason or "the outcome is unknown",
                    # The ids in an answer that proves nothing can be cancelled all the same.
                    "cancel_inputs": {**self.cancel_inputs, **outcome.cancel_inputs},
                    "answered_ids": {**self.answered_ids, **outcome.answered_ids},
                    "accepted": self.accepted or outcome.accepted,
                }
            )
        if outcome.kind == "rejected":
            return self.moved(ObligationState.VOID, at=at, note=outcome.reason or "")
        committed = self.moved(ObligationState.COMMITTED, at=at)
        return committed.model_copy(
            update={
                "committed_at": at,
                "cancel_inputs": {**self.cancel_inputs, **outcome.cancel_inputs},
                "answered_ids": outcome.answered_ids,
                "response": outcome.body,
                "differs": other_days(self.agreed, self.arguments, outcome.body),
                "response_headers": outcome.headers,
                "follow_ups": outcome.follow_ups,
                "price": outcome.price,
            }
        )

    def compared(self, limit: SpendingLimit | None, named: Sequence[Money] = ()) -> "Obligation":
        """Return this answered obligation, with its charge compared with the approved price."""
        if self.state is not ObligationState.COMMITTED:
            return self
        if limit is None:
            # The largest amount of its answer counts as its price.
            known = [one for one in (self.price, *named) if one is not None]
            is_one = len({one.currency for one in known}) == 1
            price = max(known, key=lambda money: money.amount) if is_one else self.price
            note = ""
            if self.spends and self.has_price and price is None:
                note = "what it cost is unknown: no price was approved, and none was stated"
            elif self.spends and self.has_price:
                note = f"its price was not known when it was approved; {price} was charged"
            return self.model_copy(update={"price": price, "note": self.note or note})
        price, note = self.price, self.note
        above = max(
            (m for m in named if m.currency == limit.at_most.currency and limit.exceeded_by(m)),
            key=lambda money: money.amount,
            default=None,
        )
        if above is not None and limit.exceeded_by(price) is None:
            price = above
            note = f"the answer names {above}; {limit.approved} was approved"
        elif price is None:
            note = f"charged price not stated; counted as approved, {limit.approved}"
        changes = {"price": price, "overcharged": limit.exceeded_by(price), "note": note}
        return self.model_copy(update=changes)

    @property
    def key(self) -> str:
        """The id of its call among all missions that ever had the same id."""
        return key_of_call(self.obligation_id, self.origin)

    @property
    def cancellable_until(self) -> datetime | None:
        """When its provider ceases to cancel it; None: no end is declared."""
        began = self.committed_at or self.written_at
        return None if self.cancel_window is None else began + self.cancel_window

    @property
    def is_unpriced(self) -> bool:
        """True if the obligation costs an unknown amount of money."""
        stands = self.state in (_S.COMMITTED, _S.PARKED, _S.ACCEPTED)
        return stands and self.spends and self.has_price and self.cost is None

    @property
    def overcharge(self) -> Overcharge | None:
        """The charge beyond the approved price; None if there is none."""
        if self.overcharged is None or self.price is None or self.approved_price is None:
            return None
        return Overcharge(approved=self.approved_price, charged=self.price, more=self.overcharged)

    @property
    def cost(self) -> Money | None:
        """The charged, else the approved price of what stands; once cancelled: what was kept."""
        if self.state is _S.CANCELLED:
            return self.kept_fee
        stands = self.state in (_S.COMMITTED, _S.PARKED, _S.ACCEPTED)
        return (self.price or self.approved_price) if stands and self.spends else None

    @property
    def set_aside(self) -> Money | None:
        """The approved price, if the charge is in another currency than the budget.

        It stays reserved in the budget, which a charge in another currency would otherwise leave
        unchanged.
        """
        cost, approved = self.cost, self.approved_price
        if self.state is _S.CANCELLED or cost is None or approved is None:
            return None
        return None if approved.currency == cost.currency else approved

    @property
    def fee_aside(self) -> Money | None:
        """The part of a budget that is reserved for the cancellation, or was spent on it."""
        is_due = self.state in (_S.INTENDED, _S.COMMITTED, _S.PARKED, _S.CANCELLED)
        return self.fee if is_due and self.kept_fee is None else None

    def given_up(self, *, at: datetime, note: str) -> "Obligation":
        """Return this obligation after its last attempt: parked, or accepted by its contract."""
        parked = self.moved(ObligationState.PARKED, at=at, note=note)
        if self.on_failure == "park":
            return parked
        return parked.moved(
            ObligationState.ACCEPTED, at=at, note=f"{note}; its contract says to continue"
        )

    def deferred(self, *, at: datetime, note: str) -> "Obligation":
        """Return this obligation parked until a worker can cancel it, whatever its contract."""
        parked = self.moved(ObligationState.PARKED, at=at, note=note)
        return parked.model_copy(update={"stalled": True})

    def resumed(self, *, at: datetime) -> "Obligation":
        """Return this deferred obligation for another attempt, now that a worker can cancel it."""
        return self.moved(self._after("retry"), at=at, note="a worker has what it needs")

    def compensated(self, outcome: "CompensationOutcome", *, at: datetime) -> "Obligation":
        """Return this obligation after a compensation with a clear outcome."""
        if outcome.state == "parked":
            return self.given_up(at=at, note=outcome.note)
        state = ObligationState(outcome.state)
        if self.state is ObligationState.COMMITTED and state is ObligationState.VOID:
            state = ObligationState.CANCELLED
        moved = self.moved(state, at=at, note=outcome.note)
        return moved._keeping(outcome.refund, outcome.fee, outcome.named)

    def _keeping(
        self, refund: Money | None, fee: Money | None, named: Sequence[Money]
    ) -> "Obligation":
        """Return this cancelled obligation with the amount that its provider kept.

        That is the fee, else the part of the price that was not refunded. If the answer states
        neither, its largest amount below the price counts: it may be either.
        """
        kept, note = fee, self.note
        price = (self.price or self.approved_price) if self.spends else None
        if fee is None and refund is not None and price is not None:
            left = price.amount - refund.amount
            is_part = refund.currency == price.currency and left > 0
            kept = Money(amount=left, currency=price.currency) if is_part else None
        elif fee is None and refund is None and price is not None:
            parts = [m for m in named if m.currency == price.currency and m.amount < price.amount]
            kept = max(parts, key=lambda money: money.amount, default=None)
            said = f"the answer to its cancel names {kept}, which counts as kept"
            note = "; ".join(filter(None, (note, said if kept is not None else "")))
        return self.model_copy(update={"kept_fee": kept, "note": note})

    def compensation_failed(self, failure: CompensationFailure) -> "Obligation":
        """Return this obligation after an attempt that settled nothing."""
        return self.model_copy(
            update={
                "cancel_sent": self.cancel_sent or failure.arrived,
                "cancel_answered": self.cancel_answered or failure.answered,
                "note": failure.reason,
            }
        )

    def resolved(
        self, resolution: "Resolution", *, at: datetime, operator: str, note: str = ""
    ) -> "Obligation":
        """Return this parked obligation after an operator's decision, which it records."""
        decided = ResolutionRecord(
            resolution=resolution,
            operator=operator,
            at=at,
            note=note,
            parked_at=self.settled_at,
            parked_because=self.note,
        )
        moved = self.moved(self._after(resolution), at=at, note=f"{operator}: {note or resolution}")
        return moved.model_copy(update={"resolutions": (*self.resolutions, decided)})

    def _after(self, resolution: "Resolution") -> ObligationState:
        if resolution == "cancelled":
            return ObligationState.CANCELLED
        if resolution == "accept":
            return ObligationState.ACCEPTED
        known = self.committed_at is not None
        return ObligationState.COMMITTED if known else ObligationState.INTENDED

    def met(self, cancel: CancelCall) -> "Obligation":
        """Return this obligation after a leg's own call to cancel exactly this obligation."""
        if not self.is_live:
            return self
        if cancel.outcome == "succeeded":
            cancelled = self.moved(
                ObligationState.CANCELLED,
                at=cancel.settled_at or cancel.written_at,
                note=f"cancelled by {cancel.call_id}",
            )
            changes = {"cancel_call": None, "cancelled_by": cancel.call_id}
            paid = cancelled._keeping(cancel.refund, cancel.fee, cancel.named)
            return paid.model_copy(update=changes)
        if cancel.outcome == "unknown":
            return self.model_copy(update={"cancel_call": cancel})
        if self.cancel_call is not None and self.cancel_call.call_id == cancel.call_id:
            return self.model_copy(update={"cancel_call": None})
        return self

    @property
    def answered_name(self) -> str:
        """A digest of the provider's ids for it; '' if the answer contained no ids."""
        return digest_of_ids(self.cancel_tool, self.answered_ids) if self.answered_ids else ""

    @property
    def is_live(self) -> bool:
        """True if the booking may still exist at the provider."""
        return self.state in (_S.INTENDED, _S.COMMITTED, _S.PARKED)


IdsKey = tuple[str | None, tuple[tuple[str, str], ...]]


def digest_of_ids(cancel_tool: str | None, ids: JsonObject) -> str:
    """Return a digest of a provider's ids, as a cancel tool takes them."""
    return hashlib.sha256(json.dumps(ids_key(cancel_tool, ids)).encode()).hexdigest()


def ids_key(cancel_tool: str | None, ids: JsonObject) -> IdsKey:
    """Return a provider's ids in a form that can be compared."""
    return cancel_tool, tuple(sorted((name, id_text(value)) for name, value in ids.items()))
