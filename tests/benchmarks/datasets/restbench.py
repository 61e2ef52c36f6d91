"""RestBench, the TMDB half: people's requests over the real OpenAPI document of a film database."""

import re

from tests.benchmarks.datasets.form import DataSet, in_one_line, query, tool
from tests.benchmarks.datasets.openapi import input_schema, operations
from tests.benchmarks.datasets.repository import Repository


def make_tmdb(source: Repository) -> DataSet:
    """The operations; the first part of a path is its tool's domain."""
    document = source.json("specs/tmdb_oas.json")
    tools, names = [], {}
    for path, method, operation in operations(document):
        name = names[_route(f"{method.upper()} {path}")] = operation["operationId"]
        said = f"{operation.get('summary', '')}. {operation.get('description', '')}"
        tools.append(
            tool(
                name,
                in_one_line(said),
                input_schema(operation, document),
                domain=f"tmdb.{path.split('/')[1]}",
                method=method.upper(),
                path=path,
            )
        )
    queries = []
    for at, case in enumerate(source.json("datasets/tmdb.json")):
        called = [names[_route(call)] for call in case["solution"]]
        queries.append(query("restbench_tmdb", f"tmdb-{at}", case["query"], called))
    return DataSet(tools, queries)


def _route(call: str) -> str:
    """Method and path, whatever the path's parameters are called: some answers misname them."""
    return re.sub(r"\{\w+\}", "{}", call.strip())
