"""The figures of a routing data set."""

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from orchestrator.core.errors import DocumentUnreadable, UsageError
from orchestrator.routing.learning.evaluation import evaluate

TOOLS = [
    {"name": "get_weather", "description": "Weather forecast of a city.", "parameters": None},
    {"name": "list_files", "description": "List the files of a folder.", "parameters": None},
    {"name": "send_email", "description": "Send an email to somebody.", "parameters": None},
    {"name": "add_numbers", "description": "Add two numbers.", "parameters": None},
    {"name": "play_music", "description": "Play a song.", "parameters": None},
    {"name": "play_song", "description": "Play a song.", "parameters": None},
]

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A folder with these queries."""

    def folder(queries: Sequence[Mapping[str, Any]], tools: Sequence[Any] = TOOLS) -> Path:
        for name, lines in (("tools", tools), ("queries", queries)):
            text = "\n".join(json.dumps(line) for line in lines)
            (tmp_path / f"{name}.jsonl").write_text(text)
        return tmp_path

    return folder


def test_perfect_routing_scores_one(write: Write) -> None:
    """Single requests that name their tool."""
    weather = {"query": "weather forecast of a city", "gold": ["get_weather"]}
    report = evaluate(write([weather, {"query": "add two numbers", "gold": ["add_numbers"]}]))

    assert report.recall_at == {1: 1.0, 3: 1.0, 5: 1.0}
    assert (report.ndcg_at_5, report.forwarded_coverage, report.forwarded_recall) == (1, 1, 1)
    assert (report.tools, report.queries, report.fail_open) == (6, 2, 0)
    assert report.coverage_at_5 is None
    assert report.nothing_fits_auroc is None


def test_missed_tools_lower_the_shares(write: Write) -> None:
    """Two tools needed, one word for one of them: half is forwarded, the other comes after."""
    gold = ["list_files", "add_numbers"]
    report = evaluate(write([{"query": "list the files", "gold": gold}]))

    assert report.recall_at[1] == 0.5
    assert report.forwarded_recall_at == {1: 0.5, 3: 0.5, 5: 0.5}
    assert report.forwarded_coverage == 0
    assert report.ndcg_at_5 is not None
    assert report.ndcg_at_5 >= 1 / (1 + 0.6309) - 1e-3


def test_one_of_equivalent_tools_suffices(write: Write) -> None:
    """Groups stand for one need each."""
    either = ["play_music", "play_song"]
    query = {"query": "play a song", "gold": either, "gold_groups": [either]}

    assert evaluate(write([query])).recall_at[1] == 1


def test_what_nothing_fits_is_told_apart(write: Write) -> None:
    """Requests for nothing score below those for something; candidates bound them."""
    weather = {"query": "weather forecast", "gold": ["get_weather"]}
    paint = {"query": "paint my house", "gold": []}
    bounded = {"query": "send an email", "gold": [], "candidates": ["add_numbers"]}
    report = evaluate(write([weather, paint, bounded]))

    assert (report.nothing_fits_auroc, report.queries) == (1, 3)


def test_only_the_split_that_is_asked_for_counts(write: Write) -> None:
    """And all queries where nobody split."""
    queries = [
        {"query": "weather forecast", "gold": ["get_weather"], "split": "eval"},
        {"query": "weather forecast", "gold": ["play_song"], "split": "train"},
    ]
    folder = write(queries)

    assert evaluate(folder).recall_at[1] == 1
    assert evaluate(folder, split="train").recall_at[1] == 0
    assert evaluate(folder, split=None).queries == 2


def test_latencies_come_from_the_clock_that_is_given(write: Write) -> None:
    """No clock, no latency: the core has none of its own."""
    folder = write([{"query": "weather", "gold": ["get_weather"]}] * 4)
    ticks = count()

    assert evaluate(folder).latency_p50_ms is None
    timed = evaluate(folder, clock=lambda: float(next(ticks)))
    assert (timed.latency_p50_ms, timed.latency_p99_ms) == (1000, 1000)


def test_a_folder_that_is_none_is_refused(write: Write, tmp_path: Path) -> None:
    """Missing files, broken lines, lines that are no queries, and no queries at all."""
    with pytest.raises(DocumentUnreadable, match=r"tools\.jsonl"):
        evaluate(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="no queries"):
        evaluate(write([]))
    with pytest.raises(DocumentUnreadable, match="not a query"):
        evaluate(write([{"gold": []}]))
    (tmp_path / "queries.jsonl").write_text("{broken")
    with pytest.raises(DocumentUnreadable, match="line 1 is not JSON"):
        evaluate(tmp_path)


def test_kinds_of_requests_that_nothing_fits_are_told_apart(write: Write) -> None:
    """One that shares no word with any tool, one that shares a common one."""
    same = "weather forecast of a city"
    single = {"query": same, "gold": ["get_weather"], "kind": "single"}
    nonsense = {"query": "xyzzy plugh", "kind": "nonsense"}
    report = evaluate(write([single, nonsense, {"query": same, "kind": "trap"}]))

    assert report.nothing_fits_by_kind == {"nonsense": 1.0, "trap": 0.5}
    assert report.nothing_fits_auroc == 0.75


def test_a_request_that_brings_its_own_tools_is_routed_over_those_alone(write: Write) -> None:
    """The nearest tool of the whole catalog is not among them."""
    query = {"query": "add two numbers", "gold": ["play_song"], "candidates": ["play_song"]}
    report = evaluate(write([query]))

    assert report.recall_at[1] == 1
    assert report.forwarded_coverage == 1
    assert report.mean_forwarded == 1
