"""Rollbacks and sweeps: what starts them, what they collect, what they did."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import Field

from orchestrator.core.record import Record
from orchestrator.core.shown_text import markdown_summary
from orchestrator.messages.leg import LegResult
from orchestrator.saga.ledger import Ledger, Obligation, ObligationState, Resolution, RollbackOrder


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
    notes: tuple[str, ...] = Field(
        default=(), description="what was passed over because it is not the mission's own"
    )


class CompensateInput(Record):
    """One obligation to take back."""

    obligation: Obligation


class RollbackInput(Record):
    """What starts a rollback."""

    mission_id: str
    reason: str = ""
    take_over: str | None = Field(
        default=None, description="run id of an earlier rollback of the mission that was broken off"
    )

    approver: str | None = Field(
        default=None, description="who decided on it; None: it follows from how the mission ended"
    )
    asked_at: datetime | None = None

    @property
    def order(self) -> RollbackOrder:
        """Why, and by whose decision: as the ledger keeps it."""
        return RollbackOrder(reason=self.reason, approver=self.approver, asked_at=self.asked_at)

    @property
    def summary(self) -> str:
        """What the Temporal UI shows of it, whoever starts it."""
        return markdown_summary(f"undo {self.mission_id}: {self.reason}")


class RollbackReport(Record):
    """Where a rollback stands."""

    mission_id: str
    took_over: str | None = Field(
        default=None, description="run id of the broken-off rollback that this one goes on from"
    )
    order: RollbackOrder = Field(
        default_factory=RollbackOrder, description="why, and by whose decision"
    )
    ledger: Ledger = Field(default_factory=Ledger)
    settled: bool = Field(
        default=False, description="every obligation was tried; some may be parked"
    )
    notes: tuple[str, ...] = Field(
        default=(), description="what was found and left alone, for it is not the mission's own"
    )

    @property
    def parked(self) -> tuple[Obligation, ...]:
        """What waits for an operator."""
        return tuple(o for o in self.ledger.obligations if o.state is ObligationState.PARKED)

    @property
    def status(self) -> "RollbackStatus":
        """What it is doing, or what came of it."""
        if self.parked:
            return RollbackStatus.PARKED
        if not self.settled:
            begun = bool(self.ledger.obligations)
            return RollbackStatus.ROLLING_BACK if begun else RollbackStatus.COLLECTING
        # An operator had one tried again.
        return RollbackStatus.ROLLING_BACK if self.ledger.live() else RollbackStatus.ROLLED_BACK

    @property
    def standing(self) -> str:
        """Its status in words: of what was left alone it took nothing back, and says so."""
        said = self.status.value.replace("_", " ")
        return f"{said}; left alone: {'; '.join(self.notes)}" if self.notes else said

    def why_not_parked(self, obligation_id: str) -> str:
        """What became of an obligation: an operator may decide twice, or after another one."""
        for known in self.ledger.obligations:
            if known.obligation_id == obligation_id:
                said = f"; {known.resolutions[-1]}" if known.resolutions else ""
                return f": it is {known.state}{said}"
        return f", which has none of that id; see: orchestrator rollback show {self.mission_id}"


class ReadRollbackInput(Record):
    """Whose rollback to read."""

    mission_id: str


class ReadRollbackOutput(Record):
    """What the server holds of a mission's rollback."""

    settled: RollbackReport | None = Field(
        default=None, description="None: there is none, or it has not tried everything yet"
    )


class RollbackStatus(StrEnum):
    """What a rollback is doing, as its search attribute says."""

    COLLECTING = "collecting"
    ROLLING_BACK = "rolling_back"
    PARKED = "parked"
    ROLLED_BACK = "rolled_back"


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
