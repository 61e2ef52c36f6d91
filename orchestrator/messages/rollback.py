"""Rollbacks and sweeps: their inputs, their reports, and obligations parked for an operator."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal

from pydantic import Field

from orchestrator.core import command_lines
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject, Record, shared_fields
from orchestrator.core.shown_text import markdown_summary
from orchestrator.messages.receipts import reference_of
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import (
    Obligation,
    ObligationState,
    Resolution,
    ResolutionRecord,
    RollbackOrder,
)


class CollectLedgerInput(Record):
    """The mission whose ledger to read, and the interrupted rollback to take over from."""

    mission_id: str
    ledger: Ledger | None = None
    """The ledger from a running mission; None: raw history is read."""
    take_over: str | None = None
    """Run id of an earlier rollback of the mission that was interrupted."""
    abandoned: bool = False
    """True: only calls of branches that a reset abandoned; other effects stand."""


class CollectLedgerOutput(Record):
    """The ledger of a mission, including the changes of an earlier rollback."""

    ledger: Ledger = Field(description="newest state of each obligation, rollbacks included")
    notes: tuple[str, ...] = ()
    """Notes on obligations of other missions, which are left alone."""


class CompensateInput(Record):
    """The obligation to compensate."""

    obligation: Obligation


class RollbackInput(CollectLedgerInput):
    """The input of a rollback."""

    workflow_id: str = Field(default="", description="workflow of the saga; empty for a mission")
    reason: str = ""
    approver: str | None = None
    """The person who ordered the rollback; None: it follows from the mission's end."""
    asked_at: datetime | None = None

    @property
    def order(self) -> RollbackOrder:
        """The reason and the decider, as the ledger stores them."""
        return RollbackOrder(reason=self.reason, approver=self.approver, asked_at=self.asked_at)

    @property
    def summary(self) -> str:
        """The summary in the Temporal UI."""
        return markdown_summary(f"roll back {self.mission_id}: {self.reason}")


class RollbackReport(Record):
    """The state of a rollback."""

    mission_id: str
    took_over: str | None = None
    """Run id of the interrupted rollback that this one continues."""
    order: RollbackOrder = Field(default_factory=RollbackOrder)
    ledger: Ledger = Field(default_factory=Ledger)
    settled: bool = False
    """Every obligation was tried; some may be parked."""
    notes: tuple[str, ...] = ()
    """Notes on obligations of other missions, which are left alone."""
    blocked: str = Field(default="", description="reason why it cannot begin; it is retried")

    @property
    def parked(self) -> tuple[Obligation, ...]:
        """The obligations that wait for an operator."""
        return tuple(o for o in self.ledger.obligations if o.state is ObligationState.PARKED)

    @property
    def status(self) -> "RollbackStatus":
        """The current status, from the ledger."""
        if self.parked or self.blocked:
            return RollbackStatus.PARKED
        if not self.settled:
            begun = bool(self.ledger.obligations)
            return RollbackStatus.ROLLING_BACK if begun else RollbackStatus.COLLECTING
        # An operator had an obligation retried.
        return RollbackStatus.ROLLING_BACK if self.ledger.live() else RollbackStatus.ROLLED_BACK

    @property
    def standing(self) -> str:
        """The status in words, with notes on the obligations left alone."""
        said = self.status.value.replace("_", " ")
        if self.blocked:
            return f"{said}: it cannot begin: {self.blocked}"
        return f"{said}; left alone: {'; '.join(self.notes)}" if self.notes else said

    def why_not_parked(self, obligation_id: str) -> str:
        """Return the reason that an obligation cannot be resolved (again)."""
        for known in self.ledger.obligations:
            if known.obligation_id == obligation_id:
                said = f"; {known.resolutions[-1]}" if known.resolutions else ""
                return f"it is not parked in this rollback: it is {known.state}{said}"
        return (
            "it is not parked in this rollback, which has none of that id; see: "
            f"orchestrator rollback show {self.mission_id}"
        )


