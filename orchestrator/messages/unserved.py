"""The orders of a plan that have no effect when every leg is over: pure, and replayed for ever."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import Field

from orchestrator.core.record import Record
from orchestrator.messages.leg import LegResult, LegStatus
from orchestrator.planning.models import LegPlan, MissionPlan
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.orders import (
    Effect,
    done_though_unmet,
    effects_of,
    unserved,
    why_unserved,
)


class Unserved(Record):
    """An order without its effects, or a leg that was left out or proves nothing."""

    clause: str = Field(description="in the words of the goal, or of the leg's goal")
    reason: str
    leg_id: str | None = None

    def __str__(self) -> str:
        return f"{self.clause!r}: {self.reason}"


def unserved_of(
    plan: MissionPlan, legs: Iterable[LegResult], ledger: Ledger
) -> tuple[Unserved, ...]:
    """What keeps a mission from being `succeeded` when every leg is over.

    Args:
        plan: the mission's, with the orders of its legs.
        legs: as they ended.
        ledger: of the whole mission.
    """
    results = {leg.leg_id: leg for leg in legs}
    effects = effects_of(ledger, (order for leg in plan.legs for order in leg.orders))
    return tuple(one for leg in plan.legs for one in _of_leg(leg, plan.legs, results, effects))


def _of_leg(
    plan: LegPlan,
    legs: Sequence[LegPlan],
    results: Mapping[str, LegResult],
    effects: Sequence[Effect],
) -> Iterator[Unserved]:
    result = results.get(plan.leg_id)
    if result is not None and result.status is LegStatus.SKIPPED:
        reason = result.error or "its leg was skipped"
        yield Unserved(clause=plan.goal, reason=reason, leg_id=plan.leg_id)
        return
    for_it = done_for(plan.leg_id, legs)
    own = [effect for effect in effects if effect.leg_id in for_it]
    read = [one for leg_id in sorted(for_it & {*results}) for one in results[leg_id].conditions]
    # The part of a leg that was handed over is that leg's order as well: it is missing once.
    orders = () if plan.handed_over_by else plan.orders
    for order in unserved(orders, own, read):
        reason = why_unserved(order, own)
        yield Unserved(clause=str(order), reason=reason, leg_id=plan.leg_id)
    for order, said in done_though_unmet(orders, own, read):
        reason = f"done, although its condition does not hold: {said.read}"
        yield Unserved(clause=str(order), reason=reason, leg_id=plan.leg_id)
    if result is not None and result.unproved_why and result.status is LegStatus.SUCCEEDED:
        yield Unserved(clause=plan.goal, reason=result.unproved_why, leg_id=plan.leg_id)


def proved(legs: Iterable[LegResult], missing: Sequence[Unserved]) -> Iterator[LegResult]:
    """The legs, those marked whose planners claim what nothing proves."""
    unproved = {one.leg_id for one in missing}
    for leg in legs:
        claims = leg.status is LegStatus.SUCCEEDED and leg.leg_id in unproved
        yield leg.model_copy(update={"unproved": True}) if claims else leg


def done_for(leg_id: str, legs: Iterable[LegPlan]) -> frozenset[str]:
    """A leg, and those that it has handed parts of its goal to, and they in turn."""
    own = {leg_id}
    for leg in legs:  # each stands behind the one that handed it over
        if leg.handed_over_by in own:
            own.add(leg.leg_id)
    return frozenset(own)
