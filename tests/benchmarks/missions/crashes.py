"""Missions whose worker is killed at each of their requests: what they leave, and how long."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.sandbox import FaultRule, SandboxClient
from tests.benchmarks.missions.competitors import Competitor
from tests.benchmarks.missions.killing_proxy import KillingProxy

POINTS: Final[Mapping[str, Sequence[str]]] = {
    "goes well": (
        "/flights/offers",
        "/hotels/rooms",
        "/flights/book",
        "/hotels/bookings",
        "/expenses/reports",
    ),
    "hotel refuses": (
        "/flights/offers",
        "/hotels/rooms",
        "/flights/book",
        "/hotels/bookings",
        "/flights/cancel",
    ),
}
_PATIENCE_S: Final = 240.0
_GONE_S: Final = 0.5
_HELD: Final = {"goes well": 3, "hotel refuses": 0}
"""How many effects stand at the end, where all is as it should be."""


@dataclass(frozen=True)
class Crash:
    """One mission whose worker was killed."""

    system: str
    shape: str
    path: str
    status: str
    left: int
    """Effects too many, or too few."""
    duplicates: int
    seconds: float
    """From the kill to the end; a new worker was started half a second after it."""


async def crash_everywhere(
    systems: Sequence[Competitor],
    sandbox: SandboxClient,
    proxy: KillingProxy,
    tell: Callable[[str], None],
) -> list[Crash]:
    """Kill the worker of each system at each request of both shapes, one mission for each."""
    tag = int(time.time())
    found: list[Crash] = []
    for system in systems:
        for shape, paths in POINTS.items():
            for path in paths:
                m = f"kill-{tag}-{system.name}-{len(found)}"
                await sandbox.set_faults(_faults(m) if shape == "hotel refuses" else [])
                crash = await _crashed(system, m, shape, path, sandbox, proxy)
                found.append(crash)
                tell(
                    f"{system.name}, {shape}, killed at {path}: {crash.status}, "
                    f"left {crash.left}, duplicates {crash.duplicates}, {crash.seconds:.1f} s"
                )
    await sandbox.clear_faults()
    return found


def _faults(m: str) -> list[FaultRule]:
    hotel = {"operation_id": "hotel_book_room", "request_prefix": m}
    return [
        FaultRule.model_validate({**hotel, "kind": "latency", "delay_s": 1.5}),
        FaultRule.model_validate({**hotel, "kind": "status_before", "status": 409}),
    ]


async def _crashed(
    system: Competitor,
    m: str,
    shape: str,
    path: str,
    sandbox: SandboxClient,
    proxy: KillingProxy,
) -> Crash:
    proxy.arm(path, system.kill)
    mission = asyncio.create_task(system.run(m))
    while not proxy.struck_at and not mission.done():  # noqa: ASYNC110 -- another task strikes
        await asyncio.sleep(0.02)
    if proxy.struck_at:
        await asyncio.sleep(_GONE_S)
        await system.restart()
    await asyncio.wait([mission], timeout=_PATIENCE_S)
    seconds = time.monotonic() - proxy.struck_at if proxy.struck_at else 0.0
    status = mission.result() if mission.done() and not mission.exception() else "did not end"
    mission.cancel()
    live = await sandbox.live(m)
    return Crash(
        system=system.name,
        shape=shape,
        path=path,
        status=status if proxy.struck_at else f"{status}, not killed",
        left=abs(len(live) - _HELD[shape]),
        duplicates=len(await sandbox.duplicates(m)),
        seconds=seconds,
    )
