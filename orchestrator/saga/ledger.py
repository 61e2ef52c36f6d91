"""The ledger of a mission: what it may have left at providers, and the order that takes it back.

An obligation is written before its call is sent. From then on it moves only along `_NEXT`:

    intended ──> committed ──> cancelled
        │  └───────────────────────┘ │
        ├──> void                    │
        └──> parked <────────────────┘   parked ──> cancelled | accepted | committed (retry)

Everything here is total and pure: workflows call it, so its answers are replayed for ever.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from functools import reduce
from typing import Literal

from pydantic import Field, JsonValue

from orchestrator.core import compensation_limits
from orchestrator.core.budget import Money, Spend
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.record import JsonObject, Record, id_text, same_id
from orchestrator.core.spending_limit import Overcharge, SpendingLimit
from orchestrator.saga.agreed_days import other_days
from orchestrator.saga.outcome import (
    CompensationFailure,
    CompensationOutcome,
    FollowUp,
    OutcomeKind,
    ToolOutcome,
)


class ObligationState(StrEnum):
    """Where an obligation stands."""

    INTENDED = "intended"
    """Written ahead; the call may or may not have happened."""
    COMMITTED = "committed"
    """The provider holds it."""
    VOID = "void"
    """It never came to be: the provider refused, or was found not to hold it."""
    CANCELLED = "cancelled"
    """It was taken back at the provider."""
    PARKED = "parked"
    """It could not be taken back; an operator is looking at it."""
    ACCEPTED = "accepted"
    """An operator decided to live with it."""


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
"""What an operator may decide on a parked obligation."""


class IllegalTransition(OrchestratorError):
    """An obligation was asked to move where it cannot go: a defect of ours, never of the input."""


class CancelCall(Record):
    """A call of a cancel tool that a leg made of its own accord, outside of any rollback."""

    call_id: str
    tool: str
    arguments: JsonObject = Field(description="as sent, personal fields as handles")
    names: JsonObject = Field(
        description="those that say which obligation is meant; empty when they say it of none"
    )
    idempotency_key: str | None = None
    written_at: datetime
    outcome: OutcomeKind = Field(default="unknown", description="unknown until it is answered")
    settled_at: datetime | None = None
    refund: Money | None = Field(default=None, description="what its answer says is paid back")
    fee: Money | None = Field(default=None, description="what its answer says is kept")
    confirmed_by: str | None = Field(
        default=None, description="who approved it; None: it named one obligation of its mission"
    )

    def answered(self, outcome: ToolOutcome, *, at: datetime) -> "CancelCall":
        """This call after it came to `outcome`."""
        paid = {"refund": outcome.refund, "fee": outcome.fee}
        return self.model_copy(update={"outcome": outcome.kind, "settled_at": at, **paid})

    def means(self, obligation: "Obligation") -> bool:
        """Whether this call was made to cancel that obligation, and not one before or after it."""
        if self.tool != obligation.cancel_tool or obligation.written_at > self.written_at:
            return False
        if obligation.cancelled_by == self.call_id:
            return True
        over = None if obligation.is_live else obligation.settled_at
        if over is not None and over <= self.written_at:
            return False
        known = obligation.undo_arguments
        return bool(self.names) and all(
            name in known and same_id(known[name], value) for name, value in self.names.items()
        )


class RollbackOrder(Record):
    """Why something is rolled back, and who decided on it."""

    reason: str = ""
    approver: str | None = Field(
        default=None, description="None: it follows from how the mission ended"
    )
    asked_at: datetime | None = None

    def __str__(self) -> str:
        """Both in one line; the name is one that the caller said."""
        parts = [self.reason, f"decided by {self.approver}" if self.approver else ""]
        return ", ".join(part for part in parts if part)


class ResolutionRecord(Record):
    """What an operator once decided on a parked obligation."""

    resolution: Resolution
    operator: str = Field(description="who decided, as they said")
    at: datetime
    note: str = ""
    parked_at: datetime | None = None
    parked_because: str = Field(default="", description="why it was parked then")

    def __str__(self) -> str:
        """In one line: when, who, what, and their note."""
        said = f": {self.note}" if self.note else ""
        return f"{self.at:%Y-%m-%d %H:%M} {self.operator} resolved it as {self.resolution}{said}"


class Obligation(Record):
    """What a side-effect call may have left at a provider, and all that its compensation needs."""

    obligation_id: str = Field(description="the call's id: mission, leg and step")
    mission_id: str
    leg_id: str
    tool: str
    cancel_tool: str | None = Field(description="None: no tool is declared")
    catalog_digest: str
    arguments: JsonObject = Field(description="as sent, personal fields as handles")
    idempotency_key: str | None
    title: str = ""
    agreed: JsonObject = Field(
        default_factory=dict,
        description="the days that it is of, by the names that its answer may tell them by",
    )
    differs: tuple[str, ...] = Field(
        default=(), description="which of them its answer tells otherwise, in words"
    )
    cancel_timeout: timedelta = compensation_limits.CALL_TIMEOUT
    cancel_max_attempts: int = compensation_limits.ATTEMPTS
    on_failure: Literal["park", "continue"] = "park"
    state: ObligationState = ObligationState.INTENDED
    written_at: datetime
    deadline: datetime = Field(description="after this the call can no longer arrive")
    settled_at: datetime | None = None
    committed_at: datetime | None = Field(
        default=None, description="when it was known to be; kept when it is parked"
    )
    undo_arguments: JsonObject = Field(
        default_factory=dict,
        description="inputs of its cancel tool, as far as the call and its answer fill them",
    )
    cancel_call: CancelCall | None = Field(
        default=None, description="a leg's own call to cancel it, whose outcome is unknown"
    )
    cancelled_by: str | None = Field(default=None, description="the leg's own call that undid it")
    cancel_sent: bool = Field(
        default=False, description="a cancel of it was sent whose outcome is unknown"
    )
    answered_ids: JsonObject = Field(
        default_factory=dict, description="those of them that its provider answered"
    )
    namesake: str = Field(
        default="",
        description="an earlier obligation of the mission that was answered with the same ids: "
        "nothing is cancelled by them here",
    )
    cancel_answered: bool = Field(
        default=False,
        description="a cancel of it was answered with a status of success that was not believed",
    )
    missing_for: timedelta = Field(
        default=timedelta(0), description="how long its provider was seen not to hold it"
    )
    accepted: bool = Field(
        default=False, description="its provider took it on and may do it at any time: a 202"
    )
    verify_cancel: bool = Field(
        default=True, description="whether its probe is asked after a cancel that was answered"
    )
    response: JsonValue = None
    response_headers: dict[str, str] = Field(default_factory=dict)
    follow_ups: tuple[FollowUp, ...] = Field(
        default=(), description="what can be done next, its cancel first"
    )
    price: Money | None = Field(default=None, description="what its answer says that was charged")
    fee: Money | None = Field(
        default=None, description="what undoing it may cost, by its document or the policy"
    )
    kept_fee: Money | None = Field(
        default=None, description="what cancelling it did cost, by the answer to its cancel"
    )
    approved_price: Money | None = Field(
        default=None, description="what it was expected to cost when it was approved"
    )
    overcharged: Money | None = Field(
        default=None,
        description="by how much more was charged; in another currency than approved: all of it",
    )
    spends: bool = Field(default=True, description="whether the price is money that leaves")
    has_price: bool = Field(
        default=False, description="whether its document has a price for it, so that it costs some"
    )
    confirmed_by: str | None = None
    rollback: RollbackOrder | None = Field(
        default=None, description="why it is or was to be taken back; None: it was not"
    )
    note: str = ""
    """Why it stands where it stands, for the operator."""
    held_up: bool = Field(
        default=False,
        description="parked for want of what workers keep: tried again by itself once it is there",
    )
    resolutions: tuple[ResolutionRecord, ...] = Field(
        default=(), description="what operators decided on it, each time it was parked, in order"
    )

    def moved(self, state: ObligationState, *, at: datetime, note: str = "") -> "Obligation":
        """This obligation in another state.

        Raises:
            IllegalTransition: the state cannot follow the present one.
        """
        if state not in _NEXT[self.state]:
            raise IllegalTransition(f"{self.obligation_id}: {self.state} cannot become {state}")
        changes = {"state": state, "settled_at": at, "note": note, "held_up": False}
        return self.model_copy(update=changes)

    def answered(self, outcome: ToolOutcome, *, at: datetime) -> "Obligation":
        """This obligation after its call came to `outcome`; unknown leaves it intended."""
        if outcome.kind == "unknown":
            return self.model_copy(
                update={
                    # The deadline is for attempts that may be on their way.
                    "deadline": min(self.deadline, at) if outcome.alone else self.deadline,
                    "note": outcome.reason or "the outcome is unknown",
                    # What an answer that proves nothing calls it can be cancelled all the same.
                    "undo_arguments": {**self.undo_arguments, **outcome.undo_arguments},
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
                "undo_arguments": {**self.undo_arguments, **outcome.undo_arguments},
                "answered_ids": outcome.answered_ids,
                "response": outcome.body,
                "differs": other_days(self.agreed, self.arguments, outcome.body),
                "response_headers": outcome.headers,
                "follow_ups": outcome.follow_ups,
                "price": outcome.price,
            }
        )

    def compared(self, limit: SpendingLimit | None) -> "Obligation":
        """This obligation, as answered, with what was charged compared with what was approved."""
        if self.state is not ObligationState.COMMITTED:
            return self
        if limit is None:
            return self.model_copy(update={"note": self.note or self._unapproved()})
        note = self.note
        if self.price is None:
            note = f"charged price not stated; counted as approved, {limit.approved}"
        return self.model_copy(update={"overcharged": limit.exceeded_by(self.price), "note": note})

    def _unapproved(self) -> str:
        """What is to be noted of a price that was not known when the call was approved."""
        if not self.spends or not self.has_price:
            return ""
        if self.price is None:
            return "what it cost is unknown: no price was approved, and none was stated"
        return f"its price was not known when it was approved; {self.price} was charged"

    @property
    def is_unpriced(self) -> bool:
        """Whether it stands for money of which nobody knows how much it is."""
        stands = self.state in (_S.COMMITTED, _S.PARKED, _S.ACCEPTED)
        return stands and self.spends and self.has_price and self.cost is None

    @property
    def overcharge(self) -> Overcharge | None:
        """What was charged beyond what was approved; None when nothing was."""
        if self.overcharged is None or self.price is None or self.approved_price is None:
            return None
        return Overcharge(approved=self.approved_price, charged=self.price, more=self.overcharged)

    @property
    def cost(self) -> Money | None:
        """What it cost: what was charged, else what was approved; None: it stands for no money.

        Once cancelled: what its provider kept, as far as the cancel's answer says so.
        """
        if self.state is _S.CANCELLED:
            return self.kept_fee
        stands = self.state in (_S.COMMITTED, _S.PARKED, _S.ACCEPTED)
        return (self.price or self.approved_price) if stands and self.spends else None

    @property
    def set_aside(self) -> Money | None:
        """What was approved, where the charge is in another currency and tells no part of it.

        It stays taken of a budget, which such a charge would else leave untouched.
        """
        cost, approved = self.cost, self.approved_price
        if (
            self.state is _S.CANCELLED
            or cost is None
            or approved is None
            or approved.currency == cost.currency
        ):
            return None
        return approved

    @property
    def fee_aside(self) -> Money | None:
        """What stays taken of a budget so that undoing it can be paid, or as it was paid for."""
        is_due = self.state in (_S.INTENDED, _S.COMMITTED, _S.PARKED, _S.CANCELLED)
        return self.fee if is_due and self.kept_fee is None else None

    def given_up(self, *, at: datetime, note: str) -> "Obligation":
        """This obligation after the last attempt at it: parked, or let go by its contract."""
        parked = self.moved(ObligationState.PARKED, at=at, note=note)
        if self.on_failure == "park":
            return parked
        return parked.moved(
            ObligationState.ACCEPTED, at=at, note=f"{note}; its contract says to continue"
        )

    def put_by(self, *, at: datetime, note: str) -> "Obligation":
        """This obligation parked as no worker could take it back, whatever its contract lets go."""
        parked = self.moved(ObligationState.PARKED, at=at, note=note)
        return parked.model_copy(update={"held_up": True})

    def taken_up(self, *, at: datetime) -> "Obligation":
        """This obligation, which was put by, now that a worker can take it back."""
        return self.moved(self._after("retry"), at=at, note="a worker has what it needs")

    def compensated(self, outcome: "CompensationOutcome", *, at: datetime) -> "Obligation":
        """This obligation after a compensation that was answered clearly."""
        if outcome.state == "parked":
            return self.given_up(at=at, note=outcome.note)
        state = ObligationState(outcome.state)
        if self.state is ObligationState.COMMITTED and state is ObligationState.VOID:
            state = ObligationState.CANCELLED
        kept = self._kept(outcome.refund, outcome.fee)
        return self.moved(state, at=at, note=outcome.note).model_copy(update={"kept_fee": kept})

    def _kept(self, refund: Money | None, fee: Money | None) -> Money | None:
        """What a cancel did cost: its fee, else what of the price was not paid back."""
        price = self.price if self.spends else None
        if fee is not None or refund is None or price is None:
            return fee
        if refund.currency != price.currency:
            return None
        left = price.amount - refund.amount
        return Money(amount=left, currency=price.currency) if left > 0 else None

    def compensation_failed(self, failure: CompensationFailure) -> "Obligation":
        """This obligation after an attempt that settled nothing."""
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
        """This parked obligation after an operator's decision, which stays on record with it.

        Raises:
            IllegalTransition: it is not parked.
        """
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
        """This obligation after a leg's own call to cancel it, which means it."""
        if not self.is_live:
            return self
        if cancel.outcome == "succeeded":
            cancelled = self.moved(
                ObligationState.CANCELLED,
                at=cancel.settled_at or cancel.written_at,
                note=f"cancelled by {cancel.call_id}",
            )
            return cancelled.model_copy(
                update={
                    "cancel_call": None,
                    "cancelled_by": cancel.call_id,
                    "kept_fee": self._kept(cancel.refund, cancel.fee),
                }
            )
        if cancel.outcome == "unknown":
            return self.model_copy(update={"cancel_call": cancel})
        if self.cancel_call is not None and self.cancel_call.call_id == cancel.call_id:
            return self.model_copy(update={"cancel_call": None})
        return self

    @property
    def is_live(self) -> bool:
        """Whether the provider may still hold it."""
        return self.state in (_S.INTENDED, _S.COMMITTED, _S.PARKED)


