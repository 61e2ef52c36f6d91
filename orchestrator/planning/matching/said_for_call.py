"""What was said for one call: the part of a goal that it serves, and the things said there."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.language.anaphora import reference_in
from orchestrator.language.clauses import split_clauses
from orchestrator.language.intent import Slot
from orchestrator.language.provisos import conditions_in
from orchestrator.language.slots import find_slots
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import tokens
from orchestrator.planning.matching.taken import TakenCall
from orchestrator.saga.served import Order

_RULED_OUT: Final = WordLists("matching").word_set("ruled_out")
_NEAR: Final = 3
"""Words before a name in which it may be ruled out."""


@dataclass(frozen=True)
class SaidThing:
    """One thing that was said, in its clause."""

    slot: Slot
    clause: str
    is_ruled_out: bool = False
    """Whether it must not be that: "not the Hilton"."""


def things_said(call: TakenCall) -> list[list[SaidThing]]:
    """What was said for a call: of each clause that it may serve, the things in it.

    What a person said since, who wanted something else, stands in the place of what is of the same
    kind in the goal.
    """
    newest = call.hints[-1] if call.hints else ""
    hinted = [*_read(newest, call)]
    kinds: set[str] = {thing.slot.kind for thing in hinted}
    if kinds & _NAMING:
        kinds |= _NAMING
    read = [[t for t in _read(clause, call) if t.slot.kind not in kinds] for clause in _own(call)]
    return [[*things, *hinted] for things in read or [[]]]


_NAMING: Final = frozenset({"place", "name", "quoted", "identifier"})
"""Kinds that a name may be read as: who says another one may mean any of them."""


def _own(call: TakenCall) -> list[str]:
    """The clauses of the leg's goal that a call may serve, each with what leads up to it."""
    clauses = split_clauses(call.clause)
    if len(clauses) < 2:
        return [call.clause]
    ordered = {c: [o for o in call.orders if c in o.clause or o.clause in c] for c in clauses}
    mine = [c for c in clauses if any(call.tool.name in o.tools for o in ordered[c])]
    if not mine:
        mine = [c for c in clauses if not ordered[c]]
    return [*_led_up_to(mine, clauses, ordered)] or [call.clause]


def _led_up_to(
    mine: Sequence[str], clauses: Sequence[str], ordered: dict[str, list[Order]]
) -> Iterator[str]:
    """A clause that points back, with the reading one before it: "find a table and book it"."""
    for clause in mine:
        place = clauses.index(clause)
        before = clauses[place - 1] if place else ""
        if before and not ordered[before] and reference_in(clause):
            yield f"{before}. {clause}"
        else:
            yield clause


def _read(text: str, call: TakenCall) -> Iterator[SaidThing]:
    for condition in conditions_in(text):
        text = text.replace(condition, " ")
    for slot in find_slots(text, now=call.now):
        before = tokens(text[: slot.position])[-_NEAR:]
        yield SaidThing(slot, text, bool(_RULED_OUT & set(before)))
