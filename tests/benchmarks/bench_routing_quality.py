"""How good the routing is on public sets, beside rank-bm25, an embedder alone, and both fused.

The sets are those of `python -m tests.benchmarks.datasets FOLDER`; the environment variable
ORCHESTRATOR_BENCH_DATASETS names another folder, of the same or of other sets in that form. Only
evaluation halves are read. What only ranks (all but the router) is measured at a fixed number of
tools: the router's own mean of that set, with its embedder.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Final

from orchestrator.adapters.embedding.built_in import similarity_in_process
from orchestrator.routing.learning.evaluation import (
    Evaluation,
    JudgedAnswer,
    coverage_at,
    evaluate,
    open_folder,
    summarise,
)
from tests.benchmarks import baselines
from tests.benchmarks.datasets.manifest import RECIPES
from tests.benchmarks.figure import Figure, NothingToMeasure

FOLDER_VARIABLE: Final = "ORCHESTRATOR_BENCH_DATASETS"
_DEFAULT: Final = Path("build/datasets")
_WITH, _WITHOUT = "router, built-in embedder", "router, no embedder"
_MEAN: Final = "mean"

Row = dict[str, float]
"""The figures of one set by one method, by their names."""


def run() -> list[Figure]:
    """The figures of every set in the folder, and their means, of held-out sets apart."""
    folder = Path(os.environ.get(FOLDER_VARIABLE) or _DEFAULT)
    sets = sorted(path.parent for path in folder.glob("*/queries.jsonl"))
    if not sets:
        raise NothingToMeasure(
            f"no sets in {folder}: `python -m tests.benchmarks.datasets {folder}` makes them, and "
            f"{FOLDER_VARIABLE} names another folder"
        )
    rows = {path.name: measured(path) for path in sets}
    held_out = {name: row for name, row in rows.items() if _is_held_out(name)}
    others = {name: row for name, row in rows.items() if name not in held_out}
    return [
        *_figures(others),
        *_figures({_MEAN: means(others.values())} if others else {}),
        *_figures(held_out),
        *_figures({f"{_MEAN}, held out": means(held_out.values())} if held_out else {}),
    ]


def _is_held_out(name: str) -> bool:
    return name in RECIPES and RECIPES[name].held_out


def measured(folder: Path) -> dict[str, Row]:
    """The figures of one set, by method."""
    catalog, queries = open_folder(folder, split="eval")
    similarity = similarity_in_process()
    ours = evaluate(folder, similarity=similarity)
    by_words = baselines.rank_bm25(catalog)
    by_vectors = baselines.embedder_alone(similarity(catalog))
    rankings = {
        "rank-bm25": by_words,
        "embedder alone": by_vectors,
        "rank-bm25 and embedder, RRF": baselines.fused(by_words, by_vectors),
    }
    size = ours.mean_forwarded or 0.0
    return {
        _WITH: _row(ours),
        _WITHOUT: _row(evaluate(folder)),
        **{
            name: _ranked(baselines.answers(catalog, queries, scores), len(catalog), size)
            for name, scores in rankings.items()
        },
    }


def means(rows: Iterable[dict[str, Row]]) -> dict[str, Row]:
    """By method, of each figure over the sets that have it, each set alike."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for by_method in rows:
        for method, row in by_method.items():
            for name, value in row.items():
                found[method][name].append(value)
    return {
        method: {name: fmean(values) for name, values in row.items()}
        for method, row in found.items()
    }


def _row(report: Evaluation) -> Row:
    known = {
        **{f"R@{k}": value for k, value in report.recall_at.items()},
        "nDCG@5": report.ndcg_at_5,
        "all forwarded": report.forwarded_coverage,
        "tools": report.mean_forwarded,
        "nothing fits": report.nothing_fits_auroc,
    }
    return {name: value for name, value in known.items() if value is not None}


def _ranked(answers: Sequence[JudgedAnswer], tools: int, size: float) -> Row:
    covered = coverage_at([a for a in answers if a.query.groups], size)
    report = summarise(answers, tools)
    return _row(report.model_copy(update={"forwarded_coverage": covered, "mean_forwarded": size}))


def _figures(rows: dict[str, dict[str, Row]]) -> Iterator[Figure]:
    for name, by_method in rows.items():
        for method, row in by_method.items():
            for figure, value in row.items():
                yield Figure(name=figure, value=value, unit="", row=(name, method))
