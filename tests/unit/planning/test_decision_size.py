"""A decision that is too large is refused or cut: it is never what keeps a leg from going on."""

from __future__ import annotations

import pytest

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
from orchestrator.planning.one_step import LARGEST_DECISION, fitted, within_size
from orchestrator.planning.planner import PlannedStep

LARGE = "é" * LARGEST_DECISION


@pytest.mark.parametrize(
    "decision",
    [
        CallTool(tool="send", arguments={"text": LARGE}),
        CallTool(tool="send", reason=LARGE),
        CallTool(tool=LARGE),
        CallTools(calls=(CallTool(tool="look"), CallTool(tool="look", arguments={"q": LARGE}))),
        AskUser(question=LARGE, fields={}),
        AskUser(question="which?", fields={LARGE: {}}),
        HandOver(agent="b", goal=LARGE),
        DiscoverTools(query=LARGE),
        Finish(summary=LARGE),
        GiveUp(reason=LARGE),
    ],
)
def test_what_does_not_fit_is_cut_or_refused(decision: StepDecision) -> None:
    """A call or a question is refused, and the leg ends in fewer words; what fits stays."""
    large = CallTool(tool="send", arguments={"text": "x" * 50_000})
    assert fitted(large) == (large, None)
    kept, refusal = fitted(decision)

    assert len(kept.model_dump_json().encode()) < LARGEST_DECISION
    if isinstance(decision, CallTool | CallTools | AskUser | HandOver):
        assert isinstance(kept, CallTool)
        assert refusal is not None
        assert "at most 100 kB" in refusal
    else:
        assert (type(kept), refusal) == (type(decision), None)


def test_what_is_dropped_keeps_its_name() -> None:
    """The planner is told what was not done, if not with what arguments."""
    dropped = Dropped(tool="send", arguments={"text": LARGE}, why="one at a time")

    planned, refusal = within_size(PlannedStep(decision=Finish(summary="x"), dropped=(dropped,)))

    assert refusal is None
    assert planned.dropped == (Dropped(tool="send", why="one at a time"),)
