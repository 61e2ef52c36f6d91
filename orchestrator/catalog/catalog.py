"""The catalog: the compiled tools of a set of documents, named by its content digest."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rapidfuzz import fuzz, process

from orchestrator.catalog.compile import compile_documents
from orchestrator.catalog.digest import content_digest
from orchestrator.catalog.functions import compile_functions
from orchestrator.catalog.skipped import SkippedOperation, UnreadFile
from orchestrator.catalog.source import Sources, located, read_sources
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import (
    OverlayWarning,
    SkippedWarning,
    ToolNotFound,
    UnreadWarning,
)
from orchestrator.core.record import JsonObject

_NEAR = 3
_NEAR_ENOUGH = 70


class Catalog:
    """Tools and the documents they come from; never changes once it is made.

    ```python
    Catalog.load("specs/")                               # every document of a folder
    Catalog.load("crm.yaml", overlays=["crm-tools.yaml"])  # one that we do not own
    Catalog.from_functions(tools)                        # plain function schemas
    ```
    """

    def __init__(
        self,
        documents: Mapping[str, JsonObject],
        tools: Mapping[str, Tool],
        *,
        digest: str | None = None,
        skipped: Sequence[SkippedOperation] = (),
        renamed: Mapping[str, str] = MappingProxyType({}),
        unread: Sequence[UnreadFile] = (),
    ) -> None:
        """Take what is compiled already, by name; the other constructors compile.

        What was compiled by an earlier release keeps the digest that names it. What was skipped is
        no part of that: it can be called by nobody.
        """
        self.skipped = tuple(skipped)
        """What the documents mark as tools and cannot be, each with its place and its reason."""
        self.unread = tuple(unread)
        """Files of folders that cannot be read, of which there is nothing here."""
        self.renamed: Mapping[str, str] = MappingProxyType(dict(sorted(renamed.items())))
        """Why tools are not called by their operationId, by the name that they have instead."""
        self._digest = digest
        self.documents: Mapping[str, JsonObject] = MappingProxyType(dict(documents))
        """Document name to its parsed content, overlays applied, references inside itself."""
        self.tools: Mapping[str, Tool] = MappingProxyType(dict(sorted(tools.items())))
        """Tool name to tool, sorted by name."""

    @classmethod
    def load(cls, *paths: str | Path, overlays: Sequence[str | Path] = ()) -> "Catalog":
        """Compile documents from files, and from the files of folders.

        Each operation that is skipped is a SkippedWarning, each file of a folder that cannot be
        read an UnreadWarning, and each action of an overlay that selects nothing an OverlayWarning.

        Raises:
            DocumentUnreadable: a file that is named is missing, or is neither JSON nor YAML.
            DocumentInvalid: one that is named is no document of a version that we read, or an
                overlay is at fault.
            UsageError: no document was found.
        """
        sources = load_sources(*paths, overlays=overlays)
        compiled = compile_documents(sources.documents)
        skipped = located(compiled.skipped, sources.files)
        for operation in skipped:
            warnings.warn(str(operation), SkippedWarning, stacklevel=2)
        return cls(
            sources.documents,
            compiled.tools,
            skipped=skipped,
            renamed=compiled.renamed,
            unread=sources.unread,
        )

    @classmethod
    def from_documents(cls, documents: Mapping[str, JsonObject]) -> "Catalog":
        """Compile parsed documents, by name.

        Raises:
            DocumentInvalid: one is no document of a version that we read.
        """
        compiled = compile_documents(documents)
        return cls(documents, compiled.tools, skipped=compiled.skipped, renamed=compiled.renamed)

    @classmethod
    def from_functions(cls, functions: Iterable[Mapping[str, Any]]) -> "Catalog":
        """Compile function tools: OpenAI's, wrapped in {"type": "function"} or bare, and MCP's.

        Effects and domains are inferred; what cannot be told to only read is confirmed first. A
        hint that says otherwise against the function's own words is a FunctionWarning.

        Raises:
            DocumentInvalid: one has no name or no schema, or two have one name.
        """
        return cls({}, compile_functions(functions))

    @cached_property
    def digest(self) -> str:
        """Hex SHA-256 of the canonical JSON (RFC 8785) of tools and documents."""
        if self._digest is not None:
            return self._digest
        tools: JsonObject = {name: tool.as_json() for name, tool in self.tools.items()}
        return content_digest(dict(self.documents), tools)

    def tool(self, name: str) -> Tool:
        """The tool of that name.

        Raises:
            ToolNotFound: there is none; it says why its operation was skipped, or names tools with
                a similar name.
        """
        found = self.tools.get(name)
        if found is None:
            if (why := next((s for s in self.skipped if s.operation == name), None)) is not None:
                raise ToolNotFound(name, skipped=str(why))
            near = process.extract(
                name, self.tools.keys(), scorer=fuzz.WRatio, limit=_NEAR, score_cutoff=_NEAR_ENOUGH
            )
            raise ToolNotFound(name, tuple(similar for similar, _, _ in near))
        return found

    def __len__(self) -> int:
        return len(self.tools)


def load_documents(
    *paths: str | Path, overlays: Sequence[str | Path] = ()
) -> dict[str, JsonObject]:
    """Parsed documents by name: what `load_sources` reads."""
    return load_sources(*paths, overlays=overlays).documents


def load_sources(*paths: str | Path, overlays: Sequence[str | Path] = ()) -> Sources:
    """Parsed documents by name, each made self-contained, with the overlays applied.

    Each file of a folder that cannot be read is an UnreadWarning, and each action of an overlay
    that selects nothing an OverlayWarning.

    Raises:
        DocumentUnreadable: a file that is named is missing, or is neither JSON nor YAML.
        DocumentInvalid: one that is named is no document of a version that we read, or an overlay
            is at fault.
        UsageError: no document was found.
    """
    sources = read_sources(paths, overlays)
    for file in sources.unread:
        warnings.warn(str(file), UnreadWarning, stacklevel=3)
    for action in sources.idle:
        warnings.warn(str(action), OverlayWarning, stacklevel=3)
    return sources
