"""Which input each stated day, time, place and number of a clause goes to: one takes one."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from pydantic import JsonValue

from orchestrator.language import lexicon
from orchestrator.language.durations import MINUTES
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import stem
from orchestrator.planning.accounting.grounds import holds, takes
from orchestrator.planning.accounting.things_said import RELATIVE, Said
from orchestrator.planning.rules.parameters import Kind, Parameter, Side

_KINDS: Final = frozenset({"date", "time", "place", "count"})
_NO_NOUNS: Final = WordLists("clauses").word_set("after_objects")
"""What may follow a number, and is not what it counts."""
_ENDING: Final = lexicon.END_HINTS - {"by", "to"}
_FROM: Final = "from"
_JOINING: Final = re.compile(r",|&|\b(?:and|plus)\b", re.IGNORECASE)
_BOUNDING: Final[Mapping[str, frozenset[str]]] = {"date": frozenset({"before", "after"})}
"""Words before a value that say on which side of it something is to be."""


def filled(said: Iterable[Said], inputs: Iterable[tuple[str, Parameter]]) -> Mapping[int, str]:
    """Where each value goes, by its position; what no input is left for has no entry.

    Inputs of one name, of several tools, take one value; the same value said twice goes to one.
    """
    found: dict[int, str] = {}
    where: dict[tuple[str, str], str] = {}
    used: set[tuple[str, tuple[str, ...]]] = set()
    known = tuple(inputs)
    for one in said:
        if one.kind not in _KINDS or one.hint == RELATIVE:
            continue
        value = (one.kind, str(one.value))
        if value not in where:
            free = [(w, p) for w, p in known if _fits(one, p) and (one.kind, p.words) not in used]
            if one.kind == "time" and one.hint in _ENDING and not any(k == "time" for k, _ in used):
                # When something ends is not when it begins: "ending at 16:00".
                free = [(w, p) for w, p in free if p.side == "end"]
            if one.kind == "date" and any(kind == "date" for kind, _ in used):
                # A second day ends nothing unless it is said to: "and the week after that too".
                free = [(w, p) for w, p in free if p.side != "end" or _side(one) == "end"]
            best = min(free, key=lambda pair: _unlike(one, pair[1]), default=None)
            if best is None:
                continue
            where[value] = best[0]
            used.add((one.kind, best[1].words))
        found[one.position] = where[value]
    return found


def texts_too_many(said: Iterable[Said], inputs: Iterable[tuple[str, Parameter]]) -> frozenset[int]:
    """The positions of texts that no input is left for: one takes one, a list takes any number."""
    known = tuple(inputs)
    if any(p.element is not None for _, p in known):
        return frozenset()
    found: dict[JsonValue, list[int]] = {}
    free: set[str] = set()
    for one in said:
        if one.is_text and isinstance(one.value, str):
            found.setdefault(one.value, []).append(one.position)
            free.update(where for where, p in known if takes(one, p))
    if not free:
        return frozenset()  # each is left over for want of any
    beyond = list(found.values())[len(free) :]
    return frozenset(position for positions in beyond for position in positions)


def choices_too_many(
    text: str, said: Iterable[Said], inputs: Iterable[tuple[str, Parameter]]
) -> frozenset[int]:
    """The positions of joined values beyond those that inputs are left for: one takes one.

    "In cardiology and in dermatology" is two appointments, and never the second one alone; "an
    electric SUV" is one car.
    """
    known = tuple(inputs)
    members = {p.element.name for _, p in known if p.element is not None}
    single = [p for _, p in known if p.kind is Kind.CHOICE and p.name not in members]
    taken: dict[tuple[str, ...], str] = {}
    ends = 0
    beyond: set[int] = set()
    for one in said:
        option = {p.words: o for p in single for o in p.options if one.stems and holds(one, o)}
        free = [w for w, o in option.items() if taken.get(w, o) == o]
        if option and not free and _JOINING.search(text, ends, one.end):
            beyond.add(one.position)
        ends = one.end if option else ends
        taken |= {w: option[w] for w in free[:1]}
    return frozenset(beyond)


def _fits(said: Said, parameter: Parameter) -> bool:
    if parameter.side is None and said.hint in _BOUNDING.get(said.kind, ()) and parameter.required:
        return False  # "before Friday" is no day on which something is
    return _counts(parameter, said) if said.kind == "count" else takes(said, parameter)


def _counts(parameter: Parameter, said: Said) -> bool:
    """Whether a number of a request is the one that an input counts."""
    if parameter.is_numbered_by(said.text, said.hint):
        return True
    if parameter.kind is Kind.DURATION:
        return said.hint in lexicon.NIGHTS | lexicon.WEEKS | {*MINUTES}
    is_number = parameter.takes_any_number or parameter.kind in (Kind.COUNT, Kind.NIGHTS)
    if isinstance(said.value, str) or not is_number:
        return False
    words = {*parameter.words}
    if stem(said.hint) in {stem(word) for word in words}:
        return True
    if words & lexicon.PEOPLE:
        return said.hint in lexicon.PEOPLE | _NO_NOUNS or not said.hint
    if words & {*MINUTES, "duration", "length"}:
        return said.hint in MINUTES
    if parameter.kind is Kind.NIGHTS:
        return said.hint in lexicon.NIGHTS | lexicon.WEEKS
    no_things = lexicon.PEOPLE - lexicon.BOUGHT_SINGLY | lexicon.NIGHTS | lexicon.WEEKS | {*MINUTES}
    return parameter.takes_any_number and said.hint not in no_things


def _unlike(said: Said, parameter: Parameter) -> int:
    """How little an input is the one that a value is introduced for; 0 is meant."""
    if said.kind == "count":
        return 0 if stem(said.hint) in {stem(word) for word in parameter.words} else 1
    wanted = _side(said)
    if parameter.side == wanted:
        return 0
    return 1 if parameter.side is None or wanted is None else 2


def _side(said: Said) -> Side | None:
    if said.kind == "place":
        return "start" if said.hint == _FROM else "end"
    return "end" if said.hint in lexicon.END_HINTS else "start"
