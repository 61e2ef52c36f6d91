"""A step of a planner: the decisions that one step carries out, and their maximum size.

The decision that changes least goes first, and all reads go together. The others are dropped, and
the planner learns why: it decides again with the new answers.
"""

import json
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
    Finish,
    GiveUp,
    HandOver,
    StepDecision,
    StepGoal,
)
from orchestrator.planning.planner import PlannedStep
from orchestrator.planning.trimming import cut_text

AFTER_READS: Final = (
    "what only reads was done first: with what it answers, do this if it is still wanted"
)
TWICE: Final = "the same call stands next to it, and is made once"
TOO_MANY: Final = f"at most {MOST_CALLS} calls are made at once: call it again if it is wanted"
LARGEST_DECISION: Final = 100_000
"""Maximum bytes of the JSON of a decision.

It is part of the messages of its step, and the server takes 2 MB in one."""
_LONGEST_TEXT: Final = 20_000
_LONGEST_QUERY: Final = 500


def calls_of(decision: StepDecision) -> tuple[CallTool, ...]:
    """Return the tool calls that a decision makes."""
    if isinstance(decision, CallTools):
        return decision.calls
    return (decision,) if isinstance(decision, CallTool) else ()


def done_first(
    wanted: Sequence[StepDecision], only_reads: Callable[[CallTool], bool]
) -> tuple[StepDecision, dict[int, str]]:
    """Return the decision that is carried out of one answer, and why each of the others is not.

    Args:
        wanted: single decisions, in the order of the answer; at least one.
        only_reads: returns True if a call can be made together with others.
    """
    ranks = [_rank(one, only_reads) for one in wanted]
    first = ranks.index(min(ranks))
    if ranks[first] == 0:
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
    why = _waits(wanted[first])
    return wanted[first], {at: why for at in range(len(wanted)) if at != first}


def _rank(wanted: StepDecision, only_reads: Callable[[CallTool], bool]) -> int:
    """Return how much it changes: reads least, then searches, questions, consequences, endings."""
    match wanted:
        case CallTool():
            return 0 if only_reads(wanted) else 3
        case DiscoverTools():
            return 1
        case AskUser():
            return 2
    return 4


def _together(calls: Sequence[CallTool]) -> StepDecision:
    return calls[0] if len(calls) == 1 else CallTools(calls=tuple(calls))


def _waits(done: StepDecision) -> str:
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
    """Return the report of dropped calls: the first ones, and the number of the rest."""
    if len(dropped) <= MOST_DROPPED:
        return tuple(dropped)
    kept = [*dropped[: MOST_DROPPED - 1]]
    rest = dropped[len(kept)]
    why = f"{rest.why}; {len(dropped) - len(kept) - 1} more were dropped"
    return (*kept, rest.model_copy(update={"why": why}))


def inside_wall(planned: PlannedStep, refusal: Callable[[CallTool], str | None]) -> PlannedStep:
    """Return a step without calls that its agent may not make; one call always stays.

    The arguments of a refused call were never checked, so they are not stored.
    """
    if not isinstance(planned.decision, CallTools):
        return planned
    calls = planned.decision.calls
    reasons = {at: why for at, call in enumerate(calls) if (why := refusal(call)) is not None}
    if len(reasons) == len(calls):
        del reasons[0]
    kept = [call for at, call in enumerate(calls) if at not in reasons]
    refused = tuple(
        Dropped(tool=calls[at].tool, why=why, is_refused=True) for at, why in reasons.items()
    )
    dropped = (*refused, *planned.dropped)
    return planned.model_copy(update={"decision": _together(kept), "dropped": dropped})


def within_size(planned: PlannedStep) -> tuple[PlannedStep, str | None]:
    """Return a step within the size limit, and why it is refused; None if it is not.

    Large arguments of dropped calls are left out.
    """
    decision, refusal = fitted(planned.decision)
    dropped = planned.dropped
    if len(json.dumps([one.model_dump(mode="json") for one in dropped])) > LARGEST_DECISION:
        dropped = tuple(_named(one) for one in dropped)
    return planned.model_copy(update={"decision": decision, "dropped": dropped}), refusal


def fitted(decision: StepDecision) -> tuple[StepDecision, str | None]:
    """Return the decision within the size limit, and why it is refused; None if it is not.

    A call or a question that is too large is not made, and its planner learns why; the final text
    of a leg is cut.
    """
    size = len(json.dumps(decision.model_dump(mode="json")))
    if size <= LARGEST_DECISION:
        return decision, None
    most = f"{size / 1000:,.0f} kB large, and at most {LARGEST_DECISION / 1000:,.0f} kB are sent"
    match decision:
        case CallTool(tool=tool):
            return CallTool(tool=tool[:_LONGEST_QUERY]), f"the call is {most}: use less, or parts"
        case CallTools(calls=several):
            first = several[0].tool[:_LONGEST_QUERY]
            return CallTool(tool=first), f"the calls are {most}: make fewer"
        case AskUser() | HandOver():
            return CallTool(tool=decision.kind), f"it is {most}: ask for less at once"
        case DiscoverTools(query=query):
            return DiscoverTools(query=cut_text(query, _LONGEST_QUERY)), None
        case StepGoal(step_id=step_id):
            return GiveUp(reason=f"step {step_id}: its goal with inputs is {most}"), None
        case Finish(outputs=outputs) if outputs:
            return GiveUp(reason=f"the outputs with the summary are {most}"), None
        case Finish(summary=summary):
            return Finish(summary=cut_text(summary, _LONGEST_TEXT)), None
        case GiveUp(reason=reason):
            return GiveUp(reason=cut_text(reason, _LONGEST_TEXT)), None


def _named(one: Dropped) -> Dropped:
    why = cut_text(one.why, _LONGEST_QUERY)
    return one.model_copy(update={"tool": one.tool[:_LONGEST_QUERY], "arguments": {}, "why": why})
