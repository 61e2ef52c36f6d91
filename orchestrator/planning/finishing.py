"""The end of a leg: refused once while an order lacks its effect, or while nothing proves it."""

import json
import re
from string import ascii_uppercase
from typing import Final

from orchestrator.planning.models import ANSWER, FINISH, HAND_OVER, Finish, StepContext
from orchestrator.saga.orders import Effect, unserved

_NOT_ANSWERED: Final = frozenset({"rejected", "unknown", "refused", "invalid"})

_ID: Final = re.compile(
    r"(?<![\w@/.:-])(?=[\w-]*\d[\w-]*\d)(?=[\w-]*(?:[A-Z]|[a-z]+_))[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*\b"
)
_AMOUNT: Final = re.compile(r"[A-Z]{3}\d+|\d+[A-Z]{3}")
_SHORTEST, _LONGEST, _MOST = 5, 60, 5
"""Of an id, in characters; and of those that are shown."""


def doubt_about_finish(finish: Finish, context: StepContext) -> str | None:
    """Why a leg is not ended yet, though its planner says that it is; None when it is ended.

    Said once: a planner that has no more to do says so again, and the leg ends unproved.
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
    """Why the ending of a leg is its planner's word alone; empty: it is not.

    Orders that have their effects prove it; orders that their planner says not to hold do not.
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
    """Why a leg is not ended yet, of what it orders; None when all of it was done or excused."""
    if _was_refused(context):
        return None
    if blank := [one.when for one in finish.conditions if not one.read.strip()]:
        return f"say under `read` which value decides {blank[0]!r}"
    nothing = not (context.observations or context.facts or context.inputs)
    if nothing and any(not one.holds for one in finish.conditions):
        return f"nothing was read that decides {finish.conditions[0].when!r}: look it up first"
    missing = unserved(context.orders, _effects(context), finish.conditions)
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


def _effects(context: StepContext) -> list[Effect]:
    """The effects of the leg, and of the legs that it has handed parts of its goal to."""
    own = [
        Effect(call_id=f"{o.step}-{o.part}", leg_id=context.leg_id, tool=o.tool)
        for o in context.observations
        if o.outcome == "succeeded"
    ]
    return own + [
        Effect(call_id=fact.source, leg_id=context.leg_id, tool=fact.tool)
        for fact in context.facts
        if fact.side_effect and fact.source.rpartition(".")[0] in handed_over(context)
    ]


def handed_over(context: StepContext) -> set[str]:
    """The ids of the legs that a leg has handed parts of its goal to."""
    return {str(o.arguments.get("leg")) for o in context.observations if o.tool == HAND_OVER}


def unheld_ids(summary: str, context: StepContext) -> tuple[str, ...]:
    """The ids of a summary that stand in nothing which its leg was given: they were made up."""
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
    return tuple(one[:_LONGEST] for one in claims if not _is_amount(one, known))[:_MOST]


def _is_amount(text: str, known: str) -> bool:
    """True for a currency and a number that an answer holds, written as one word."""
    return bool(_AMOUNT.fullmatch(text)) and text.strip(ascii_uppercase) in known
