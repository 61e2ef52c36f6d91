"""What probes and scrapers are told of a worker, and what it waits for before it begins."""

import asyncio
import logging
from collections.abc import Callable
from datetime import timedelta
from threading import Event
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Worker

from orchestrator.core.errors import ServerUnreachable, StoreRefused, StoreUnavailable, UsageError
from orchestrator.proxy.server import read_address
from orchestrator.runtime import worker_state
from orchestrator.runtime.health_server import health_app, served_health
from orchestrator.runtime.worker import worker_limits
from orchestrator.runtime.worker_state import AwaitedParts, Phase, StoppedWaiting, WorkerState
from orchestrator.settings import Settings


class Server:
    """Temporal's, as far as it is asked whether it answers."""

    config = SimpleNamespace(target_host="temporal:7233")
    is_away = False

    async def check_health(self, **_: Any) -> bool:
        """As the SDK does."""
        if self.is_away:
            raise RPCError("away", RPCStatusCode.UNAVAILABLE, b"")
        return True


def _polling(
    server: Server, *, ask_store: Callable[[], object] | None = None, **worker: Any
) -> WorkerState:
    state = WorkerState()
    one = SimpleNamespace(task_queue="missions", is_running=True, **worker)
    state.polls(
        cast(Client, SimpleNamespace(service_client=server)), [cast(Worker, one)], ask_store
    )
    return state


async def _asked(state: WorkerState, path: str, **options: Any) -> httpx.Response:
    transport = httpx.ASGITransport(health_app(state, **options))
    async with httpx.AsyncClient(transport=transport, base_url="http://worker") as http:
        return await http.get(path)


async def test_a_worker_says_why_it_is_not_ready() -> None:
    """What it waits for before it begins, in the words of its log; a lost registration.

    New missions cannot start at such a server until it is restored.
    """
    waiting, state = WorkerState(), _polling(Server())
    waiting.waits_for = "no Temporal server answers at temporal:7233"

    async def lost(_: Client) -> str:
        return "it has lost the search attributes"

    before = await _asked(state, "/readyz")
    state._ask_server = lost

    assert before.status_code == 200
    for one, why in ((waiting, waiting.waits_for), (state, "it has lost the search attributes")):
        asked = await _asked(one, "/readyz")
        assert (asked.status_code, asked.json()["why_not"]) == (503, why)


async def test_a_worker_with_a_wrong_clock_is_not_ready(caplog: pytest.LogCaptureFixture) -> None:
    """Its log says so once, and it is ready again once the clock is right."""
    state = _polling(Server())
    for minutes in (10, 10):
        state.compare_clock(timedelta(minutes=minutes))
    wrong = await _asked(state, "/readyz")
    state.compare_clock(timedelta(seconds=1))

    assert wrong.status_code == 503
    assert "600 s ahead" in wrong.json()["why_not"]
    assert len(caplog.records) == 1
    assert (await _asked(state, "/readyz")).status_code == 200


async def test_a_worker_whose_store_is_away_or_hangs_is_not_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A probe is answered in time all the same, and asks a store that hangs no second question."""
    monkeypatch.setattr(
        "orchestrator.runtime.worker_state._ANSWERS_WITHIN", timedelta(milliseconds=400)
    )
    asked, goes_on = [], Event()

    def away() -> None:
        raise StoreUnavailable("postgresql://me@db/missions", "connection refused")

    def hangs() -> None:
        asked.append("once")
        goes_on.wait(20)

    down = await _asked(_polling(Server(), ask_store=away), "/readyz")
    state = _polling(Server(), ask_store=hangs)
    try:
        stuck = [await _asked(state, "/readyz") for _ in range(3)]
    finally:
        goes_on.set()
    back = await _asked(state, "/readyz")

    assert down.status_code == 503
    assert "connection refused" in down.json()["why_not"]
    assert [one.status_code for one in stuck] == [503] * 3
    assert "has not answered" in stuck[0].json()["why_not"]
    assert len(asked) <= 2
    assert back.status_code == 200


async def test_a_worker_is_ready_while_it_polls_and_its_server_answers() -> None:
    """And says in each other case why it is not; alive it is in all of them."""
    server, starting = Server(), WorkerState()
    polling = _polling(server)
    before = await _asked(starting, "/readyz")
    ready = await _asked(polling, "/readyz")
    server.is_away = True
    away = await _asked(polling, "/readyz")
    polling.phase, polling.running = Phase.DRAINING, 2
    draining = await _asked(polling, "/readyz")

    assert (before.status_code, before.json()["why_not"]) == (503, "it has not begun to poll")
    assert (ready.status_code, ready.json()["task_queues"]) == (200, ["missions"])
    assert away.status_code == 503
    assert away.json()["why_not"] == "the Temporal server at temporal:7233 does not answer"
    assert draining.json()["why_not"] == "it drains: 2 activities in flight"
    for state in (starting, polling):
        assert (await _asked(state, "/healthz")).status_code == 200


async def test_metrics_are_those_that_the_process_keeps() -> None:
    """With their own content type; without any, 404."""
    kept = await _asked(WorkerState(), "/metrics", metrics=lambda: (b"a 1\n", "text/plain; v=1"))
    none = await _asked(WorkerState(), "/metrics")

    assert (kept.text, kept.headers["content-type"].split(";")[0]) == ("a 1\n", "text/plain")
    assert none.status_code == 404


async def test_a_taken_port_is_a_sentence_with_its_variable() -> None:
    """Before the worker connects anywhere."""
    async with served_health("127.0.0.1:0", WorkerState()) as url:
        address = url.removeprefix("http://")
        async with httpx.AsyncClient() as http:
            assert (await http.get(f"{url}/healthz")).status_code == 200
        with pytest.raises(UsageError, match=f"ORCHESTRATOR_HEALTH: cannot listen on {address}"):
            async with served_health(address, WorkerState()):
                pass


@pytest.mark.parametrize("address", ["8080", ":8080", "localhost:", "localhost:http", "a:99999"])
def test_what_is_no_address_is_refused(address: str) -> None:
    """With one that is; an address of IPv6 stands in brackets, as in URLs."""
    with pytest.raises(UsageError, match=r"127\.0\.0\.1:8080"):
        read_address(address)
    assert read_address("[::1]:8080") == ("::1", 8080)


def test_the_limits_of_a_worker_are_its_settings(tmp_path: Any) -> None:
    """Each by the name that Temporal's worker has for it."""
    settings = Settings(state_dir=tmp_path, drain=timedelta(seconds=90), max_activities=7)
    limits = worker_limits(settings.model_copy(update={"pollers": "auto"}))

    assert limits["graceful_shutdown_timeout"] == timedelta(seconds=90)
    assert limits["max_concurrent_activities"] == 7
    assert "Autoscaling" in type(limits["activity_task_poller_behavior"]).__name__
    assert "Simple" in type(worker_limits(settings)["activity_task_poller_behavior"]).__name__


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
    """A wrong password, for one; or that the worker is asked to end.

    It does not first wait for the rest of its pause.
    """
    stop = asyncio.Event()

    async def refused() -> None:
        raise StoreRefused("password authentication failed")

    async def away() -> None:
        stop.set()
        raise ServerUnreachable("temporal:7233")

    for attempt, ended in ((refused, StoreRefused), (away, StoppedWaiting)):
        with pytest.raises(ended):
            async with asyncio.timeout(30):
                await AwaitedParts(WorkerState(), stop).retry_until_available(attempt)
