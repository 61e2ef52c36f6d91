"""Runs the benchmarks and prints one table: `python -m tests.benchmarks [NAME]... [--json]`.

A benchmark is a module `bench_NAME` beside this one, whose `run()` gives its figures.
"""

import argparse
import importlib
import json
import pkgutil
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.benchmarks.figure import Figure

_PREFIX = "bench_"


def main() -> None:
    """Run those that are named, or all."""
    known = _names()
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    asked = parser.parse_args()
    unknown = set(asked.names) - set(known)
    if unknown:
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}")
    figures = [figure for name in asked.names or known for figure in _run(name)]
    if asked.json:
        print(json.dumps([f.model_dump() for f in figures], indent=2))  # noqa: T201
    else:
        Console().print(_table(figures))


def _names() -> list[str]:
    found = pkgutil.iter_modules([str(Path(__file__).parent)])
    return sorted(m.name.removeprefix(_PREFIX) for m in found if m.name.startswith(_PREFIX))


def _run(name: str) -> list[Figure]:
    began = time.perf_counter()
    figures: list[Figure] = importlib.import_module(f"tests.benchmarks.{_PREFIX}{name}").run()
    print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr)  # noqa: T201
    return figures


def _table(figures: list[Figure]) -> Table:
    table = Table(box=None)
    table.add_column("what")
    table.add_column("figure", justify="right")
    table.add_column("unit")
    table.add_column("note")
    for figure in figures:
        table.add_row(figure.name, _rounded(figure.value), figure.unit, figure.note)
    return table


def _rounded(value: float) -> str:
    """Three digits that count."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    main()
