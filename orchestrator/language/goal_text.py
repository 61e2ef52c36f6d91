"""A goal as written: its requests, and apart from them its conditions and remarks.

What is left when these are taken out is a goal of its own, which the router reads; where each
condition governs it is kept by position.
"""

from dataclasses import dataclass
from typing import Literal

SubclauseKind = Literal["condition", "so", "awaited", "instead"]


@dataclass(frozen=True, slots=True)
class Subclause:
    """What a goal says of when something is to be done.

    `told` is what it says without the word that begins it; `so` goes by the request before it,
    and `instead` is of what is to be done where the request before it cannot be.
    """

    kind: SubclauseKind
    text: str
    told: str = ""
    is_unless: bool = False


@dataclass(frozen=True, slots=True)
class Governed:
    """A stretch of the requests that a subclause governs; `as_said` is False in the opposite case.

    One that follows its request has a stretch of no length, where that request ends.
    """

    subclause: Subclause
    start: int
    end: int
    as_said: bool = True


@dataclass(frozen=True, slots=True)
class Remark:
    """A part of the goal that states something; `at` is where it stood among the requests."""

    text: str
    at: int


@dataclass(frozen=True, slots=True)
class GoalText:
    """A goal, read by its words alone: `requests` is the goal without what asks for nothing."""

    requests: str
    governed: tuple[Governed, ...] = ()
    remarks: tuple[Remark, ...] = ()


@dataclass(frozen=True, slots=True)
class Cut:
    """A part of a goal that is left out, and what stands in its place."""

    start: int
    end: int
    put: str = ""


def without(goal: str, cuts: list[Cut]) -> tuple[str, "list[tuple[int, int]]"]:
    """The goal without its cuts, and for each kept stretch where it started and starts."""
    kept: list[str] = []
    places: list[tuple[int, int]] = [(0, 0)]
    at = length = 0
    for cut in sorted(cuts, key=lambda one: (one.start, one.end)):
        piece = goal[at : max(at, cut.start)] + cut.put
        kept.append(piece)
        length += len(piece)
        at = max(at, cut.end)
        places.append((at, length))
    return "".join([*kept, goal[at:]]), places


def moved(position: int, places: "list[tuple[int, int]]", length: int) -> int:
    """Where a position of the goal is in what is left of it."""
    start, starts = [place for place in places if place[0] <= position][-1]
    later = min((to for frm, to in places if frm > position), default=length)
    return min(starts + position - start, later)
