"""Calls side by side: which of the things that a planner wants at once are done, and what waits.

What changes least goes first, and all of it that only reads goes together. The rest is dropped, and
the planner is told: what it wants next it then decides with what was read.
"""

from collections.abc import Callable, Sequence
from typing import Final

from orchestrator.planning.models import (
    MOST_CALLS,
    MOST_DROPPED,
    AskUser,
    CallTool,
    CallTools,
    DiscoverTools,
    Dropped,
    StepDecision,
)
from orchestrator.planning.planner import PlannedStep

AFTER_READS: Final = (
    "what only reads was done first: with what it answers, do this if it is still wanted"
)
TWICE: Final = "the same call stands beside it, and is made once"
TOO_MANY: Final = f"at most {MOST_CALLS} calls are made at once: call it again if it is wanted"


def calls_of(decision: StepDecision) -> tuple[CallTool, ...]:
    """The calls of tools that a decision makes."""
    if isinstance(decision, CallTools):
        return decision.calls
    return (decision,) if isinstance(decision, CallTool) else ()


def chosen(
    wanted: Sequence[StepDecision], only_reads: Callable[[CallTool], bool]
) -> tuple[StepDecision, dict[int, str]]:
    """What is done of the things that one answer wants, and why each of the others is not.

    Args:
        wanted: single decisions, in the order of the answer; at least one.
        only_reads: whether a call can be made beside others.
    """
    ranks = [_rank(one, only_reads) for one in wanted]
    first = ranks.index(min(ranks))
    if ranks[first] == 0:
        return _reads(wanted, ranks)
    why = _waits(wanted[first])
    return wanted[first], {at: why for at in range(len(wanted)) if at != first}


def _rank(wanted: StepDecision, only_reads: Callable[[CallTool], bool]) -> int:
    """How much it changes: reads least, then searches, questions, consequences; endings most."""
    match wanted:
        case CallTool():
            return 0 if only_reads(wanted) else 3
        case DiscoverTools():
            return 1
        case AskUser():
            return 2
    return 4


def _reads(
    wanted: Sequence[StepDecision], ranks: Sequence[int]
) -> tuple[StepDecision, dict[int, str]]:
    made: list[CallTool] = []
    dropped: dict[int, str] = {}
    for at, (one, rank) in enumerate(zip(wanted, ranks, strict=True)):
        if rank != 0 or not isinstance(one, CallTool):
            dropped[at] = AFTER_READS
        elif any((one.tool, one.arguments) == (other.tool, other.arguments) for other in made):
            dropped[at] = TWICE
        elif len(made) == MOST_CALLS:
            dropped[at] = TOO_MANY
        else:
            made.append(one)
    return _together(made), dropped


def _together(calls: Sequence[CallTool]) -> StepDecision:
    return calls[0] if len(calls) == 1 else CallTools(calls=tuple(calls))


def _waits(done: StepDecision) -> str:
    """Why nothing else is done in the same step."""
    match done:
        case CallTool(tool=tool):
            what = f"{tool} goes alone, for it does more than read"
        case DiscoverTools():
            what = "the search for tools was done first"
        case AskUser():
            what = "the user was asked first"
        case _:
            what = "one step has one ending"
    return f"{what}: with what came of it, do this if it is still wanted"


def bounded(dropped: Sequence[Dropped]) -> tuple[Dropped, ...]:
    """What is told of all that was dropped: the first each on its own, the rest by their number."""
    if len(dropped) <= MOST_DROPPED:
        return tuple(dropped)
    kept = [*dropped[: MOST_DROPPED - 1]]
    rest = dropped[len(kept)]
    why = f"{rest.why}; {len(dropped) - len(kept) - 1} more were dropped"
    return (*kept, rest.model_copy(update={"why": why}))


def inside_wall(planned: PlannedStep, refusal: Callable[[CallTool], str | None]) -> PlannedStep:
    """A step of several calls without those that its agent may not make; one stays at least.

    What was to go with a call that is refused was checked by nobody, and is not kept.
    """
    if not isinstance(planned.decision, CallTools):
        return planned
    reasons = [refusal(call) for call in planned.decision.calls]
    if None not in reasons:
        reasons[0] = None
    pairs = list(zip(planned.decision.calls, reasons, strict=True))
    kept = [call for call, reason in pairs if reason is None]
    refused = tuple(
        Dropped(tool=call.tool, why=reason, is_refused=True)
        for call, reason in pairs
        if reason is not None
    )
    dropped = (*refused, *planned.dropped)
    return planned.model_copy(update={"decision": _together(kept), "dropped": dropped})
