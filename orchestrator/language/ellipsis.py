"""Ellipsis: a further request without words of its own: "and one in Porto", "the same for Bo"."""

import re
from collections.abc import Callable, Sequence
from typing import Final

from orchestrator.language.clause_reading import ClauseReading, read_clause
from orchestrator.language.clauses import without_lead
from orchestrator.language.date_words import WEEKDAY
from orchestrator.language.inflection import singular
from orchestrator.language.intent import Action, Slot
from orchestrator.language.slots import find_slots, read_slots
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import action_of

_LISTS: Final = WordLists("coordination")
_WHERE: Final = "|".join(_LISTS.words("prepositions"))
_FURTHER: Final = "|".join(
    r"\s+".join(line.split()) for line in sorted(_LISTS.lines("further"), key=len, reverse=True)
)
_NUMBERS: Final = "|".join(_LISTS.words("few"))
_AND: Final = r"(?:\s*[.,;]\s*(?:and\s+)?|\s+(?:and|plus|as\s+well\s+as|&)\s+)(?:also\s+|then\s+)?"
_SOME_TIME_ON: Final = (
    rf"(?:the|an?|half\s+an|\d+|{_NUMBERS})\s+(?:(?:very|following|next|same)\s+)?"
    rf"(?:(?:day|night|evening|morning|week|month|hour|minute)s?|{WEEKDAY})"
)
_RELATIVE: Final = re.compile(_SOME_TIME_ON, re.IGNORECASE)
_LED: Final = re.compile(r"\b(?:on|at)\s+$", re.IGNORECASE)
"""What stands before a day or an hour, and before none that is said by another."""
_BACK: Final = re.compile(r"\bback\b(?:\s+again\b)?", re.IGNORECASE)
"""What makes a further way one from where the first goes to."""
_GOES_ON: Final = (
    rf"(?=\s+(?:{_WHERE}|next|this|tomorrow|tonight|today|too|back|{_SOME_TIME_ON})\b"
    r"|\s*(?:[.,;]|$))"
)
_WHOLE: Final = re.compile(
    rf"(?:(?P<verb>[a-z]+)\s+)??(?:{_FURTHER}){_GOES_ON}(?P<tail>.*)", re.IGNORECASE | re.DOTALL
)
_TOLD: Final = re.compile(r"\b(?:that|saying|says)\b|:\s", re.IGNORECASE)
_DIGITS: Final = re.compile(r"\d[.,]\d")
"""A day or a number is written so: "12.12."."""
_SHARED: Final = frozenset({"date", "time", "origin"})
_PARTY: Final = frozenset({"name", "place", "email"})
_MANY: Final = 21
"""More copies than these are not written out: it is too many already."""


def with_tails(
    clause: ClauseReading, slots: Sequence[Slot], *, first_of: Callable[[str], str]
) -> tuple[str, ...]:
    """The request and what goes on after it without a verb, each as a clause of its own.

    What a further one says takes the place of what the first says of the same kind; a day, an hour
    and a place to start from that only the last one says hold of all.

    Args:
        clause: that may go on.
        slots: its values, but for those of what somebody is told.
        first_of: makes of a request for several that for the first of them.

    Returns:
        Nothing when it does not go on. Where several are counted and then told one by one ("two
        rooms, one for me and one for Bo"), those alone.
    """
    text = clause.text
    marks = marks_of(clause, slots)
    if not marks:
        return ()
    base = text[: marks[0].start()]
    is_shared_out = _is_shared_out(marks, slots)
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    tails = [text[mark.end() : end] for mark, end in zip(marks, ends, strict=True)]
    told = _TOLD.search(tails[-1])
    matter = tails[-1][told.start() :] if told and not _TOLD.search(base) else ""
    tails[-1] = tails[-1].removesuffix(matter)
    first = _replaced(of_one(base), tails[0]) if is_shared_out else base
    missing = _missing(first, tails[-1])
    found = [] if is_shared_out else [_with(_with(base, missing), matter)]
    for mark, tail in zip(marks, tails, strict=True):
        is_same = "same" in mark.group().lower()
        one = base if is_same else of_one(base)
        whole = _replaced(first_of(one), tail, is_same=is_same)
        whole = _with(_with(whole, missing if tail is not tails[-1] else ""), matter)
        found += [whole] * min(_number(mark["n"]), _MANY)
    return tuple(found)


