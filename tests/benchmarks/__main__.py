"""`python -m tests.benchmarks [NAME...] [--json]`: run benchmarks and print what they measured.

Each module `bench_NAME.py` of this folder has `run() -> list[Figure]`. Without names all are run.
"""

import argparse
import json
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.benchmarks.figure import Figure

_PREFIX = "bench_"


def main() -> None:
    """Run what was asked for."""
    known = [path.stem.removeprefix(_PREFIX) for path in Path(__file__).parent.glob("bench_*.py")]
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(sorted(known))}")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(known):
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}")
    figures = dict(_measured(arguments.names or sorted(known)))
    if arguments.json:
        document = {name: [f.model_dump() for f in found] for name, found in figures.items()}
        print(json.dumps(document, indent=2))  # noqa: T201 -- this is the command's output
    else:
        _draw(figures)


def _measured(names: list[str]) -> Iterator[tuple[str, list[Figure]]]:
    progress = Console(stderr=True)
    for name in names:
        began = time.perf_counter()
        with progress.status(f"measuring {name}"):
            found = import_module(f"tests.benchmarks.{_PREFIX}{name}").run()
        progress.print(f"{name}: {time.perf_counter() - began:.0f} s")
        yield name, found


def _draw(figures: dict[str, list[Figure]]) -> None:
    table = Table("benchmark", "figure", "value", "unit", "note", box=None)
    for name, found in figures.items():
        for figure in found:
            table.add_row(name, figure.name, f"{figure.value:,.4g}", figure.unit, figure.note)
    Console().print(table)


if __name__ == "__main__":
    main()
