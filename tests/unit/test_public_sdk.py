"""Only the SDK's public names are used, and workflow code does nothing that replays differently."""

import ast
import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from orchestrator.runtime.worker import PASSED_THROUGH

_ROOT: Final = Path(__file__).parents[2]
_FOLDERS: Final = ("orchestrator", "workflows", "activities")
_PRIVATE: Final = re.compile(r"temporalio\.bridge\b|temporalio(\.\w+)*\._(?!_)")

_FORBIDDEN: Final = re.compile(
    r"time\.(?!struct_time)|datetime\.(datetime|date)\.(now|utcnow|today)$"
    r"|(random|secrets|socket|subprocess|tempfile|shutil|threading|glob|select)\."
    r"|uuid\.uuid[147]$|os\.(?!PathLike|sep|fspath)|urllib\.request\.|http\.client\.|httpx\."
    r"|(open|input|hash)$"
)
"""Clocks, random numbers, the environment, files and sockets; and `hash`, which differs between
processes for each text."""
_OF_PATHS: Final = re.compile(r"(read|write)_(text|bytes)|iterdir|is_file|is_dir|exists|unlink")
_ALLOWED: Final[Mapping[tuple[str, str], str]] = {
    (
        "orchestrator.language.word_lists",
        ".read_text",
    ): "the package's own word lists, the same wherever this version runs"
}
_UNORDERED: Final = re.compile(r"asyncio\.(TaskGroup|as_completed|wait)$")
"""Their order is that of a set."""


def sources(*folders: str) -> Iterator[tuple[str, ast.Module]]:
    """Yield the module name and the tree of each file below top-level folders."""
    for folder in folders:
        for file in sorted((_ROOT / folder).rglob("*.py")):
            parts = file.relative_to(_ROOT).with_suffix("").parts
            name = ".".join(part for part in parts if part != "__init__")
            prefix = "" if folder == "orchestrator" else "orchestrator."
            yield prefix + name, ast.parse(file.read_text(encoding="utf-8"))


@functools.cache
def ours() -> dict[str, ast.Module]:
    """Return every module of ours; two folders are also links below `orchestrator`, read once."""
    links = ("orchestrator.workflows", "orchestrator.activities")
    return {
        name: tree
        for folder in _FOLDERS
        for name, tree in sources(folder)
        if folder != "orchestrator" or not name.startswith(links)
    }


