"""MetaTool: requests of plugin users over 199 tools that have no parameters, only examples.

The repository holds some 20,000 requests for one tool. Of each tool the first eight in the order of
their hash are its examples; 1,000 of the others, in that order too, are asked. So are all requests
for two tools, 300 whose tool was taken out of the ten that are offered, and 200 that need none.
"""

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final

from tests.benchmarks.datasets.form import DataSet, Row, query, sample, tool
from tests.benchmarks.datasets.repository import Repository

_NAME: Final = "metatool"
_EXAMPLES, _SINGLE, _UNFIT, _NONE = 8, 1000, 300, 200
_TASKS: Final = "dataset/tmp_dataset"


def make_metatool(source: Repository) -> DataSet:
    """The catalog, its examples, and the four kinds of requests."""
    asked: dict[str, list[str]] = defaultdict(list)
    for row in csv.DictReader(io.StringIO(source.text("dataset/data/all_clean_data.csv"))):
        asked[row["Tool"]].append(row["Query"].strip())
    described = source.json("dataset/plugin_des.json")
    ordered = {name: sample(set(asked[name]), len(asked[name]), key=str) for name in described}
    tools = [
        tool(name, described[name].strip(), None, examples=ordered[name][:_EXAMPLES])
        for name in sorted(described)
    ]
    rest = [(text, name) for name in sorted(ordered) for text in ordered[name][_EXAMPLES:]]
    queries = [
        *_singles(rest),
        *_pairs(source.json("dataset/data/multi_tool_query_golden.json")),
        *_unfit(source.json(f"{_TASKS}/Task2-Subtask3.json")),
        *_none(source.json(f"{_TASKS}/Task1.json")),
    ]
    return DataSet(tools, queries)


def _singles(pairs: Iterable[tuple[str, str]]) -> Iterator[Row]:
    for at, (text, name) in enumerate(sample(pairs, _SINGLE, key=lambda pair: pair[0])):
        yield query(_NAME, f"single-{at}", text, [name])


def _pairs(cases: Iterable[dict[str, Any]]) -> Iterator[Row]:
    for at, case in enumerate(cases):
        yield query(_NAME, f"multi-{at}", case["query"], case["tool"])


def _unfit(cases: Iterable[dict[str, Any]]) -> Iterator[Row]:
    """The offered tools stand in the prompt only, one a line."""
    for at, case in sample(enumerate(cases), _UNFIT, key=lambda pair: str(pair[1]["query"])):
        offered = [
            line.partition("tool name: ")[2].partition(",")[0]
            for line in case["action_prompt"].splitlines()
            if "tool name: " in line
        ]
        more = {"candidates": offered, "kind": "irrelevant", "removed": case["tool"]}
        yield query(_NAME, f"reject-{at}", case["query"], [], **more)


def _none(cases: Iterable[dict[str, Any]]) -> Iterator[Row]:
    without = [(at, case) for at, case in enumerate(cases) if case["label"] == "negative"]
    for at, case in sample(without, _NONE, key=lambda pair: str(pair[1]["query"])):
        yield query(_NAME, f"notool-{at}", case["query"], [], kind="no_tool")
