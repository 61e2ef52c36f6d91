"""What an order says beside what is to be done: how many, to whom, and to what of whose."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.language import lexicon
from orchestrator.language.anaphora import reference_in
from orchestrator.language.clause_reading import ClauseReading, read_clause
from orchestrator.language.clauses import split_clauses
from orchestrator.language.inflection import singular
from orchestrator.language.intent import Action, Slot, tells_apart
from orchestrator.language.slots import find_slots
from orchestrator.language.words import STOP_WORDS, name_stems, name_words, stem, tokens

_MAX_COUNT: Final = 50
"""More of a thing than anybody orders one by one."""
_ONE_MORE: Final = re.compile(
    r"(?:\b(?:and|plus)\s+|,\s*)(?:also\s+)?(?:one(?!\s+of\b)|another|a\s+(?:second|third))\b",
    re.IGNORECASE,
)
"""A further thing without a verb of its own: "and one in Porto"."""
_JOINT: Final = re.compile(
    r"(?:\s*,\s*(?:(?P<last>and)\s+)?|\s+(?P<and>and|as\s+well\s+as|&)\s+)"
    r"(?:also\s+)?(?:(?:in|to|at|near|with)\s+)?",
    re.IGNORECASE,
)
"""What stands between two members of one list."""
_ADDRESSED: Final = frozenset({"name", "email", "place"})
_PLACED: Final = frozenset({"place", "name"})


def count_of(
    clause: ClauseReading,
    values: Iterable[Slot],
    ranked: Sequence[Tool],
    serving: Sequence[str],
    catalog: Catalog,
) -> int:
    """How many effects an order takes: two for "reserve two tables", where a call makes one.

    Args:
        clause: that orders.
        values: that it states.
        ranked: its tools, best first.
        serving: names of those whose effect serves it.
        catalog: the mission's.

    Returns:
        How many are counted (one where the tool, or another of its domain that finds what it takes,
        is told a number), or as many as whom or where it is to be done, and one for each "and one"
        without a verb of its own.
    """
    stated = tuple(values)
    tool = next((tool for tool in ranked if tool.name in serving), None)
    if tool is None or _takes_many(tool):
        return 1
    apart = 1 if _takes_texts(tool) else _distinct(clause, stated)
    numbered = _numbered(clause, stated, tool, catalog)
    return min(max(numbered, apart) + len(_ONE_MORE.findall(clause.text)), _MAX_COUNT)


def _numbered(clause: ClauseReading, values: Iterable[Slot], tool: Tool, catalog: Catalog) -> int:
    """How many of what its name says a tool is to make, where nobody can tell it a number."""
    counted = next((slot for slot in values if _is_object(slot, clause)), None)
    if counted is None or not isinstance(counted.value, int):
        return 1
    thing = stem(singular(counted.hint))
    if thing not in name_stems(tool.name) or not 1 < counted.value <= _MAX_COUNT:
        return 1
    domain = [other for other in catalog.tools.values() if other.domain == tool.domain]
    return 1 if any(_counts(other, thing) for other in domain) else counted.value


def _distinct(clause: ClauseReading, values: Sequence[Slot]) -> int:
    """To how many it is to be sent, or at how many places it is to be done: "in Rome and Oslo".

    A list is one when its last two are joined by "and"; what goes before has a comma.
    """
    sends = clause.action is Action.SEND
    found, most = 0, 1
    is_list = False
    for earlier, slot in pairwise(values):
        is_place = earlier.kind == "place" and earlier.hint != "for"
        begins = earlier.kind in _ADDRESSED if sends else is_place
        between = clause.text[earlier.position + len(earlier.text) : slot.position]
        joint = _JOINT.fullmatch(between)
        alike = slot.kind in (_ADDRESSED if sends else _PLACED)
        if joint is None or not alike or not (found or begins):
            found, is_list = 0, False
            continue
        found += 1
        is_list = is_list or bool(joint["and"] or joint["last"])
        most = max(most, found + 1) if is_list else most
    return most


def names_in(values: Iterable[Slot]) -> tuple[str, ...]:
    """The addresses that an order names: each is somebody to whom it is to be done."""
    return tuple(dict.fromkeys(str(slot.value) for slot in values if slot.kind == "email"))


def is_of_another(clause: ClauseReading, values: Iterable[Slot], goal: str) -> bool:
    """Whether what is to be ended is not what the goal itself has made.

    That is so when the clause tells which one by a value of which the rest of the goal knows
    nothing, and does not point back: "book a flight to Rome and cancel my flight to Oslo".
    """
    if clause.action is not Action.CANCEL or reference_in(clause.text):
        return False
    # What has no verb of its own was given that of the clause before it.
    written = clause.text if clause.text in goal else clause.text.partition(" ")[2]
    rest = goal.replace(written or clause.text, " ").casefold()
    return any(slot.text.casefold() not in rest for slot in values if tells_apart(slot))


def other_thing_ended(text: str, goal: str) -> str:
    """The clause of a text that ends what the goal has not made; empty when one may end that.

    Args:
        text: of a leg's goal.
        goal: the mission's.
    """
    readings = [read_clause(clause) for clause in split_clauses(text)]
    ends = [reading for reading in readings if reading.action is Action.CANCEL]
    others = [r for r in ends if is_of_another(r, find_slots(r.text, now=None), goal)]
    return others[0].text if others and others == ends else ""


def _is_object(slot: Slot, clause: ClauseReading) -> bool:
    """Whether a number counts what the verb acts on: nothing stands between the two."""
    if slot.kind != "quantity" or not slot.hint or not clause.verb:
        return False
    before = tokens(clause.text[: slot.position])
    if clause.verb not in before:
        return False
    between = before[len(before) - before[::-1].index(clause.verb) :]
    return all(word in STOP_WORDS for word in between)


def _takes_many(tool: Tool) -> bool:
    """Whether one call can make several: it takes a number of them, or a list of objects."""
    for name, schema in tool.properties.items():
        numbered = schema.get("type") == "integer" and not set(name_words(name)) & lexicon.PEOPLE
        if numbered and set(name_words(name)) & lexicon.COUNTED:
            return True
        items = schema.get("items")
        if isinstance(items, dict) and (items.get("type") == "object" or "properties" in items):
            return True
    return False


def _takes_texts(tool: Tool) -> bool:
    """Whether one call can name several: it takes a list of texts."""
    lists = (s.get("items") for s in tool.properties.values() if s.get("type") == "array")
    return any(isinstance(items, dict) and items.get("type") == "string" for items in lists)


def _counts(tool: Tool, thing: str) -> bool:
    """Whether a tool is told how many of a thing are wanted."""
    numbers = (name for name, schema in tool.properties.items() if schema.get("type") == "integer")
    return any(thing in {stem(singular(word)) for word in name_words(name)} for name in numbers)
