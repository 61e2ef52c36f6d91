"""Strikes at processes: what becomes of them when a run ends, and when it is given up."""

import asyncio
from typing import Any, cast

import pytest

from orchestrator.chaos.crew import FaultInjector
from orchestrator.chaos.scenarios.chaos_faults import ChaosFault
from orchestrator.chaos.scenarios.plan import Strike


class PausedCrew:
    """Workers whose pause lasts until it is ended."""

    slowness = 1.0

    def __init__(self) -> None:
        self.paused = asyncio.Event()
        self.may_end = asyncio.Event()

    async def pause(self, worker: int, seconds: float) -> bool:
        self.paused.set()
        await self.may_end.wait()
        return True


def _injector(crew: PausedCrew) -> FaultInjector:
    strike = Strike(at_s=0.0, fault=ChaosFault.PAUSE_WORKER, lasts_s=60.0)
    unused = cast(Any, None)
    return FaultInjector(unused, cast(Any, crew), unused, [strike])


async def test_a_run_that_ends_waits_for_what_was_struck() -> None:
    crew = PausedCrew()

    async def run() -> FaultInjector:
        async with _injector(crew) as injector:
            await crew.paused.wait()
        return injector

    running = asyncio.create_task(run())
    await crew.paused.wait()
    assert not (await asyncio.wait([running], timeout=0.05))[0]
    crew.may_end.set()
    assert (await running).fired == {ChaosFault.PAUSE_WORKER: 1}


async def test_a_run_that_is_given_up_waits_for_no_strike() -> None:
    crew = PausedCrew()

    async def run() -> None:
        async with _injector(crew):
            await asyncio.Event().wait()

    running = asyncio.create_task(run())
    await crew.paused.wait()
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    assert not crew.may_end.is_set()
