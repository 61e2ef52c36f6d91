"""What is parked, as an operator needs it: what it is, why, since when, and what to type."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from pydantic import Field

from orchestrator.core import command_lines
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject, Record
from orchestrator.messages.receipts import reference_of
from orchestrator.messages.rollback import RollbackReport
from orchestrator.saga.ledger import Obligation, Resolution, ResolutionRecord

_RESOLUTIONS: Final[Mapping[Resolution, str]] = {
    "retry": "",
    "cancelled": "how it was cancelled",
    "accept": "why it may stay",
}
"""What an operator may decide, and what a note says of it."""


class ParkedObligation(Record):
    """One obligation that waits for an operator."""

    obligation_id: str
    mission_id: str
    tool: str
    title: str = ""
    cancel_tool: str | None = None
    reference: JsonObject = Field(
        default_factory=dict,
        description="what it goes by at its provider, by its answer, else by a cancel of it",
    )
    price: Money | None = None
    why: str
    since: datetime | None = None
    resolutions: tuple[ResolutionRecord, ...] = Field(
        default=(), description="what operators decided on it when it was parked before"
    )
    commands: tuple[str, ...] = Field(default=(), description="one of them resolves it")


class ParkedRollback(RollbackReport):
    """A rollback that waits for an operator, or that could not be asked whether it does."""

    waiting: tuple[ParkedObligation, ...] = ()
    unread: str = Field(
        default="", description="why its ledger could not be read; empty when it was"
    )
    task_queue: str = ""
    shown_status: str = Field(default="", description="of an unread one, as the server has it")


def parked_of(report: RollbackReport) -> tuple[ParkedObligation, ...]:
    """What of a rollback is parked, longest first."""
    told = [_told(obligation) for obligation in report.parked]
    return tuple(sorted(told, key=lambda one: (str(one.since or ""), one.obligation_id)))


def _told(obligation: Obligation) -> ParkedObligation:
    return ParkedObligation(
        obligation_id=obligation.obligation_id,
        mission_id=obligation.mission_id,
        tool=obligation.tool,
        title=obligation.title,
        cancel_tool=obligation.cancel_tool,
        reference=reference_of(obligation) or obligation.undo_arguments,
        price=obligation.price,
        why=obligation.note,
        since=obligation.settled_at,
        resolutions=obligation.resolutions,
        commands=tuple(
            command_lines.resolve_parked(obligation.obligation_id, decision, note)
            for decision, note in _RESOLUTIONS.items()
        ),
    )
