"""The catalog: the compiled tools of a set of documents, named by a content digest."""

import hashlib
import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, cast

from pydantic import Field, JsonValue
from rapidfuzz import fuzz, process

from orchestrator.catalog.call_templates import is_version
from orchestrator.catalog.compile import compile_documents
from orchestrator.catalog.functions import compile_functions
from orchestrator.catalog.mcp_documents import TOOL as MCP_TOOL
from orchestrator.catalog.mcp_documents import McpListing
from orchestrator.catalog.operations import SkippedOperation, UnreadFile
from orchestrator.catalog.python_functions import (
    DOCUMENT,
    FunctionTool,
    function_document,
    with_partners,
)
from orchestrator.catalog.source import Sources, located, read_sources
from orchestrator.catalog.tool import SCHEMA_FIELDS, Tool
from orchestrator.core.errors import (
    DocumentInvalid,
    OverlayWarning,
    SkippedWarning,
    ToolNotFound,
    UnreadWarning,
    UsageError,
)
from orchestrator.core.read_once import read_once
from orchestrator.core.record import JsonObject, Record
from orchestrator.json_schema.canonical import canonical_object, canonical_text
from orchestrator.json_schema.document import DocumentNode

_NEAR = 3
_NEAR_ENOUGH = 70
GONE: Final = frozenset({404, 410})
"""HTTP statuses for a resource that does not exist."""
_FORMAT = 1
_VERSION: Final = re.compile(
    r"v?[0-9]+(?:[._-][0-9]+){0,2}|v[0-9]+(?:alpha|beta)[0-9]*", re.IGNORECASE
)
"""A step of an address: v2, 2.0, 2024-08-13, v1beta1."""


class Catalog:
    """Tools and the documents they come from; immutable.

    ```python
    Catalog.load("specs/")                               # every document of a folder
    Catalog.load("crm.yaml", overlays=["crm-tools.yaml"])  # another team's document
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
        functions: Mapping[str, FunctionTool[Any, Any]] = MappingProxyType({}),
    ) -> None:
        """Take compiled tools by name; the other constructors compile.

        A catalog that an earlier release compiled keeps its digest. Skipped operations are not part
        of the digest, because nothing can call them.
        """
        self.skipped = tuple(skipped)
        """Operations marked as tools that cannot be compiled, each with its place and reason."""
        self.unread = tuple(unread)
        """Files of folders that are unreadable and contribute nothing."""
        self.renamed: Mapping[str, str] = MappingProxyType(dict(sorted(renamed.items())))
        """Reason for each tool whose name is not its operationId, by tool name."""
        self.functions: Mapping[str, FunctionTool[Any, Any]] = MappingProxyType(dict(functions))
        """Python functions that are tools, by name; a catalog from a store has none."""
        self._digest = digest
        self.documents: Mapping[str, JsonObject] = MappingProxyType(dict(documents))
        """Parsed content by document name, overlays applied, references inside the document."""
        self.tools: Mapping[str, Tool] = MappingProxyType(dict(sorted(tools.items())))

    @classmethod
    def load(
        cls,
        *paths: str | Path,
        overlays: Sequence[str | Path] = (),
        functions: Iterable[FunctionTool[Any, Any]] = (),
        mcp: Sequence[McpListing] = (),
    ) -> "Catalog":
        """Compile documents from files and folders, functions with `@tool`, and MCP servers' tools.

        `list_servers` of `orchestrator.adapters.mcp.listing` asks servers for their tools.

        Each skipped operation is a SkippedWarning, each unreadable file of a folder an
        UnreadWarning, and each overlay action that selects nothing an OverlayWarning.

        Raises: as `read_sources`.
            UsageError: a function is no tool, or a document has the reserved name of the functions.
        """
        named = with_partners(functions)
        functions_alone = bool(named) and not (paths or overlays or mcp)
        sources = (
            Sources({}, {}, ())
            if functions_alone
            else load_sources(*paths, overlays=overlays, mcp=mcp)
        )
        documents = dict(sources.documents)
        if named and DOCUMENT in documents:
            raise UsageError(f"a document is called {DOCUMENT!r} like that of functions: rename it")
        if named:
            documents[DOCUMENT] = function_document(named)
        compiled = compile_documents(documents)
        skipped = located(compiled.skipped, sources.files)
        for operation in skipped:
            warnings.warn(str(operation), SkippedWarning, stacklevel=2)
        return cls(
            documents,
            compiled.tools,
            skipped=skipped,
            renamed=compiled.renamed,
            unread=sources.unread,
            functions=named,
        )

    @classmethod
    def from_documents(cls, documents: Mapping[str, JsonObject]) -> "Catalog":
        """Compile parsed documents, by name.

        Raises:
            DocumentInvalid: one is not a document of a supported version.
        """
        compiled = compile_documents(documents)
        return cls(documents, compiled.tools, skipped=compiled.skipped, renamed=compiled.renamed)

    @classmethod
    def from_functions(cls, functions: Iterable[Mapping[str, Any]]) -> "Catalog":
        """Compile function tools: OpenAI's, wrapped in {"type": "function"} or bare, and MCP's.

        Effects and domains are inferred; a function that may change something is confirmed first. A
        hint that contradicts the function's own words is a FunctionWarning.

        Raises:
            DocumentInvalid: a function has no name or no schema, or two have the same name.
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
        """Return the tool of that name.

        Raises:
            ToolNotFound: with the reason why its operation was skipped, or with similar names.
        """
        found = self.tools.get(name)
        if found is None:
            if (why := next((s for s in self.skipped if s.operation == name), None)) is not None:
                raise ToolNotFound(str(why))
            near = process.extract(
                name, self.tools.keys(), scorer=fuzz.WRatio, limit=_NEAR, score_cutoff=_NEAR_ENOUGH
            )
            similar = ", ".join(one for one, _, _ in near)
            remedy = f"did you mean {similar}?" if similar else "see: orchestrator tools list"
            raise ToolNotFound(f"no tool is called {name!r}; {remedy}")
        return found

    def __len__(self) -> int:
        return len(self.tools)


