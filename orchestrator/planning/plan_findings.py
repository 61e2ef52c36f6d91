"""What is wrong with a plan that says in its own words what it serves: told to who made it.

Pure text and catalog: every word of the goal is quoted by a leg or set aside, a leg's goal holds
what it quotes and no value of its own, and each order of the goal has a leg that may do it.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.record import JsonObject
from orchestrator.routing.clause_reading import find_slots
from orchestrator.language.words import content_stems, tokens
from orchestrator.planning.models import LegPlan, MissionPlan
from orchestrator.planning.walls import is_inside

_WORD: Final = re.compile(r"[^\W_]+(?:['’.&@-][^\W_]+)*")  # noqa: RUF001
_MOST_TOLD: Final = 12
"""Findings told at once: who mends these may be told of the rest."""

Span = tuple[int, int]


def findings_of_words(
    legs: Sequence[LegPlan],
    asides: Sequence[str],
    goal: str,
    inputs: JsonObject,
    *,
    now: datetime,
) -> tuple[str, ...]:
    """What is wrong with the words of a plan's legs, a sentence each; empty: nothing.

    Args:
        legs: with what each says that it serves.
        asides: what of the goal is said to ask for nothing.
        goal: the mission's.
        inputs: given with it: a leg may say their values.
        now: the requester's time.
    """
    found = [*_misquoted(legs, asides, goal), *_uncovered(legs, asides, goal)]
    for leg in legs:
        found += _unsaid(leg)
        found += _made_up(leg, goal, inputs, now=now)
    return tuple(found[:_MOST_TOLD])


def findings_of_orders(plan: MissionPlan, catalog: Catalog) -> tuple[str, ...]:
    """What the goal of an accounted plan asks for, and no leg does or may do."""
    return tuple([*_undone(plan), *_outside(plan, catalog)][:_MOST_TOLD])


def _spans(text: str, goal: str) -> Iterator[Span]:
    """Where a goal says a text, whatever its spaces and capitals."""
    words = text.split()
    if words:
        pattern = r"\s+".join(re.escape(word) for word in words)
        yield from (found.span() for found in re.finditer(pattern, goal, re.IGNORECASE))


def _misquoted(legs: Sequence[LegPlan], asides: Sequence[str], goal: str) -> Iterator[str]:
    for leg in legs:
        if not any(quote.strip() for quote in leg.serves):
            yield f"leg {leg.leg_id} quotes nothing of the goal; `serves` takes its very words"
        for quote in leg.serves:
            if quote.strip() and not any(_spans(quote, goal)):
                yield f"leg {leg.leg_id} serves {quote!r}, which is not in the goal word for word"
    for quote in asides:
        if quote.strip() and not any(_spans(quote, goal)):
            yield f"the aside {quote!r} is not in the goal word for word"


def _uncovered(legs: Sequence[LegPlan], asides: Sequence[str], goal: str) -> Iterator[str]:
    """The stretches of the goal that say something, and that nobody quotes."""
    quotes = [*(quote for leg in legs for quote in leg.serves), *asides]
    taken = bytearray(len(goal))
    for start, end in (span for quote in quotes for span in _spans(quote, goal)):
        taken[start:end] = b"\x01" * (end - start)
    stretch: list[Span] = []
    for word in _WORD.finditer(goal):
        if any(taken[word.start() : word.end()]):
            yield from _nobodys(stretch, goal)
            stretch = []
        elif content_stems(word.group()) or stretch:
            stretch.append(word.span())
    yield from _nobodys(stretch, goal)


def _nobodys(stretch: Sequence[Span], goal: str) -> Iterator[str]:
    if stretch:
        text = goal[stretch[0][0] : stretch[-1][1]]
        yield f"no leg serves {text!r}: quote it in the leg that does it, or under `asides`"


def _unsaid(leg: LegPlan) -> Iterator[str]:
    """What a leg quotes, and does not say in its own goal: whoever carries it out reads that."""
    said = {*content_stems(leg.goal)}
    for quote in leg.serves:
        lost = [w.group() for w in _WORD.finditer(quote) if not {*content_stems(w.group())} <= said]
        if lost:
            yield f"leg {leg.leg_id} serves {quote!r}, and its goal does not say {', '.join(lost)}"


def _made_up(leg: LegPlan, goal: str, inputs: JsonObject, *, now: datetime) -> Iterator[str]:
    """The values that a leg says, and neither the goal nor the inputs do."""
    given = json.dumps(inputs, ensure_ascii=False, default=str)
    words = {*tokens(goal), *tokens(given)}
    values = {str(slot.value) for slot in find_slots(goal, now=now)}
    for slot in find_slots(leg.goal, now=now):
        if str(slot.value) not in values and not {*tokens(slot.text)} <= words:
            yield (
                f"leg {leg.leg_id} says {slot.text!r}, which the goal does not; leave out what it "
                "does not say: the leg looks it up or asks"
            )


def _undone(plan: MissionPlan) -> Iterator[str]:
    able = {name for leg in plan.legs for order in leg.orders for name in order.tools}
    said = [order.clause.casefold() for leg in plan.legs for order in leg.orders]
    for order in plan.orders:
        clause = order.clause.casefold()
        if order.tools and not able & {*order.tools} and not any(clause in one for one in said):
            yield f"no leg does {order.clause!r}: {_any_of(order.tools)} would"
    for clause in plan.left_out:
        yield f"no leg tells {clause!r}"


def _outside(plan: MissionPlan, catalog: Catalog) -> Iterator[str]:
    """Orders of legs whose agents may touch none of the tools for them."""
    for leg in plan.legs:
        for order in leg.orders:
            tools = [catalog.tools[name] for name in order.tools if name in catalog.tools]
            if tools and not any(is_inside(tool, (leg.agent.wall,)) for tool in tools):
                yield (
                    f"leg {leg.leg_id} is for the agent {leg.agent.name}, which may not use "
                    f"{_any_of(order.tools)}; give it to one that may"
                )
            if order.count > leg.agent.max_items:
                yield (
                    f"leg {leg.leg_id} asks for {order.count} of a kind; the agent "
                    f"{leg.agent.name} does at most {leg.agent.max_items}"
                )


def _any_of(tools: Iterable[str]) -> str:
    return " or ".join([*tools][:3])
