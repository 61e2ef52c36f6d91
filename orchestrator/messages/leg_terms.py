"""On which terms a mission started a leg: what a leg of its own cannot have otherwise."""

from pydantic import Field

from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject, Record
from orchestrator.messages.leg import LegInput, LegState
from orchestrator.messages.mission_policy import CatalogPin, MissionPolicy
from orchestrator.planning.models import Doubt, LegPlan


class LegTerms(Record):
    """What holds for a leg from its start to its end."""

    leg: LegPlan
    inputs: JsonObject = Field(default_factory=dict)
    budget: Money | None = None
    policy: MissionPolicy
    catalog: CatalogPin
    doubts_settled: tuple[Doubt, ...] = Field(
        default=(), description="about the plan of its mission, gone past by a person"
    )

    @classmethod
    def of(cls, leg: LegInput) -> "LegTerms":
        """The terms that a leg was started with."""
        own = {n: getattr(leg, n) for n in cls.model_fields if n in LegInput.model_fields}
        return cls.model_validate({**own, "doubts_settled": leg.state.doubts_settled})

    @property
    def beginning(self) -> LegState:
        """The state of a leg that has done nothing yet; what others have found apart."""
        return LegState(doubts_settled=self.doubts_settled)

    def differing(self, other: "LegTerms") -> tuple[str, ...]:
        """What is not the same in both, by name."""
        return tuple(n for n in LegTerms.model_fields if getattr(self, n) != getattr(other, n))
