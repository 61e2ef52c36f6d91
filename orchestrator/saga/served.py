"""Which orders of a goal are served by what stands in the ledger: pure, and replayed for ever.

An effect serves one order: of two rooms in two clauses, one booking serves one. Only a clause that
goes on about an earlier one ("and reserve it for eight") may share its effect.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from orchestrator.core.pii import PII_PREFIX
from orchestrator.core.record import JsonObject, Record
from orchestrator.saga.ledger import CancelCall, Ledger, Obligation, ObligationState


class Order(Record):
    """A clause of a goal that orders a consequence, and whose effect serves it."""

    clause: str = Field(description="in the words of the goal")
    tools: tuple[str, ...] = Field(
        default=(), description="those that can serve it; empty: no tool of the catalog does it"
    )
    renewed_by: tuple[tuple[str, str], ...] = Field(
        default=(),
        description="tools that make such a thing, each with its cancel tool: who has ended one "
        "and made another has changed it",
    )
    points_back: bool = Field(
        default=False, description="it goes on about an earlier one, whose effect may serve both"
    )
    count: int = Field(
        default=1, description="how many effects it takes: two, of a tool that makes one at a time"
    )
    is_all: bool = Field(
        default=False, description="it ends, changes or pays all there are, not a number of them"
    )
    names: tuple[str, ...] = Field(
        default=(), description="whom it names by an address; each is in a call that serves it"
    )
    of_another: bool = Field(
        default=False, description="it ends what this mission did not make: 'my flight to Oslo'"
    )


class Proviso(Record):
    """What a goal makes an order depend on, and the tools that can tell whether it is so."""

    clause: str = Field(description="in the words of the goal: 'unless it rains'")
    tools: tuple[str, ...] = Field(default=(), description="empty: no tool of the catalog can")
    stems: tuple[str, ...] = Field(
        default=(),
        description="of the words one of which an answer has where it is so; empty: any answer may "
        "tell, and who reads it judges",
    )
    days: tuple[str, ...] = Field(default=(), description="of what is ordered, in ISO 8601")
    is_unless: bool = Field(default=False, description="it is to be done when this is not so")


class LookedUp(Record):
    """What one call of a leg told of a condition."""

    clause: str = Field(description="of the condition")
    tool: str
    is_so: bool


@dataclass(frozen=True)
class Effected:
    """What one call changed; `why_not` says why it does not stand, '' when it does.

    `said` are its arguments, as text.
    """

    tool: str
    leg_id: str
    why_not: str = ""
    said: str = ""

    @classmethod
    def of(cls, tool: str, leg_id: str, arguments: JsonObject, *, why_not: str = "") -> "Effected":
        """What a call with these arguments changed."""
        said = json.dumps(arguments, ensure_ascii=False).casefold()
        return cls(tool, leg_id, why_not, said)

    def names(self, value: str) -> bool:
        """Whether its arguments hold a value, or a handle of a personal field, which may be it."""
        return value.casefold() in self.said or f'"{PII_PREFIX}' in self.said


Effects = Mapping[str, Effected]
"""By the ids of their calls."""


def effects_of(ledger: Ledger, orders: Iterable[Order]) -> Effects:
    """What the calls of a mission changed: what they left, and what they cancelled.

    What was made and then cancelled does not stand, unless both are among its `orders`; and who
    orders something else to be ended has not ordered that.
    """
    asked = tuple(orders)
    ordered = {tool for order in asked if not order.of_another for tool in order.tools}
    elsewhere = {tool for order in asked if order.of_another for tool in order.tools} - ordered
    as_ordered = {
        c.call_id for c in ledger.cancels if c.outcome == "succeeded" and c.tool in ordered
    }
    own = {o.cancelled_by for o in ledger.obligations}
    mistaken = {c.call_id for c in ledger.cancels if c.tool in elsewhere and c.call_id in own}
    left = {o.obligation_id: _left(o, as_ordered) for o in ledger.obligations}
    return {**left, **{c.call_id: _cancelled(c, mistaken) for c in ledger.cancels}}


def unserved(orders: Sequence[Order], effects: Effects) -> list[Order]:
    """The orders that nothing which stands serves, or not all of it, in their order."""
    standing = {call: effect for call, effect in effects.items() if not effect.why_not}
    first = [n for n, order in enumerate(orders) if not order.points_back]
    taken = _assigned(first, orders, standing)
    free = {call: effect for call, effect in standing.items() if call not in taken}
    going_on = [n for n, order in enumerate(orders) if order.points_back]
    taken |= _assigned(going_on, orders, free)
    own = Counter(taken.values())
    spare = {effect.tool for call, effect in standing.items() if call not in taken}
    return [
        order
        for n, order in enumerate(orders)
        if _unnamed(order, standing)
        or (
            own[n] < order.count
            and not (order.points_back and _serving(order, standing))
            and not any(spare >= {*pair} for pair in order.renewed_by)
        )
    ]


def why_unserved(order: Order, effects: Iterable[Effected]) -> str:
    """What became of an order that nothing serves, or not all of it."""
    if not order.tools:
        return "no tool of the catalog does it"
    able = {str(n): effect for n, effect in enumerate(effects) if effect.tool in order.tools}
    standing = {call: effect for call, effect in able.items() if not effect.why_not}
    if standing and (unnamed := _unnamed(order, standing)):
        return f"no call that was made names {' or '.join(unnamed)}"
    if 0 < len(standing) < order.count:
        return f"done: {len(standing)} of {order.count}"
    failed = [effect.why_not for effect in able.values() if effect.why_not]
    return failed[-1] if failed else "no call that was made does it"


def _unnamed(order: Order, effects: Effects) -> list[str]:
    """Whom an order names, and no call that serves it does."""
    serving = [effects[call] for call in _serving(order, effects)]
    return [name for name in order.names if not any(effect.names(name) for effect in serving)]


def _left(obligation: Obligation, as_ordered: Collection[str]) -> Effected:
    stands = obligation.state is ObligationState.COMMITTED or obligation.cancelled_by in as_ordered
    note = f": {obligation.note}" if obligation.note else ""
    why_not = "" if stands else f"{obligation.tool} is {obligation.state}{note}"
    if stands and obligation.differs:
        why_not = f"{obligation.tool} answers that {'; '.join(obligation.differs)}"
    return Effected.of(obligation.tool, obligation.leg_id, obligation.arguments, why_not=why_not)


def _cancelled(cancel: CancelCall, mistaken: Collection[str]) -> Effected:
    leg_id = cancel.call_id.rpartition(".")[0].partition(".")[2]  # of mission, leg and step
    came = "" if cancel.outcome == "succeeded" else f"{cancel.tool} came to {cancel.outcome}"
    if not came and cancel.call_id in mistaken:
        came = f"{cancel.tool} ended what this mission had made, and that was not asked for"
    return Effected.of(cancel.tool, leg_id, cancel.arguments, why_not=came)


def _serving(order: Order, effects: Effects) -> list[str]:
    return [call for call, effect in effects.items() if effect.tool in order.tools]


def _assigned(numbers: Sequence[int], orders: Sequence[Order], effects: Effects) -> dict[str, int]:
    """As many of the numbered orders as can each have an effect of their own, by that effect."""
    taken: dict[str, int] = {}

    def place(number: int, seen: set[str]) -> bool:
        for call in _serving(orders[number], effects):
            if call not in seen:
                seen.add(call)
                if call not in taken or place(taken[call], seen):
                    taken[call] = number
                    return True
        return False

    for number in numbers:
        for _ in range(orders[number].count):
            place(number, set())
    return taken
