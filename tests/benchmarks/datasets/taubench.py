"""tau-bench: customers of a shop and of an airline, each with a long request in several parts.

Tools and tasks stand in Python files; they are read as text and never run. Both services make one
catalog. What an agent may do beside calls of a service ("think", "calculate") is none of its tools.
"""

import ast
from collections.abc import Iterator
from typing import Any, Final

from typing_extensions import TypeIs

from tests.benchmarks.datasets.form import DataSet, Row, in_one_line, query, tool
from tests.benchmarks.datasets.repository import Repository

_SERVICES: Final = ("airline", "retail")
_NO_SERVICE: Final = frozenset({"think", "calculate"})


def make_tau_bench(source: Repository) -> DataSet:
    """The test tasks of both services; one that needs no tool is left out."""
    tools: dict[str, Row] = {}
    queries = []
    for service in _SERVICES:
        tools = {row["name"]: row for row in _tools(source, service)} | tools
        for at, (text, called) in enumerate(_tasks(source, service)):
            needed = [name for name in called if name in tools]
            if needed:
                identity = f"{service}-{at}"
                queries.append(query("tau_bench", identity, in_one_line(text), needed))
    return DataSet([tools[name] for name in sorted(tools)], queries)


def _tools(source: Repository, service: str) -> Iterator[Row]:
    folder = f"tau_bench/envs/{service}/tools"
    for node in ast.walk(ast.parse(source.text(f"{folder}/__init__.py"))):
        if not isinstance(node, ast.ImportFrom) or node.module in _NO_SERVICE:
            continue
        for function in _functions(source.text(f"{folder}/{node.module}.py")):
            parameters = function["parameters"]
            yield tool(function["name"], function["description"], parameters, domain=service)


def _functions(code: str) -> Iterator[dict[str, Any]]:
    """The literals in it that describe a function tool."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Dict) and any(
            isinstance(key, ast.Constant) and key.value == "function" for key in node.keys
        ):
            yield ast.literal_eval(node)["function"]


def _tasks(source: Repository, service: str) -> Iterator[tuple[str, list[str]]]:
    code = ast.parse(source.text(f"tau_bench/envs/{service}/tasks_test.py"))
    for node in ast.walk(code):
        if _is_call(node, "Task"):
            given = {word.arg: word.value for word in node.keywords}
            actions = [call for call in ast.walk(given["actions"]) if _is_call(call, "Action")]
            names = [w.value for call in actions for w in call.keywords if w.arg == "name"]
            yield ast.literal_eval(given["instruction"]), [ast.literal_eval(n) for n in names]


def _is_call(node: ast.AST, name: str) -> TypeIs[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
