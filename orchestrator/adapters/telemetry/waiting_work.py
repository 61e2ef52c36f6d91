"""How much waits for somebody, as the server's visibility has it: asked every so often."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final

from opentelemetry.metrics import CallbackOptions, Meter, Observation
from temporalio.client import Client
from temporalio.service import RPCError

from orchestrator.adapters.telemetry.told_names import PARKED, WAITING, Measured
from orchestrator.adapters.temporal.search_attributes import PARKED as PARKED_KEY
from orchestrator.messages import names

_log = logging.getLogger(__name__)
_EVERY_S: Final = 30.0
_Observe = Callable[[CallbackOptions], Iterable[Observation]]
_FOR: Final = ("confirmation", "answer", "operator", "provider")


class WaitingWork:
    """Gauges of what waits in a namespace; while the server does not answer, they tell nothing."""

    def __init__(self, client: Client, meter: Meter) -> None:
        """Take a connected client."""
        self._client = client
        self._waiting: dict[str, int] = {}
        self._parked: int | None = None
        _gauge(meter, PARKED, self._observe_parked)
        _gauge(meter, WAITING, self._observe_waiting)

    async def keep_looking(self) -> None:
        """Look until cancelled."""
        while True:
            try:
                await self.look()
            except RPCError as error:
                self._waiting, self._parked = {}, None
                _log.warning("the server does not tell what waits: %s", error.status.name)
            await asyncio.sleep(_EVERY_S)

    async def look(self) -> None:
        """Ask the server once."""
        waiting = {}
        for what in _FOR:
            query = _running(f"{names.WAITING_FOR_ATTRIBUTE} = '{what}'")
            waiting[what] = (await self._client.count_workflows(query)).count
        query = _running(f"{names.PARKED_ATTRIBUTE} > 0")
        found = [run async for run in self._client.list_workflows(query)]
        self._parked = sum(run.typed_search_attributes.get(PARKED_KEY) or 0 for run in found)
        self._waiting = waiting

    def _observe_parked(self, _: CallbackOptions) -> Iterable[Observation]:
        return [] if self._parked is None else [Observation(self._parked)]

    def _observe_waiting(self, _: CallbackOptions) -> Iterable[Observation]:
        return [Observation(count, {"for": what}) for what, count in self._waiting.items()]


def _gauge(meter: Meter, one: Measured, observe: _Observe) -> None:
    meter.create_observable_gauge(one.name, [observe], unit=one.unit, description=one.means)


def _running(query: str) -> str:
    return f"{query} AND ExecutionStatus = 'Running'"
