"""Which provider a request names ("an Asana project"), and what others do just the same."""

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.read_once import read_once
from orchestrator.language.clause_reading import read_clause
from orchestrator.language.deeds import same_deed
from orchestrator.language.inflection import singular
from orchestrator.language.words import STOP_WORDS, content_stems, stem, tokens
from orchestrator.planning.order_deeds import named
from orchestrator.planning.rules.tool_words import own_words

_QUOTED: Final = re.compile(r"\"[^\"]*\"|\u201c[^\u201d]*\u201d")
_WHERE: Final = "in|on|at|to|into|from|via|with|by|using"
_SHORTEST: Final = 3
_ANY: Final = frozenset(map(stem, ("new", "existing", "single", "all", "multiple")))
"""What is said of any thing at all."""


def provider_named(text: str, catalog: Catalog) -> str:
    """The document whose name or title a text has the word of that is no other's; empty: none.

    Two of them name none, and what some tool says of what it does names no provider.
    """
    names = _names(catalog)
    said = {*tokens(_QUOTED.sub(" ", text))} if names else ()
    found = {names[word] for word in said if word in names}
    return found.pop() if len(found) == 1 else ""


def without_provider(text: str, catalog: Catalog) -> str:
    """The text without the provider that it names, which is no value: "in Asana"."""
    wanted = provider_named(text, catalog)
    words = "|".join(re.escape(word) for word, doc in _names(catalog).items() if doc == wanted)
    if not words:
        return text
    pattern = rf"(?:\s+(?:{_WHERE})(?:\s+(?:the|my|our))?)?\s+(?:{words})(?:['\u2019]s)?(?!\w)"
    return re.sub(pattern, "", text, flags=re.IGNORECASE)


def of_the_named(tool: Tool, text: str, catalog: Catalog) -> Tool:
    """The tool for a request, of the provider that it names, where that one does the same."""
    wanted = provider_named(text, catalog)
    if not wanted or wanted == tool.document:
        return tool
    return next((t for t in _alike(tool, catalog) if t.document == wanted), tool)


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


@read_once
def _names(catalog: Catalog) -> Mapping[str, str]:
    """The words that tell one document from all others, with its name; none where there is one."""
    documents = _documents(catalog)
    if len(documents) < 2:
        return {}
    tools = catalog.tools.values()
    spoken = {s for tool in tools for s in content_stems(f"{tool.domain} {tool.summary}")}
    own: dict[str, set[str]] = defaultdict(set)
    for document in sorted(documents):
        info = catalog.documents.get(document, {}).get("info")
        title = str(info.get("title", "")) if isinstance(info, dict) else ""
        for word in (*tokens(document), *tokens(title.removeprefix("The "))[:1]):
            if len(word) >= _SHORTEST and word not in STOP_WORDS and stem(word) not in spoken:
                own[word].add(document)
    return {word: next(iter(docs)) for word, docs in own.items() if len(docs) == 1}