def _is_shared_out(marks: Sequence[re.Match[str]], slots: Sequence[Slot]) -> bool:
    """Whether they are those that were counted before: "two rooms, one for me and one for Bo".

    What is joined to what was counted by "and" comes on top of it.
    """
    own = (s for s in slots if s.kind == "quantity" and s.position < marks[0].start())
    counted = [slot.value for slot in own if slot.hint]
    paused = not marks[0].group().lstrip(" ,;.").lower().startswith("and")
    return paused and sum(_number(mark["n"]) for mark in marks) in counted


def continued(earlier: str, clause: str) -> str:
    """A clause that goes on about the one before, in its words: "do the same for Bo".

    Empty when it does not: it has a verb of another kind, or says what it is about itself.
    """
    match = _WHOLE.fullmatch(without_lead(clause).strip(" .!"))
    if match is None or not read_slots(match["tail"], now=None):
        return ""
    verb = (match["verb"] or "").lower()
    before = read_clause(earlier)
    same = not verb or verb == "do" or action_of(verb) is before.action is not Action.UNKNOWN
    return _replaced(of_one(earlier), match["tail"], is_same=True) if same else ""


def written_in(clause: str, text: str, at: int = 0) -> tuple[int, int]:
    """Where a clause starts and ends in a text, but for the first words that it takes from before.

    "Cancel my hotel" stands in "cancel my car and my hotel" as "my hotel". Both are `at` where
    nothing of it does.
    """
    while clause:
        if (start := text.find(clause, at)) >= 0:
            return start, start + len(clause)
        clause = clause.partition(" ")[2]
    return at, at


def of_one(text: str) -> str:
    """A request with one of what it counts: "two tables" as "a table"."""
    things = {singular(thing.lower()) for thing in read_clause(text).objects}
    for slot in read_slots(text, now=None):
        thing = singular(slot.hint)
        if slot.kind == "quantity" and thing in things:
            end = slot.position + len(slot.text)
            return f"{text[: slot.position]}a {thing}{text[end:]}"
    return text


def marks_of(clause: ClauseReading, slots: Sequence[Slot]) -> list[re.Match[str]]:
    """Where a further one begins, told by a value: by a word for it, or by the noun once more."""
    found = [mark for mark in _marks(clause) if _counts(mark, clause, slots)]
    if not found or not any(slot.position < found[0].start() for slot in slots):
        return []
    return [mark for mark in found if any(slot.position >= mark.end() for slot in slots)]


def further_untold(clause: ClauseReading, slots: Sequence[Slot]) -> str:
    """What goes on about a further one that no value tells apart: "and one for her mother"."""
    if marks_of(clause, slots):
        return ""
    joined = (m for m in _marks(clause) if _is_joined(m) and m.start() > len(clause.verb))
    mark = next(joined, None)
    return clause.text[mark.start() :].strip(" ,;.") if mark else ""


def _is_joined(mark: re.Match[str]) -> bool:
    return mark.group().lstrip(" ,;.").lower().startswith(("and", "plus", "as", "&"))


def _counts(mark: re.Match[str], clause: ClauseReading, slots: Sequence[Slot]) -> bool:
    """Whether a mark says how many more there are, and is no part of another value.

    "Rome, 12 to 14 December" goes on about nothing. Behind a pause, several come only on top of
    what was counted: "two rooms in Rome, three in Milan".
    """
    things = {singular(thing.lower()) for thing in clause.objects}
    before = [s for s in slots if s.position < mark.start()]
    if _DIGITS.match(clause.text, max(mark.start() - 1, 0)):
        return False
    if any(s.kind != "quantity" and mark.start() < s.position < mark.end() for s in slots):
        return False
    counted = any(s.kind == "quantity" and singular(s.hint) in things for s in before)
    return _is_joined(mark) or counted or _number(mark["n"]) == 1


