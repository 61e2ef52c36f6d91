"""What a goal says beside its requests: how things are, and when something is to be done."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from orchestrator.planning.models import Doubt, LegPlan, Mention, MissionPlan

_UNSAID = "it states something that the plan does not take up, and would be carried out without it"
_NO_LEG = "no leg of the plan takes this up; the rest of the goal would be done without it"
_UNTOLD = "no tool tells whether this is so; what it governs would be done without knowing"


@dataclass(frozen=True)
class Aside:
    """A remark or a condition, and what it is there; `used_as` is empty where nothing takes it."""

    text: str
    kind: Literal["remark", "condition"]
    used_as: str = ""
    is_order: bool = False
    """Whether it orders something, though it stands in a remark."""

    def mentions(self) -> Iterator[Mention]:
        """It, as one thing that is said."""
        yield Mention(text=self.text, kind=self.kind, used_as=self.used_as)

    def doubts(self) -> Iterator[Doubt]:
        """It, where nothing takes it up."""
        if not self.used_as:
            why = _UNTOLD if self.kind == "condition" else _NO_LEG if self.is_order else _UNSAID
            yield Doubt(kind="not_understood", about=self.text, why=why)


def decided_by(condition: str, plan: MissionPlan) -> str:
    """What a plan makes of a condition, or of what is waited for; empty: nothing."""
    for leg in plan.legs:
        if any(_same(one.clause, condition) for one in leg.only_if):
            return f"decides whether {leg.leg_id} is done"
    for proviso in plan.conditions:
        if proviso.tools and _same(proviso.clause, condition):
            return f"condition, told by {proviso.tools[0]}"
    return ""


def waits(plan: MissionPlan) -> str:
    """Which legs wait for another one, as a person reads it; empty: none."""
    waiting: list[LegPlan] = [leg for leg in plan.legs if leg.depends_on]
    return f"{waiting[-1].leg_id} waits for {waiting[-1].depends_on[-1]}" if waiting else ""


def _same(one: str, other: str) -> bool:
    return one in other or other in one