class Ledger(Record):
    """The ordered obligations of a mission or a leg, and what its legs cancelled by themselves."""

    obligations: tuple[Obligation, ...] = ()
    cancels: tuple[CancelCall, ...] = ()

    def written(self, *newer: Obligation) -> "Ledger":
        """With more obligations, or with their newer states where their ids are already there."""
        kept = {o.obligation_id: o for o in (*self.obligations, *newer)}
        return self.model_copy(update={"obligations": tuple(kept.values())})

    def cancelling(self, cancel: CancelCall) -> "Ledger":
        """With a call that cancels something, or what it came to, and with what follows from it.

        An obligation follows it when it is the only one that the call can mean.
        """
        others = tuple(c for c in self.cancels if c.call_id != cancel.call_id)
        noted = self.model_copy(update={"cancels": (*others, cancel)})
        meant = [o for o in self.obligations if cancel.means(o)]
        return noted.written(meant[0].met(cancel)) if len(meant) == 1 else noted

    def obligation(self, obligation_id: str) -> Obligation:
        """The one with this id.

        Raises:
            KeyError: there is none.
        """
        return {o.obligation_id: o for o in self.obligations}[obligation_id]

    def cancel(self, call_id: str) -> CancelCall:
        """A leg's own call to cancel something, by its id.

        Raises:
            KeyError: there is none.
        """
        return {c.call_id: c for c in self.cancels}[call_id]

    @property
    def spent(self) -> Spend:
        """What the obligations that still stand cost."""
        costs = (o.cost for o in self.obligations)
        unpriced = sum(o.is_unpriced for o in self.obligations)
        return reduce(Spend.plus, costs, Spend(unpriced=unpriced))

    @property
    def set_aside(self) -> Spend:
        """What they take of a budget beside what was spent."""
        aside = (one for o in self.obligations for one in (o.set_aside, o.fee_aside))
        return reduce(Spend.plus, aside, Spend())

    def namesake(self, cancel_tool: str | None, ids: JsonObject, *, of: str) -> "Obligation | None":
        """The first live obligation but `of` whose provider gave it these ids; None: there is none.

        Args:
            cancel_tool: what would cancel either.
            ids: as answered, by the inputs of that tool.
            of: the id of the obligation that they were given to now.
        """
        if not ids:
            return None
        name, others = _name(cancel_tool, ids), (o for o in self.live() if o.obligation_id != of)
        return next((o for o in others if _name(o.cancel_tool, o.answered_ids) == name), None)

    def _with_namesakes(self) -> "Ledger":
        """With each obligation that has the ids of an earlier one marked: a cancel names that."""
        first: dict[_Name, Obligation] = {}
        for one in self.live():
            if one.answered_ids:
                first.setdefault(_name(one.cancel_tool, one.answered_ids), one)
        owners = [(o, first.get(_name(o.cancel_tool, o.answered_ids), o)) for o in self.live()]
        return self.written(
            *(
                one.model_copy(update={"namesake": owner.obligation_id})
                for one, owner in owners
                if owner.obligation_id != one.obligation_id
            )
        )

    def without(self, obligation_id: str) -> "Ledger":
        """What it would be if one call had never been made."""
        kept = tuple(o for o in self.obligations if o.obligation_id != obligation_id)
        return self.model_copy(update={"obligations": kept})

    def live(self) -> tuple[Obligation, ...]:
        """Those the providers may still hold, in the order written."""
        return tuple(o for o in self.obligations if o.is_live)

    def ordered_back(self, order: RollbackOrder) -> "Ledger":
        """With the order under which its live obligations are taken back, where none stands yet."""
        due = [o for o in self.live() if o.rollback is None]
        return self.written(*(o.model_copy(update={"rollback": order}) for o in due))

    def compensated(self) -> tuple[Obligation, ...]:
        """Those that were taken back at their providers, in the order written."""
        return tuple(o for o in self.obligations if o.state is ObligationState.CANCELLED)

    def compensation_order(self) -> tuple[Obligation, ...]:
        """The live ones in the order to take them back: last committed first, across all legs.

        One whose outcome is unknown counts from when it was written. Equal times are ordered by id,
        so that every replay gives the same order.
        """
        order = sorted(self.live(), key=lambda o: (o.committed_at or o.written_at, o.obligation_id))
        return tuple(reversed(order))

    @staticmethod
    def merged(ledgers: Iterable["Ledger"]) -> "Ledger":
        """All obligations of several ledgers, by the time they were written.

        What one leg cancelled of another is seen here, where both are known.
        """
        every = tuple(ledgers)
        obligations = [o for ledger in every for o in ledger.obligations]
        cancels = [c for ledger in every for c in ledger.cancels]
        merged = Ledger().written(
            *sorted(obligations, key=lambda o: (o.written_at, o.obligation_id))
        )
        for cancel in sorted(cancels, key=lambda c: (c.written_at, c.call_id)):
            merged = merged.cancelling(cancel)
        return merged._with_namesakes()


_Name = tuple[str | None, tuple[tuple[str, str], ...]]


def _name(cancel_tool: str | None, ids: JsonObject) -> _Name:
    return cancel_tool, tuple(sorted((name, id_text(value)) for name, value in ids.items()))
