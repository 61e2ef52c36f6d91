"""Missions timed: one at a time in turn with the others, and many at once."""

import asyncio
import os
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from tests.benchmarks.missions.competitors import Competitor
from tests.benchmarks.missions.process_time import cpu_of


@dataclass
class Times:
    """What one system took."""

    single_s: list[float] = field(default_factory=list)
    single_cpu_s: list[float] = field(default_factory=list)
    per_s: list[float] = field(default_factory=list)
    each_cpu_s: list[float] = field(default_factory=list)

    def medians(self) -> dict[str, tuple[float, str]]:
        """Each figure with its unit."""
        return {
            "one mission": (1000 * median(self.single_s), "ms"),
            "its CPU": (1000 * median(self.single_cpu_s), "ms"),
            "a minute": (60 * median(self.per_s), "missions"),
            "CPU of each": (1000 * median(self.each_cpu_s), "ms"),
        }


async def race(
    systems: Sequence[Competitor],
    *,
    rounds: int,
    at_once: int,
    times: int,
    tell: Callable[[str], None],
) -> dict[str, Times]:
    """Let each run single missions in turn, then many at once in turn.

    Raises:
        RuntimeError: a mission did not succeed: its time would say nothing.
    """
    found = {one.name: Times() for one in systems}
    tag = int(time.time())
    for system in systems:
        for n in range(2):
            await _timed(system, _ended(system, [f"warm-{tag}-{system.name}-{n}"]))
    for n in range(rounds):
        for system in _turned(systems, n):
            took, cpu = await _timed(system, _ended(system, [f"one-{tag}-{system.name}-{n}"]))
            found[system.name].single_s.append(took)
            found[system.name].single_cpu_s.append(cpu)
    for n in range(times):
        for system in _turned(systems, n):
            missions = [f"many-{tag}-{system.name}-{n}-{k}" for k in range(at_once)]
            took, cpu = await _timed(system, _ended(system, missions))
            found[system.name].per_s.append(at_once / took)
            found[system.name].each_cpu_s.append(cpu / at_once)
            tell(f"{at_once} at once, {system.name}: {took:.1f} s, {cpu / at_once:.3f} CPU s each")
    return found


def _turned(systems: Sequence[Competitor], n: int) -> list[Competitor]:
    """All of them, another one first each time."""
    first = n % len(systems)
    return [*systems[first:], *systems[:first]]


async def _ended(system: Competitor, missions: Sequence[str]) -> None:
    statuses = await asyncio.gather(*map(system.run, missions))
    if set(statuses) != {"succeeded"}:
        raise RuntimeError(f"{system.name}: {sorted(set(statuses))}")


async def _timed(system: Competitor, work: Coroutine[Any, Any, None]) -> tuple[float, float]:
    """Seconds, and those of processors: of server, worker and of whoever decides on the cards."""
    before, began = _cpu(system), time.monotonic()
    await work
    took = time.monotonic() - began
    return took, _cpu(system) - before


def _cpu(system: Competitor) -> float:
    here = os.times()
    return sum(map(cpu_of, system.pids.values())) + here.user + here.system
