"""The orders of a plan, and the effects in a ledger that serve them: pure, replayed for ever.

An effect serves one order. A cancel that a leg makes of its own booking removes that effect; it is
no effect itself unless it is ordered as well.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from pydantic import Field

from orchestrator.core.record import Record
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import ObligationState

MOST_EFFECTS: Final = 1_000


class Order(Record):
    """A consequence that a plan intends."""

    tools: tuple[str, ...] = Field(description="tools whose effect serves it, usually one")
    count: int = Field(default=1, ge=1, le=MOST_EFFECTS, description="number of effects")
    each: str = ""
    """The list of the goal, in its words, whose items get one effect each, if any."""
    at_most: bool = Field(default=False, description="fewer effects than `count` serve it too")
    when: str = ""
    """The condition, in the words of the goal, that the planner reads; empty: unconditional."""
    clause: str = Field(default="", description="words of the goal")

    def __str__(self) -> str:
        """Return the words of the goal, or else the tools."""
        return self.clause or " or ".join(self.tools)

    def is_part_of(self, orders: Iterable["Order"]) -> bool:
        """Return True if it is one of these orders, or a smaller number of its effects.

        An order without a condition is part of one whose condition was met before.
        """
        return any(
            self.count <= one.count
            and self.when in (one.when, "")
            and self.model_copy(update={"count": one.count, "when": one.when}) == one
            for one in orders
        )

    @property
    def is_conditional(self) -> bool:
        """True if the order may rightly end without an effect."""
        return bool(self.when or self.each)


class WhenRead(Record):
    """A planner's reading of a conditional order: stored with its leg, and shown in the result."""

    when: str = Field(description="the order's `when`, or an `each` without items")
    holds: bool
    read: str = Field(description="value that decided it: 'forecast for 5 December: rain 80 %'")

    def __str__(self) -> str:
        """Return the condition, the reading and the value in one line."""
        return f"{self.when}: {'yes' if self.holds else 'no'} ({self.read})"


class Effect(Record):
    """The change that one call made."""

    call_id: str
    leg_id: str
    tool: str
    title: str = ""
    why_not: str = Field(default="", description="reason why it does not stand; empty if it stands")


def effects_of(ledger: Ledger, orders: Iterable[Order] = ()) -> tuple[Effect, ...]:
    """Return the changes that the calls of a ledger made, cancels included.

    An effect that was made and then cancelled stands only if its cancel is among the orders.
    """
    ordered = {tool for order in orders for tool in order.tools}
    done = {c.call_id for c in ledger.cancels if c.outcome == "succeeded"}
    as_ordered = {c.call_id for c in ledger.cancels if c.call_id in done and c.tool in ordered}
    own = {o.cancelled_by for o in ledger.obligations} - as_ordered
    recorded = {o.obligation_id for o in ledger.obligations}
    found = []
    for o in ledger.obligations:
        stands = o.state is ObligationState.COMMITTED or o.cancelled_by in as_ordered
        why_not = "" if stands else f"{o.tool} is {o.state}{f': {o.note}' if o.note else ''}"
        if stands and o.differs:
            why_not = f"{o.tool} answers that {'; '.join(o.differs)}"
        named = {"call_id": o.obligation_id, "leg_id": o.leg_id, "tool": o.tool, "title": o.title}
        found.append(Effect(**named, why_not=why_not))
    for c in ledger.cancels:
        if c.call_id not in own | recorded:
            leg_id = c.call_id.rpartition(".")[0].partition(".")[2]  # mission.leg.step
            why_not = "" if c.call_id in done else f"{c.tool} ended as {c.outcome}"
            found.append(Effect(call_id=c.call_id, leg_id=leg_id, tool=c.tool, why_not=why_not))
    return tuple(found)


def unserved(
    orders: Sequence[Order], effects: Iterable[Effect], read: Sequence[WhenRead] = ()
) -> list[Order]:
    """Return the orders that do not have the effects that they need, in their order."""
    by_number = _served_as_read(orders, effects, read)
    missing = []
    for number, order in enumerate(orders):
        needed = 1 if order.each or order.at_most else order.count
        said = _said_of(order, orders, read)
        if len(by_number[number]) < needed and (said is None or said.holds):
            missing.append(order)
    return missing


def done_though_unmet(
    orders: Sequence[Order], effects: Iterable[Effect], read: Sequence[WhenRead]
) -> list[tuple[Order, WhenRead]]:
    """Return the orders that have an effect although their planner read that `when` fails."""
    by_number = _served_as_read(orders, effects, read)
    found = []
    for number, order in enumerate(orders):
        said = _said_of(order, orders, read) if order.when else None
        if said is not None and not said.holds and by_number[number]:
            found.append((order, said))
    return found


