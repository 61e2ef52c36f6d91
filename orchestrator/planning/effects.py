"""Effects and endings checked against orders, for every planner: by structure, without words.

The card of a consequence that no order covers says so. The end of a leg is refused once while an
order has no effect, or while nothing proves the planner's summary.
"""

import json
import re
from collections.abc import Iterable, Sequence
from string import ascii_uppercase
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.tool import Tool
from orchestrator.core.pii import as_written
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.canonical import canonical_digest
from orchestrator.planning.models import ANSWER, FINISH, HAND_OVER, Finish, StepContext
from orchestrator.saga.orders import Effect, Order, has_room, unserved

_SHAPED: Final = frozenset({"enum", "const", "format", "pattern", "oneOf", "anyOf", "$ref"})
_LONG_TEXT: Final = 5
"""A required text of at least this many words is prose and no name."""
READ_ONLY: Final = "the mission is read-only (--read-only): {tool} would change something"
_NO_ORDER: Final = "The plan does not order this: this part of it orders no consequence."
_NOT_ANSWERED: Final = frozenset({"rejected", "unknown", "refused", "invalid"})
_ID: Final = re.compile(
    r"(?<![\w@/.:-])(?=[\w-]*\d[\w-]*\d)(?=[\w-]*(?:[A-Z]|[a-z]+_))[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*\b"
)
_AMOUNT: Final = re.compile(r"[A-Z]{3}\d+|\d+[A-Z]{3}")
_DIGEST: Final = 16
"""Characters of a digest that is compared within one mission only."""
_SHORTEST, _LONGEST, _MOST = 5, 60, 5
"""Lengths of an id, in characters, and the maximum number of ids that are shown."""


def why_unordered(
    tool: Tool,
    orders: Sequence[Order],
    effects: Sequence[Effect],
    *,
    most_each: int,
    repeats: Effect | None = None,
) -> str:
    """Return why no order covers a consequence, in one sentence; empty if one does.

    Args:
        tool: that is called.
        orders: of its leg.
        effects: of its leg, and of the legs that it handed parts to.
        most_each: how many effects an `each` order may have.
        repeats: the effect of its mission that has the same essence.
    """
    if repeats is not None:
        state = "was sent" if repeats.why_not else "stands"
        return (
            f"This repeats {repeats.title or tool.title!r}, which {state} ({repeats.call_id}): "
            "the same tool with the same essential arguments."
        )
    standing = [effect for effect in effects if not effect.why_not]
    if has_room(orders, standing, tool.name, most_each):
        return ""
    own = [order for order in orders if tool.name in order.tools]
    if not own:
        said = "; ".join(str(order) for order in orders)
        return f"The plan does not order this; it orders {said}." if said else _NO_ORDER
    if any(order.each for order in own):
        return f"This is more than the plan orders: one for each of the {most_each} that were read."
    count = sum(order.count for order in own)
    done = sum(effect.tool == tool.name for effect in standing)
    return f"This is more than the plan orders: {count}, and {done} stand."


def is_covered(
    tool: str, covered: Sequence[Order], effects: Sequence[Effect], *, most_each: int
) -> bool:
    """Return True if a standing approval may cover a consequence that the plan orders."""
    standing = [effect for effect in effects if not effect.why_not]
    return has_room(covered, standing, tool, most_each)


def longest_list(bodies: Iterable[JsonValue]) -> int:
    """Return the length of the longest list in some answers."""
    return max(map(_longest, bodies), default=0)


def meaning_of(tool: Tool, arguments: JsonObject) -> str:
    """Return a digest of what a planner wants, equal if it proposes the same call again."""
    return _digest(tool, _said(tool, arguments))


def essence_of(tool: Tool, arguments: JsonObject) -> str:
    """Return a digest of a call that another call shares if it repeats the same effect."""
    return _digest(tool, essential_arguments(tool, arguments))


def essential_arguments(tool: Tool, arguments: JsonObject) -> JsonObject:
    """Return the arguments without free texts, default values and this project's references."""
    said = _said(tool, arguments)
    return {name: value for name, value in said.items() if not _is_prose(tool, name, value)}


def _said(tool: Tool, arguments: JsonObject) -> JsonObject:
    """Return the arguments without default values and this project's references."""
    unsaid = [(n, shape["default"]) for n, shape in tool.properties.items() if "default" in shape]
    return {
        name: value
        for name, value in as_written(arguments).items()
        if name not in tool.reference_inputs and (name, value) not in unsaid
    }


def _digest(tool: Tool, arguments: JsonObject) -> str:
    return canonical_digest({"tool": tool.name, "arguments": arguments})[:_DIGEST]


