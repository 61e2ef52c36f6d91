"""Decisions of a model that are sent back to it once, within their step, with the reason.

Only consequences and endings are: the engine limits repeated reads. The decision stands if the
model insists: its card informs a person, and the third repeat of an effect ends the leg.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.arguments import check_arguments
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.confirmation.named_things import NamedId, ids_in, stands_in
from orchestrator.core.call_ref import step_label
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.canonical import canonical_text
from orchestrator.planning.effects import effects_seen, essential_arguments
from orchestrator.planning.llm.briefing import as_json, of_provider
from orchestrator.planning.models import (
    CallTool,
    Fact,
    Finish,
    GiveUp,
    Observation,
    StepContext,
    StepDecision,
)
from orchestrator.saga.orders import has_room, unserved

_MOST_READS: Final = 5
"""Maximum number of tools that a correction names."""
_MOST_LEFT: Final = 10
"""Maximum number of items of a list that a correction names."""
_MOST_REPEATS: Final = 2
"""How often a model may insist on an effect that stands, before the leg ends."""
_CORRECT_IT: Final = "Correct the call, or leave out an optional input that nobody stated"


def correction_of(
    decision: StepDecision, context: StepContext, catalog: Catalog, shown: Mapping[str, Tool]
) -> str:
    """Return why a model should decide again; '' if nothing speaks against its decision."""
    if isinstance(decision, GiveUp):
        return _given_up_early(context, catalog)
    tool = catalog.tools.get(decision.tool) if isinstance(decision, CallTool) else None
    if tool is None or not isinstance(decision, CallTool) or not tool.is_side_effect:
        return ""
    return _repeats(decision, tool, context, catalog) or _unfounded(decision, tool, context, shown)


def circling(
    decision: StepDecision, context: StepContext, catalog: Catalog
) -> Finish | GiveUp | None:
    """Return the end of a leg whose model insists on an effect that stands; None: it goes on.

    The leg has succeeded if all that it was ordered to do is done.
    """
    tool = catalog.tools.get(decision.tool) if isinstance(decision, CallTool) else None
    if tool is None or not isinstance(decision, CallTool) or not tool.is_side_effect:
        return None
    same = [seen for seen in context.observations if _is_same(tool, decision, seen)]
    if len(same) <= _MOST_REPEATS or not _repeats(decision, tool, context, catalog):
        return None
    why = (
        f"the model turns in circles: it wants {tool.name} with the same arguments again, which "
        f"succeeded in step {_label(next(o for o in same if o.outcome == 'succeeded'))}"
    )
    is_counted = not any(order.each or order.at_most for order in context.orders)
    if context.orders and is_counted and not unserved(context.orders, effects_seen(context)):
        return Finish(summary=f"All that was ordered is done; {why}.")
    return GiveUp(reason=why)


def with_remedies(context: StepContext, catalog: Catalog) -> StepContext:
    """Return a step's context whose invalid calls say how they become valid."""
    seen = tuple(
        one.model_copy(update={"error": f"{one.error}. {_remedy(one, context, catalog)}"})
        if one.outcome == "invalid"
        else one
        for one in context.observations
    )
    return context.model_copy(update={"observations": seen})


# -- calls that a schema refuses --------------------------------------------------------------


def _given_up_early(context: StepContext, catalog: Catalog) -> str:
    last = next((o for o in reversed(context.observations) if o.outcome != "dropped"), None)
    if last is None or last.outcome != "invalid" or not _faulty_options(last, context, catalog):
        return ""
    return f"your last call was refused for optional inputs only. {_remedy(last, context, catalog)}"


def _remedy(seen: Observation, context: StepContext, catalog: Catalog) -> str:
    if not (names := ", ".join(_faulty_options(seen, context, catalog))):
        return _CORRECT_IT
    return f"{seen.tool} does not need {names}: call it again without, or with a valid value"


def _faulty_options(seen: Observation, context: StepContext, catalog: Catalog) -> tuple[str, ...]:
    """Return the inputs without which an invalid call would be valid, if all are optional."""
    tool = catalog.tools.get(seen.tool)
    if tool is None:
        return ()
    ours: JsonObject = {
        name: context.mission_id for name in tool.reference_inputs if name not in seen.arguments
    }
    whole = {**ours, **seen.arguments}
    needed = {n: value for n, value in whole.items() if n in tool.required_inputs}
    try:
        if check_arguments(catalog, tool, needed):
            return ()
        faulty = tuple(
            n
            for n in whole
            if n not in needed and check_arguments(catalog, tool, {**needed, n: whole[n]})
        )
        valid = {n: value for n, value in whole.items() if n not in faulty}
        return () if check_arguments(catalog, tool, valid) else faulty
    except DocumentInvalid:
        return ()


