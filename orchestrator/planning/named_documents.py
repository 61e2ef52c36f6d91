"""Which documents a request says that its tools are of: "in Firefly", "my Spotify playlists"."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.wall import Wall
from orchestrator.language.words import name_words, stem, tokens
from orchestrator.planning.models import AgentProfile

_LED: Final = r"\b(?:in|on|at|to|into|onto|from|with|via|using|through)\s+(?:my\s+|our\s+|the\s+)?"
_ENDS: Final = r"(?:['\u2019]s)?(?=\s*(?:$|[.,;:!?)])|\s+(?-i:[a-z(]))"
"""No name goes on behind it: "in Box" is a provider, "in Box Hill" a place."""
_BEHIND: Final = r"\b(?:['\u2019]s)?\s+(?=(?P<noun>[a-z][\w-]*))"
_SPELT: Final = re.compile(
    r"[\"\u201c\u201d]|:\s|\b(?:called|titled|named|saying|that)\s", re.IGNORECASE
)
"""What follows may be what something is called, or what somebody is told."""
_CALLED: Final = re.compile(r"\b(?:called|titled|named)\s+$", re.IGNORECASE)
_TEXT: Final = re.compile(r"[\"\u201c\u201d]|:\s|\b(?:saying|that)\s", re.IGNORECASE)

_CLOSED: Final = re.compile(r"\"[^\"]*\"|\u201c[^\u201d]*\u201d")
"""Quoted words, behind which a text goes on."""

_SHORTEST: Final = 3
"""Characters of a word that names something."""


@dataclass(frozen=True)
class NamedDocument:
    """A document that is named, and where the words stand that do it."""

    document: str
    start: int
    end: int


def documents_named(text: str, tools: Iterable[Tool]) -> tuple[NamedDocument, ...]:
    """The documents of these tools that a text names as what it is done with, in its order.

    A document is named by its name, or by a word of it that no other has, and no tool deals in.
    """
    own: dict[str, set[str]] = {}
    for tool in tools:
        own.setdefault(tool.document, set()).update(_things(tool))
    found = (
        NamedDocument(document, match.start(), match.end())
        for document, things in own.items()
        for name in _names(document, own)
        for match in _said(text, name, things)
    )
    return tuple(sorted(found, key=lambda one: one.start))


def tools_meant(text: str, catalog: Catalog) -> list[Tool]:
    """The tools of the documents that a text names; all of the catalog where it names none."""
    tools = [*catalog.tools.values()]
    documents = {one.document for one in documents_named(text, tools)}
    return [tool for tool in tools if not documents or tool.document in documents]


def without_documents(text: str, named: Iterable[NamedDocument]) -> str:
    """The text without the words that name documents."""
    for one in sorted(named, key=lambda one: -one.start):
        text = f"{text[: one.start].rstrip()} {text[one.end :].lstrip()}".strip()
        text = re.sub(r"\s+(?=[.,;:!?]|$)", "", text)
    return text


def kept_to(agent: AgentProfile, documents: Collection[str], catalog: Catalog) -> AgentProfile:
    """The agent for what is to be done with these documents alone: of what it may touch, theirs."""
    tools = catalog.tools.values()
    own = [t for t in tools if t.document in documents and agent.wall.admits(t.name, t.domain)]
    others = {t.domain for t in tools if t not in own}
    domains = tuple(sorted({t.domain for t in own} - others))
    names = tuple(sorted(t.name for t in own if t.domain in others))
    return agent.model_copy(update={"domains": domains, "tools": names})


def wall_of(documents: Collection[str], catalog: Catalog) -> tuple[Wall, ...]:
    """What holds a search to these documents; nothing does where none is named."""
    if not documents:
        return ()
    return (kept_to(AgentProfile(name="named"), documents, catalog).wall,)


def _names(document: str, own: Mapping[str, Collection[str]]) -> Iterator[str]:
    """What may name a document: its whole name, and each word of it that is its own.

    A word that its own tools deal in has to be written as a name: "in Box", and not "in the box".
    """
    words = name_words(document)
    if len(words) > 1:
        yield r"[\s_-]?".join(map(re.escape, words))
    others = {word for other in own if other != document for word in name_words(other)}
    for word in words:
        dealing = {other for other, things in own.items() if stem(word) in things}
        if word in others or len(word) < _SHORTEST or not dealing <= {document}:
            continue
        if not dealing:
            yield re.escape(word)
        elif len(words) == 1:
            yield rf"(?-i:{re.escape(word[0].upper())}){re.escape(word[1:])}"


def _said(text: str, name: str, things: Collection[str]) -> Iterator[re.Match[str]]:
    for match in re.finditer(rf"{_LED}{name}{_ENDS}", text, re.IGNORECASE):
        before = _CLOSED.sub("x", text[: match.start()])
        if not _TEXT.search(before) and not _CALLED.search(before):
            yield match
    for match in re.finditer(rf"\b{name}{_BEHIND}", text, re.IGNORECASE):
        before = _CLOSED.sub("x", text[: match.start()])
        if not _SPELT.search(before) and stem(match["noun"].lower()) in things:
            yield match


def _things(tool: Tool) -> Iterator[str]:
    """Stems of what a tool deals in, by its domain and its path."""
    steps = (step for step in tool.path.split("/") if "{" not in step)
    return (stem(word) for word in tokens(" ".join((tool.domain, *steps))))
