"""`python -m tests.benchmarks [NAME...] [--json | --markdown]`: measure and print.

Each module `bench_NAME.py` of this folder has `run() -> list[Figure]`; a hyphen in a name stands
for an underscore. Without names all are run; what has nothing to measure here says so. `goals`
and `injection` take `--part` and `--only` besides.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import Console

from tests.benchmarks.drawing import draw, markdown
from tests.benchmarks.figure import Figure, NothingToMeasure
from tests.benchmarks.goals.models import PARTS

_PREFIX = "bench_"


def main() -> None:
    """Run what was asked for."""
    files = Path(__file__).parent.glob(f"{_PREFIX}*.py")
    known = sorted(path.stem.removeprefix(_PREFIX).replace("_", "-") for path in files)
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--markdown", action="store_true", help="print tables for the docs")
    parser.add_argument(
        "--part",
        choices=[*PARTS, "all", "times"],
        help="which goals; all injections; times of missions",
    )
    parser.add_argument("--only", help="a category or the beginning of a goal's id; a suite")
    parser.add_argument("--show", action="store_true", help="goals: those that went right too")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(known):
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}")
    chosen = {name: getattr(arguments, name) for name in ("part", "only")}
    options = {name: value for name, value in chosen.items() if value is not None}
    if arguments.show:
        options["show"] = True
    if options and arguments.names not in (["goals"], ["injection"], ["missions"]):
        parser.error("--part and --only are for goals, injection or missions alone")
    if options.get("part") == "all" and arguments.names != ["injection"]:
        parser.error("--part all is for injection alone")
    figures = dict(_measured(arguments.names or known, options))
    if arguments.json:
        document = {name: [f.model_dump() for f in found] for name, found in figures.items()}
        print(json.dumps(document, indent=2))  # noqa: T201 -- this is the command's output
    elif arguments.markdown:
        print("\n\n".join(map(markdown, figures.values())))  # noqa: T201 -- likewise
    else:
        draw(figures)
    if arguments.names and len(figures) < len(set(arguments.names)):
        sys.exit(1)


def _measured(
    names: Sequence[str], options: Mapping[str, Any]
) -> Iterator[tuple[str, list[Figure]]]:
    progress = Console(stderr=True)
    for name in names:
        began = time.perf_counter()
        module = import_module(f"tests.benchmarks.{_PREFIX}{name.replace('-', '_')}")
        try:
            with progress.status(f"measuring {name}"):
                found = module.run(**options)
        except NothingToMeasure as nothing:
            progress.print(f"{name}: {nothing}", soft_wrap=True)
            continue
        progress.print(f"{name}: {time.perf_counter() - began:.0f} s")
        yield name, found


if __name__ == "__main__":
    main()