def load_documents(
    *paths: str | Path, overlays: Sequence[str | Path] = (), mcp: Sequence[McpListing] = ()
) -> dict[str, JsonObject]:
    """Return parsed documents by name, as `load_sources` reads them."""
    return load_sources(*paths, overlays=overlays, mcp=mcp).documents


def load_sources(
    *paths: str | Path, overlays: Sequence[str | Path] = (), mcp: Sequence[McpListing] = ()
) -> Sources:
    """Return parsed documents by name, self-contained and with the overlays applied.

    Each unreadable file of a folder is an UnreadWarning, and each overlay action that selects
    nothing an OverlayWarning.

    Raises: as `read_sources`.
    """
    sources = read_sources(paths, overlays, mcp)
    for file in sources.unread:
        warnings.warn(str(file), UnreadWarning, stacklevel=3)
    for action in sources.idle:
        warnings.warn(str(action), OverlayWarning, stacklevel=3)
    return sources


def version_reader(tools: Iterable[Tool], cancel: Tool) -> Tool | None:
    """Return the tool that shows the version which a conditional cancel sends as `If-Match`.

    It is the GET of the cancel's own path (RFC 9110, section 13.1.1).
    """
    if not any(b.location == "header" and is_version(b.field) for b in cancel.bindings):
        return None
    place = (cancel.document, cancel.server, cancel.path)
    for tool in tools:
        is_there = (tool.document, tool.server, tool.path) == place
        if is_there and tool.method == "GET" and not tool.is_side_effect:
            return tool
    return None


def other_versions(catalog: Catalog, tool: Tool) -> tuple[str, ...]:
    """Return the tools that are this one at other versions of its address, deprecated ones last.

    `POST /v1/pickups` and `POST /v2/pickups` are two versions.
    """
    same = _versions(catalog).get(_unversioned(tool), ())
    names = (other.name for other in same if other.name != tool.name)
    return tuple(sorted(names, key=lambda name: (catalog.tools[name].deprecated, name)))


@read_once
def _versions(catalog: Catalog) -> Mapping[tuple[str, ...], Sequence[Tool]]:
    found: defaultdict[tuple[str, ...], list[Tool]] = defaultdict(list)
    for tool in catalog.tools.values():
        if tool.path:
            found[_unversioned(tool)].append(tool)
    return found


def _unversioned(tool: Tool) -> tuple[str, ...]:
    """Return the method and the address of a tool, without the step of its version."""
    steps = re.sub(r"\{[^{}]*\}", "{}", f"{tool.server}{tool.path}").split("/")
    return tool.method, tool.effect, *(step for step in steps if not _VERSION.fullmatch(step))


