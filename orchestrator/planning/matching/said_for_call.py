"""What was said for one call: the part of a goal that it serves, and the things said there."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from orchestrator.language.anaphora import reference_in
from orchestrator.language.bounds import limit_of
from orchestrator.language.clause_reading import read_clause
from orchestrator.language.clauses import split_clauses
from orchestrator.language.coordination import coordinated
from orchestrator.language.corrections import corrected
from orchestrator.language.ellipsis import written_in
from orchestrator.language.said import is_within, told_thing_spans
from orchestrator.language.slots import find_slots
from orchestrator.language.words import content_stems, tokens
from orchestrator.planning.accounting.things_said import Said, things_said
from orchestrator.planning.matching.taken import TakenCall
from orchestrator.planning.matching.value_forms import folded
from orchestrator.planning.models import MentionKind
from orchestrator.planning.named_documents import documents_named, without_documents
from orchestrator.saga.served import Order

_CARRIED: Final = 2
"""Words that a clause may take from the one before: "book", "I want"."""
_ALIKE: Final = 0.5
"""Share of a clause's words that a leg's goal holds which says it in other words."""
NAMING: Final = frozenset[MentionKind](
    {"place", "name", "identifier", "addressee", "remark", "thing", "quality"}
)
"""Kinds that a name may be read as: who says another one may mean any of them."""
_JOINT: Final = re.compile(
    r"\s*(?:,\s*(?:(?:and|or)\s+)?|(?:and|or|as\s+well\s+as|&)\s+)\s*(?:(?<=or\s)(?:an?|the)\s+)?",
    re.IGNORECASE,
)
"""What stands between two members of one list."""
_ENDS: Final = re.compile(r"[,;.!?&\n]|\b(?:and|or|but|then|plus|as\s+well)\b", re.IGNORECASE)
_CALLED: Final = frozenset[MentionKind]({"place", "name", "addressee"})
"""Kinds of which a list may mix two: the second of "in Rome & Oslo" has no preposition."""
_DESCRIBING: Final = frozenset[MentionKind]({"thing", "quality"})
_TOLD: Final = NAMING | {"date", "time", "duration", "amount", "count", "negation"}


@dataclass(frozen=True)
class SaidThing:
    """One thing that was said, in its clause."""

    said: Said
    clause: str


def said_for(call: TakenCall) -> list[list[SaidThing]]:
    """What was said for a call: of each clause that it may serve, the things in it.

    What a person said since, who wanted something else, stands in the place of what is of the same
    kind in the goal.
    """
    hinted = [*_things(call.hints[-1], call)] if call.hints else []
    kinds = {thing.said.kind for thing in hinted}
    if kinds & NAMING:
        kinds |= NAMING
    read = [[*_things(clause, call)] for clause in _own(call)]
    read = [[*things, *_in_other_words(things, call)] for things in read]
    kept = [[t for t in things if t.said.kind not in kinds] for things in read]
    goal = _Goal(call)
    return [[*map(goal.read, filter(goal.says, things)), *hinted] for things in kept or [[]]]


class _Goal:
    """What the mission's goal says, in which a leg's goal may put words of its own."""

    def __init__(self, call: TakenCall) -> None:
        goal = corrected(call.goal).text
        self._text = folded(f"{call.goal} {goal}").casefold()
        self._said = things_said(goal, now=call.now)

    def says(self, thing: SaidThing) -> bool:
        """Whether a person said it; what a planner adds to the goal of a leg, nobody did."""
        if not self._text.strip():
            return True
        values = (said.value for said in self._said)
        return folded(thing.said.text).casefold() in self._text or thing.said.value in values

    def read(self, thing: SaidThing) -> SaidThing:
        """A thing as it reads in all that was said: "the day before" is before another day."""
        said = thing.said
        alike = [s for s in self._said if (s.kind, s.text) == (said.kind, said.text)]
        if len(alike) != 1 or alike[0].value is None:
            return thing
        return replace(thing, said=replace(said, value=alike[0].value))


def _own(call: TakenCall) -> list[str]:
    """The clauses that a call may serve, each with what leads up to it."""
    clauses, goal = split_clauses(call.clause), corrected(call.goal).text
    goal = without_documents(goal, documents_named(goal, [call.tool]))
    ordered = {c: [o for o in call.orders if c in o.clause or o.clause in c] for c in clauses}
    mine = [c for c in clauses if any(call.tool.name in o.tools for o in ordered[c])]
    if len(clauses) > 1 and not mine:
        mine = [c for c in clauses if not ordered[c]]
    own = [*_led_up_to(mine, clauses, ordered)] if len(clauses) > 1 else []
    return own or [_with_the_rest(call.clause, goal) if call.clause in goal else call.clause]


def _led_up_to(
    mine: Sequence[str], clauses: Sequence[str], ordered: Mapping[str, Sequence[Order]]
) -> Iterator[str]:
    """A clause that points back, with the reading one before it: "find a table and book it"."""
    for clause in mine:
        place = clauses.index(clause)
        before = clauses[place - 1] if place else ""
        if before and not ordered[before] and reference_in(clause):
            yield f"{before}. {clause}"
        else:
            yield clause


def _in_other_words(own: Sequence[SaidThing], call: TakenCall) -> list[SaidThing]:
    """What the goal says and a leg's goal in other words does not, of kinds that it leaves out.

    "Pay what is due" for "pay the invoice of Acme" has lost whose; "reserve one in Porto", after
    one in Rome, has a place of its own.
    """
    goal = corrected(call.goal).text
    start, end = written_in(call.clause, goal)
    if len(tokens(call.clause)) - len(tokens(goal[start:end])) <= _CARRIED:
        return []
    stems = {*content_stems(call.clause)}
    clauses = [(clause, {*content_stems(clause)}) for clause in split_clauses(goal)]
    alike = [c for c, said in clauses if said and len(said & stems) >= _ALIKE * len(said)]
    alike = [c for c in alike if not _is_one_of(call.clause, c)]
    kinds = {_group(thing) for thing in own}
    return [t for c in alike[:1] for t in _things(c, call) if _group(t) not in kinds]


def _is_one_of(clause: str, joint: str) -> bool:
    """Whether a clause is one of those that another one joins."""
    found = coordinated(joint)
    return found is not None and clause in found.clauses


def _group(thing: SaidThing) -> str:
    """Its kind; all that names something is one."""
    kind = thing.said.kind
    return "name" if kind in _CALLED | {"identifier"} else kind


def _with_the_rest(clause: str, goal: str) -> str:
    """A clause as it goes on in the goal, with what it points back at."""
    return _with_what_it_points_at(_whole(clause, goal), goal)


def _whole(clause: str, goal: str) -> str:
    """A clause with what stands behind it in the goal, up to where another thing begins."""
    start = goal.find(clause)
    end = _ENDS.search(goal, start + len(clause))
    return goal[start : end.start()].strip() if end is not None else goal[start:].strip()


def _with_what_it_points_at(clause: str, goal: str) -> str:
    """A clause that points back, with the one before it where that only reads."""
    before = split_clauses(goal[: max(goal.find(clause), 0)])
    if not before or not reference_in(clause) or read_clause(before[-1]).asks_side_effect:
        return clause
    return f"{before[-1]}. {clause}"


def _things(text: str, call: TakenCall) -> Iterator[SaidThing]:
    text = corrected(text).text
    told = told_thing_spans(text)
    for said in things_said(text, now=call.now):
        if said.kind in _DESCRIBING and is_within(said.position, said.end, told):
            continue  # What composes the text sees to it that it tells that.
        if said.kind == "negation" and (limit := _limit_in(said)) is not None:
            yield SaidThing(limit, text)
        elif said.kind in _TOLD:
            yield SaidThing(said, text)


def _limit_in(said: Said) -> Said | None:
    """The amount that a negation makes a limit: "no more than 25 EUR"."""
    amounts = [s for s in find_slots(said.text, now=None) if s.kind == "amount"]
    if not amounts or limit_of(said.text, amounts[0]) is None:
        return None
    place = said.position + amounts[0].position
    return Said("amount", amounts[0].text, place, amounts[0].value, hint=amounts[0].hint)


def listed(things: Sequence[SaidThing]) -> list[list[SaidThing]]:
    """The things, those that stand in one list together: "Ann, Bob and Eve"."""
    groups: list[list[SaidThing]] = []
    for thing in things:
        if groups and _is_next_member(groups[-1][-1], thing):
            groups[-1].append(thing)
        else:
            groups.append([thing])
    return groups


def are_alternatives(members: Sequence[SaidThing]) -> bool:
    """Whether one of them is enough: "vegan or vegetarian"."""
    between = (one.clause[one.said.end : two.said.position] for one, two in pairwise(members))
    return any("or" in tokens(text) for text in between)


def _is_next_member(one: SaidThing, two: SaidThing) -> bool:
    alike = one.said.kind == two.said.kind or {one.said.kind, two.said.kind} <= _CALLED
    if one.clause != two.clause or not alike:
        return False
    return bool(_JOINT.fullmatch(one.clause[one.said.end : two.said.position]))
