"""Compiling and checking documents as large as the largest public ones."""

import json
import time
import tracemalloc
from collections.abc import Callable
from typing import Any, TypeVar

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.lint import lint
from tests.benchmarks.documents import deep_document, wide_document
from tests.benchmarks.figure import Figure

T = TypeVar("T")


def run() -> list[Figure]:
    """Figures for a wide document (many flat schemas) and a deep one (schemas that reach all)."""
    return [
        figure
        for name, document in (("wide", wide_document()), ("deep", deep_document()))
        for figure in _figures(name, document)
    ]


def _figures(name: str, document: dict[str, Any]) -> list[Figure]:
    megabytes = len(json.dumps(document)) / 1e6
    seconds, catalog = _timed(lambda: Catalog.from_documents({name: document}))
    per_thousand = 1000 / len(catalog)
    digest_s, _ = _timed(lambda: catalog.digest)
    lint_s, findings = _timed(lambda: lint({name: document}))
    peak = _peak(lambda: Catalog.from_documents({name: document}))
    size = f"{len(catalog)} operations, {megabytes:.1f} MB"
    return [
        Figure(
            name=f"{name}: compile per 1,000 operations",
            value=seconds * per_thousand,
            unit="s",
            note=size,
        ),
        Figure(
            name=f"{name}: peak memory per 1,000 operations",
            value=peak * per_thousand / 1e6,
            unit="MB",
            note="of Python objects, above the document's own",
        ),
        Figure(name=f"{name}: digest", value=digest_s, unit="s"),
        Figure(name=f"{name}: lint", value=lint_s, unit="s", note=f"{len(findings)} findings"),
    ]


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def _peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        kept = work()
        assert kept is not None
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
