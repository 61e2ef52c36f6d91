"""What of a goal nobody served, as a mission's result says it: pure, and replayed for ever."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from pydantic import Field

from orchestrator.core.record import Record
from orchestrator.messages.leg import LegResult, LegStatus
from orchestrator.planning.models import LegPlan, MissionPlan
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.served import Effects, Order, Proviso, effects_of, unserved, why_unserved


class Unserved(Record):
    """A part of the goal that was asked for, and that nothing which was done serves."""

    clause: str = Field(description="in the words of the goal, or of the leg's goal")
    reason: str
    leg_id: str | None = Field(default=None, description="None: no leg took it up, or not alone")

    def __str__(self) -> str:
        return f"{self.clause!r}: {self.reason}"


def unserved_of(
    plan: MissionPlan,
    legs: Iterable[LegResult],
    ledger: Ledger,
    in_doubt: Iterable[tuple[str, str]] = (),
) -> tuple[Unserved, ...]:
    """What of the goal is unserved when every leg is over, none of it told twice.

    Args:
        plan: the mission's, with what its goals order.
        legs: as they ended.
        ledger: of the whole mission.
        in_doubt: what was left of the goal when it began, in its words, with why it stands so.
    """
    ordered = (*plan.orders, *(order for leg in plan.legs for order in leg.orders))
    effects = effects_of(ledger, ordered)
    results = {leg.leg_id: leg for leg in legs}
    found = [
        one
        for leg in plan.legs
        for one in _of_leg(leg, results.get(leg.leg_id), effects, done_for(leg.leg_id, plan.legs))
    ]
    orders = _called_for(plan, results)
    whole = [
        Unserved(clause=order.clause, reason=why_unserved(order, effects.values()))
        for order in unserved(orders, effects)
    ]
    # What one leg has left undone another one's effect is not taken from: each has its own.
    done = _done_in_legs(plan, effects) if found else frozenset[str]()
    found += [one for one in whole if one.clause not in done and not _is_told(one, found)]
    left_out = [Unserved(clause=c, reason="no leg of the plan takes it up") for c in plan.left_out]
    left_out += [Unserved(clause=said, reason=why) for said, why in in_doubt]
    unasked = _unjudged(plan, results.values(), effects)
    told = (*found, *(one for one in left_out if not _is_told(one, found)), *unasked)
    return (*told, *_untold(results.values()))


def _untold(legs: Iterable[LegResult]) -> Iterator[Unserved]:
    """The legs that were to tell something, and have only their planner's word for it."""
    for leg in legs:
        if leg.unproved_why and leg.status is LegStatus.SUCCEEDED:
            yield Unserved(clause=leg.goal, reason=leg.unproved_why, leg_id=leg.leg_id)


def _called_for(plan: MissionPlan, results: Mapping[str, LegResult]) -> list[Order]:
    """What the goal orders, but for what was to be done in another case than the one it is."""
    orders = [*plan.orders]
    for leg in plan.legs:
        result = results.get(leg.leg_id)
        for unwanted in leg.orders if result is not None and result.not_called_for else ():
            alike = [one for one in orders if _is_same(one, unwanted)]
            if alike:
                orders.remove(alike[0])
    return orders


def _is_same(one: Order, other: Order) -> bool:
    """Whether an order of a goal is that of a leg: in the same words, or for the same tools."""
    said, also = one.clause.casefold(), other.clause.casefold()
    return said in also or also in said or (bool(one.tools) and one.tools == other.tools)


def _unjudged(plan: MissionPlan, legs: Iterable[LegResult], effects: Effects) -> Iterator[Unserved]:
    """The conditions of what was done that no answer shows to hold, or that one shows not to."""
    ordered = {tool for order in plan.orders for tool in order.tools}
    done = any(effect.tool in ordered and not effect.why_not for effect in effects.values())
    over = tuple(legs)
    decided = {one.clause.casefold() for leg in plan.legs for one in leg.decides}
    for condition in plan.conditions if done else ():
        said = condition.clause.casefold()
        if any(said in one or one in said for one in decided):
            continue  # it was decided before anything was done
        if doubt := _doubt_about(condition, over):
            yield Unserved(clause=condition.clause, reason=f"it was done, and {doubt}")


def _doubt_about(condition: Proviso, legs: Sequence[LegResult]) -> str:
    """Why it is not sure that a condition was met; empty where an answer tells."""
    called = {s.called for leg in legs for s in leg.steps if s.outcome == "succeeded"}
    called |= {tool for leg in legs for tool in leg.called}
    if not called & set(condition.tools):
        able = f"by {' or '.join(condition.tools)}" if condition.tools else "no tool tells"
        return f"nobody looked up whether this is so ({able})"
    if not condition.stems:
        return ""
    told = [one for leg in legs for one in leg.looked_up if one.clause == condition.clause]
    if not told:
        return f"nobody looked it up of {' or '.join(condition.days)}"
    so = next((one for one in told if one.is_so), None)
    if so is not None:
        return f"{so.tool} answered that it is so" if condition.is_unless else ""
    return "" if condition.is_unless else f"nothing that {told[-1].tool} answered says that it is"


def proved(legs: Iterable[LegResult], missing: Sequence[Unserved]) -> Iterator[LegResult]:
    """The legs, those marked that say they did what nothing proves."""
    unproved = {one.leg_id for one in missing}
    for leg in legs:
        claims = leg.status is LegStatus.SUCCEEDED and leg.leg_id in unproved
        yield leg.model_copy(update={"unproved": True}) if claims else leg


def _of_leg(
    plan: LegPlan, result: LegResult | None, effects: Effects, for_it: Collection[str]
) -> Iterator[Unserved]:
    if result is not None and result.not_called_for:
        return
    if result is not None and result.status is LegStatus.SKIPPED:
        reason = result.error or "its leg was skipped"
        yield Unserved(clause=plan.goal, reason=reason, leg_id=plan.leg_id)
        return
    own = {call: effect for call, effect in effects.items() if effect.leg_id in for_it}
    for order in unserved(plan.orders, own):
        reason = why_unserved(order, own.values())
        yield Unserved(clause=order.clause, reason=reason, leg_id=plan.leg_id)


def done_for(leg_id: str, legs: Iterable[LegPlan]) -> frozenset[str]:
    """A leg, and those that it has handed parts of its goal to, and they in turn."""
    own = {leg_id}
    for leg in legs:  # each stands behind the one that handed it over
        if leg.handed_over_by in own:
            own.add(leg.leg_id)
    return frozenset(own)


def _done_in_legs(plan: MissionPlan, effects: Effects) -> frozenset[str]:
    """The clauses that legs were ordered to do, and that their own effects serve."""
    done: set[str] = set()
    for leg in plan.legs:
        for_it = done_for(leg.leg_id, plan.legs)
        own = {call: effect for call, effect in effects.items() if effect.leg_id in for_it}
        undone = {order.clause for order in unserved(leg.orders, own)}
        done |= {order.clause for order in leg.orders} - undone
    return frozenset(done)


def _is_told(one: Unserved, others: Iterable[Unserved]) -> bool:
    return any(one.clause in other.clause or other.clause in one.clause for other in others)