# -- calls that were made before --------------------------------------------------------------


def _repeats(decision: CallTool, tool: Tool, context: StepContext, catalog: Catalog) -> str:
    """Return why a consequence is not called again; '' if it is new, or ordered again."""
    done = [o for o in context.observations if _is_same(tool, decision, o)]
    last = next((seen for seen in reversed(done) if seen.outcome == "succeeded"), None)
    later = context.observations[context.observations.index(last) + 1 :] if last else ()
    ends = (catalog.tools.get(one.tool) for one in later if one.outcome == "succeeded")
    is_cancelled = any(one is not None and one.cancel_for == tool.name for one in ends)
    if last is None or is_cancelled:
        return ""
    orders = [order for order in context.orders if tool.name in order.tools]
    each = next((order.each for order in orders if order.each), "")
    if not each and has_room(orders, effects_seen(context), tool.name):
        return ""
    text = (
        f"{tool.name} was called with the same arguments in step {_label(last)}, and succeeded: "
        "its effect stands"
    )
    left = _left_of_list(tool, context) if each or not context.orders else None
    if not left:
        return f"{text}. End your part, unless something else is left to do"
    named = of_provider(tool.name, as_json(left[:_MOST_LEFT]))
    goal = f"Of {each!r}" if each else "Of the list"
    return f"{text}. {goal}, these are not done: {named}. Do what the goal asks for, or end"


def _is_same(tool: Tool, wanted: CallTool, seen: Observation) -> bool:
    both = (essential_arguments(tool, one.arguments) for one in (wanted, seen))
    return seen.tool == tool.name and len({canonical_text(one) for one in both}) == 1


def _left_of_list(tool: Tool, context: StepContext) -> list[JsonValue] | None:
    """Return the ids of the list's items that no effect of the tool is about; None if unknown."""
    calls = [o for o in context.observations if o.tool == tool.name and o.outcome == "succeeded"]
    done = [one for call in calls for one in ids_in(call.arguments, tool.input_schema)]
    bodies = [o.body for o in reversed(context.observations) if not o.side_effect]
    for body in (*bodies, *(fact.body for fact in context.facts)):
        for items in _lists_in(body):
            key = next((k for one in done for item in items if (k := _key_of(one, item))), "")
            if key:
                values = {str(one.value) for one in done}
                return [item[key] for item in items if str(item.get(key, "")) not in {*values, ""}]
    return None


def _lists_in(body: JsonValue) -> Iterator[list[JsonObject]]:
    """Yield the lists of objects in an answer, outer before inner."""
    held = body if isinstance(body, list) else []
    if items := [item for item in held if isinstance(item, dict)]:
        yield items
    for inner in held or (body.values() if isinstance(body, dict) else ()):
        yield from _lists_in(inner)


def _key_of(one: NamedId, item: JsonObject) -> str:
    """Return the property under which an item of a list has an id; '' if none has it."""
    found = (k for k, value in item.items() if str(value) == str(one.value))
    return next(found, "") if one.is_named else ""


def _label(seen: Observation) -> str:
    return step_label(seen.step, seen.part)


# -- ids without a source ---------------------------------------------------------------------


def _unfounded(
    decision: CallTool, tool: Tool, context: StepContext, shown: Mapping[str, Tool]
) -> str:
    """Return why a consequence uses an id of unknown source; '' if none does.

    Nothing is reported if a part of an earlier answer is not available for the check.
    """
    seen: list[Fact | Observation] = [*context.facts, *context.observations]
    if any(one.body_ref is not None for one in seen):
        return ""
    given = f"{context.mission_goal} {context.leg_goal} {json.dumps(context.inputs)}"
    for one in ids_in(decision.arguments, tool.input_schema):
        known = str(one.value) in given or any(stands_in(one, a.body) for a in seen)
        if one.is_named and not known:
            reads = [name for name, other in shown.items() if not other.is_side_effect]
            finds = f" with one of {', '.join(reads[:_MOST_READS])}" if reads else ""
            return (
                f"{one.argument} {one.value!r} is invented: neither the goal, what is given "
                f"nor an earlier answer has it; find it first{finds}"
            )
    return ""
