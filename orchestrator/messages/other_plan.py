"""A mission planned anew: legs under ids of their own, and whether it is another plan at all."""

from typing import TypeVar

from orchestrator.planning.models import LegPlan, MissionPlan

_LONGEST_ID = 64
PlanT = TypeVar("PlanT", bound=MissionPlan)


def renamed(plan: PlanT, prefix: str) -> PlanT:
    """The plan with legs of other ids: nothing of it is taken for what an earlier leg has done."""
    ids = {
        leg.leg_id: _new_id(prefix, leg.leg_id, number)
        for number, leg in enumerate(plan.legs, start=1)
    }
    return plan.model_copy(update={"legs": tuple(_renamed(leg, ids) for leg in plan.legs)})


def does_the_same(plan: MissionPlan, other: MissionPlan) -> bool:
    """Whether two plans have the same agents do the same: what failed would fail again."""
    return _work(plan) == _work(other)


def _work(plan: MissionPlan) -> list[tuple[str, str]]:
    return sorted((leg.agent.name, " ".join(leg.goal.casefold().split())) for leg in plan.legs)


def _new_id(prefix: str, leg_id: str, number: int) -> str:
    whole = f"{prefix}{leg_id}"
    return whole if len(whole) <= _LONGEST_ID else f"{prefix}{number}"


def _renamed(leg: LegPlan, ids: dict[str, str]) -> LegPlan:
    return leg.model_copy(
        update={
            "leg_id": ids[leg.leg_id],
            "depends_on": tuple(ids[needed] for needed in leg.depends_on),
        }
    )
