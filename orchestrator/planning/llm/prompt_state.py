"""Prompt refresh: sections are rendered again only when what they are made from has changed."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from orchestrator.catalog.tool import Tool
from orchestrator.planning.llm.prompt import (
    CORE_TITLE,
    DISCOVERED_TITLE,
    STEP_TITLE,
    ToolBlock,
    catalog_row,
    catalog_section,
    meta_schemas,
    section,
    tool_schema,
)


@dataclass(frozen=True)
class SectionSource:
    """How a section comes about; `build` is called only when the fingerprint is a new one."""

    name: str
    fingerprint: str
    build: Callable[[], str]


@dataclass(frozen=True)
class Section:
    """A rendered section."""

    name: str
    fingerprint: str
    text: str


@dataclass(frozen=True)
class PromptState:
    """The sections as they were last sent, by name."""

    sections: Mapping[str, Section] = field(default_factory=dict)

    def refreshed(
        self, sources: Iterable[SectionSource]
    ) -> tuple["PromptState", tuple[Section, ...]]:
        """The state after this step, and the sections whose text changed: those to send again.

        A section that is no longer asked for is forgotten. With nothing changed, it is this state.
        """
        now = {source.name: self._section(source) for source in sources}
        if now == self.sections:
            return self, ()
        sent = {name: section.text for name, section in self.sections.items()}
        return PromptState(now), tuple(s for s in now.values() if sent.get(s.name) != s.text)

    def text(self, *names: str) -> str:
        """The sections of these names, in this order, those without text left out."""
        texts = (self.sections[name].text for name in names if name in self.sections)
        return "\n\n".join(text for text in texts if text)

    def _section(self, source: SectionSource) -> Section:
        known = self.sections.get(source.name)
        if known is not None and known.fingerprint == source.fingerprint:
            return known
        return Section(source.name, source.fingerprint, source.build())


def tool_sources(block: ToolBlock, catalog_digest: str) -> tuple[SectionSource, ...]:
    """The sections of a step's tools: core, catalog, discovered, step.

    The most stable come first: a provider that caches prompts by their beginning reuses them.
    """

    def source(name: str, tools: tuple[Tool, ...], build: Callable[[], str]) -> SectionSource:
        made_from = [catalog_digest, str(block.catalog_tokens), *(tool.name for tool in tools)]
        return SectionSource(name, hashlib.sha256("\n".join(made_from).encode()).hexdigest(), build)

    def shown(title: str, tools: tuple[Tool, ...], *before: str) -> str:
        return section(title, [*before, *map(tool_schema, tools)])

    def deferred() -> str:
        rows = map(catalog_row, block.deferred)
        return catalog_section(rows, most_tokens=block.catalog_tokens)

    return (
        source("core", block.core, lambda: shown(CORE_TITLE, block.core, *meta_schemas())),
        source("catalog", block.deferred, deferred),
        source("discovered", block.discovered, lambda: shown(DISCOVERED_TITLE, block.discovered)),
        source("step", block.step, lambda: shown(STEP_TITLE, block.step)),
    )
