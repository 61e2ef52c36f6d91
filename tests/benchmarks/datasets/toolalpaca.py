"""ToolAlpaca: requests over 21 OpenAPI documents, eleven of real services and ten made up."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.benchmarks.datasets.form import DataSet, Row, query, tool
from tests.benchmarks.datasets.openapi import input_schema, operations
from tests.benchmarks.datasets.repository import Repository


def make_toolalpaca(source: Repository) -> DataSet:
    """The documents as one catalog; `scope` holds the tools of the request's own document."""
    tools: dict[str, Row] = {}
    queries = []
    for part in ("real", "simulated"):
        for service in source.json(f"data/eval_{part}.json"):
            own = {row["name"]: row for row in _tools(service)}
            tools |= own
            queries += list(_queries(part, service, own))
    return DataSet([*tools.values()], queries)


def _tools(service: Mapping[str, Any]) -> Iterator[Row]:
    document = json.loads(service["Documentation"])
    found = {(path, method): each for path, method, each in operations(document)}
    for name, said in service["Function_Description"].items():
        if name not in service["Function_Projection"]:
            continue
        path, method = service["Function_Projection"][name]
        operation = found[path, method.lower()]
        yield tool(
            name,
            f"{_said(operation, said)} ({service['Name']}: {service['Description']})",
            input_schema(operation, document),
            domain=service["Category"],
            method=method.upper(),
            path=path,
            server=service["Name"],
        )


def _said(operation: Mapping[str, Any], otherwise: str) -> str:
    summary, description = operation.get("summary", ""), operation.get("description", "")
    if summary:
        return f"{summary}. {description}"
    return description or otherwise.splitlines()[0]


def _queries(part: str, service: Mapping[str, Any], own: Mapping[str, Row]) -> Iterator[Row]:
    cases = zip(service["Instructions"], service["Golden_Answers"], strict=True)
    for at, (text, calls) in enumerate(cases):
        called = [call["Action"] for call in calls if call["Action"] in own]
        if called:
            identity = f"{part}-{service['Name']}-{at}"
            yield query("toolalpaca", identity, text, called, scope=[*own])
