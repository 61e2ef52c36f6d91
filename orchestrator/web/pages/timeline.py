"""A mission's timeline: a lane for each leg and for its rollback, as coordinates of a drawing."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final, Literal

from pydantic import Field

from orchestrator.core.record import Record
from orchestrator.messages.leg import LegResult
from orchestrator.messages.mission import MissionResult
from orchestrator.messages.open_waits import Waiting
from orchestrator.saga.obligation import Obligation, ObligationState

WIDTH: Final = 960
_LEFT: Final = 170
_RIGHT: Final = 20
LANE: Final = 34
_TOP: Final = 26
_MOST_LANES: Final = 40
_LONGEST_LABEL: Final = 22
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
    """Return the timeline of a mission; None while nothing of it has a time.

    Args:
        result: the mission as it is.
        waiting: what it waits for.
        now: the end of a wait that goes on.
    """
    waits = _waits_of(result, waiting, now)
    rows = [(leg.leg_id, _sorted(_marks_of(leg))) for leg in result.legs]
    plan = [
        Mark(at=one.at, kind="person", text=f"plan {one.kind} by {one.approver or 'somebody'}")
        for one in result.plan_decisions
    ]
    holds = [Mark(at=one.at, kind="person", text=str(one)) for one in result.holds]
    if plan or holds or _MISSION in waits:
        rows.insert(0, (_MISSION, _sorted(iter([*plan, *holds]))))
    cancelled = _sorted(_cancels(result.ledger.obligations))
    if cancelled:
        rows.append(("rollback", cancelled))
    rows = [(label, marks) for label, marks in rows if marks or label in waits]
    if not rows:
        return None
    times = [mark.at for _, marks in rows for mark in marks]
    times += [at for found in waits.values() for wait in found for at in (wait.begun, wait.ended)]
    begin = min([*times, *filter(None, [result.started_at])])
    end = max([*times, *filter(None, [result.finished_at])])
    scale = _Scale(begin, max(end - begin, timedelta(seconds=1)))
    shown = rows[:_MOST_LANES]
    lanes = tuple(
        _lane(label, marks, waits[label], n, scale) for n, (label, marks) in enumerate(shown)
    )
    kinds = {mark.kind for lane in lanes for mark in lane.marks}
    return Timeline(
        lanes=lanes,
        height=_TOP + len(lanes) * LANE + 4,
        ticks=tuple(
            (scale.x(begin + scale.length * part), begin + scale.length * part)
            for part in (0, 0.5, 1)
        ),
        more=len(rows) - len(shown),
        legend=tuple((kind, text) for kind, text in _MEANS.items() if kind in kinds),
        waits=any(lane.waits for lane in lanes),
    )


class _Scale:
    """Places moments on the drawing."""

    def __init__(self, begin: datetime, length: timedelta) -> None:
        self.begin = begin
        self.length = length

    def x(self, at: datetime) -> float:
        share = (at - self.begin) / self.length
        return round(_LEFT + share * (WIDTH - _LEFT - _RIGHT), 1)


def _lane(label: str, marks: list[Mark], waits: list[Wait], number: int, scale: _Scale) -> Lane:
    placed = tuple(mark.model_copy(update={"x": scale.x(mark.at)}) for mark in marks)
    drawn = tuple(
        wait.model_copy(
            update={
                "x": scale.x(wait.begun),
                "width": round(max(scale.x(wait.ended) - scale.x(wait.begun), 2), 1),
            }
        )
        for wait in waits
    )
    begin = min([*(mark.x for mark in placed), *(wait.x for wait in drawn)])
    end = max([*(mark.x for mark in placed), *(wait.x + wait.width for wait in drawn)])
    short = label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 1]}…"
    return Lane(
        label=short,
        y=_TOP + number * LANE,
        begin=begin - 6,
        width=round(end - begin + 12, 1),
        marks=placed,
        waits=drawn,
    )


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


def _marks_of(leg: LegResult) -> Iterator[Mark]:
    for step in leg.steps:
        if step.at is not None:
            failed = step.outcome in ("rejected", "unknown", "failed") or bool(step.error)
            text = f"{step.did}: {step.outcome}"
            yield Mark(at=step.at, kind="failed" if failed else "step", text=text)
    for decision in leg.decisions:
        by = f" by {decision.approver}" if decision.approver else ""
        reason = f": {decision.reason}" if decision.reason else ""
        yield Mark(at=decision.at, kind="person", text=f"{decision.kind}{by}{reason}")


def _cancels(obligations: tuple[Obligation, ...]) -> Iterator[Mark]:
    for one in obligations:
        if one.settled_at is None or one.rollback is None:
            continue
        if one.state is ObligationState.CANCELLED:
            text = f"cancelled: {one.title or one.tool}"
            yield Mark(at=one.settled_at, kind="cancelled", text=text)
        elif one.state in (ObligationState.PARKED, ObligationState.ACCEPTED):
            text = f"{one.state}: {one.title or one.tool}"
            yield Mark(at=one.settled_at, kind="failed", text=text)


def _sorted(marks: Iterator[Mark]) -> list[Mark]:
    return sorted(marks, key=lambda mark: mark.at)
