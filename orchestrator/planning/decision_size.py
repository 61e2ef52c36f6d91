"""How large a decision may be: it travels with the messages of its step, several times."""

import json
from typing import Final

from orchestrator.planning.models import (
    AskUser,
    CallTool,
    CallTools,
    DiscoverTools,
    Dropped,
    Finish,
    GiveUp,
    HandOver,
    StepDecision,
)
from orchestrator.planning.planner import PlannedStep
from orchestrator.planning.trimming import cut_text

LARGEST_DECISION: Final = 100_000
"""Bytes of its JSON. The server takes 2 MB in a message."""
_LONGEST_TEXT: Final = 20_000
_LONGEST_QUERY: Final = 500


def within_size(planned: PlannedStep) -> tuple[PlannedStep, str | None]:
    """The same of a step that was planned; of what it drops, large arguments are left out."""
    decision, refusal = fitted(planned.decision)
    dropped = planned.dropped
    if len(json.dumps([one.model_dump(mode="json") for one in dropped])) > LARGEST_DECISION:
        dropped = tuple(_named(one) for one in dropped)
    return planned.model_copy(update={"decision": decision, "dropped": dropped}), refusal


def fitted(decision: StepDecision) -> tuple[StepDecision, str | None]:
    """The decision as it can be kept, and why it is refused; None: it is not.

    A call or a question that is too large is not made, and its planner is told; the last words of
    a leg are cut.
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
        case Finish(summary=summary):
            return Finish(summary=cut_text(summary, _LONGEST_TEXT)), None
        case GiveUp(reason=reason):
            return GiveUp(reason=cut_text(reason, _LONGEST_TEXT)), None


def _named(one: Dropped) -> Dropped:
    why = cut_text(one.why, _LONGEST_QUERY)
    return one.model_copy(update={"tool": one.tool[:_LONGEST_QUERY], "arguments": {}, "why": why})
