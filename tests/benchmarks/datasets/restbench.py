"""RestBench: people's requests over real OpenAPI documents, of a film database and of a player."""

import re

from tests.benchmarks.datasets.form import DataSet, in_one_line, query, tool
from tests.benchmarks.datasets.openapi import input_schema, operations
from tests.benchmarks.datasets.repository import Repository


def make_tmdb(source: Repository) -> DataSet:
    """Films."""
    return _make(source, "tmdb")


def make_spotify(source: Repository) -> DataSet:
    """Music."""
    return _make(source, "spotify")


def _make(source: Repository, service: str) -> DataSet:
    """The operations; the first part of a path is its tool's domain."""
    document = source.json(f"specs/{service}_oas.json")
    tools, names = [], {}
    for path, method, operation in operations(document):
        name = names[_route(f"{method.upper()} {path}")] = operation["operationId"]
        said = f"{operation.get('summary', '')}. {operation.get('description', '')}"
        tools.append(
            tool(
                name,
                in_one_line(said),
                input_schema(operation, document),
                domain=f"{service}.{path.split('/')[1]}",
                method=method.upper(),
                path=path,
            )
        )
    queries = []
    for at, case in enumerate(source.json(f"datasets/{service}.json")):
        called = [names.get(_route(call), "") for call in case["solution"]]
        if not all(called):  # what is asked for is not in the document
            continue
        queries.append(query(f"restbench_{service}", f"{service}-{at}", case["query"], called))
    return DataSet(tools, queries)


def _route(call: str) -> str:
    """Method and path, whatever the path's parameters are called: some answers misname them."""
    return re.sub(r"\{\w+\}", "{}", call.strip())
