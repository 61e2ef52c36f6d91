"""What the tools of other providers do just the same: two that make projects."""

from typing import Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.read_once import read_once
from orchestrator.language.clause_reading import read_clause
from orchestrator.language.deeds import same_deed
from orchestrator.language.inflection import singular
from orchestrator.language.words import content_stems, stem
from orchestrator.planning.order_deeds import named
from orchestrator.planning.rules.tool_words import own_words

_ANY: Final = frozenset(map(stem, ("new", "existing", "single", "all", "multiple")))
"""What is said of any thing at all."""


def others_alike(tool: Tool, text: str, catalog: Catalog) -> tuple[Tool, ...]:
    """The tools of other providers that do the same to things called the same by a text."""
    said = own_words(tool) & {*content_stems(" ".join(read_clause(text).objects))}
    others = (t for t in _alike(tool, catalog) if t.document != tool.document)
    return tuple(other for other in others if said <= own_words(other))


def _alike(tool: Tool, catalog: Catalog) -> tuple[Tool, ...]:
    what = _thing(tool)
    if len({*_documents(catalog)}) < 2 or not what:
        return ()
    return tuple(
        other
        for other in catalog.tools.values()
        if _thing(other) == what
        and other.is_side_effect is tool.is_side_effect
        and _same(tool, other)
    )


def _same(tool: Tool, other: Tool) -> bool:
    (verb, action), (own, likewise) = named(tool), named(other)
    if tool.is_side_effect is not other.is_side_effect:
        return False
    return same_deed(verb, own) if tool.is_side_effect else action is likewise


@read_once
def _thing(tool: Tool) -> frozenset[str]:
    """The stems of what a tool does something to."""
    words = (singular(word.lower()) for word in read_clause(tool.summary).objects)
    return frozenset(map(stem, words)) - _ANY


@read_once
def _documents(catalog: Catalog) -> frozenset[str]:
    return frozenset(tool.document for tool in catalog.tools.values())