def why_unserved(order: Order, effects: Iterable[Effect]) -> str:
    """Return the reason why an order does not have all of its effects."""
    able = [effect for effect in effects if effect.tool in order.tools]
    standing = sum(not effect.why_not for effect in able)
    if standing and not order.each:
        return f"done: {standing} of {order.count}"
    failed = [effect.why_not for effect in able if effect.why_not]
    if failed:
        return failed[-1]
    if order.when:
        return f"not done, and the planner does not say that {order.when!r} failed to hold"
    return "no call that was made does it"


def served_by(
    orders: Sequence[Order], effects: Sequence[Effect], most_each: int = MOST_EFFECTS
) -> dict[int, list[int]]:
    """Return the numbers of the effects that serve each order, by its number; as many as fit."""
    taken: dict[int, list[int]] = {number: [] for number in range(len(orders))}

    def place(at: int, seen: set[int]) -> bool:
        """Assign the effect to an order with room, or to one that can pass an effect on."""
        for number, order in enumerate(orders):
            if number in seen or effects[at].tool not in order.tools:
                continue
            seen.add(number)
            room = most_each if order.each else order.count
            own = taken[number]
            if len(own) < room:
                own.append(at)
                return True
            for place_of, other in enumerate(own):
                if place(other, seen):
                    own[place_of] = at
                    return True
        return False

    for at in range(len(effects)):
        place(at, set())
    return taken


def has_room(
    orders: Sequence[Order], effects: Sequence[Effect], tool: str, most_each: int = MOST_EFFECTS
) -> bool:
    """Return True if one more effect of a tool would serve an order that still needs effects."""
    before = sum(map(len, served_by(orders, effects, most_each).values()))
    one_more = Effect(call_id="", leg_id="", tool=tool)
    after = sum(map(len, served_by(orders, [*effects, one_more], most_each).values()))
    return after > before


def left_to_do(orders: Sequence[Order], effects: Sequence[Effect]) -> tuple[Order, ...]:
    """Return the orders that still need effects, each with the count that is left."""
    standing = [effect for effect in effects if not effect.why_not]
    served = served_by(orders, standing)
    left = ((order, order.count - len(served[n])) for n, order in enumerate(orders))
    return tuple(
        order if order.each else order.model_copy(update={"count": count})
        for order, count in left
        if order.each or count > 0
    )


def covered_orders(
    orders: Mapping[str, Sequence[Order]], listed: Sequence[Order]
) -> dict[str, tuple[Order, ...]]:
    """Return the orders of a plan that the request also lists, each listed effect counted once."""
    left = [order.count for order in listed]

    def is_listed(order: Order) -> bool:
        for number, own in enumerate(listed):
            fits = {*order.tools} <= {*own.tools} and bool(own.each or not order.each)
            if fits and (own.each or left[number] >= order.count):
                left[number] -= order.count
                return True
        return False

    return {leg_id: tuple(filter(is_listed, own)) for leg_id, own in orders.items()}


def _served_as_read(
    orders: Sequence[Order], every: Iterable[Effect], read: Sequence[WhenRead]
) -> dict[int, list[int]]:
    """Return the effects that serve each order; an excused order gets what the others leave."""
    effects = [effect for effect in every if not effect.why_not]
    said = [_said_of(order, orders, read) for order in orders]
    excused = [one is not None and not one.holds for one in said]
    taken: dict[int, list[int]] = {}
    left = [*range(len(effects))]
    for is_excused in (False, True):
        numbers = [n for n, one in enumerate(excused) if one is is_excused]
        found = served_by([orders[n] for n in numbers], [effects[at] for at in left])
        taken |= {numbers[n]: [left[at] for at in own] for n, own in found.items()}
        used = {at for own in taken.values() for at in own}
        left = [at for at in left if at not in used]
    return taken


def _said_of(order: Order, orders: Sequence[Order], read: Sequence[WhenRead]) -> WhenRead | None:
    """Return the reading of a conditional order; a single reading is the single order's."""
    if not order.is_conditional:
        return None
    named = {_plain(text) for text in (order.when, order.each) if text}
    said = [one for one in read if _plain(one.when) in named]
    if not said and len(read) == 1 and [o for o in orders if o.is_conditional] == [order]:
        said = [*read]
    return said[-1] if said else None


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .,;:'\"")
