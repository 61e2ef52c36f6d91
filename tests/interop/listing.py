"""Documents of a trial: brought by git, listed, and read with every operation as a tool.

A folder that `python -m tests.interop bring` has filled has an `interop.json`. In any other one,
every file that says that it is an OpenAPI document is taken, at any depth.
"""

import io
import json
import re
import subprocess
import tarfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from orchestrator.catalog.catalog import Catalog, load_documents
from orchestrator.catalog.lint import lint
from orchestrator.core.record import JsonObject
from tests.benchmarks.datasets.repository import (
    Origin,
    Repository,
    SourceMissing,
    from_mirrors,
    over_network,
)

MANIFEST: Final = "interop.json"
_SUFFIXES: Final = frozenset({".json", ".yaml", ".yml"})
_SAYS_SO: Final = re.compile(r"""^\s*\{?\s*["']?(openapi|swagger)["']?\s*:""", re.MULTILINE)
_BEGINNING: Final = 65_536


@dataclass(frozen=True)
class Listed:
    """A document: its file in the folder, and where that came from."""

    name: str
    file: str
    repository: str = ""
    commit: str = ""
    path: str = ""
    """In the repository."""
    folder: str = ""
    """In the repository: what is brought with it, for it refers there; '' for the file alone."""
    licence: str = ""


def listed(folder: Path) -> list[Listed]:
    """The documents of a folder, in the order of its manifest, else by name."""
    manifest = folder / MANIFEST
    if manifest.exists():
        entries: list[dict[str, Any]] = json.loads(manifest.read_text(encoding="utf-8"))
        return [Listed(**entry) for entry in entries]
    files = sorted(path for path in folder.rglob("*") if _is_document(path))
    return [Listed(str(path.relative_to(folder)), str(path.relative_to(folder))) for path in files]


def write_manifest(folder: Path, entries: list[Listed]) -> None:
    """Say what a folder holds."""
    text = json.dumps([asdict(entry) for entry in entries], indent=2) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")


def _is_document(path: Path) -> bool:
    if path.suffix not in _SUFFIXES or path.name == MANIFEST or not path.is_file():
        return False
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        return _SAYS_SO.search(file.read(_BEGINNING)) is not None


NAMED: Final = Path(__file__).parent / "documents.json"
WORKFLOWS: Final = Path(__file__).parent / "workflows.json"
"""Folders with Arazzo documents and the OpenAPI documents that they are over."""


def named(manifest: Path = NAMED) -> list[Listed]:
    """Return the documents of a manifest; their `file` is still empty."""
    return [Listed(file="", **entry) for entry in json.loads(manifest.read_text(encoding="utf-8"))]


def bring(folder: Path, mirrors: Path | None, documents: Iterable[Listed]) -> list[str]:
    """Put documents into a folder, with its manifest; what could not be had, a sentence each."""
    folder.mkdir(parents=True, exist_ok=True)
    brought: list[Listed] = []
    missed: list[str] = []
    for document in documents:
        try:
            brought.append(_bring_one(folder, mirrors, document))
        except SourceMissing as missing:
            missed.append(f"{document.name}: {missing}")
    write_manifest(folder, brought)
    return missed


def _bring_one(folder: Path, mirrors: Path | None, document: Listed) -> Listed:
    origin = Origin(document.repository, document.commit, document.licence)
    source = (
        over_network(origin, folder / ".clones")
        if mirrors is None
        else from_mirrors(origin, mirrors)
    )
    _unpack(source, document.folder or document.path, folder / document.name)
    return replace(document, file=f"{document.name}/{document.path}")


def _unpack(source: Repository, path: str, folder: Path) -> None:
    command = ("git", "-C", str(source.folder), "archive", source.commit, "--", path)
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise SourceMissing(f"{path} at {source.commit[:12]} cannot be read ({said})")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")


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
