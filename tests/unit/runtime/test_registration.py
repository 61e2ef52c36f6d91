"""What a worker registers at the server, and finds out about it later."""

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
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.adapters.temporal.mission_converter import mission_converter
from orchestrator.adapters.temporal.payload_keys import PayloadKeys, new_payload_key
from orchestrator.core.errors import UsageError
from orchestrator.runtime.registration import (
    INDEXED,
    register_lost,
    register_search_attributes,
    registration_fault,
    schedule_sweep,
    skew_shown,
)
from orchestrator.runtime.worker_state import WorkerState
from orchestrator.settings import Settings
from tests.refusals import raises_code


class Namespace:
    """A namespace of a server on SQL, as far as search attributes and schedules go."""

    namespace = "default"

    def __init__(self, *taken: str) -> None:
        kind = INDEXED["OrchetStatus"]
        self.attributes = dict.fromkeys(taken, kind)
        self.schedules: list[str] = []
        self.operator_service = SimpleNamespace(
            list_search_attributes=self._list, add_search_attributes=self._add
        )

    @property
    def client(self) -> Client:
        """Where a client is asked for."""
        return cast(Client, self)

    async def _list(self, _: Any) -> Any:
        return SimpleNamespace(custom_attributes=dict(self.attributes))

    async def _add(self, request: Any) -> None:
        wanted = {**self.attributes, **request.search_attributes}
        if list(wanted.values()).count(INDEXED["OrchetStatus"]) > 10:
            text = "cannot have more than 10 search attribute of type Keyword."
            raise RPCError(text, RPCStatusCode.INTERNAL, b"")
        self.attributes = wanted

    async def create_schedule(self, schedule_id: str, _: Any) -> None:
        """As the SDK does."""
        self.schedules.append(schedule_id)

    def get_schedule_handle(self, schedule_id: str) -> Any:
        """As the SDK does."""

        async def describe() -> None:
            if schedule_id not in self.schedules:
                raise RPCError("not found", RPCStatusCode.NOT_FOUND, b"")

        return SimpleNamespace(describe=describe)


async def test_search_attributes_without_room_are_named() -> None:
    """Those of the type that is full, how many are taken, and what to do."""
    full = Namespace(*(f"Theirs{n}" for n in range(8)))
    with pytest.raises(UsageError) as refused:
        await register_search_attributes(full.client)

    told = str(refused.value)
    full_type = "OrchetMissionId, OrchetMode, OrchetRequester, OrchetStatus: it has 8 of type"
    assert f"{full_type} Keyword" in told
    assert "OrchetTool" not in told
    assert "TEMPORAL_NAMESPACE" in told


async def test_what_an_emptied_server_has_lost_is_registered_again() -> None:
    """Search attributes and the schedule of the sweep; a pause of an operator is no loss."""
    emptied, state = Namespace(), WorkerState()
    fault = await registration_fault(emptied.client)
    await register_lost(emptied.client, Settings(), state)
    await register_lost(emptied.client, Settings(), state)

    assert fault is not None
    assert await registration_fault(emptied.client) is None
    assert len(emptied.schedules) == 1
    assert state.unregistered == ""


@pytest.mark.parametrize(
    ("polled", "poll", "skew"),
    [(1, 2, 0), (601, 2, 599), (-600, 2, -600), (660, 70, 590), (60, 70, None), (-5, 70, -5)],
)
def test_a_clock_is_read_from_the_last_poll(polled: int, poll: int, skew: int | None) -> None:
    """By the server's time of it; what may be the length of a poll says nothing."""
    found = skew_shown(timedelta(seconds=polled), timedelta(seconds=poll))

    assert found == (None if skew is None else timedelta(seconds=skew))


OLD, NEW = new_payload_key(), new_payload_key()
HOUR = timedelta(hours=1)


class Schedules:
    """A server that keeps one schedule: what it is given is recorded as payloads."""

    def __init__(self) -> None:
        self.kept: Schedule | None = None
        self.written = 0
        self.data_converter = mission_converter()

    async def register(self, keys: str) -> None:
        """Look at the schedule as a worker with these keys does."""
        self.data_converter = mission_converter(PayloadKeys.of_text(keys))
        await schedule_sweep(cast(Client, self), "missions", HOUR)

    async def create_schedule(self, _: str, schedule: Schedule) -> None:
        if self.kept is not None:
            raise ScheduleAlreadyRunningError
        action = schedule.action
        assert isinstance(action, ScheduleActionStartWorkflow)
        action.args = await self.data_converter.encode(action.args)
        self.kept, self.written = schedule, self.written + 1

    def get_schedule_handle(self, _: str) -> "Schedules":
        return self

    async def update(self, updater: Callable[[Any], Any]) -> None:
        found = SimpleNamespace(description=SimpleNamespace(schedule=self.kept))
        update = await updater(found)
        if isinstance(update, ScheduleUpdate):
            self.kept = None
            await self.create_schedule("", update.schedule)


async def test_the_first_worker_with_a_new_key_writes_the_schedule_anew() -> None:
    server, old, new = Schedules(), f"old:{OLD}", f"new:{NEW}"
    for keys in ("", "", old, f"{old},{new}", f"{new},{old}", new):
        await server.register(keys)
    assert server.written == 3


@pytest.mark.parametrize("keys", ["", f"old:{OLD}", f"new:{OLD}"], ids=["none", "old", "another"])
async def test_a_worker_that_lacks_the_key_does_not_begin(keys: str) -> None:
    server = Schedules()
    await server.register(f"new:{NEW}")
    with raises_code("WorkerLacksKey"):
        await server.register(keys)
    assert server.written == 1
