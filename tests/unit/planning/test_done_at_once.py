"""What a planner wants at once, what of it is done, and how large a decision may be."""

from __future__ import annotations

from typing import Final

import pytest
from pydantic import ValidationError

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
)
from orchestrator.planning.one_step import (
    AFTER_READS,
    LARGEST_DECISION,
    TOO_MANY,
    TWICE,
    bounded,
    calls_of,
    done_first,
    fitted,
    inside_wall,
    within_size,
)
from orchestrator.planning.planner import PlannedStep

A: Final = CallTool(tool="read_a")
B: Final = CallTool(tool="read_b", arguments={"x": 1})
BOOK: Final = CallTool(tool="book_room")
BUY: Final = CallTool(tool="buy_ticket")
FIND: Final = DiscoverTools(query="rooms")
ASK: Final = AskUser(question="Where?", fields={"city": {"type": "string"}})
END: Final = Finish(summary="Done.")


def _only_reads(call: CallTool) -> bool:
    return call.tool.startswith("read")


@pytest.mark.parametrize(
    ("wanted", "decision", "dropped"),
    [
        ([A], A, []),
        ([BOOK], BOOK, []),
        ([A, B], CallTools(calls=(A, B)), []),
        ([B, A, FIND], CallTools(calls=(B, A)), [2]),
        ([BOOK, A, BUY, B], CallTools(calls=(A, B)), [0, 2]),
        ([BOOK, A], A, [0]),
        ([A, A], A, [1]),
        ([BOOK, BUY], BOOK, [1]),
        ([BOOK, ASK], ASK, [0]),
        ([BOOK, FIND, ASK], FIND, [0, 2]),
        ([END, BOOK], BOOK, [0]),
        ([END, GiveUp(reason="full")], END, [1]),
    ],
)
def test_what_changes_least_is_done_and_the_rest_dropped(
    wanted: list[StepDecision], decision: StepDecision, dropped: list[int]
) -> None:
    """All that only reads goes together; anything else goes alone, and one of them only."""
    assert done_first(wanted, _only_reads)[0] == decision
    assert sorted(done_first(wanted, _only_reads)[1]) == dropped


def test_each_that_is_dropped_has_its_reason() -> None:
    """In words for the model."""
    several = [CallTool(tool="read_a", arguments={"n": n}) for n in range(MOST_CALLS)]
    _, why = done_first([*several, several[0], CallTool(tool="read_z"), BOOK], _only_reads)

    assert why == {MOST_CALLS: TWICE, MOST_CALLS + 1: TOO_MANY, MOST_CALLS + 2: AFTER_READS}
    assert "book_room goes alone" in done_first([BOOK, BUY], _only_reads)[1][1]


def test_calls_at_once_are_several_and_not_many() -> None:
    """One is a single call."""
    with pytest.raises(ValidationError):
        CallTools(calls=(A,))
    with pytest.raises(ValidationError):
        CallTools(calls=(A,) * (MOST_CALLS + 1))
    assert calls_of(CallTools(calls=(A, B))) == (A, B)
    assert calls_of(BOOK) == (BOOK,)
    assert calls_of(END) == ()


def test_a_flood_of_calls_is_told_in_a_bounded_way() -> None:
    """The last that is told says how many are not."""
    flood = [Dropped(tool=f"t{n}", why="why") for n in range(100)]

    told = bounded(flood)
    assert len(told) == MOST_DROPPED
    assert told[-1].why == f"why; {100 - MOST_DROPPED} more were dropped"
    assert bounded(flood[:3]) == tuple(flood[:3])


def test_calls_outside_the_wall_are_taken_out_of_several() -> None:
    """Without their arguments; when all are outside, the first is left to be refused."""
    planned = PlannedStep(decision=CallTools(calls=(A, B)))

    kept = inside_wall(planned, lambda call: "not yours" if call == B else None)
    assert kept.decision == A
    assert kept.dropped == (Dropped(tool="read_b", why="not yours", is_refused=True),)
    assert inside_wall(planned, lambda call: None) == planned
    none = inside_wall(planned, lambda call: "not yours")
    assert (none.decision, [one.tool for one in none.dropped]) == (A, ["read_b"])


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
