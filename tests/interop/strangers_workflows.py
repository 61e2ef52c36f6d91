"""Arazzo documents of others, run at a sandbox of the OpenAPI documents next to them.

Every operation is a tool and every call approved. A workflow that fails is listed with its reason:
whether the document, its criteria, a made-up answer or the product is at fault is for a reader.
"""

import argparse
import asyncio
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from orchestrator.arazzo.arazzo_document import ArazzoDocument
from orchestrator.arazzo.arazzo_files import load_document
from orchestrator.arazzo.binding import bind
from orchestrator.arazzo.engine import CallMove, EndMove, FailMove, Move
from orchestrator.core.errors import ArgumentsInvalid, OrchestratorError
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import with_definitions
from orchestrator.json_schema.walker import properties_of
from orchestrator.sandbox import DocumentError, load_documents
from orchestrator.testing.sample_arguments import make_value
from tests.provider_runs import ProviderRun, provider

_METHODS: Final = frozenset({"get", "put", "post", "delete", "patch", "head", "options"})
_IS_ARAZZO: Final = re.compile(r'^\s*(?:\{\s*)?"?arazzo"?\s*:', re.MULTILINE)
_LONGEST_S: Final = 60


def run_workflows(options: argparse.Namespace) -> int:
    """Run every workflow of a folder and print what became of each; 1 after a crash."""
    return asyncio.run(_run(options.folder, Console(width=200)))


async def _run(folder: Path, console: Console) -> int:
    table = Table("document", "workflow", "outcome", "reason", title="Workflows of others")
    outcomes: Counter[str] = Counter()
    for file in _arazzo_files(folder):
        async for workflow, outcome, reason in _tried(file, folder):
            outcomes[outcome] += 1
            table.add_row(str(file.relative_to(folder)), workflow, outcome, reason[:300])
    console.print(table)
    console.print(", ".join(f"{outcome}: {count}" for outcome, count in outcomes.most_common()))
    return int(bool(outcomes["crashed"]))


def _arazzo_files(folder: Path) -> Iterator[Path]:
    for file in sorted(folder.rglob("*")):
        is_document = file.suffix in (".yaml", ".yml", ".json") and file.is_file()
        if is_document and _IS_ARAZZO.search(file.read_text("utf-8", errors="replace")[:5_000]):
            yield file


async def _tried(file: Path, folder: Path) -> Any:
    """Yield workflow, outcome and reason."""
    try:
        document, linked = load_document(file)
    except OrchestratorError as refused:
        yield "", "not read", str(refused)
        return
    found = {one.name: _source(file, one.url, folder) for one in document.sources}
    paths = {name: path for name, path in found.items() if path is not None}
    if not paths:
        yield "", "no documents", ", ".join(one.url for one in document.sources)
        return
    try:
        documents = {path.stem: _as_tools(path) for path in paths.values()}
        with TemporaryDirectory() as state, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for one in document.workflows:
                async with provider(documents, Path(state), is_stocked=True) as run:
                    sources = {**linked, **{name: path.stem for name, path in paths.items()}}
                    yield one.workflow_id, *await _outcome(document, one.workflow_id, run, sources)
    except (OrchestratorError, DocumentError) as refused:
        yield "", "no documents", str(refused)


def _source(file: Path, url: str, folder: Path) -> Path | None:
    """Return the document that a URL means: by its relative path, else by its file's name."""
    near = file.parent / url
    if "://" not in url and near.is_file() and not _IS_ARAZZO.search(near.read_text("utf-8")[:500]):
        return near
    named = [one for one in folder.rglob(Path(url).name or "?") if one.is_file()]
    return named[0] if len(named) == 1 else None


def _as_tools(path: Path) -> JsonObject:
    """Return an OpenAPI document with every operation as a tool."""
    (document,) = load_documents([path]).values()
    paths: Any = document.get("paths")
    for at, item in (paths if isinstance(paths, dict) else {}).items():
        for method in _METHODS & item.keys():
            operation = item[method]
            operation["x-orchet-tool"] = True
            operation.setdefault("operationId", re.sub(r"\W+", "_", f"{method}{at}").strip("_"))
    return document


async def _outcome(
    document: ArazzoDocument, workflow_id: str, run: ProviderRun, sources: Any
) -> tuple[str, str]:
    try:
        bound = bind(document, workflow_id, run.catalog, sources)
    except OrchestratorError as refused:
        return "not bound", str(refused)
    outputs: dict[str, JsonObject] = {}
    missing: list[str] = []
    try:
        async with asyncio.timeout(_LONGEST_S):
            for one in bound:
                schemas = properties_of(one.inputs)
                inputs = {
                    name: make_value(with_definitions(schema, one.inputs), name)
                    for name, schema in schemas.items()
                }
                move = await run.play(one, inputs, outputs)
                if not isinstance(move, EndMove):
                    return _why(move)
                outputs[one.workflow_id] = move.outputs
                missing += move.missing
    except ArgumentsInvalid as refused:
        return "invalid call", str(refused)
    except TimeoutError:
        return "no end", f"it runs longer than {_LONGEST_S} s"
    except Exception as fault:  # what nobody foresaw is ours
        return "crashed", repr(fault)
    return "succeeded", "; ".join(missing)


def _why(move: Move) -> tuple[str, str]:
    if isinstance(move, CallMove | EndMove):
        return "crashed", str(move)
    failed: FailMove = move
    reason = f"{failed.step_id}: {failed.reason}"
    if "the criterion" in reason:
        return "its criteria", reason
    if "has no value" in reason or "selects nothing" in reason:
        return "no value", reason
    return "failed", reason
