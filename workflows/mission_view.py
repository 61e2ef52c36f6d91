"""The result document of a mission, at any time during and after the mission.

Everything here is read from the mission's current state; nothing changes it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.models import DecisionRecord
    from orchestrator.core.budget import Usage
    from orchestrator.messages.hold import HoldRecord
    from orchestrator.messages.leg import LegResult, LegStatus, LegWaiting
    from orchestrator.messages.mission import (
        MissionRequest,
        MissionResult,
        MissionStatus,
        PlanAnswer,
    )
    from orchestrator.messages.mission_policy import CatalogPin
    from orchestrator.messages.plan_changes import Replanned
    from orchestrator.messages.plan_preview import set_aside
    from orchestrator.messages.receipts import Unserved, proved, unserved_of
    from orchestrator.planning.models import LegPlan, MissionPlan
    from orchestrator.saga.ledger import Ledger

_REACHED = frozenset({MissionStatus.SUCCEEDED, MissionStatus.INCOMPLETE})


@dataclass(frozen=True)
class MissionView:
    """The values of a result document."""

    mission_id: str
    request: MissionRequest
    goal: str
    """The goal as last restated."""
    answers: tuple[PlanAnswer, ...]
    decisions: tuple[DecisionRecord, ...]
    plan_waits: LegWaiting
    status: MissionStatus
    error: str | None
    stopped: bool
    catalog: CatalogPin
    plan: MissionPlan
    replanned: tuple[Replanned, ...]
    results: Mapping[str, LegResult]
    planning: Usage
    """Model usage of planning."""
    ledger: Ledger | None
    started_at: datetime
    finished_at: datetime | None
    holds: tuple[HoldRecord, ...] = ()
    stalled: str = ""
    """Reason why the mission waits for state that workers store."""

    def result(self) -> MissionResult:
        """Return the current result document; final once the mission is over."""
        ledger = self.ledger or Ledger.merged(r.ledger for r in self.results.values())
        reached = self.status in _REACHED
        missing = unserved_of(self.plan, self.results.values(), ledger) if reached else ()
        legs = tuple(proved((self._leg(leg) for leg in self.plan.legs), missing))
        return MissionResult(
            mission_id=self.mission_id,
            goal=self.request.goal,
            goal_became=self.goal if self.goal != self.request.goal else "",
            requester=self.request.requester,
            observed=self.request.observe,
            status=self.status,
            error=self.error,
            summary=" ".join(leg.sentence for leg in legs if leg.sentence) if reached else "",
            legs=legs,
            unserved=missing,
            set_aside=set_aside(self.plan, self.answers) if reached else (),
            uncovered=self.plan.uncovered,
            ledger=ledger,
            budget=self.request.budget,
            usage=Usage.total([self.planning, *(r.usage for r in self.results.values())]),
            limit=next((leg.limit for leg in legs if leg.limit is not None), None),
            catalog_digest=self.catalog.digest,
            catalog_size=self.catalog.size,
            started_at=self.started_at,
            finished_at=self.finished_at,
            stopped=self.stopped,
            plan_made_by=self.plan.made_by,
            replanned=self.replanned,
            plan_waits=self.plan_waits,
            plan_answers=self.answers,
            holds=self.holds,
            plan_decisions=self.decisions,
            stalled=self.stalled,
        )

    def _leg(self, leg: LegPlan) -> LegResult:
        if leg.leg_id in self.results:
            return self.results[leg.leg_id]
        ended = self.finished_at is not None
        status = LegStatus.CANCELLED if ended else LegStatus.WAITING
        return LegResult(
            leg_id=leg.leg_id,
            agent=leg.agent.name,
            goal=leg.goal,
            status=status,
            planned_by=leg.planned_by,
        )


def unserved_reason(missing: Sequence[Unserved]) -> str | None:
    """Return why a mission is incomplete, in one sentence; None if nothing is missing."""
    if not missing:
        return None
    return f"not all that was asked for was done: {'; '.join(map(str, missing))}"