def imported(tree: ast.Module) -> dict[str, str]:
    """Map each name that a module imports to what it stands for, with dots."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                names[one.asname or one.name.partition(".")[0]] = (
                    one.name if one.asname else one.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    return names


def dotted(node: ast.expr, names: Mapping[str, str]) -> str | None:
    """Resolve a chain of attributes through the imports of its module; builtins are themselves."""
    if isinstance(node, ast.Name):
        return names.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        inner = dotted(node.value, names)
        return f"{inner}.{node.attr}" if inner else f".{node.attr}"
    return None


def uses(tree: ast.Module) -> Iterator[str]:
    """Yield each name that a module uses, as far as its imports resolve it, with its line."""
    names = imported(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield f"{dotted(node, names) or f'.{node.attr}'}"
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield names.get(node.id, node.id)


def private_names(tree: ast.Module, own: frozenset[str] = frozenset()) -> list[str]:
    """Return the SDK's private names in a module, and private attributes of what is not ours."""
    found = [use for use in uses(tree) if _PRIVATE.match(use)]
    knows_sdk = any(name.startswith("temporalio") for name in imported(tree).values())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [one.name for one in node.names if _PRIVATE.match(one.name)]
        elif isinstance(node, ast.ImportFrom):
            named = [f"{node.module}.{one.name}" for one in node.names]
            found += [name for name in named if _PRIVATE.match(name)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found += [node.value] if _PRIVATE.match(node.value) else []
        elif knows_sdk and isinstance(node, ast.Attribute) and re.match(r"_(?!_)", node.attr):
            found += [f".{node.attr}"] if node.attr not in own else []
    return found


@functools.cache
def own_private_names() -> frozenset[str]:
    """Return every private name that our own code defines."""
    names = set()
    for tree in ours().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                names.add(node.attr)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
    return frozenset(names)


def replays_differently(module: str, tree: ast.Module) -> list[str]:
    """Return what a module uses that gives another value, or has an effect, each time it runs."""
    found = []
    for use in uses(tree):
        last = f".{use.rpartition('.')[2]}"
        if _FORBIDDEN.match(use) or (
            _OF_PATHS.fullmatch(last[1:]) and not use.startswith("orchestrator.")
        ):
            allowed = any(
                module == of and (use.startswith(what) or last == what) for of, what in _ALLOWED
            )
            found += [] if allowed else [use]
    return found


def unordered(tree: ast.Module) -> list[str]:
    """Return what a module uses whose order is that of a set, and its assert statements."""
    found = [use for use in uses(tree) if _UNORDERED.match(use)]
    return found + ["assert" for node in ast.walk(tree) if isinstance(node, ast.Assert)]


def reached() -> set[str]:
    """Return our modules that workflow code imports, directly or not; types alone do not count."""
    found: set[str] = set()
    ahead = [name for name in ours() if name.startswith("orchestrator.workflows")]
    while ahead:
        name = ahead.pop()
        if name in found or name not in ours():
            continue
        found.add(name)
        for target in _run_time_imports(ours()[name]):
            parts = target.split(".")
            ahead += [".".join(parts[:end]) for end in range(1, len(parts) + 1)]
    return found


def _run_time_imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{one.name}" for one in node.names)
        else:
            yield from _run_time_imports(node)


def found_in(modules: Iterable[str], check: "_Check") -> dict[str, list[str]]:
    """Return what a check finds, by module."""
    found = {module: check(ours()[module]) for module in modules}
    return {module: names for module, names in found.items() if names}


def test_no_private_name_of_the_sdk_is_used() -> None:
    """A release of the SDK may change them without a word."""
    assert found_in(ours(), lambda tree: private_names(tree, own_private_names())) == {}


def test_what_the_sandbox_passes_through_is_pure() -> None:
    """The sandbox guards nothing in these modules: a replay has to find what the first run did."""
    modules = sorted(reached())
    assert all(module.startswith(PASSED_THROUGH) for module in modules)
    found = {module: replays_differently(module, ours()[module]) for module in modules}
    assert {module: names for module, names in found.items() if names} == {}


def test_workflow_code_waits_in_order_and_asserts_nothing() -> None:
    """An AssertionError blocks the workflow's task for ever."""
    modules = [module for module in ours() if module.startswith("orchestrator.workflows")]
    assert len(modules) > 10
    assert found_in(modules, unordered) == {}


_Check = Callable[[ast.Module], list[str]]


def _impure(tree: ast.Module) -> list[str]:
    return replays_differently("orchestrator.workflows.planted", tree)


@pytest.mark.parametrize(
    ("check", "planted"),
    [
        (private_names, "from temporalio.bridge.proto import workflow_activation"),
        (private_names, "import temporalio.worker._workflow"),
        (private_names, "from temporalio.workflow import _Definition"),
        (private_names, "import temporalio.workflow as w\nw._Runtime.current()"),
        (private_names, "from temporalio.worker import Worker\nWorker()._workflow_worker"),
        (private_names, "getLogger('temporalio.worker._workflow')"),
        (_impure, "import time as clock\nclock.monotonic()"),
        (_impure, "from time import time\ntime()"),
        (_impure, "from datetime import datetime\ndatetime.now(UTC)"),
        (_impure, "import datetime\ndatetime.date.today()"),
        (_impure, "import random\nrandom.random()"),
        (_impure, "from uuid import uuid4\nuuid4()"),
        (_impure, "import os\nos.environ['HOME']"),
        (_impure, "from os import environ\nenviron['HOME']"),
        (_impure, "open('/dev/null')"),
        (_impure, "from pathlib import Path\nPath('/').read_text()"),
        (_impure, "import socket\nsocket.create_connection(('127.0.0.1', 1))"),
        (_impure, "hash('text')"),
        (unordered, "import asyncio\nasyncio.TaskGroup()"),
        (unordered, "from asyncio import wait as until\nuntil([])"),
        (unordered, "import asyncio\nasyncio.as_completed([])"),
        (unordered, "assert True"),
    ],
)
def test_what_is_planted_is_found(check: _Check, planted: str) -> None:
    """Each of the lints catches each way to write what it forbids."""
    assert check(ast.parse(planted))


@pytest.mark.parametrize(("module", "use"), _ALLOWED)
def test_each_exception_is_needed(module: str, use: str) -> None:
    assert any(one.startswith(use) or one.endswith(use) for one in uses(ours()[module]))
