"""The catalog: the compiled tools of a set of documents, named by its content digest."""

import hashlib
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, cast

from pydantic import JsonValue
from rapidfuzz import fuzz, process

from orchestrator.catalog.compile import compile_documents
from orchestrator.catalog.functions import compile_functions
from orchestrator.catalog.operations import SkippedOperation, UnreadFile
from orchestrator.catalog.source import Sources, located, read_sources
from orchestrator.catalog.tool import SCHEMA_FIELDS, Tool
from orchestrator.core.errors import (
    DocumentInvalid,
    OverlayWarning,
    SkippedWarning,
    ToolNotFound,
    UnreadWarning,
)
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.canonical import canonical_object, canonical_text
from orchestrator.json_schema.document import DocumentNode

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


GONE: Final = frozenset({404, 410})
"""Statuses of HTTP that say that nothing is there."""


def declares_gone(catalog: Catalog, tool: Tool) -> bool:
    """Whether an answer that nothing is there is one of those declared."""
    return not declared_statuses(catalog, tool).isdisjoint(map(str, GONE))


def declared_statuses(catalog: Catalog, tool: Tool) -> frozenset[str]:
    """As the document writes them: `200`, `4XX`, `default`; none for a tool without a document."""
    document = catalog.documents.get(tool.document)
    if document is None:
        return frozenset()
    root = DocumentNode.of(tool.document, document)
    try:
        responses = root.at("paths", tool.path, tool.method.lower(), "responses")
    except DocumentInvalid:
        return frozenset()
    return frozenset(responses.mapping()) if responses is not None else frozenset()


def content_digest(documents: JsonObject, tools: JsonObject) -> str:
    """Hex SHA-256 of the canonical JSON (RFC 8785) of `{documents, tools}`, both by name.

    Tools are as `Tool.as_json` gives them.
    """
    digest = hashlib.sha256()
    for piece in _pieces(documents, tools):
        digest.update(piece.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _pieces(documents: JsonObject, tools: JsonObject) -> Iterator[str]:
    """The canonical text, a tool at a time: all of it at once may be hundreds of megabytes."""
    yield f'{{"documents":{canonical_text(documents)},"tools":{{'
    known: dict[int, str] = {}

    def shared(_: str, schema: JsonValue) -> str:
        """Written once: it is known again by its identity, and the caller keeps it alive."""
        if id(schema) not in known:
            known[id(schema)] = canonical_text(schema)
        return known[id(schema)]

    def keyword(name: str, value: JsonValue) -> str:
        if name in ("$defs", "properties") and isinstance(value, dict):
            return canonical_object(value, shared)
        return canonical_text(value)

    def field(name: str, value: JsonValue) -> str:
        if name in SCHEMA_FIELDS and isinstance(value, dict):
            return canonical_object(value, keyword)
        return canonical_text(value)

    for index, name in enumerate(sorted(tools, key=lambda name: name.encode("utf-16-be"))):
        tool = tools[name]
        assert isinstance(tool, dict)
        yield f"{',' if index else ''}{canonical_text(name)}:{canonical_object(tool, field)}"
    yield "}}"


_FORMAT = 1


def pack(catalog: Catalog) -> JsonObject:
    """All of a catalog; definitions that tools share are in it once."""
    shared: list[JsonValue] = []
    places: dict[int, int] = {}

    def place_of(definition: JsonValue) -> int:
        if id(definition) not in places:
            places[id(definition)] = len(shared)
            shared.append(definition)
        return places[id(definition)]

    def packed(schema: JsonValue) -> JsonValue:
        if not isinstance(schema, dict) or not isinstance(schema.get("$defs"), dict):
            return schema
        defs = cast("JsonObject", schema["$defs"])
        return {**schema, "$defs": {name: place_of(item) for name, item in defs.items()}}

    tools: JsonObject = {}
    for name, tool in catalog.tools.items():
        content = tool.as_json()
        tools[name] = {**content, **{field: packed(content[field]) for field in SCHEMA_FIELDS}}
    return {
        "format": _FORMAT,
        "documents": dict(catalog.documents),
        "tools": tools,
        "shared": shared,
    }


def unpack(content: Any, digest: str) -> Catalog:
    """The catalog of that digest, from what `pack` gave, back from JSON.

    Raises:
        ValueError: it is something else, or has another digest.
    """
    try:
        if content["format"] != _FORMAT:
            raise ValueError(f"it is of the format {content['format']!r}")
        documents, shared = content["documents"], content["shared"]
        tools: JsonObject = {
            name: _unpacked(tool, shared) for name, tool in content["tools"].items()
        }
        found = content_digest(documents, tools)
    except (AttributeError, LookupError, TypeError) as error:
        raise ValueError(f"it is no catalog ({type(error).__name__})") from error
    if found != digest:
        raise ValueError(f"its content has the digest {found[:12]}")
    compiled = {name: Tool.model_validate(tool) for name, tool in tools.items()}
    return Catalog(documents, compiled, digest=digest)


def _unpacked(tool: JsonObject, shared: list[JsonValue]) -> JsonObject:
    return {**tool, **{field: _whole(tool[field], shared) for field in SCHEMA_FIELDS}}


def _whole(schema: Any, shared: list[JsonValue]) -> JsonValue:
    if schema is None or "$defs" not in schema:
        return cast("JsonValue", schema)
    return {**schema, "$defs": {name: shared[at] for name, at in schema["$defs"].items()}}
