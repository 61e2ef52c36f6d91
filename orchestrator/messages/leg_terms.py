"""On which terms a mission started a leg: what a leg of its own cannot have otherwise."""

from pydantic import Field

from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject, Record
from orchestrator.messages.leg import LegInput
from orchestrator.messages.mission_policy import CatalogPin, MissionPolicy
from orchestrator.planning.models import LegPlan
from orchestrator.saga.orders import Order


class LegTerms(Record):
    """What holds for a leg from its start to its end."""

    leg: LegPlan
    inputs: JsonObject = Field(default_factory=dict)
    budget: Money | None = None
    policy: MissionPolicy
    catalog: CatalogPin
    read_only: bool = False
    covered: tuple[Order, ...] = ()

    @classmethod
    def of(cls, leg: LegInput) -> "LegTerms":
        """The terms that a leg was started with."""
        return cls.model_validate({name: getattr(leg, name) for name in cls.model_fields})

    def differing(self, other: "LegTerms") -> tuple[str, ...]:
        """What is not the same in both, by name."""
        return tuple(n for n in LegTerms.model_fields if getattr(self, n) != getattr(other, n))
