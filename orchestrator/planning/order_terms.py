"""What an order says beside what is to be done: how many, to whom, and to what of whose."""

from collections.abc import Iterable, Sequence
from typing import Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.language import lexicon
from orchestrator.language.anaphora import reference_in
from orchestrator.language.clause_reading import ClauseReading, read_clause
from orchestrator.language.clauses import split_clauses
from orchestrator.language.coordination import goal_without
from orchestrator.language.inflection import singular
from orchestrator.language.intent import Action, Slot, tells_apart
from orchestrator.language.quantifiers import all_of, place_in, plural_nouns
from orchestrator.language.slots import find_slots
from orchestrator.language.words import name_stems, name_words, stem
from orchestrator.planning.several import counted, requests_in

_TO_ALL: Final = frozenset({Action.CANCEL, Action.UPDATE, Action.PAY})
_MAX_COUNT: Final = 50
"""More of a thing than anybody orders one by one."""


def count_of(
    clause: ClauseReading,
    ranked: Sequence[Tool],
    serving: Sequence[str],
    catalog: Catalog,
) -> int:
    """How many effects an order takes: two for "reserve two tables", where a call makes one.

    Args:
        clause: that orders.
        ranked: its tools, best first.
        serving: names of those whose effect serves it.
        catalog: the mission's.

    Returns:
        How many are counted (one where the tool, or another of its domain that finds what it takes,
        is told a number), for each of what the clause joins: to whom, where, when.
    """
    tool = next((tool for tool in ranked if tool.name in serving), None)
    if tool is None:
        return 1
    requests = requests_in(clause.text, tool, catalog).requests
    return min(sum(_numbered(read_clause(one), tool, catalog) for one in requests), _MAX_COUNT)


def is_of_all(clause: ClauseReading) -> bool:
    """Whether a clause ends, changes or pays all there are: "both" and "two" are numbers."""
    if clause.action not in _TO_ALL or place_in(clause.text) is not None:
        return False
    return all_of(clause) or (counted(clause) is None and bool(plural_nouns(clause)))


def _numbered(clause: ClauseReading, tool: Tool, catalog: Catalog) -> int:
    """How many of what a clause counts a tool is to make, where nobody can tell it a number.

    What it is named for, it makes one by one; of anything else, what is neither a measure nor
    people.
    """
    found, place = counted(clause), place_in(clause.text)
    if found is None and place is not None and place.number > 1:
        return place.number
    if found is None or found.number > _MAX_COUNT or _takes_many(tool):
        return 1
    thing = stem(singular(found.thing))
    if thing not in name_stems(tool.name) and found.thing in lexicon.COUNTED | lexicon.WEEKS:
        return 1
    domain = [other for other in catalog.tools.values() if other.domain == tool.domain]
    return 1 if any(_counts(other, thing) for other in domain) else found.number


def names_in(values: Iterable[Slot]) -> tuple[str, ...]:
    """The addresses that an order names: each is somebody to whom it is to be done."""
    return tuple(dict.fromkeys(str(slot.value) for slot in values if slot.kind == "email"))


def takes_address(tool: Tool) -> bool:
    """Whether an input of a tool may hold an address, or a list or a text with one."""
    for name, schema in tool.properties.items():
        if name in tool.reference_inputs:
            continue
        listed = schema.get("items")
        inner = listed if isinstance(listed, dict) else schema
        is_id = schema.get("type") == "string" and set(name_words(name)) & lexicon.IDENTIFIER
        if inner.get("type") in ("string", "object", None) and not is_id and "enum" not in inner:
            return True
    return False


def is_of_another(clause: ClauseReading, values: Iterable[Slot], goal: str) -> bool:
    """Whether what is to be ended is not what the goal itself has made.

    That is so when the clause tells which one by a value of which the rest of the goal knows
    nothing, and does not point back: "book a flight to Rome and cancel my flight to Oslo".
    """
    if clause.action is not Action.CANCEL or reference_in(clause.text):
        return False
    # What has no verb of its own was given that of the clause before it.
    before, after = goal_without(goal, clause.text)
    written = clause.text if clause.text in goal else clause.text.partition(" ")[2]
    rest = f"{before} {after}".replace(written or clause.text, " ").casefold()
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


def _takes_many(tool: Tool) -> bool:
    """Whether one call can make several: it takes a number of them, or a list of objects."""
    for name, schema in tool.properties.items():
        numbered = schema.get("type") == "integer" and not set(name_words(name)) & lexicon.PEOPLE
        if numbered and set(name_words(name)) & lexicon.HOW_MANY:
            return True
        items = schema.get("items")
        if isinstance(items, dict) and (items.get("type") == "object" or "properties" in items):
            return True
    return False


def _counts(tool: Tool, thing: str) -> bool:
    """Whether a tool is told how many of a thing are wanted."""
    numbers = (name for name, schema in tool.properties.items() if schema.get("type") == "integer")
    return any(thing in {stem(singular(word)) for word in name_words(name)} for name in numbers)
