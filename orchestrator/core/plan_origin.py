"""The origin of a plan and its cost, shown with the plan and stored in its mission's record."""

from typing import Literal

from pydantic import Field

from orchestrator.core.budget import Usage
from orchestrator.core.record import Record

MadeBy = Literal["", "model", "rules", "one leg", "workflow"]


class PlanOrigin(Record):
    """The origin of a plan: a model, the rules, or none (one agent has the whole goal)."""

    planner: MadeBy = Field(default="", description="empty for a planner that does not state it")
    model: str = Field(
        default="", description="model that was asked to split the goal; empty if none was"
    )
    corrected: tuple[tuple[str, ...], ...] = Field(
        default=(), description="errors of each refused answer of the model"
    )
    fallback: str = Field(
        default="",
        description="reason why the plan is not the model's; empty if it is, or no model was asked",
    )
    usage: Usage = Field(default_factory=Usage, description="usage of the model")

    @property
    def sentence(self) -> str:
        """Return the origin in one sentence; empty when it is unknown."""
        if not self.planner:
            return ""
        made = {
            "model": f"planned by the model {self.model}",
            "rules": "planned by the rules",
            "one leg": "not split: one agent has the whole goal",
            "workflow": "written beforehand as an Arazzo workflow",
        }[self.planner]
        times = len(self.corrected)
        if self.planner == "model" and times:
            made += f", corrected {'once' if times == 1 else f'{times} times'}"
        return f"{made} ({self.fallback})" if self.fallback else made
