"""What documents of the size of the largest public ones cost: to read, compile, name, lint, keep.

Each is measured in a process of its own, so that peaks of memory do not add up.
"""

import json
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import yaml

from orchestrator.adapters.storage.store import Store
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.lint import lint
from orchestrator.catalog.source import read_sources
from tests.benchmarks.documents import deep_document, wide_document
from tests.benchmarks.figure import Figure

_SHAPES: Final = {"wide": wide_document, "deep": deep_document}
_SEEDS: Final = {"wide": "GitHub's size", "deep": "Stripe's size"}
_MEGABYTE = 2**20
_T = TypeVar("_T")


def run() -> list[Figure]:
    """Figures per 1,000 operations, all of them tools."""
    figures: list[Figure] = []
    for shape in _SHAPES:
        command = [sys.executable, "-m", "tests.benchmarks.bench_catalog", shape]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        figures += [Figure.model_validate(figure) for figure in json.loads(done.stdout)]
    return figures


def measure(shape: str) -> list[Figure]:
    """The figures of one shape; call it once per process."""
    document = _SHAPES[shape]()
    with tempfile.TemporaryDirectory() as folder:
        return _measured(shape, document, Path(folder))


def _measured(shape: str, document: dict[str, Any], folder: Path) -> list[Figure]:
    as_json, as_yaml = folder / "json" / "d.json", folder / "yaml" / "d.yaml"
    for file in (as_json, as_yaml):
        file.parent.mkdir()
    as_json.write_text(json.dumps(document))
    as_yaml.write_text(yaml.dump(document, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper)))
    size, thousands = as_json.stat().st_size / _MEGABYTE, _operations(document) / 1_000
    del document
    documents, json_s = _timed(lambda: read_sources([as_json]).documents)
    catalog, compile_s = _timed(lambda: Catalog.from_documents(documents))
    _, digest_s = _timed(lambda: catalog.digest)
    findings, lint_s = _timed(lambda: lint(documents))
    store = Store(folder / "store").catalogs
    _, put_s = _timed(lambda: store.put(catalog))
    _, get_s = _timed(lambda: Store(folder / "store").catalogs.get(catalog.digest))
    _, yaml_s = _timed(lambda: read_sources([as_yaml]).documents)
    peak_mb, kept_mb = _memory(documents)
    note = f"{_SEEDS[shape]}: {len(catalog):,} operations, {size:.1f} MB"

    def per_thousand(name: str, value: float, unit: str, note: str = "") -> Figure:
        unit = f"{unit}/1,000 operations"
        return Figure(name=f"{shape}: {name}", value=value / thousands, unit=unit, note=note)

    return [
        per_thousand("compile", compile_s, "s", note),
        per_thousand("digest", digest_s, "s"),
        per_thousand("lint", lint_s, "s", f"{len(findings):,} findings"),
        per_thousand("memory at most", peak_mb, "MB", "compile and digest, beside the document"),
        per_thousand("memory kept", kept_mb, "MB", "by the tools, beside the document"),
        per_thousand("put into the store", put_s, "s"),
        per_thousand("get from the store", get_s, "s", "digest checked"),
        Figure(name=f"{shape}: read JSON", value=json_s, unit="s", note=f"{size:.1f} MB"),
        Figure(name=f"{shape}: read YAML", value=yaml_s, unit="s"),
    ]


def _operations(document: dict[str, Any]) -> int:
    return sum(len(item) for item in document["paths"].values())


def _timed(work: Callable[[], _T]) -> tuple[_T, float]:
    began = time.perf_counter()
    result = work()
    return result, time.perf_counter() - began


def _memory(documents: dict[str, Any]) -> tuple[float, float]:
    """Megabytes that compiling and naming take at most, and that the tools then hold."""
    tracemalloc.start()
    catalog = Catalog.from_documents(documents)
    kept, _ = tracemalloc.get_traced_memory()
    assert catalog.digest
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / _MEGABYTE, kept / _MEGABYTE


if __name__ == "__main__":
    print(json.dumps([figure.model_dump() for figure in measure(sys.argv[1])]))  # noqa: T201
