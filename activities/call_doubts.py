"""What is in doubt of a call that is prepared: held against what was said, whoever plans."""

from collections.abc import Sequence
from datetime import datetime

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.prices import plain_answer, plain_arguments
from orchestrator.catalog.tool import Tool
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject
from orchestrator.messages.tool_call import PrepareInput
from orchestrator.planning.matching.impossible import impossible_values
from orchestrator.planning.matching.match import doubts_of
from orchestrator.planning.matching.taken import FinderAnswer, TakenCall
from orchestrator.planning.models import Doubt, Fact, Observation


def doubts_about(
    wanted: PrepareInput,
    catalog: Catalog,
    tool: Tool,
    *,
    probed: Sequence[JsonObject],
    price: Money | None,
    people: Sequence[str] = (),
) -> tuple[Doubt, ...]:
    """What a person must settle first; nothing of a call that a person has changed or seen.

    Args:
        wanted: the call, its arguments final.
        catalog: the mission's.
        tool: that is called.
        probed: what the provider says of the thing when it is asked now.
        price: what it is expected to cost.
        people: what those are called for whom it is made, by the vault; no doubt repeats it.
    """
    if not tool.is_side_effect or wanted.decided_by_people:
        return ()
    own = [o for o in wanted.observations if o.outcome == "succeeded"]
    seen: list[Fact | Observation] = [*wanted.facts, *own]
    call = TakenCall(
        tool=tool,
        arguments=plain_arguments(tool, wanted.arguments),
        now=wanted.said_at or wanted.now,
        clause=wanted.clause,
        goal=wanted.goal,
        orders=wanted.orders,
        answers=tuple(_answer(one, catalog) for one in seen),
        found_nothing=tuple(_answer(one, catalog) for one in wanted.found_nothing),
        probed=tuple(probed),
        given=wanted.given,
        answered=wanted.answered,
        hints=tuple(o.hint for o in wanted.observations if o.sent_back and o.hint),
        price=price,
        people=tuple(people),
    )
    return (*_impossible(call, wanted.now), *doubts_of(call))


def _impossible(call: TakenCall, now: datetime) -> tuple[Doubt, ...]:
    """Of the call, and of what was searched by for the things that it takes."""
    judged = [(call.tool, call.arguments)]
    judged += [(link.finder, link.asked) for link in call.links if link.finder is not None]
    found = (d for tool, values in judged for d in impossible_values(tool, values, now=now))
    return tuple({doubt.about: doubt for doubt in found}.values())


def _answer(seen: Fact | Observation, catalog: Catalog) -> FinderAnswer:
    finder = catalog.tools.get(seen.tool)
    return FinderAnswer(
        body=plain_answer(finder, seen.body) if finder is not None else seen.body,
        arguments=plain_arguments(finder, seen.arguments) if finder is not None else seen.arguments,
        title=finder.title if finder is not None else seen.tool,
        at=seen.at,
        finder=finder,
        is_own=isinstance(seen, Observation),
    )
