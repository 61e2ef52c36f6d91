"""What commands cost before they do anything, beside what Python and typer cost alone."""

import json
import subprocess
import sys
from statistics import median
from typing import Final, NamedTuple

from tests.benchmarks.figure import Figure

_ROUNDS: Final = 5
_FLOOR: Final = {"python -c pass": ["-c", "pass"], "import typer": ["-c", "import typer"]}
_COMMANDS: Final = (
    "--help",
    "mission --help",
    "tools --help",
    "worker --help",
    "chaos run --help",
)
_LAUNCHER: Final = """
import json, os, sys
process = os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
_, status, used = os.wait4(process, 0)
json.dump([status, used.ru_utime + used.ru_stime, used.ru_maxrss], sys.stderr)
"""
"""A process begins with the peak of the one that starts it, so a small one does."""


class Cost(NamedTuple):
    """Of one process: user and system time in seconds, and the most memory it held at once."""

    cpu_s: float
    peak_mb: float


def run() -> list[Figure]:
    """CPU seconds and peak memory of each, the median of some runs."""
    ours = {f"orchestrator {c}": ["-m", "orchestrator", *c.split()] for c in _COMMANDS}
    return [figure for name, command in {**_FLOOR, **ours}.items() for figure in _of(name, command)]


def _of(name: str, command: list[str]) -> list[Figure]:
    costs = [_cost([sys.executable, *command]) for _ in range(_ROUNDS)]
    return [
        Figure(name=f"{name}, CPU", value=median(cost.cpu_s for cost in costs), unit="s"),
        Figure(name=f"{name}, peak", value=median(cost.peak_mb for cost in costs), unit="MB"),
    ]


def _cost(command: list[str]) -> Cost:
    measured = subprocess.run(
        [sys.executable, "-c", _LAUNCHER, *command], capture_output=True, text=True, check=True
    )
    status, cpu_s, peak = json.loads(measured.stderr)
    if status:
        raise subprocess.CalledProcessError(status, command)
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB elsewhere
    return Cost(cpu_s, peak * unit / 2**20)
