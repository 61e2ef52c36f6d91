"""A worker looks at the schedule of its task queue before it takes any task."""

from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleUpdate,
)
from temporalio.converter import DataConverter

from orchestrator.adapters.temporal.mission_converter import mission_converter
from orchestrator.adapters.temporal.payload_keys import PayloadKeys, new_payload_key
from orchestrator.runtime.registration import schedule_sweep
from tests.refusals import raises_code

pytestmark = pytest.mark.unit
OLD, NEW = new_payload_key(), new_payload_key()
HOUR = timedelta(hours=1)


class Server:
    """Keeps one schedule, as a server does: what it is given is recorded as payloads."""

    def __init__(self) -> None:
        self.kept: Schedule | None = None
        self.written = 0

    def client(self, keys: str) -> Client:
        converter = mission_converter(PayloadKeys.of_text(keys))
        return cast(Client, _Client(self, converter))

    async def keep(self, schedule: Schedule, converter: DataConverter) -> None:
        action = schedule.action
        assert isinstance(action, ScheduleActionStartWorkflow)
        action.args = await converter.encode(action.args)
        self.kept, self.written = schedule, self.written + 1


class _Client:
    def __init__(self, server: Server, converter: DataConverter) -> None:
        self.server = server
        self.data_converter = converter

    async def create_schedule(self, _: str, schedule: Schedule) -> None:
        if self.server.kept is not None:
            raise ScheduleAlreadyRunningError
        await self.server.keep(schedule, self.data_converter)

    def get_schedule_handle(self, _: str) -> "_Client":
        return self

    async def update(self, updater: Callable[[Any], Any]) -> None:
        found = SimpleNamespace(description=SimpleNamespace(schedule=self.server.kept))
        update = await updater(found)
        if isinstance(update, ScheduleUpdate):
            await self.server.keep(update.schedule, self.data_converter)


async def test_the_first_worker_with_a_new_key_writes_the_schedule_anew() -> None:
    server = Server()
    for keys in (
        "",
        "",
        f"old:{OLD}",
        f"old:{OLD},new:{NEW}",
        f"new:{NEW},old:{OLD}",
        f"new:{NEW}",
    ):
        await schedule_sweep(server.client(keys), "missions", HOUR)
    assert server.written == 3


@pytest.mark.parametrize("keys", ["", f"old:{OLD}", f"new:{OLD}"], ids=["none", "old", "another"])
async def test_a_worker_that_lacks_the_key_does_not_begin(keys: str) -> None:
    server = Server()
    await schedule_sweep(server.client(f"new:{NEW}"), "missions", HOUR)
    with raises_code("WorkerLacksKey"):
        await schedule_sweep(server.client(keys), "missions", HOUR)
    assert server.written == 1
