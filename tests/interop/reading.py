"""A document as the trial uses it: every operation a tool, and every server the one of the trial."""

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from orchestrator.catalog.catalog import Catalog, load_documents
from orchestrator.catalog.compile import compile_operation
from orchestrator.catalog.lint import lint
from orchestrator.catalog.operations import operations
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode

_SCHEMAS: Final = "#/components/schemas/"
_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


@dataclass(frozen=True)
class Skipped:
    """An operation that does not compile."""

    operation: str
    pointer: str
    reason: str


@dataclass
class Reading:
    """What was made of one document."""

    document: JsonObject
    described: int
    tools: list[Tool]
    skipped: list[Skipped]
    read_s: float
    findings: Counter[str] = field(default_factory=Counter)
    lint_s: float = 0.0


def read(path: Path) -> Reading:
    """Read, mark and compile a document.

    Raises:
        OrchestratorError: it cannot be read at all.
    """
    began = time.monotonic()
    [(name, loaded)] = load_documents(path).items()
    document = _marked(loaded)
    tools, skipped = _compiled(name, document)
    described = sum(1 for _ in _operations(document))
    return Reading(document, described, tools, skipped, time.monotonic() - began)


def count_findings(reading: Reading) -> None:
    """What lint has to say, by severity and code."""
    began = time.monotonic()
    found = lint({"document": reading.document})
    reading.findings = Counter(f"{f.severity} {f.code}" for f in found)
    reading.lint_s = time.monotonic() - began


def catalog_at(reading: Reading, address: str) -> Catalog:
    """The compiled tools, all of whose calls go to one address."""
    name = reading.tools[0].document
    tools = {tool.name: tool.model_copy(update={"server": address}) for tool in reading.tools}
    return Catalog({name: _served_at(reading.document, address)}, tools, digest=address)


def _compiled(name: str, document: JsonObject) -> tuple[list[Tool], list[Skipped]]:
    tools: list[Tool] = []
    skipped: list[Skipped] = []
    root = DocumentNode.of(name, document)
    for operation in operations(root):
        try:
            tools.append(compile_operation(operation))
        except DocumentInvalid as fault:
            label = f"{operation.method} {operation.path}"
            skipped.append(Skipped(label, fault.pointer, fault.reason))
    return tools, skipped


def _operations(document: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Path items that hold operations, each with a method."""
    for path, item in document.get("paths", {}).items():
        if path.startswith("x-") or not isinstance(item, dict):
            continue
        for method in _METHODS:
            if isinstance(item.get(method), dict):
                yield item, method


def _marked(document: JsonObject) -> JsonObject:
    for item, method in _operations(document):
        item[method] = {**item[method], "x-orchet-tool": True}
    return document


def _served_at(document: Mapping[str, Any], address: str) -> JsonObject:
    paths = {
        path: _without_servers(item) if isinstance(item, dict) else item
        for path, item in document.get("paths", {}).items()
    }
    return {**document, "paths": paths, "servers": [{"url": address}]}


def _without_servers(item: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: {k: v for k, v in held.items() if k != "servers"} if isinstance(held, dict) else held
        for key, held in item.items()
        if key != "servers"
    }


def without_answers(document: Mapping[str, Any]) -> JsonObject:
    """The same document, each of whose answers has a status and no body."""
    kept = json.loads(json.dumps(document))
    for item, method in _operations(kept):
        statuses = item[method].get("responses", {})
        item[method]["responses"] = {status: {"description": ""} for status in statuses}
    kept.get("components", {}).pop("responses", None)
    return _reachable(kept)


def _reachable(document: JsonObject) -> JsonObject:
    """The document without schemas that nothing in it refers to any more."""
    components: Any = document.get("components", {})
    schemas = components.pop("schemas", {})
    wanted, kept = [*_named_schemas(document)], {}
    while wanted:
        name = wanted.pop()
        if name in schemas and name not in kept:
            kept[name] = schemas[name]
            wanted += _named_schemas(schemas[name])
    components["schemas"] = kept
    return document


def _named_schemas(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for element in node:
            yield from _named_schemas(element)
    elif isinstance(node, Mapping):
        if str(node.get("$ref", "")).startswith(_SCHEMAS):
            yield str(node["$ref"]).removeprefix(_SCHEMAS).partition("/")[0]
        for held in node.values():
            yield from _named_schemas(held)