def _is_prose(tool: Tool, name: str, value: JsonValue) -> bool:
    """Return True for a text without shape: prose, or an optional remark."""
    schema = tool.properties.get(name, {})
    if not isinstance(value, str) or schema.get("type") != "string" or _SHAPED & {*schema}:
        return False
    words, required = len(value.split()), tool.input_schema.get("required")
    is_required = isinstance(required, list) and name in required
    return words >= _LONG_TEXT or (words > 1 and not is_required)


def _longest(body: JsonValue) -> int:
    if isinstance(body, list):
        return max(len(body), longest_list(body))
    return longest_list(body.values()) if isinstance(body, dict) else 0


def doubt_about_finish(finish: Finish, context: StepContext) -> str | None:
    """Return why a leg is not finished although its planner says so; None if it is.

    The doubt is raised once: a planner that has nothing more to do finishes again, and the leg ends
    unproved.
    """
    if (doubt := doubt_about_orders(finish, context)) is not None or _was_refused(context):
        return doubt
    if not (why := nothing_read(context, finish)):
        return None
    return (
        f"{why}, so that nothing proves what you would say. Look it up, ask the user, or give up; "
        "finishing again ends the mission as incomplete"
    )


def nothing_read(context: StepContext, finish: Finish | None = None) -> str:
    """Return why only the planner's word proves the end of a leg; empty if there is more proof.

    Orders that have their effects are proof; orders that their planner reads as not holding are
    not.
    """
    answered = any(seen.outcome == "succeeded" for seen in context.observations)
    if answered or context.facts:
        return ""
    is_excused = finish is not None and any(not one.holds for one in finish.conditions)
    if context.orders and not (is_excused and not context.inputs):
        return ""
    tried = dict.fromkeys(o.tool for o in context.observations if o.outcome in _NOT_ANSWERED)
    names = ", ".join(name for name in tried if name not in (FINISH, ANSWER))
    return f"nothing was answered by {names}" if names else "nothing was looked up"


def doubt_about_orders(finish: Finish, context: StepContext) -> str | None:
    """Return why the orders of a leg are not all served; None if each was done or excused."""
    if _was_refused(context):
        return None
    if blank := [one.when for one in finish.conditions if not one.read.strip()]:
        return f"say under `read` which value decides {blank[0]!r}"
    nothing = not (context.observations or context.facts or context.inputs)
    if nothing and any(not one.holds for one in finish.conditions):
        return f"nothing was read that decides {finish.conditions[0].when!r}: look it up first"
    missing = unserved(context.orders, effects_seen(context), finish.conditions)
    if not missing:
        return None
    text = (
        f"no call of this leg did what was ordered: {'; '.join(repr(str(o)) for o in missing)}. "
        "Do it, ask the user, or give up; finishing again ends the mission as incomplete"
    )
    conditional = [order.when or order.each for order in missing if order.is_conditional]
    if conditional:
        quoted = ", ".join(map(repr, conditional))
        text += f". Where it does not hold, say so under `conditions`, with what was read: {quoted}"
    return text


def _was_refused(context: StepContext) -> bool:
    return any(seen.tool == FINISH for seen in context.observations)


def effects_seen(context: StepContext) -> list[Effect]:
    """Return the effects of the leg, and of the legs that it has handed parts of its goal to."""
    handed_over = {str(o.arguments.get("leg")) for o in context.observations if o.tool == HAND_OVER}
    own = [
        Effect(call_id=f"{o.step}-{o.part}", leg_id=context.leg_id, tool=o.tool)
        for o in context.observations
        if o.outcome == "succeeded"
    ]
    return own + [
        Effect(call_id=fact.source, leg_id=context.leg_id, tool=fact.tool)
        for fact in context.facts
        if fact.side_effect and fact.source.rpartition(".")[0] in handed_over
    ]


def foreign_ids(summary: str, context: StepContext) -> tuple[str, ...]:
    """Return the ids of a summary that are in nothing that its leg was given: invented ids."""
    seen = [o for o in context.observations if o.tool != FINISH]
    given = [
        context.mission_goal,
        context.leg_goal,
        context.inputs,
        *([o.arguments, o.body, o.error, str(o.price or "")] for o in seen),
        *([f.title, f.arguments, f.body, str(f.price or "")] for f in context.facts),
    ]
    known = json.dumps(given, ensure_ascii=False, default=str).casefold()
    found = dict.fromkeys(match.group() for match in _ID.finditer(summary))
    claims = [one for one in found if len(one) >= _SHORTEST and one.casefold() not in known]
    # "EUR90" is a currency and a number of an answer, written as one word.
    kept = (c for c in claims if not _AMOUNT.fullmatch(c) or c.strip(ascii_uppercase) not in known)
    return tuple(one[:_LONGEST] for one in kept)[:_MOST]
