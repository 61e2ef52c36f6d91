"""Strikes at processes and a scripted model: by the seed, and to the end of the run."""

import asyncio
from typing import Any, cast

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.chaos.chaos_run import FaultyModel, modelled_run
from orchestrator.chaos.crew import FaultInjector
from orchestrator.chaos.scenarios.chaos_faults import ALL, ChaosFault
from orchestrator.chaos.scenarios.plan import Strike
from orchestrator.core.errors import UsageError
from orchestrator.testing.model_server import ConversationTurn, ReceivedRequest, say
from orchestrator.testing.model_server.rule_model import RuleModel


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


NONE: frozenset[ChaosFault] = frozenset()


def _request(text: str) -> ReceivedRequest:
    return ReceivedRequest("chat", "m", "", (ConversationTurn("user", text),), {}, {})


async def test_what_is_struck_follows_from_the_seed(shipped: Catalog) -> None:
    """About one prompt in ten, never twice in a row, and none without the fault."""
    model = RuleModel(shipped)
    answered = say("This is no step of a mission.")

    async def struck(seed: int, faults: frozenset[ChaosFault]) -> list[int]:
        faulty = FaultyModel(model, seed, faults)
        first = [await faulty(_request(f"prompt {n}")) for n in range(200)]
        again = [await faulty(_request(f"prompt {n}")) for n in range(200)]
        assert again == [answered] * 200
        return [n for n, reply in enumerate(first) if reply != answered]

    seven = await struck(7, ALL)
    assert 8 < len(seven) < 40
    assert seven == await struck(7, ALL) != await struck(8, ALL)
    assert await struck(7, NONE) == []


async def test_a_model_that_is_not_served_is_refused(shipped: Catalog) -> None:
    with pytest.raises(UsageError, match="serves models of openai"):
        async with modelled_run(7, ALL, shipped, "mistral:large"):
            pass


async def test_workers_are_told_where_the_model_is(shipped: Catalog) -> None:
    async with modelled_run(7, ALL, shipped, "anthropic:claude-sonnet-5-5") as modelled:
        variables = modelled.variables

    assert variables["ORCHESTRATOR_PLANNER_MODEL"] == "anthropic:claude-sonnet-5-5"
    assert variables["ANTHROPIC_BASE_URL"].startswith("http://127.0.0.1:")