def declares_gone(catalog: Catalog, tool: Tool) -> bool:
    """Return True if the tool declares an answer for a resource that does not exist."""
    document = catalog.documents.get(tool.document)
    if document is None:
        return False
    try:
        place = ("paths", tool.path, tool.method.lower(), "responses")
        responses = DocumentNode.of(tool.document, document).at(*place)
    except DocumentInvalid:
        return False
    return responses is not None and any(str(status) in responses.mapping() for status in GONE)


def content_digest(documents: JsonObject, tools: JsonObject) -> str:
    """Return the hex SHA-256 of the canonical JSON (RFC 8785) of `{documents, tools}`, by name.

    `Tool.as_json` gives the tools.
    """
    digest = hashlib.sha256()
    for piece in _pieces(documents, tools):
        digest.update(piece.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _pieces(documents: JsonObject, tools: JsonObject) -> Iterator[str]:
    """Yield the canonical text one tool at a time; the whole may be hundreds of megabytes."""
    yield f'{{"documents":{canonical_text(documents)},"tools":{{'
    known: dict[int, str] = {}

    def shared(_: str, schema: JsonValue) -> str:
        """Write each shared schema once, found by identity; the caller keeps it alive."""
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


def pack(catalog: Catalog) -> JsonObject:
    """Return the catalog as one JSON value that contains each shared definition once.

    The value has compiled tools as well as documents: a later release may compile a document
    differently, and a mission keeps the tools that it began with.
    """
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
    """Return the catalog of that digest from the result of `pack`.

    Raises:
        ValueError: the value is malformed, or has another digest.
    """
    try:
        if content["format"] != _FORMAT:
            raise ValueError(f"it is of the format {content['format']!r}")
        documents, shared = content["documents"], content["shared"]
        tools: JsonObject = {}
        for name, tool in content["tools"].items():
            schemas = {field: tool[field] for field in SCHEMA_FIELDS}
            for field, schema in schemas.items():
                if schema is not None and "$defs" in schema:
                    whole = {defined: shared[at] for defined, at in schema["$defs"].items()}
                    schemas[field] = {**schema, "$defs": whole}
            tools[name] = {**tool, **schemas}
        found = content_digest(documents, tools)
    except (AttributeError, LookupError, TypeError) as error:
        raise ValueError(f"it is no catalog ({type(error).__name__})") from error
    if found != digest:
        raise ValueError(f"its content has the digest {found[:12]}")
    compiled = {name: Tool.model_validate(tool) for name, tool in tools.items()}
    return Catalog(documents, compiled, digest=digest)


_NO_MEANING: Final = frozenset({"document", "domain", "name"})


class ChangedPart(Record):
    """A part of a tool that is declared otherwise."""

    part: str = Field(description="a field of the compiled tool, or the MCP server's declaration")
    before: JsonValue = None
    after: JsonValue = None


class ToolChange(Record):
    """A tool that is not what it was."""

    tool: str
    change: Literal["added", "removed", "changed"]
    parts: tuple[ChangedPart, ...] = ()


def changed_tools(before: Catalog, after: Catalog) -> tuple[ToolChange, ...]:
    """Return the tools that differ, sorted by name."""
    found: list[ToolChange] = []
    for name in sorted({*before.tools, *after.tools}):
        old, new = before.tools.get(name), after.tools.get(name)
        if old is None or new is None:
            found.append(ToolChange(tool=name, change="added" if old is None else "removed"))
            continue
        was, now = _parts(before, old), _parts(after, new)
        parts = tuple(
            ChangedPart(part=part, before=was.get(part), after=now.get(part))
            for part in sorted({*was, *now} - _NO_MEANING)
            if was.get(part) != now.get(part)
        )
        if parts:
            found.append(ToolChange(tool=name, change="changed", parts=parts))
    return tuple(found)


def _parts(catalog: Catalog, tool: Tool) -> JsonObject:
    paths = catalog.documents.get(tool.document, {}).get("paths")
    item = paths.get(tool.path) if isinstance(paths, dict) else None
    operation = item.get(tool.method.lower()) if isinstance(item, dict) else None
    declared = operation.get(MCP_TOOL) if isinstance(operation, dict) else None
    return {**tool.as_json(), "declaration": declared}
