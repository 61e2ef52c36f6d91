"""A mission's timeline: a lane for each leg and for its rollback, as coordinates of a drawing."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final, Literal

from pydantic import Field

from orchestrator.core.record import Record
from orchestrator.messages.mission import MissionResult
from orchestrator.messages.open_waits import Waiting
from orchestrator.saga.obligation import ObligationState

WIDTH: Final = 960
_LEFT: Final = 170
LANE: Final = 34
_TOP: Final = 26
_MOST_LANES: Final = 40
_LABEL: Final = 22
_MISSION: Final = "mission"
"""The lane of the plan and of holds."""
MarkKind = Literal["step", "failed", "person", "cancelled"]
_MEANS: Final[dict[MarkKind, str]] = {
    "step": "a step",
    "failed": "a step that failed",
    "person": "a person decided",
    "cancelled": "an effect was cancelled",
}


class Mark(Record):
    """A moment in a lane."""

    at: datetime
    kind: MarkKind
    text: str
    x: float = 0


class Wait(Record):
    """A time in which a lane waits for a person or a model."""

    begun: datetime
    ended: datetime
    text: str
    x: float = 0
    width: float = 0


class Lane(Record):
    """A row of the drawing."""

    label: str
    y: int
    begin: float = Field(description="left end of its bar")
    width: float
    marks: tuple[Mark, ...]
    waits: tuple[Wait, ...] = ()


class Timeline(Record):
    """The drawing of a mission's timeline, and the same as a list for readers of text."""

    lanes: tuple[Lane, ...]
    height: int
    ticks: tuple[tuple[float, datetime], ...] = ()
    more: int = Field(default=0, description="lanes that are left out")
    legend: tuple[tuple[MarkKind, str], ...] = ()
    waits: bool = False
    """True if a lane shows a wait."""

    @property
    def events(self) -> list[tuple[str, datetime, str]]:
        """Every mark and wait in the order of time: its lane, its time, and what it is."""
        found = [(lane.label, mark.at, mark.text) for lane in self.lanes for mark in lane.marks]
        found += [
            (lane.label, wait.begun, f"begins to {wait.text}")
            for lane in self.lanes
            for wait in lane.waits
        ]
        return sorted(found, key=lambda one: one[1])


def timeline_of(result: MissionResult, waiting: Waiting, *, now: datetime) -> Timeline | None:
    """Return the timeline of a mission until now; None while nothing of it has a time."""
    waits = _waits_of(result, waiting, now)
    rows = [
        (name, sorted(marks, key=lambda one: one.at))
        for name, marks in _marks_of(result)
        if marks or name in waits
    ]
    if not rows:
        return None
    times = [mark.at for _, marks in rows for mark in marks]
    times += [at for found in waits.values() for wait in found for at in (wait.begun, wait.ended)]
    begin = min([*times, *filter(None, [result.started_at])])
    end = max([*times, *filter(None, [result.finished_at])])
    length = max(end - begin, timedelta(seconds=1))

    def x_of(at: datetime) -> float:
        return round(_LEFT + (at - begin) / length * (WIDTH - _LEFT - 20), 1)

    lanes = []
    for number, (name, marks) in enumerate(rows[:_MOST_LANES]):
        placed = [mark.model_copy(update={"x": x_of(mark.at)}) for mark in marks]
        drawn = []
        for wait in waits[name]:
            x = x_of(wait.begun)
            width = round(max(x_of(wait.ended) - x, 2), 1)
            drawn.append(wait.model_copy(update={"x": x, "width": width}))
        left = min([*(one.x for one in placed), *(one.x for one in drawn)])
        right = max([*(one.x for one in placed), *(one.x + one.width for one in drawn)])
        lanes.append(
            Lane(
                label=name if len(name) <= _LABEL else f"{name[: _LABEL - 1]}…",
                y=_TOP + number * LANE,
                begin=left - 6,
                width=round(right - left + 12, 1),
                marks=tuple(placed),
                waits=tuple(drawn),
            )
        )
    kinds = {mark.kind for lane in lanes for mark in lane.marks}
    moments = [begin + length * part for part in (0, 0.5, 1)]
    return Timeline(
        lanes=tuple(lanes),
        height=_TOP + len(lanes) * LANE + 4,
        ticks=tuple((x_of(at), at) for at in moments),
        more=len(rows) - len(lanes),
        legend=tuple((kind, text) for kind, text in _MEANS.items() if kind in kinds),
        waits=any(lane.waits for lane in lanes),
    )


def _marks_of(result: MissionResult) -> Iterator[tuple[str, list[Mark]]]:
    """Yield the marks of each lane: the mission's, those of its legs, and that of its rollback."""
    decided = [
        Mark(at=one.at, kind="person", text=f"plan {one.kind} by {one.approver or 'somebody'}")
        for one in result.plan_decisions
    ]
    holds = [Mark(at=one.at, kind="person", text=str(one)) for one in result.holds]
    yield _MISSION, [*decided, *holds]
    for leg in result.legs:
        marks = []
        for step in leg.steps:
            if step.at is not None:
                failed = step.outcome in ("rejected", "unknown", "failed") or bool(step.error)
                text = f"{step.did}: {step.outcome}"
                marks.append(Mark(at=step.at, kind="failed" if failed else "step", text=text))
        for decision in leg.decisions:
            by = f" by {decision.approver}" if decision.approver else ""
            reason = f": {decision.reason}" if decision.reason else ""
            text = f"{decision.kind}{by}{reason}"
            marks.append(Mark(at=decision.at, kind="person", text=text))
        yield leg.leg_id, marks
    kinds: dict[ObligationState, MarkKind] = {
        ObligationState.CANCELLED: "cancelled",
        ObligationState.PARKED: "failed",
        ObligationState.ACCEPTED: "failed",
    }
    settled = [
        Mark(at=one.settled_at, kind=kinds[one.state], text=f"{one.state}: {one.title or one.tool}")
        for one in result.ledger.obligations
        if one.settled_at is not None and one.rollback is not None and one.state in kinds
    ]
    if settled:
        yield "rollback", settled


def _waits_of(
    result: MissionResult, waiting: Waiting, now: datetime
) -> defaultdict[str, list[Wait]]:
    """Return the times for which each lane waited, or waits: for decisions, answers, models."""
    found: defaultdict[str, list[Wait]] = defaultdict(list)
    decided = [(_MISSION, one) for one in result.plan_decisions]
    decided += [(leg.leg_id, one) for leg in result.legs for one in leg.decisions]
    for lane, one in decided:
        if one.opened_at is not None and one.opened_at < one.at:
            found[lane].append(Wait(begun=one.opened_at, ended=one.at, text="wait for a decision"))
    going_on = [
        *((one.leg_id, one.opened_at, "wait for a decision") for one in waiting.cards),
        *((one.leg_id, one.asked_at, "wait for an answer") for one in waiting.questions),
        *((one.leg_id, one.since, "wait for a model") for one in waiting.pauses),
    ]
    for leg_id, begun, text in going_on:
        if begun is not None and begun < now:
            found[leg_id or _MISSION].append(Wait(begun=begun, ended=now, text=text))
    return found
