"""Coordination: one request for several things, which its words join: "in Porto and in Lisbon"."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, islice, takewhile
from typing import Final

from orchestrator.language.clause_reading import ClauseReading, matter_start, read_clause
from orchestrator.language.clauses import clause_spans
from orchestrator.language.ellipsis import further_untold, marks_of, of_one, with_tails
from orchestrator.language.inflection import singular
from orchestrator.language.intent import Action, Slot, SlotKind
from orchestrator.language.plain_lists import plain_list
from orchestrator.language.provisos import conditions_in
from orchestrator.language.said import is_within, quoted_spans
from orchestrator.language.slots import read_slots
from orchestrator.language.word_lists import WordLists

_LISTS: Final = WordLists("coordination")
_WHERE: Final = "|".join(_LISTS.words("prepositions"))
_JOINT: Final = re.compile(
    rf"(?:\s*,\s*(?P<last>(?:and|(?P<last_or>or))\s+)?"
    rf"|\s+(?P<and>and|as\s+well\s+as|plus|&|(?P<or>or))\s+)"
    rf"(?:also\s+)?(?:(?P<again>{_WHERE})\s+)?(?:the\s+|my\s+|our\s+)?"
    rf"(?:(?P<noun>[a-z]+)\s+)??",
    re.IGNORECASE,
)
"""What stands between two members of one list."""
_TOLD: Final = re.compile(r"\b(?:that|saying|says)\b|:\s", re.IGNORECASE)
_BOTH: Final = re.compile(
    r"\b(?:both|each\s+of)\s+(?=(?:in\s+|to\s+|at\s+|on\s+|for\s+)?$)", re.IGNORECASE
)
_EACH_OF: Final = re.compile(r"\b(?:both|each|all)\s+of\s+(?=[A-Z])")
_FOR_ALL: Final = re.compile(
    rf",?\s+(?:both|each|all(?:\s+(?:of\s+them|{'|'.join(_LISTS.words('few'))}))?)"
    rf"(?=\s+(?:{_WHERE}|that|saying|about)\b|\s*[,.;:!]|\s*$)",
    re.IGNORECASE,
)
"""What stands behind a list says of all its members, and makes none of them several."""
_BETWEEN: Final = re.compile(r"\bbetween\s*$", re.IGNORECASE)
_BARE_DAY: Final = re.compile(r"\d{1,2}(?:st|nd|rd|th)?")
_MONTH: Final = re.compile(r"(?<=[\dhtd])\s+(?:of\s+)?[^\W\d].*$")
_NAMING: Final = _LISTS.word_set("naming")
_BESIDE: Final = _LISTS.word_set("beside")
_PARTY: Final = frozenset({"name", "place", "email"})
_THING: Final = frozenset({"identifier", "quoted"})
_LONGEST_GROUP: Final = 3
_MOST: Final = 64
"""Of one request; more are not told apart, since nobody does as many."""
_ALONE: Final = _PARTY | _THING | {"date", "time", "origin"}
"""What a list may be of; an amount is a member only together with who gets it."""
_KEPT: Final = 1 << 10
"""Clauses whose members are remembered."""


_SAID: Final = re.compile(r"(?<!so\s)\b(?:that|saying|says)\b|:\s", re.IGNORECASE)
_STOPS: Final = re.compile(r"[.;!?](?:\s|$)")
_APART: Final = re.compile(
    rf"(?<!\bon\s)(?<!\bby\s)(?<!\bfrom\s)(?<!\buntil\s)\b(?:the\s+(?:{'|'.join(_LISTS.words('members'))})"
    rf"(?:\s+one)?(?=\s*[,.;:!]|\s*$|\s+(?:{'|'.join(_LISTS.words('said_of_one'))})\b)"
    r"|one\s+of\s+(?:them|the\s+two|both)|respectively)\b",
    re.IGNORECASE,
)
"""What is said of one of several that are done alike: "but only the first may edit"."""

_TO: Final = re.compile(r"\bto\s+", re.IGNORECASE)
_TOLD_NEXT: Final = re.compile(
    r"\s*(?:[,;]\s*(?:and\s+|but\s+)?|\s(?:and|but)\s+)(?:to\s+)?"
    r"(?P<who>(?<=\sto\s)(?:the|my|our)\s+[\w-]+(?:\s+[\w-]+)?|[A-Z][\w.'\u2019-]*(?:\s+[A-Z][\w.'\u2019-]*)?|[\w.+-]+@[\w.-]+\w|#[\w-]+)"
    r"(?=\s+(?:that|to\s+[a-z]+)\s|:\s)"
)
"""Where another one is told something else: "tell Ana that I am late and Bo that I am not"."""


@dataclass(frozen=True)
class Coordination:
    """A clause that asks for the same of several things, as one clause for each."""

    clauses: tuple[str, ...]
    kinds: frozenset[SlotKind] = frozenset()
    """Of what tells the things apart."""
    is_stretch: bool = False
    """Whether two moments may as well be the ends of one stretch of time."""
    is_choice: bool = False
    """Whether it joins them by "or": a question is of each of them, an order of one."""
    is_ellipsis: bool = False
    """Whether it goes on about further ones, each with its own number: "and two in Porto"."""


@dataclass(frozen=True)
class _Group:
    """Values that stand together for one member of a list."""

    slots: tuple[Slot, ...]
    again: str = ""
    """The preposition that stands before it once more."""
    is_choice: bool = False
    """Whether "or" joins it to those before."""

    @property
    def start(self) -> int:
        return self.slots[0].position

    @property
    def end(self) -> int:
        return self.slots[-1].position + len(self.slots[-1].text)


@lru_cache(maxsize=_KEPT)
def coordinated(text: str) -> Coordination | None:
    """The requests that a clause joins; None when it is a single one.

    Joined are values of one kind ("to Ana, Bo and Cy"), groups of them that go together ("Anna 20
    EUR and Bob 30 EUR"), and what goes on without a verb of its own ("and one in Porto"). Several
    lists in one clause are each joined with each.
    """
    found = _coordinated(_EACH_OF.sub("", text))
    if found is None:
        return None
    return replace(found, clauses=tuple(_FOR_ALL.sub("", one) for one in found.clauses))


def _coordinated(text: str) -> Coordination | None:
    clause = read_clause(text)
    if told := _told_to_each(clause):
        return Coordination(told)
    slots = _outside_of_what_is_told(clause)
    if tails := with_tails(clause, slots, first_of=lambda one: _several(one)[0]):
        apart = [_coordinated(tail) for tail in tails]
        return Coordination(
            tuple(one for tail in tails for one in _several(tail)),
            is_stretch=any(one is not None and one.is_stretch for one in apart),
            is_ellipsis=True,
        )
    groups = _first_list(clause, slots)
    if not groups:
        return _of_plain_words(clause)
    before, after = _BOTH.sub("", text[: groups[0].start]), text[groups[-1].end :]
    parts = [f"{before}{_written(group, groups, text)}{after}" for group in groups[:_MOST]]
    apart = [_coordinated(part) for part in parts] if len(parts) < _MOST else []
    further = [more for more in apart if more is not None]
    kinds = frozenset(slot.kind for slot in groups[0].slots)
    is_choice = groups[-1].is_choice or any(more.is_choice for more in further)
    if not further:
        is_stretch = _may_be_a_stretch(clause, groups)
        return Coordination(tuple(parts), kinds, is_stretch, is_choice)
    each = (more.clauses if more else (part,) for part, more in zip(parts, apart, strict=True))
    return Coordination(
        tuple(islice(chain.from_iterable(each), _MOST)),
        kinds.union(*(more.kinds for more in further)),
        _may_be_a_stretch(clause, groups) or any(more.is_stretch for more in further),
        is_choice,
    )


def said_of_one(text: str) -> str:
    """The words by which a clause that joins several says something of one of them; else empty.

    By its place among them ("only the first may edit"), or once more by what it is called.
    """
    found = coordinated(text)
    if found is None or len(found.clauses) < 2:
        return ""
    told = _SAID.search(text) if read_clause(text).action is Action.SEND else None
    outside = text[: told.start() if told else len(text)]
    if (apart := _APART.search(outside)) is not None:
        return outside[apart.start() :].strip(" ,;.")
    if told is not None:
        return ""
    words = [clause.split() for clause in found.clauses]
    head, tail = _alike_until(words), _alike_until([one[::-1] for one in words])
    members = {" ".join(one[head : len(one) - tail]).rstrip(",.;:") for one in words}
    behind = " ".join(words[0][len(words[0]) - tail :])
    again = [behind.find(member) for member in members if member and member in behind]
    return behind[min(again) :].strip(" ,;.") if again else ""


def _alike_until(rows: Sequence[Sequence[str]]) -> int:
    """How many words all rows begin with."""
    columns = zip(*rows, strict=False)
    return sum(1 for _ in takewhile(lambda column: len({*column}) == 1, columns))


def further_of(text: str) -> str:
    """The words by which a clause goes on about one more, where nothing tells which; else empty."""
    clause = read_clause(text)
    return further_untold(clause, _outside_of_what_is_told(clause))


def _told_to_each(clause: ClauseReading) -> tuple[str, ...]:
    """One clause for each who is told something of their own; empty where nobody else is."""
    begun = matter_start(clause.text)
    found = list(_TOLD_NEXT.finditer(clause.text, begun)) if begun is not None else []
    quoted = quoted_spans(clause.text)
    found = [m for m in found if not is_within(m.start(), m.end(), quoted)]
    first = next((s for s in read_slots(clause.text, now=None) if s.kind in _PARTY), None)
    if begun is None or not found:
        return ()
    if (to := _TO.search(clause.text, 0, begun)) is not None:
        before, behind = clause.text[: to.end()], ""
    elif first is not None and first.position < begun:
        before = clause.text[: first.position]
        behind = clause.text[first.position + len(first.text) : begun]
    else:
        return ()
    ends = [*(match.start() for match in found[1:]), len(clause.text)]
    return (
        clause.text[: found[0].start()],
        *(
            f"{before}{m['who']}{behind}{clause.text[m.end() : end]}"
            for m, end in zip(found, ends, strict=True)
        ),
    )


def _of_plain_words(clause: ClauseReading) -> Coordination | None:
    """The requests of a list whose members no capital tells to be names."""
    found = plain_list(clause)
    if found is None:
        return None
    before, after = clause.text[: found.start], clause.text[found.end :]
    parts = tuple(f"{before}{member}{after}" for member in found.members)
    return Coordination(parts, frozenset({"name"}))


def joined_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Where a clause joins several things: nothing is cut there."""
    clause = read_clause(text)
    slots = _outside_of_what_is_told(clause)
    found = [(mark.start(), mark.end() + 1) for mark in marks_of(clause, slots)]
    while groups := _first_list(clause, slots):
        found.append((groups[0].start, groups[-1].end))
        slots = [slot for slot in slots if slot.position >= groups[-1].end]
    plain = plain_list(clause)
    return tuple(found) if plain is None else (*found, (plain.start, plain.end))


def _several(text: str) -> tuple[str, ...]:
    found = coordinated(text)
    return found.clauses if found else (text,)


def _written(group: _Group, groups: Sequence[_Group], text: str) -> str:
    """A member as a person would say it alone: "3" of "3 and 4 December" is 3 December."""
    said = text[group.start : group.end]
    month = _MONTH.search(text[groups[-1].start : groups[-1].end])
    if group.slots[-1].kind == "date" and _BARE_DAY.fullmatch(said) and month:
        return f"{said}{month.group()}"
    return said


def _outside_of_what_is_told(clause: ClauseReading) -> list[Slot]:
    """The values that say what is done, and not what somebody is told or what it depends on."""
    text = clause.text
    slots = list(read_slots(text, now=None))
    told = _TOLD.search(text)
    conditions = [text.find(c) for c in conditions_in(text, clause.action)]
    if told and any(s.kind in _PARTY and s.position < told.start() for s in slots):
        slots = [s for s in slots if s.position < told.start()]
    return [s for s in slots if all(s.position < at for at in conditions)]


def _first_list(clause: ClauseReading, slots: Sequence[Slot]) -> list[_Group]:
    """The first list among the values, its groups as long as they can be; empty when none is."""
    for size in range(_LONGEST_GROUP, 0, -1):
        for first in range(len(slots) - 2 * size + 1):
            groups = _run(clause.text, slots[first:], size)
            if groups and _is_list(clause, groups):
                return groups
    return []


def _run(text: str, slots: Sequence[Slot], size: int) -> list[_Group]:
    """The groups of one size from the first value on that are joined like the members of a list."""
    groups = [_Group(tuple(slots[:size]))]
    is_closed = False
    for at in range(size, len(slots) - size + 1, size):
        joint = _JOINT.fullmatch(text[groups[-1].end : slots[at].position])
        following = _Group(
            tuple(slots[at : at + size]),
            again=(joint["again"] or "") if joint else "",
            is_choice=bool(joint and (joint["or"] or joint["last_or"])),
        )
        if joint is None or is_closed or not _alike(groups[0], following, text):
            break
        if joint["noun"] and singular(joint["noun"]) != singular(groups[0].slots[0].hint):
            break
        is_closed = bool(joint["and"] or joint["last"])
        groups.append(following)
    # "Rentals R1, R2" is a list as it stands; "Lisbon, Portugal" is not.
    listed = slots[0].kind == "identifier" and singular(slots[0].hint) != slots[0].hint
    return groups if is_closed or (listed and len(groups) > 1) else []


def _alike(first: _Group, other: _Group, text: str) -> bool:
    """Whether two groups are made of the same kinds of values, in the same way."""
    pairs = zip(first.slots, other.slots, strict=True)
    same = all(a.kind == b.kind or {a.kind, b.kind} <= _PARTY for a, b in pairs)
    gaps = (gap for group in (first, other) for gap in _gaps(group, text) if gap.strip())
    if any(_JOINT.fullmatch(gap) or _STOPS.search(gap) for gap in gaps):
        return False
    return same and (not other.again or other.again == first.slots[0].hint)


def _gaps(group: _Group, text: str) -> list[str]:
    return [
        text[a.position + len(a.text) : b.position]
        for a, b in zip(group.slots, group.slots[1:], strict=False)
    ]


def _is_list(clause: ClauseReading, groups: Sequence[_Group]) -> bool:
    """Whether what is asked for is asked for of each member.

    Who is sent or given something is; whom somebody is to meet, or what a thing is called, is not.
    """
    slot = groups[0].slots[0]
    if _BETWEEN.search(clause.text[: slot.position]):
        return False
    if groups[-1].is_choice and clause.asks_side_effect:
        return False
    if len(groups[0].slots) > 1:
        return True
    if slot.kind not in _ALONE:
        return False
    several = any(singular(thing.lower()) != thing.lower() for thing in clause.objects)
    if slot.hint in ("both", "each"):
        return True
    if slot.hint in _NAMING:
        return several
    if clause.action is Action.SEND and slot.hint == "with":
        return slot.kind in _PARTY  # "share it with Ann and Bob"
    if slot.kind in ("name", "email", "quoted"):
        counted = singular(slot.hint) != slot.hint or not slot.hint
        return slot.hint in ("to", clause.verb) or counted
    if slot.kind == "place" and slot.hint == "for":
        return clause.action in (Action.READ, Action.SEARCH, Action.SEND)
    return slot.hint not in _BESIDE


def _may_be_a_stretch(clause: ClauseReading, groups: Sequence[_Group]) -> bool:
    """Whether "the 3rd and the 5th" may be from the one to the other."""
    if groups[-1].is_choice:
        return False
    moments = all(slot.kind in ("date", "time") for slot in groups[0].slots)
    several = any(singular(thing.lower()) != thing.lower() for thing in clause.objects)
    return len(groups) == 2 and moments and not groups[1].again and not several


def goal_without(goal: str, request: str) -> tuple[str, str]:
    """A goal before and after the clause that a request is, or is one of several of.

    All of the goal is before it when the request stands nowhere in it.
    """
    start = goal.find(request)
    if start >= 0:
        return goal[:start], goal[start + len(request) :]
    for begin, end in clause_spans(goal):
        found = coordinated(goal[begin:end])
        if found is not None and {request, of_one(request)} & {
            *found.clauses,
            *map(of_one, found.clauses),
        }:
            return goal[:begin], goal[end:]
    return goal, ""
