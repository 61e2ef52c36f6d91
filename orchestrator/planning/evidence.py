"""Whether the words of a clause speak of what a tool does, whatever else the catalog holds."""

import re
from datetime import datetime
from typing import Final

from orchestrator.catalog.tool import Tool
from orchestrator.routing.clauses import without_lead
from orchestrator.routing.slots import find_slots
from orchestrator.routing.words import content_stems

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
    bare = _MATTER.split(_without_values(clause, now=now))[0]
    wanted = set(content_stems(without_lead(bare)))
    return bool(wanted) and len(wanted & vocabulary(tool)) >= ENOUGH * len(wanted)


def _without_values(clause: str, *, now: datetime) -> str:
    for slot in reversed(find_slots(clause, now=now)):
        clause = f"{clause[: slot.position]} {clause[slot.position + len(slot.text) :]}"
    return clause


def vocabulary(tool: Tool) -> set[str]:
    """Stems of the words in which a tool speaks of itself."""
    told = [str(schema.get("description", "")) for schema in tool.properties.values()]
    texts = (tool.name, tool.domain, tool.summary, tool.description, *tool.intent_tags)
    return set(content_stems(" ".join((*texts, *tool.examples, *tool.properties, *told))))
