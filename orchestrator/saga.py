"""The ledger of a mission: what it may have left at providers, and the order that undoes it.

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
from typing import Literal

from pydantic import Field, JsonValue

from orchestrator.budget import Money
from orchestrator.errors import OrchestratorError
from orchestrator.outcome import ToolOutcome
from orchestrator.record import JsonObject, Record


class ObligationState(StrEnum):
    """Where an obligation stands."""

    INTENDED = "intended"
    """Written ahead; the call may or may not have happened."""
    COMMITTED = "committed"
    """The provider holds it."""
    VOID = "void"
    """It never came to be: the provider refused, or was found not to hold it."""
    CANCELLED = "cancelled"
    """It was undone at the provider."""
    PARKED = "parked"
    """It could not be undone; an operator is looking at it."""
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


class IllegalTransition(OrchestratorError):
    """An obligation was asked to move where it cannot go: a defect of ours, never of the input."""


class Obligation(Record):
    """A consequence that one side-effect call may have left, with all that is needed to undo it."""

    obligation_id: str = Field(description="the call's id: mission, leg and step")
    mission_id: str
    leg_id: str
    tool: str
    cancel_tool: str | None = Field(description="None: nothing declared undoes it")
    catalog_digest: str
    arguments: JsonObject = Field(description="as sent, personal fields as handles")
    idempotency_key: str | None
    title: str = ""
    cancel_timeout: timedelta = timedelta(seconds=30)
    cancel_max_attempts: int = 10
    on_failure: Literal["park", "continue"] = "park"
    state: ObligationState = ObligationState.INTENDED
    written_at: datetime
    deadline: datetime = Field(description="after this the call can no longer arrive")
    settled_at: datetime | None = None
    response: JsonValue = None
    response_headers: dict[str, str] = Field(default_factory=dict)
    price: Money | None = None
    spends: bool = Field(default=True, description="whether the price is money that leaves")
    confirmed_by: str | None = None
    note: str = ""
    """Why it stands where it stands, for the operator."""

    def moved(self, state: ObligationState, *, at: datetime, note: str = "") -> "Obligation":
        """This obligation in another state.

        Raises:
            IllegalTransition: the state cannot follow the present one.
        """
        if state not in _NEXT[self.state]:
            raise IllegalTransition(f"{self.obligation_id}: {self.state} cannot become {state}")
        return self.model_copy(update={"state": state, "settled_at": at, "note": note})

    def answered(self, outcome: ToolOutcome, *, at: datetime) -> "Obligation":
        """This obligation after its call came to `outcome`; unknown leaves it intended."""
        if outcome.kind == "unknown":
            return self.model_copy(update={"note": outcome.reason or "the outcome is unknown"})
        if outcome.kind == "rejected":
            return self.moved(ObligationState.VOID, at=at, note=outcome.reason or "")
        committed = self.moved(ObligationState.COMMITTED, at=at)
        return committed.model_copy(
            update={
                "response": outcome.body,
                "response_headers": outcome.headers,
                "price": outcome.price,
            }
        )

    def given_up(self, *, at: datetime, note: str) -> "Obligation":
        """This obligation after the last attempt to undo it: parked, or let go by its contract."""
        parked = self.moved(ObligationState.PARKED, at=at, note=note)
        if self.on_failure == "park":
            return parked
        return parked.moved(
            ObligationState.ACCEPTED, at=at, note=f"{note}; its contract says to continue"
        )

    @property
    def is_live(self) -> bool:
        """Whether the provider may still hold it."""
        return self.state in (_S.INTENDED, _S.COMMITTED, _S.PARKED)


class Ledger(Record):
    """The ordered obligations of a mission or of one leg."""

    obligations: tuple[Obligation, ...] = ()

    def written(self, obligation: Obligation) -> "Ledger":
        """With one more obligation, or with its newer state when the id is already there."""
        if any(o.obligation_id == obligation.obligation_id for o in self.obligations):
            kept = tuple(
                obligation if o.obligation_id == obligation.obligation_id else o
                for o in self.obligations
            )
            return Ledger(obligations=kept)
        return Ledger(obligations=(*self.obligations, obligation))

    def live(self) -> tuple[Obligation, ...]:
        """Those the providers may still hold, in the order written."""
        return tuple(o for o in self.obligations if o.is_live)

    def undone(self) -> tuple[Obligation, ...]:
        """Those that were taken back at their providers, in the order written."""
        return tuple(o for o in self.obligations if o.state is ObligationState.CANCELLED)

    def undo_order(self) -> tuple[Obligation, ...]:
        """The live ones in the order to undo them: last committed first, across all legs.

        One whose outcome is unknown counts from when it was written. Equal times are ordered by id,
        so that every replay gives the same order.
        """
        return tuple(
            sorted(
                self.live(),
                key=lambda o: (o.settled_at or o.written_at, o.obligation_id),
                reverse=True,
            )
        )

    def overlaid(self, newer: "Ledger") -> "Ledger":
        """With what `newer` says of each obligation that it holds, one of its own included."""
        ledger = self
        for obligation in newer.obligations:
            ledger = ledger.written(obligation)
        return ledger

    @staticmethod
    def merged(ledgers: Iterable["Ledger"]) -> "Ledger":
        """All obligations of several ledgers, by the time they were written."""
        every = [o for ledger in ledgers for o in ledger.obligations]
        return Ledger(
            obligations=tuple(sorted(every, key=lambda o: (o.written_at, o.obligation_id)))
        )


class UndoOutcome(Record):
    """What one attempt to undo an obligation came to; one that may be repeated raises instead."""

    state: Literal["cancelled", "void", "parked"]
    note: str = ""
    refund: Money | None = None


Resolution = Literal["retry", "cancelled", "accept"]
"""What an operator may decide on a parked obligation."""


class RollbackReport(Record):
    """Where a rollback stands."""

    mission_id: str
    took_over: str | None = Field(
        default=None, description="run id of the broken-off rollback that this one goes on from"
    )
    ledger: Ledger = Field(default_factory=Ledger)
    settled: bool = Field(
        default=False, description="every obligation was tried; some may be parked"
    )

    @property
    def parked(self) -> tuple[Obligation, ...]:
        """What waits for an operator."""
        return tuple(o for o in self.ledger.obligations if o.state is ObligationState.PARKED)
