"""A document as a trial uses it: every operation a tool, every server that of the trial."""

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from orchestrator.catalog.catalog import Catalog, load_documents
from orchestrator.catalog.lint import lint
from orchestrator.core.record import JsonObject

_SCHEMAS: Final = "#/components/schemas/"
PORT: Final = "interop_port"
SERVER: Final = f"http://127.0.0.1:{{{PORT}}}"
_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


@dataclass
class Reading:
    """What was made of one document."""

    document: JsonObject
    described: int
    catalog: Catalog
    read_s: float
    findings: Counter[str] = field(default_factory=Counter)
    lint_s: float = 0.0


def read(path: Path) -> Reading:
    """Read a document, mark its operations and compile them; their calls go to this machine.

    Raises:
        OrchestratorError: it cannot be read at all.
    """
    began = time.monotonic()
    [(name, document)] = load_documents(path).items()
    for item, method in _operations(document):
        item[method] = {**item[method], "x-orchet-tool": True}
    described = sum(1 for _ in _operations(document))
    catalog = Catalog.from_documents({name: _served_here(document)})
    return Reading(document, described, catalog, time.monotonic() - began)


def count_findings(reading: Reading) -> None:
    """What lint has to say, by severity and code."""
    began = time.monotonic()
    found = lint({"document": reading.document})
    reading.findings = Counter(f"{f.severity} {f.code}" for f in found)
    reading.lint_s = time.monotonic() - began


def _operations(document: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Path items that hold operations, each with a method."""
    for path, item in document.get("paths", {}).items():
        if path.startswith("x-") or not isinstance(item, dict):
            continue
        for method in _METHODS:
            if isinstance(item.get(method), dict):
                yield item, method


def _served_here(document: JsonObject) -> JsonObject:
    """The document with the trial's server at every operation, and so before any other."""
    here: JsonObject = {"url": SERVER, "variables": {PORT: {"default": "1"}}}
    paths: Any = document.get("paths", {})
    served = {path: dict(item) if isinstance(item, dict) else item for path, item in paths.items()}
    whole: JsonObject = {**document, "paths": served, "servers": [here]}
    for item, method in _operations(whole):
        item[method] = {**item[method], "servers": [here]}
    return whole


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