def _marks(clause: ClauseReading) -> list[re.Match[str]]:
    noun = singular(clause.objects[-1].lower()) if clause.objects else ""
    again = rf"|(?:an?|one|another|(?P<m>{_NUMBERS}|\d+))\s+(?:{re.escape(noun)}s?)" if noun else ""
    pattern = rf"{_AND}(?P<all>{_FURTHER}|(?P<n>{_NUMBERS}|\d+)(?:\s+more)?{again}){_GOES_ON}"
    return list(re.finditer(pattern, clause.text, re.IGNORECASE))


def _number(word: str | None) -> int:
    if not word:
        return 1
    (slot, *_) = find_slots(f"{word} things", now=None) or (None,)
    value = slot.value if slot is not None else 1
    return value if isinstance(value, int) else 1


def _replaced(base: str, tail: str, *, is_same: bool = False) -> str:
    """The request with what the tail says in the place of what it said of the same kind."""
    text = base
    if _BACK.search(tail):
        text, tail = _turned(base), _BACK.sub("", tail)
    # "The same for Ben" may be for a person or of a place: what is only looked up is of the place.
    is_same = is_same and not read_clause(base).asks_side_effect
    rest, at = "", 0
    for slot in read_slots(tail, now=None):
        end = slot.position + len(slot.text)
        own = _counterpart(slot, read_slots(text, now=None), is_same=is_same)
        if own is None:
            rest += tail[at:end]
        else:
            led = _LED.search(text[: own.position]) if _RELATIVE.match(slot.text) else None
            start = led.start() if led else own.position
            text = text[:start] + slot.text + text[own.position + len(own.text) :]
        at = end
    return _with(text, rest + tail[at:] if not rest or tail[at:].strip(" .") else rest)


def _turned(text: str) -> str:
    """A way between two places as the way back: "from Rome to Berlin" of "from Berlin to Rome".

    Where only one is said, it is left from.
    """
    slots = read_slots(text, now=None)
    start = next((s for s in slots if s.kind == "origin"), None)
    goal = next((s for s in slots if s.kind == "place" and s.hint == "to"), None)
    if goal is None:
        return text
    if start is None:
        led = re.search(r"\bto\s+$", text[: goal.position], re.IGNORECASE)
        at = led.start() if led else goal.position
        return f"{text[:at]}from {text[goal.position :]}"
    first, second = sorted((start, goal), key=lambda slot: slot.position)
    ends = [slot.position + len(slot.text) for slot in (first, second)]
    between = text[ends[0] : second.position]
    return f"{text[: first.position]}{second.text}{between}{first.text}{text[ends[1] :]}"


def _counterpart(slot: Slot, own: Sequence[Slot], *, is_same: bool = False) -> Slot | None:
    """What the request says of the kind of a value, in the same place if it says several."""
    alike = [s for s in own if s.kind == slot.kind]
    if slot.kind == "quantity":
        return next((s for s in alike if s.hint == slot.hint), None)
    if not alike and slot.kind in _PARTY:
        alike = [s for s in own if s.kind in _PARTY]
    if slot.hint == "for" and (not is_same or slot.kind == "name"):
        # Whom a further one is for does not take the place of where it is.
        alike = [s for s in alike if not _is_where(s)]
    return next((s for s in alike if s.hint == slot.hint), next(iter(alike), None))


def _is_where(slot: Slot) -> bool:
    return slot.kind == "place" and slot.hint not in ("to", "for")


def _missing(base: str, tail: str) -> str:
    """When, and where from, as only the last of several says it, with its prepositions."""
    own = read_slots(base, now=None)
    slots = read_slots(tail, now=None)
    if not any(_counterpart(slot, own) for slot in slots):
        return ""
    kinds = {slot.kind for slot in own}
    said, at = "", 0
    for slot in slots:
        end = slot.position + len(slot.text)
        if slot.kind in _SHARED and slot.kind not in kinds:
            said += tail[at:end]
        at = end
    return said


def _with(text: str, rest: str) -> str:
    rest = rest.strip(" .,;")
    return f"{text.rstrip(' .,;')} {rest}" if rest and rest not in text else text.strip(" ,;")
