"""What a worker registers at the server, and finds out about it later."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.core.errors import UsageError
from orchestrator.runtime.registration import (
    INDEXED,
    _look_again,
    _skew_of,
    register_search_attributes,
    registration_fault,
)
from orchestrator.runtime.worker_state import WorkerState
from orchestrator.settings import Settings


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
    assert (
        "OrchetMissionId, OrchetMode, OrchetRequester, OrchetStatus: it has 8 of type Keyword"
        in told
    )
    assert "OrchetTool" not in told
    assert "TEMPORAL_NAMESPACE" in told


async def test_what_an_emptied_server_has_lost_is_registered_again() -> None:
    """Search attributes and the schedule of the sweep; a pause of an operator is no loss."""
    emptied, state = Namespace(), WorkerState()
    fault = await registration_fault(emptied.client)

    await _look_again(emptied.client, Settings(), state)
    await _look_again(emptied.client, Settings(), state)

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
    found = _skew_of(timedelta(seconds=polled), timedelta(seconds=poll))

    assert found == (None if skew is None else timedelta(seconds=skew))
