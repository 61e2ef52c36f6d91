"""That a mission was planned anew, since a leg had failed before anything had happened."""

from collections.abc import Iterable
from datetime import datetime

from pydantic import Field

from orchestrator.core.record import Record
from orchestrator.messages.leg import LegResult, LegStatus
from orchestrator.messages.step import StepRecord


class ReplacedLeg(Record):
    """A leg of a plan that was given up, as it ended."""

    leg_id: str
    agent: str
    goal: str
    status: LegStatus
    error: str | None = None


class Replanned(Record):
    """Why and when a mission was planned anew, and what of it there had been."""

    leg_id: str = Field(description="that failed")
    why: str
    at: datetime
    legs: tuple[ReplacedLeg, ...] = Field(default=(), description="those that were begun")

    @property
    def told(self) -> str:
        """One sentence."""
        return f"planned anew, as {self.leg_id} failed before anything was done: {self.why}"


def replaced(result: LegResult) -> ReplacedLeg:
    """A leg as it is told of when its plan was given up."""
    told = {name: getattr(result, name) for name in ReplacedLeg.model_fields}
    return ReplacedLeg.model_validate(told)


def replanning_after(lost: LegResult, legs: Iterable[LegResult], at: datetime) -> Replanned:
    """That a mission is planned anew after the loss of a leg."""
    why = lost.error or "it gave no reason"
    return Replanned(leg_id=lost.leg_id, why=why, at=at, legs=tuple(map(replaced, legs)))


def has_consequence(result: LegResult) -> bool:
    """Whether a leg has done anything that somebody else could notice, or may have."""
    ledger = result.ledger
    return bool(ledger.obligations or ledger.cancels or any(f.side_effect for f in result.facts))


def may_be_tried_otherwise(legs: Iterable[LegResult]) -> bool:
    """Whether another plan may be tried after these legs: nobody could notice that they ran.

    What a person refused or left unanswered is not tried in another way, nor what a limit ended.
    """
    return not any(
        has_consequence(leg)
        or leg.limit is not None
        or any(decision.kind in ("rejected", "expired") for decision in leg.decisions)
        or any(map(_was_left_unanswered, leg.steps))
        for leg in legs
    )


def _was_left_unanswered(step: StepRecord) -> bool:
    return step.outcome == "expired"
