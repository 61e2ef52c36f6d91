"""The processor's time of a trip's thinking: what its worker plans, routes and prepares.

Trips with words of their own run on a real stack; then what their workers were asked to think is
thought again, one message after the other, with nothing else going on in the process.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import date
from importlib import import_module
from itertools import permutations
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

from temporalio import activity
from temporalio.testing import ActivityEnvironment
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from orchestrator import MissionClient
from orchestrator.activities.kept_messages import KeptMessages
from orchestrator.activities.planning_activities import PlanningActivities, ThinkingActivities
from orchestrator.activities.prepare_activities import PrepareActivities
from orchestrator.adapters.storage.protocols import CatalogStore
from orchestrator.catalog.catalog import Catalog
from orchestrator.client.stores import store_of
from orchestrator.messages import names
from orchestrator.routing.router import Router
from orchestrator.runtime.defaults import default_planner, default_routers, default_tools
from orchestrator.runtime.demo import day_in
from orchestrator.runtime.devserver import SANDBOX_SECRETS, Ports, Stack
from orchestrator.runtime.worker import build
from tests.benchmarks.figure import Figure
from tests.benchmarks.missions.own_trip import trip

_SPECS: Final = Path(__file__).parents[2] / "specs"
_CITIES: Final = ("Berlin", "Lisbon", "Porto", "Madrid", "Vienna", "Oslo", "Paris", "Rome")
_TRIPS: Final = 10
_Message = tuple[activity.Info, Sequence[Any]]


def run() -> list[Figure]:
    """Milliseconds of a worker's first trip, of others, and of one whose words it knows."""
    # In a process of its own, whose products have one thread, as those of commands have.
    alone = {**os.environ, **SANDBOX_SECRETS, "OPENBLAS_NUM_THREADS": "1"}
    told = subprocess.run(
        [sys.executable, "-m", __name__], env=alone, stdout=subprocess.PIPE, check=True
    )
    first, *others, again = json.loads(told.stdout)
    return [
        Figure(name="first trip of a worker", value=first, unit="ms CPU"),
        Figure(
            name=f"median of {len(others)} with other words", value=median(others), unit="ms CPU"
        ),
        Figure(name="least of these", value=min(others), unit="ms CPU"),
        Figure(name="the last of these again", value=again, unit="ms CPU"),
    ]


async def _measured() -> list[float]:
    with TemporaryDirectory() as folder:
        stack = Stack(folder=Path(folder), specs=(_SPECS,), ports=Ports.free())
        async with stack:
            asked = [heard async for heard in _trips(stack)]
            return await _thought_again(stack, [*asked, asked[-1]])


def _prepare(catalog: Catalog, catalogs: CatalogStore, routers: Callable[..., Router]) -> None:
    """Make what a worker makes at its first mission: it is no part of a thought."""
    catalogs.put(catalog)
    routers(catalogs.get(catalog.digest))
    import_module("orchestrator.adapters.http.operation_contract")


async def _trips(stack: Stack) -> Any:
    """What is asked in each trip, by a worker of this process on a queue of its own."""
    settings = stack.settings.model_copy(update={"task_queue": "thinking"})
    temporal = (await stack.client()).temporal
    store = store_of(settings)
    # Before it polls, or its event loop stands still while libraries are imported.
    routers = default_routers(settings)
    _prepare(Catalog.load(*settings.specs), store.catalogs, routers)
    heard = _Heard()
    (worker,) = build(temporal, settings, agents=(), interceptors=[heard])
    async with worker:
        for number, (origin, city) in zip(range(_TRIPS), permutations(_CITIES, 2), strict=False):
            heard.messages = []
            goal = _goal(origin, city, number)
            client = MissionClient(temporal, settings)
            status = await trip(client, goal, f"trip-{number}", lambda *_: True)
            if status != "succeeded":
                raise RuntimeError(f"{goal}: {status}")
            yield heard.messages


def _goal(origin: str, city: str, number: int) -> str:
    leaving, returning = day_in(10 + number), day_in(12 + number + number % 4)
    assert date.fromisoformat(leaving) < date.fromisoformat(returning)
    return (
        f"Book a flight from {origin} to {city} on {leaving}, returning {returning}, "
        f"reserve a hotel in {city} for those nights and file the expense"
    )


class _Heard(Interceptor):
    """Every message to an activity that thinks, with what is told of the activity."""

    def __init__(self) -> None:
        self.messages: list[_Message] = []

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        """The activities of the worker, heard."""
        return _Hearing(next, self)


class _Hearing(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, heard: _Heard) -> None:
        super().__init__(next)
        self._heard = heard

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        info = activity.info()
        if info.activity_type in (names.SPLIT_GOAL, names.THINK):
            self._heard.messages.append((info, tuple(input.args)))
        return await super().execute_activity(input)


async def _thought_again(stack: Stack, trips: Sequence[Sequence[_Message]]) -> list[float]:
    """CPU of each trip in milliseconds, by a worker's parts that have not thought before."""
    settings = stack.settings
    async with store_of(settings) as store, default_tools(settings, store) as tools:
        catalog = Catalog.load(*settings.specs)
        routers = default_routers(settings)
        kept = KeptMessages(store.observations)
        planner = default_planner(settings, routers, ())
        planning = PlanningActivities(store.catalogs, routers, planner, (), store.traces, kept=kept)
        preparing = PrepareActivities(store.catalogs, tools, kept=kept)
        thinking = ThinkingActivities(planning, preparing, kept)
        _prepare(catalog, store.catalogs, routers)
        does: dict[str, Callable[..., Awaitable[Any]]] = {
            names.SPLIT_GOAL: planning.split_goal,
            names.THINK: thinking.think,
        }
        return [await _cpu_ms(does, messages) for messages in trips]


async def _cpu_ms(
    does: dict[str, Callable[..., Awaitable[Any]]], messages: Sequence[_Message]
) -> float:
    began = time.process_time()
    for info, given in messages:
        environment = ActivityEnvironment()
        environment.info = info
        await environment.run(does[info.activity_type], *given)
    return 1000 * (time.process_time() - began)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_measured())))  # noqa: T201 -- read by `run`
