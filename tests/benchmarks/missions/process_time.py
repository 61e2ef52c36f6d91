"""How much processor time processes took, with their children: read from Linux's /proc."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")


def cpu_of(pid: int) -> float:
    """User and system seconds of a process and of all below it, those that have ended included."""
    return sum(sum(map(int, _fields(one)[11:15])) for one in _tree(pid)) * _TICK_S


def _tree(pid: int) -> Iterator[int]:
    parents = {one: int(fields[1]) for one in _all() if (fields := _fields(one))}
    below = [pid]
    for known in below:
        yield known
        below += [one for one, parent in parents.items() if parent == known]


def _all() -> list[int]:
    return [int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit()]


def _fields(pid: int) -> list[str]:
    """What follows the name in /proc/PID/stat; nothing of a process that has just ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
