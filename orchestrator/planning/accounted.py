"""A plan with all that the engine reads of its goal: what it orders, and what takes up what."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.record import JsonObject
from orchestrator.language.words import content_stems
from orchestrator.planning.accounting.account import with_account
from orchestrator.planning.models import Doubt, LegPlan, MissionPlan
from orchestrator.planning.orders import with_orders
from orchestrator.routing.router import Router
from orchestrator.saga.served import Order


def accounted(
    plan: MissionPlan,
    goal: str,
    catalog: Catalog,
    router: Router | None,
    *,
    now: datetime,
    given: JsonObject | None = None,
) -> MissionPlan:
    """The plan with what its goal orders, and with what of the goal is taken up by what.

    A model's plan says in its own words what the goal says in others: what only the model is told,
    and what only it reads as an order, is asked about before it is done.
    """
    ordered = with_orders(plan, goal, catalog, router, now=now)
    whole = with_account(ordered, goal, catalog, router, now=now, given=given)
    if whole.made_by.planner != "model":
        return whole
    doubts = [_told_to_a_model(doubt, whole) for doubt in whole.doubts]
    return whole.model_copy(update={"doubts": (*doubts, *_beyond(whole))})


def _told_to_a_model(doubt: Doubt, plan: MissionPlan) -> Doubt:
    """What no input of a tool takes is still told to the model of a leg, which may heed it."""
    stems = {*content_stems(doubt.about)}
    ordered = {order.clause for order in plan.orders}
    if doubt.kind != "not_understood" or doubt.about in ordered or not stems:
        return doubt
    told = [leg.leg_id for leg in plan.legs if stems <= {*content_stems(leg.goal)}]
    if not told:
        return doubt
    why = f"only the model of {', '.join(told)} is told it: no input of a tool takes it"
    return doubt.model_copy(update={"kind": "unchecked", "why": why})


def _beyond(plan: MissionPlan) -> Iterator[Doubt]:
    """The consequences that the plan orders, and no words of the goal do by themselves.

    Nor so often: two legs that book a room each go beyond a goal that orders one.
    """
    taken: Counter[tuple[int, str]] = Counter()
    for leg in plan.legs:
        for order in leg.orders:
            if order.tools and not _is_ordered(order, plan.orders, taken):
                yield _unordered(leg)
                break


def _is_ordered(order: Order, goals: Sequence[Order], taken: Counter[tuple[int, str]]) -> bool:
    """Whether the goal orders it, and no leg before has done all that it orders of the kind."""
    best = order.tools[0]
    for number, goal in enumerate(goals):
        able = {*goal.tools, *(name for pair in goal.renewed_by for name in pair)}
        room = goal.is_all or taken[number, best] + order.count <= max(goal.count, order.count)
        if room and able & {*order.tools}:
            taken[number, best] += order.count
            return True
    return False


def _unordered(leg: LegPlan) -> Doubt:
    said = " and ".join(repr(quote) for quote in leg.serves) or "the goal"
    why = f"{said} does not order this by itself; the model that planned it reads it so"
    return Doubt(kind="unordered", about=leg.goal, why=why)
