"""What a worker waits for before it begins, and what it does not wait for."""

import asyncio
import logging

import pytest

from orchestrator.core.errors import ServerUnreachable, StoreRefused, StoreUnavailable
from orchestrator.runtime import worker_state
from orchestrator.runtime.worker_state import AwaitedParts, StoppedWaiting, WorkerState


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask again at once."""
    monkeypatch.setattr(worker_state, "_FIRST_PAUSE_S", 0.001)


@pytest.mark.parametrize(
    "away",
    [
        ServerUnreachable("temporal:7233"),
        StoreUnavailable("postgresql://me@db/missions", "connection refused"),
    ],
)
async def test_what_is_away_is_waited_for_and_told_once(
    away: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """In one line; who asks meanwhile is told the same."""
    caplog.set_level(logging.INFO, "orchestrator.runtime.worker_state")
    state, shown = WorkerState(), list[str]()

    async def attempt() -> str:
        shown.append(state.waits_for)
        if len(shown) < 4:
            raise away
        return "there"

    assert await AwaitedParts(state, asyncio.Event()).retry_until_available(attempt) == "there"

    assert shown == ["", *[str(away)] * 3]
    assert state.waits_for == ""
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert str(away) in caplog.text


async def test_what_waiting_does_not_mend_ends_it() -> None:
    """A wrong password, for one."""

    async def attempt() -> None:
        raise StoreRefused("password authentication failed")

    with pytest.raises(StoreRefused):
        await AwaitedParts(WorkerState(), asyncio.Event()).retry_until_available(attempt)


async def test_a_worker_that_waits_ends_when_it_is_asked_to() -> None:
    """It does not first wait for the rest of its pause."""
    stop = asyncio.Event()

    async def attempt() -> None:
        stop.set()
        raise ServerUnreachable("temporal:7233")

    with pytest.raises(StoppedWaiting):
        async with asyncio.timeout(30):
            await AwaitedParts(WorkerState(), stop).retry_until_available(attempt)
