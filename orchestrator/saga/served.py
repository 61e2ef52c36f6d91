"""Which orders of a goal are served by what stands in the ledger: pure, and replayed for ever.

An effect serves one order: of two rooms in two clauses, one booking serves one. Only a clause that
goes on about an earlier one ("and reserve it for eight") may share its effect.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from orchestrator.core.record import Record
from orchestrator.saga.ledger import CancelCall, Ledger, Obligation, ObligationState


class Order(Record):
    """A clause of a goal that orders a consequence, and whose effect serves it."""

    clause: str = Field(description="in the words of the goal")
    tools: tuple[str, ...] = Field(
        default=(), description="those that can serve it; empty: no tool of the catalog does it"
    )
    points_back: bool = Field(
        default=False, description="it goes on about an earlier one, whose effect may serve both"
    )


@dataclass(frozen=True)
class Change:
    """What one call changed; `why_not` says why it does not stand, '' when it does."""

    tool: str
    leg_id: str
    why_not: str = ""


Changes = Mapping[str, Change]
"""By the ids of their calls."""


def effects_of(ledger: Ledger, orders: Iterable[Order]) -> Changes:
    """What the calls of a mission changed: what they left, and what they cancelled.

    What was made and then cancelled does not stand, unless both are among its `orders`.
    """
    ordered = {tool for order in orders for tool in order.tools}
    as_ordered = {
        c.call_id for c in ledger.cancels if c.outcome == "succeeded" and c.tool in ordered
    }
    left = {o.obligation_id: _left(o, as_ordered) for o in ledger.obligations}
    return {**left, **{cancel.call_id: _cancelled(cancel) for cancel in ledger.cancels}}


def unserved(orders: Sequence[Order], effects: Changes) -> list[Order]:
    """The orders that nothing which stands serves, in their order."""
    standing = {call: effect for call, effect in effects.items() if not effect.why_not}
    taken = _assigned(
        [n for n, order in enumerate(orders) if not order.points_back], orders, standing
    )
    own = set(taken.values())
    free = {call: effect for call, effect in standing.items() if call not in taken}
    going_on = [n for n, order in enumerate(orders) if order.points_back]
    own |= set(_assigned(going_on, orders, free).values())
    own |= {n for n in going_on if _serving(orders[n], standing)}
    return [order for n, order in enumerate(orders) if n not in own]


def why_unserved(order: Order, effects: Iterable[Change]) -> str:
    """What became of an order that nothing serves."""
    if not order.tools:
        return "no tool of the catalog does it"
    failed = [effect.why_not for effect in effects if effect.tool in order.tools and effect.why_not]
    return failed[-1] if failed else "no call that was made does it"


def _left(obligation: Obligation, as_ordered: Collection[str]) -> Change:
    stands = obligation.state is ObligationState.COMMITTED or obligation.cancelled_by in as_ordered
    note = f": {obligation.note}" if obligation.note else ""
    why_not = "" if stands else f"{obligation.tool} is {obligation.state}{note}"
    return Change(obligation.tool, obligation.leg_id, why_not)


def _cancelled(cancel: CancelCall) -> Change:
    leg_id = cancel.call_id.rpartition(".")[0].partition(".")[2]  # of mission, leg and step
    came = "" if cancel.outcome == "succeeded" else f"{cancel.tool} came to {cancel.outcome}"
    return Change(cancel.tool, leg_id, came)


def _serving(order: Order, effects: Changes) -> list[str]:
    return [call for call, effect in effects.items() if effect.tool in order.tools]


def _assigned(numbers: Sequence[int], orders: Sequence[Order], effects: Changes) -> dict[str, int]:
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
        place(number, set())
    return taken
