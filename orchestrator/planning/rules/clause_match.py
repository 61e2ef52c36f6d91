"""Whether the words of a clause speak of what a tool does, whatever else the catalog holds."""

import re
from datetime import datetime
from typing import Final

from orchestrator.catalog.tool import Tool
from orchestrator.language.clause_reading import read_clause
from orchestrator.language.clauses import without_lead
from orchestrator.language.intent import Action
from orchestrator.language.slots import find_slots
from orchestrator.language.synonyms import synonyms_of
from orchestrator.language.words import content_stems, stem
from orchestrator.routing.cards.capability_card import verb_and_action

ENOUGH: Final = 2 / 3
"""Share of a clause's words that must be the tool's own. Our own: "reserve a book about deserts" is
for the library, "book me a massage" is not for the airline."""

_MATTER = re.compile(r"\s(?:that|saying|to\s+[a-z]+)\s|:\s", re.IGNORECASE)
"""What follows is the matter of a message or a reminder: anything at all."""


def speaks_of(clause: str, tool: Tool, *, now: datetime) -> bool:
    """Whether most of what the clause says, its values aside, is said of the tool as well.

    A second opinion beside scores that weigh words by their rarity: over a handful of tools every
    word is common.
    """
    reading = read_clause(clause)
    bare = _MATTER.split(_without_values(clause, now=now))[0]
    wanted = set(content_stems(without_lead(bare)))
    if reading.action is Action.SEND:
        wanted = set(reading.stems) & {*wanted, stem(reading.verb)}
    own = vocabulary(tool)
    # The verb is said by every tool that does such a thing, whatever it calls it.
    done = {stem(reading.verb)} if reading.action is verb_and_action(tool)[1] else set()
    said = {w for w in wanted if w in own or w in done or not own.isdisjoint(synonyms_of(w))}
    return bool(wanted) and len(said) >= ENOUGH * len(wanted)


def _without_values(clause: str, *, now: datetime) -> str:
    for slot in reversed(find_slots(clause, now=now)):
        clause = f"{clause[: slot.position]} {clause[slot.position + len(slot.text) :]}"
    return clause


def vocabulary(tool: Tool) -> set[str]:
    """Stems of the words in which a tool speaks of itself."""
    told = [str(schema.get("description", "")) for schema in tool.properties.values()]
    texts = (tool.name, tool.domain, tool.summary, tool.description, *tool.intent_tags)
    return set(content_stems(" ".join((*texts, *tool.examples, *tool.properties, *told))))
