"""NESTFUL: requests whose calls take what earlier calls answer, over three sorts of catalogs."""

from collections.abc import Mapping
from typing import Any, Final

from tests.benchmarks.datasets.form import DataSet, Row, object_schema, query, tool
from tests.benchmarks.datasets.repository import Repository

_PARTS: Final = (
    ("executable", "executable/executable", "rapidapi"),
    ("non-executable-sgd", "non-executable/non-executable-sgd", "sgd"),
    ("non-executable-glaive", "non-executable/non-executable-glaive", "glaive"),
)
_TYPES: Final = {"enum": "string"}
_RESULT: Final = "var_result"


def make_nestful(source: Repository) -> DataSet:
    """All three catalogs as one; a tool of a name that was there before is left out."""
    tools: dict[str, Row] = {}
    queries = []
    for prefix, path, domain in _PARTS:
        for function in source.json(f"data/{path}-spec.json"):
            tools.setdefault(function["name"], _tool(function, domain))
        for at, case in enumerate(source.json(f"data/{path}-data.json")):
            called = [c["name"] for c in case["output"] if c["name"] != _RESULT]
            if called and set(called) <= set(tools):
                queries.append(query("nestful", f"{prefix}-{at}", case["input"], called))
    return DataSet([*tools.values()], queries)


def _tool(function: Mapping[str, Any], domain: str) -> Row:
    inputs = function.get("query_parameters") or function.get("arguments") or {}
    where = {}
    if "method" in function:
        where = {"method": function["method"], "path": function["endpoint"]}
    schema = object_schema(
        {name: _schema(value) for name, value in inputs.items()},
        [name for name, value in inputs.items() if value.get("required")],
    )
    return tool(function["name"], function["description"], schema, domain=domain, **where)


def _schema(value: Mapping[str, Any]) -> Row:
    """JSON Schema's own words for what the set calls otherwise."""
    kept = {key: value[key] for key in ("type", "description", "enum") if key in value}
    if "type" in kept:
        kept["type"] = _TYPES.get(kept["type"].lower(), kept["type"].lower())
    if value.get("allowed_values"):
        kept["enum"] = value["allowed_values"]
    default = value.get("default", value.get("default_value"))
    return kept if default is None else {**kept, "default": default}
