"""Seal-Tools: requests written by a model over some 4,000 functions, many needing several."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tests.benchmarks.datasets.form import DataSet, Row, object_schema, query, tool
from tests.benchmarks.datasets.repository import Repository

_FOLDER: Final = "Seal-Tools_Dataset"
_TESTS: Final = ("test_in_domain", "test_out_domain")
_TYPES: Final = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}


def make_sealtools(source: Repository) -> DataSet:
    """Both test parts over the whole catalog; examples are the development part's."""
    examples: dict[str, list[str]] = defaultdict(list)
    for text, called in _cases(source, "dev"):
        if len(called) == 1:
            examples[called[0]].append(text.strip())
    tools = [
        tool(
            function["api_name"],
            function["api_description"],
            object_schema(
                {name: _schema(value) for name, value in function["parameters"].items()},
                function["required"],
            ),
            domain=function["field"],
            examples=examples[function["api_name"]],
        )
        for function in source.json_lines(f"{_FOLDER}/tool.jsonl")
    ]
    queries = [
        query("sealtools", case["id"], case["query"], [call["api"] for call in case["calling"]])
        for name in _TESTS
        for case in source.json_lines(f"{_FOLDER}/{name}.jsonl")
    ]
    return DataSet(tools, queries)


def _cases(source: Repository, part: str) -> Iterator[tuple[str, list[str]]]:
    for case in source.json_lines(f"{_FOLDER}/{part}.jsonl"):
        yield case["query"], [call["api"] for call in case["calling"]]


def _schema(value: Mapping[str, Any]) -> Row:
    default = {"default": value["default"]} if "default" in value else {}
    return {"type": _TYPES[value["type"]], "description": value["description"], **default}
