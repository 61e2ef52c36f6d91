"""The cost of observe mode: the same calls by activities of one's own, and by an observed saga.

Both kinds of workflow run in turn, in one process, before one server and one sandbox. Each worker
is the SDK's own; one has the plugin, the other posts with httpx.
"""

import asyncio
import statistics
import time
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from uuid import uuid4

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    import httpx

    from orchestrator import ToolSaga
    from orchestrator.runtime.devserver import Ports, Stack
    from orchestrator.temporal import OrchestratorPlugin
    from tests.benchmarks.figure import Figure

_SPECS: Final = Path(__file__).parents[2] / "specs"
_CALLS, _ROUNDS, _WARM = 20, 20, 3
_EVENT: Final[dict[str, Any]] = {"title": "Compact car in Lisbon", "start_date": "2030-12-03"}


@workflow.defn
class BareCalls:
    """Calls as people write them on Temporal alone."""

    @workflow.run
    async def run(self, count: int) -> None:
        """Make the calls one after the other."""
        for _ in range(count):
            await workflow.execute_activity(
                "create_event", _EVENT, start_to_close_timeout=timedelta(seconds=30)
            )


@workflow.defn
class ObservedCalls:
    """The same calls by a saga."""

    @workflow.run
    async def run(self, count: int) -> None:
        """Make the calls one after the other."""
        async with ToolSaga("calls") as saga:
            for _ in range(count):
                await saga.call("calendar_create_event", _EVENT)


class _Events:
    """A client of the calendar, as its users write one."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    @activity.defn
    async def create_event(self, event: dict[str, Any]) -> Any:
        """Post an event."""
        key = {"Idempotency-Key": f"{activity.info().workflow_id}-{activity.info().activity_id}"}
        token = {"Authorization": "Bearer sandbox-calendar"}
        answer = await self._http.post("/calendar/events", json=event, headers={**key, **token})
        return answer.raise_for_status().json()


def run() -> list[Figure]:
    """Time and processor time of a call, bare and observed."""
    with TemporaryDirectory() as folder:
        return asyncio.run(_measured(Path(folder)))


async def _measured(folder: Path) -> list[Figure]:
    stack = Stack(folder=folder, specs=(_SPECS,), ports=Ports.free())
    async with stack, httpx.AsyncClient(base_url=stack.sandbox_url) as http:
        bare = await Client.connect(stack.address)
        settings = stack.settings
        plugin = OrchestratorPlugin(settings=settings, mode="observe")
        observed = await Client.connect(stack.address, plugins=[plugin])
        first = Worker(
            bare,
            task_queue="bare",
            workflows=[BareCalls],
            activities=[_Events(http).create_event],
        )
        second = Worker(observed, task_queue="observed", workflows=[ObservedCalls])
        async with first, second:
            kinds = {"bare": (bare, BareCalls), "observed": (observed, ObservedCalls)}
            times: dict[str, list[tuple[float, float]]] = {name: [] for name in kinds}
            for number in range(_ROUNDS + _WARM):
                for name, (client, kind) in kinds.items():
                    took = await _timed(client, kind, name)
                    if number >= _WARM:
                        times[name].append(took)
    return [
        Figure(name=what, value=value, unit="ms", row=(name,))
        for name, taken in times.items()
        for what, value in (
            ("time of a call", 1000 * statistics.median(t for t, _ in taken)),
            ("CPU of a call", 1000 * statistics.median(c for _, c in taken)),
        )
    ]


async def _timed(client: Client, kind: Any, queue: str) -> tuple[float, float]:
    began, cpu = time.monotonic(), time.process_time()
    await client.execute_workflow(kind.run, _CALLS, id=f"{queue}-{uuid4()}", task_queue=queue)
    return (time.monotonic() - began) / _CALLS, (time.process_time() - cpu) / _CALLS
