"""Whether a planner may end a leg: what was ordered is to be done first, or left knowingly.

A leg that orders nothing is there to tell something: that is to be read first.
"""

from collections.abc import Iterable
from typing import Final

from orchestrator.planning.left_of_all import left_of_all
from orchestrator.planning.models import ANSWER, FINISH, HAND_OVER, StepContext
from orchestrator.saga.served import Effected, unserved

_NOT_ANSWERED: Final = frozenset({"rejected", "unknown", "refused", "invalid"})


def doubt_about_finish(context: StepContext) -> str | None:
    """Why a leg is not ended yet, though its planner says that it is; None when it is ended.

    Said once: a planner that has no more to do says so again, and the leg ends unproved.
    """
    if (doubt := doubt_about_orders(context)) is not None or _is_told(context):
        return doubt
    if not (why := nothing_read(context)):
        return None
    return (
        f"{why}, so that nothing proves what you would say. Look it up, ask the user, or give up; "
        "finishing again ends the mission as incomplete"
    )


def nothing_read(context: StepContext) -> str:
    """Why the ending of a leg that orders nothing is its planner's word alone; empty: it is not.

    A leg that decides a condition is held against what it found, or a person is asked.
    """
    answered = any(seen.outcome == "succeeded" for seen in context.observations)
    if answered or context.facts or context.orders or context.decides:
        return ""
    tried = dict.fromkeys(o.tool for o in context.observations if o.outcome in _NOT_ANSWERED)
    names = ", ".join(name for name in tried if name not in (FINISH, ANSWER))
    return f"nothing was answered by {names}" if names else "nothing was looked up"


def doubt_about_orders(context: StepContext) -> str | None:
    """Why a leg is not ended yet, of what its goal orders; None when all of it was done."""
    if _is_told(context):
        return None
    done = [seen for seen in context.observations if seen.outcome == "succeeded"]
    effects = {
        f"{seen.step}-{seen.part}": Effected.of(seen.tool, context.leg_id, seen.arguments)
        for seen in done
    }
    effects |= _by_others(context)
    missing = [order.clause for order in unserved(context.orders, effects) if order.tools]
    if not missing and (left := left_of_all(context)):
        return (
            f"all were ordered, and of what was found these are left: {_quoted(left)}. Do them "
            "too, or finish again: the user is asked then whether they are to be left"
        )
    if not missing:
        return None
    return (
        f"no call of this leg did what was ordered: {_quoted(missing)}. Do it, ask "
        "the user, or give up; finishing again ends the mission as incomplete"
    )


def _is_told(context: StepContext) -> bool:
    return any(seen.tool == FINISH for seen in context.observations)


def _quoted(texts: Iterable[str]) -> str:
    """In quotes: what was found is in a provider's words, which are none of ours."""
    return "; ".join(map(repr, texts))


def _by_others(context: StepContext) -> dict[str, Effected]:
    """The effects of the legs that this one has handed parts of its goal to."""
    handed = {str(o.arguments.get("leg")) for o in context.observations if o.tool == HAND_OVER}
    return {
        fact.source: Effected.of(fact.tool, context.leg_id, fact.arguments)
        for fact in context.facts
        if fact.side_effect and fact.source.rpartition(".")[0] in handed
    }
