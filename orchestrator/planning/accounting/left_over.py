"""Doubts about what nothing of a plan takes up, each with what would be done instead."""

import re
from typing import Final, Literal

from orchestrator.language.clause_reading import ClauseReading
from orchestrator.planning.accounting.paths import Path
from orchestrator.planning.accounting.things_said import OF_OTHERS, Said
from orchestrator.planning.models import Doubt

_INTRODUCED: Final = re.compile(
    r"(?:\b(?:with|without|near|by|for|from|to|in|at|on|of|about|under|over|before|after|and)\s+)?"
    r"(?:\b(?:a|an|the|my|our|some)\s+)?$",
    re.IGNORECASE,
)
_COUNTED: Final = re.compile(r"\s+[\w-]+")
_INSTEAD: Final = {
    "verb": "no tool for this order is known by that verb; {done} would be done",
    "count": "nothing takes this number; {done} would be done as if it had not been said",
    "negation": "nothing takes up what is not wanted; {done} would be done all the same",
    "condition": "no tool tells whether this is so; {done} would be done without knowing",
}
_WHOSE: Final = "nothing here tells whose that is; {done} would be done all the same"
_WHY: Final = {
    "no tool": "no tool does this; the rest of the goal would be done without it",
    "no leg": "no leg of the plan takes this up; the rest of the goal would be done without it",
    "forbidden": "it may forbid something that the plan does; that would be done all the same",
}


def doubt_about(said: Said, clause: ClauseReading, path: Path) -> Doubt:
    """The doubt about a thing that is said and left over."""
    before = _INTRODUCED.search(clause.text[: said.position])
    start = before.start() if before else said.position
    done = repr(path.targets[0].title) if path.targets else "the rest"
    why = _INSTEAD.get(said.kind, "nothing takes this up; {done} would be done without it")
    why = _WHOSE if said.hint == OF_OTHERS else why
    end = said.end
    if (
        isinstance(said.value, str)
        and said.kind == "count"
        and (noun := _COUNTED.match(clause.text, end))
    ):
        end = noun.end()
    about = clause.text[start:end].strip(" ,;.")
    return Doubt(kind="not_understood", about=about, why=why.format(done=done))


def doubt_about_clause(clause: str, what: Literal["no tool", "no leg", "forbidden"]) -> Doubt:
    """The doubt about a whole clause."""
    return Doubt(kind="not_understood", about=clause, why=_WHY[what])


def doubt_about_correction(said: str) -> Doubt:
    """The doubt about words that take something back, where nothing tells what."""
    why = "this may take something back, and what was not understood; nothing would be taken back"
    return Doubt(kind="not_understood", about=said, why=why)
