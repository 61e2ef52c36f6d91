"""The timeline: a lane for each leg, with its marks and its waits."""

from datetime import datetime, timedelta
from typing import Any, Final

from orchestrator.confirmation.models import DecisionRecord
from orchestrator.messages.leg import LegResult, LegStatus, Question
from orchestrator.messages.open_waits import Waiting
from orchestrator.web.pages.timeline import WIDTH, timeline_of
from tests.unit.web.pages import samples

NOON: Final = datetime.fromisoformat("2026-12-01T12:00:00+00:00")


def after(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def test_waits_are_bars_from_their_opening_to_their_end() -> None:
    """Of cards that were decided, and of what waits now; the list has them in words."""
    decided = DecisionRecord(
        confirmation_id="m.1-a.1",
        kind="approved",
        approver="ana@example.com",
        at=after(10),
        digest="d",
        opened_at=NOON,
    )
    a = LegResult(
        leg_id="1-a", agent="a", goal="g", status=LegStatus.SUCCEEDED, decisions=(decided,)
    )
    changes: dict[str, Any] = {"legs": (a,), "started_at": NOON, "finished_at": None}
    result = samples.RESULT.model_copy(update={**changes, "plan_decisions": (), "holds": ()})
    asked = Question(
        question_id="m:1",
        mission_id="m",
        leg_id="",
        question="When?",
        fields={},
        asked_at=after(10),
    )
    drawing = timeline_of(result, Waiting(questions=(asked,)), now=after(20))

    assert drawing is not None
    mission, leg = drawing.lanes[0], drawing.lanes[1]
    assert [one.text for one in leg.waits] == ["wait for a decision"]
    assert leg.waits[0].x + leg.waits[0].width == leg.marks[0].x
    assert [(one.begun, one.ended) for one in mission.waits] == [(after(10), after(20))]
    assert mission.waits[0].x + mission.waits[0].width <= WIDTH
    assert (mission.label, after(10), "begins to wait for an answer") in drawing.events