class MissionRef(Record):
    """A mission: whose rollback to read, or that may have been left with live obligations."""

    mission_id: str


class ReadRollbackOutput(Record):
    """The server's record of a mission's rollback."""

    settled: RollbackReport | None = None
    """None: there is none, or it has not finished."""
    refused: bool = False
    """True if whatever had the rollback's id cancelled nothing."""


class ConcludeInput(Record):
    """A mission or a saga that is about to end, with the ids in its ledger."""

    mission_id: str
    origin: str = Field(default="", description="first run id")
    is_saga: bool = False
    known: tuple[str, ...] = Field(default=(), description="obligations and cancels, by their ids")


class RollbackStatus(StrEnum):
    """The status of a rollback, as its search attribute states it."""

    COLLECTING = "collecting"
    ROLLING_BACK = "rolling_back"
    PARKED = "parked"
    ROLLED_BACK = "rolled_back"


class FindStrandedInput(Record):
    """The page of stopped workflows to look up."""

    closed_after: datetime | None = Field(default=None, description="None: all that the server has")
    page_token: str = Field(default="", description="of the previous answer; empty: the first page")


class FindStrandedOutput(Record):
    """A page of missions that were stopped from outside, or whose leg or rollback was."""

    mission_ids: tuple[str, ...]
    page_token: str = Field(default="", description="token of the next page; empty after the last")


class Recovery(Record):
    """The action of a sweep on one mission."""

    mission_id: str
    done: Literal["started", "restarted", "nothing to do", "unreadable"]
    why: str = ""


class SweepReport(Record):
    """The findings and actions of a sweep."""

    looked_at: int = Field(default=0, description="number of missions examined")
    started: tuple[str, ...] = ()
    """Missions whose rollback it started, or started again."""
    unreadable: tuple[Recovery, ...] = ()
    """Missions that it could not examine; the next sweep tries again."""
    swept_until: datetime | None = None
    """The next sweep starts at this time."""


class SweepInput(Record):
    """The input of a sweep's first run, or of one that continues it."""

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


_RESOLUTIONS: Final[Mapping[Resolution, str]] = {
    "retry": "",
    "cancelled": "how it was cancelled",
    "accept": "why it may stay",
}
"""An operator's decisions, with the note that each needs."""


class ParkedObligation(Record):
    """A parked obligation."""

    obligation_id: str
    mission_id: str
    tool: str
    title: str = ""
    cancel_tool: str | None = None
    reference: JsonObject = Field(default_factory=dict)
    """Its identifiers at the provider, from its answer or from a cancel's arguments."""
    price: Money | None = None
    why: str
    since: datetime | None = None
    resolutions: tuple[ResolutionRecord, ...] = ()
    """Earlier decisions of operators."""
    commands: tuple[str, ...] = Field(default=(), description="each of them resolves it")


class ParkedRollback(RollbackReport):
    """A rollback that waits for an operator, or whose state could not be read."""

    waiting: tuple[ParkedObligation, ...] = ()
    unread: str = ""
    """Set if its ledger could not be read."""
    task_queue: str = ""
    shown_status: str = Field(default="", description="the server's, if it cannot be read")


def parked_of(report: RollbackReport) -> tuple[ParkedObligation, ...]:
    """Return the parked obligations of a rollback, the longest parked first."""
    entries = [
        ParkedObligation(
            **shared_fields(one, ParkedObligation),
            reference=reference_of(one) or one.cancel_inputs,
            why=one.note,
            since=one.settled_at,
            commands=tuple(
                command_lines.resolve_parked(one.obligation_id, decision, note)
                for decision, note in _RESOLUTIONS.items()
            ),
        )
        for one in report.parked
    ]
    return tuple(sorted(entries, key=lambda one: (str(one.since or ""), one.obligation_id)))
