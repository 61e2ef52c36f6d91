"""No worker, or one that is busy: what is said, how soon, and what becomes of what was asked."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.core import errors
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.runtime.devserver import Ports, Stack
from orchestrator.settings import bundled_specs
from orchestrator.testing import eventually, run_to_end
from tests.commands import Ran, run_apart
from tests.fakes import own_id
from tests.forked import ForkedStack
from tests.refusals import raises_code

if TYPE_CHECKING:
    from orchestrator.confirmation.models import ConfirmationCard

WEATHER = "What is the weather in Oslo tomorrow?"
ALERTS = "Subscribe to weather alerts for Oslo"
FLIGHT = "Book a flight to Lisbon"

_AT_ONCE = timedelta(0)
"""After which a poller counts as gone, where a test does not want to wait for a minute."""

_AS_FROM_A_TERMINAL = (
    "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "runpy.run_module('orchestrator', run_name='__main__', alter_sys=True)"
)
"""The command where it hears Ctrl-C: what a shell starts in the background inherits deafness."""

_SOON_S = 60
"""On a busy machine; a worker that nobody misses is waited for until the test is out of time."""

Command = Callable[..., Awaitable[Ran]]


@pytest.fixture(scope="module")
async def idle(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """A server and a sandbox; each test starts the workers that it wants, on queues of its own."""
    stack = ForkedStack(
        tmp_path_factory.mktemp("idle"),
        (bundled_specs(),),
        Ports.free(),
        variables={"ORCHESTRATOR_ROUTING_TIMEOUT_MS": "5000"},
    )
    async with stack:
        await stack.kill("worker", gently=True)
        yield stack


def on_queue(stack: Stack, queue: str) -> dict[str, str]:
    """The environment of commands that start missions for the workers of a queue."""
    ours = {n: v for n, v in os.environ.items() if not n.startswith(("ORCHESTRATOR_", "TEMPORAL_"))}
    return {**ours, **stack.environment, "ORCHESTRATOR_TASK_QUEUE": queue, "COLUMNS": "200"}


def commands_on(stack: Stack, queue: str) -> Command:
    async def run(*arguments: str) -> Ran:
        return await run_apart(*arguments, environment=on_queue(stack, queue))

    return run


async def client_on(stack: Stack, queue: str) -> MissionClient:
    client = await stack.client()
    return MissionClient(client.temporal, stack.settings.model_copy(update={"task_queue": queue}))


async def worker_on(stack: Stack, queue: str) -> None:
    await stack.start_worker(f"worker-{queue}", variables={"ORCHESTRATOR_TASK_QUEUE": queue})


async def open_card(mission: MissionHandle) -> ConfirmationCard:
    cards = await eventually(mission.confirmations)
    return cards[0]


async def test_a_start_is_queued_and_runs_when_a_worker_comes(idle: Stack) -> None:
    """Never "not started": the id is told, the exit code is 0, and the mission ends well."""
    queue, own = own_id("later"), own_id("queued")
    cli, client = commands_on(idle, queue), await client_on(idle, queue)
    plain, scripted = await asyncio.gather(
        cli("mission", "start", WEATHER, "--id", f"{own}-plain"),
        cli("mission", "start", WEATHER, "--id", f"{own}-json", "--json"),
    )
    began = time.monotonic()
    again = await client.start(MissionRequest(goal=WEATHER, mission_id=f"{own}-api"))
    took_s = time.monotonic() - began
    with pytest.raises(errors.MissionIdTaken):
        await client.start(MissionRequest(goal=ALERTS, mission_id=f"{own}-api"))
    listed = await cli("mission", "list", "--json")
    shown = await cli("mission", "show", f"{own}-plain")
    document = await cli("mission", "show", f"{own}-plain", "--json")
    await worker_on(idle, queue)
    results = [await run_to_end(client.get(f"{own}-{one}")) for one in ("plain", "json", "api")]
    taken_up = await client.start(MissionRequest(goal=WEATHER, mission_id=f"{own}-api"))

    assert (plain.exit_code, scripted.exit_code, plain.stderr) == (0, 0, "")
    assert took_s < _SOON_S
    assert f"queued {own}-plain" in plain.stdout
    assert f"no worker polls the task queue '{queue}'" in plain.stdout
    assert scripted.json["mission_id"] == f"{own}-json"
    assert f"'{queue}'" in scripted.json["queued"]
    assert f"'{queue}'" in again.queued
    waits = {one["mission_id"]: one["waits_for"] for one in listed.json}
    assert [w["kind"] for w in waits[f"{own}-plain"]] == ["worker"]
    assert (shown.exit_code, document.exit_code) == (0, 0)
    assert "planning" in shown.stdout
    assert f"'{queue}'" in " ".join(shown.stdout.split())
    assert document.json["status"] == "planning"
    assert "is_partial" not in document.json
    assert {r.status for r in results} == {MissionStatus.SUCCEEDED}
    assert taken_up.queued == ""


async def test_whoever_waits_is_told_and_goes_on_waiting(idle: Stack) -> None:
    """`--wait` says that it is queued, and ends with the mission once a worker has come."""
    queue, own = own_id("much-later"), own_id("waited-for")
    command = asyncio.create_task(
        run_apart(
            *("mission", "start", WEATHER, "--id", own, "--wait", "--json"),
            environment=on_queue(idle, queue),
        )
    )
    client = await client_on(idle, queue)

    async def is_there() -> bool:
        try:
            return bool(await client.known(own, why="-"))
        except errors.MissionNotFound:
            return False

    await eventually(is_there)
    await asyncio.sleep(5)  # long enough for it to have looked for a worker in vain
    await worker_on(idle, queue)
    ran = await command

    assert (ran.exit_code, ran.json["status"]) == (0, "succeeded")
    assert f"queued: no worker polls the task queue '{queue}'" in ran.stderr
    assert f"mission {own} is queued" in ran.stderr


async def test_ctrl_c_stops_the_watching_and_says_so(idle: Stack) -> None:
    """Not the mission, which stays where it is."""
    own = own_id("interrupted")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _AS_FROM_A_TERMINAL),
        *("mission", "start", WEATHER, "--id", own, "--wait"),
        env=on_queue(idle, "never"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    said = b""
    while b"is queued" not in said:
        said += await asyncio.wait_for(process.stderr.readline(), 30)
    process.send_signal(signal.SIGINT)
    _, rest = await asyncio.wait_for(process.communicate(), 30)
    mission = await (await client_on(idle, "never")).known(own, why="-")

    assert process.returncode == 130
    assert f"orchestrator mission watch {own}" in rest.decode()
    assert "Traceback" not in rest.decode()
    assert mission.status == "planning"


async def waiting_on(idle: Stack, queue: str, mission_id: str) -> ConfirmationCard:
    """A card that waits, of a mission whose worker is gone: its queue is that of nobody."""
    await worker_on(idle, queue)
    client = await client_on(idle, queue)
    mission = await client.start(MissionRequest(goal=ALERTS, mission_id=mission_id))
    card = await open_card(mission)
    await idle.kill(f"worker-{queue}", gently=True)
    return card


@pytest.mark.long
async def test_cards_are_listed_though_a_worker_is_gone(idle: Stack) -> None:
    """What a mission asks stands in its memo; all cards and questions are there, with commands."""
    silent = await waiting_on(idle, "silent", "list-silent")
    await worker_on(idle, "busy")
    client, cli = await client_on(idle, "busy"), commands_on(idle, "busy")
    answering = await client.start(MissionRequest(goal=ALERTS, mission_id="list-card"))
    asking = await client.start(MissionRequest(goal=FLIGHT, mission_id="list-question"))
    card = await open_card(answering)
    (question,) = await eventually(asking.questions)
    began = time.monotonic()
    waiting = await client.waiting()
    took_s = time.monotonic() - began
    listed, plain, missions = await asyncio.gather(
        cli("confirm", "list", "--json"), cli("confirm", "list"), cli("mission", "list", "--json")
    )
    mine = {e["mission_id"]: e for e in listed.json if e["mission_id"].startswith("list-")}
    waits = {one["mission_id"]: [w["kind"] for w in one["waits_for"]] for one in missions.json}
    await idle.kill("worker-busy", gently=True)

    assert took_s < _SOON_S
    assert card.confirmation_id in [one.confirmation_id for one in waiting.cards]
    assert (listed.exit_code, plain.exit_code) == (0, 0)
    assert {i: e["kind"] for i, e in mine.items()} == {
        "list-silent": "card",
        "list-card": "card",
        "list-question": "question",
    }
    assert mine["list-silent"]["confirmation_id"] == silent.confirmation_id
    assert mine["list-card"]["confirmation_id"] == card.confirmation_id
    command = f"orchestrator mission answer {question.question_id}"
    assert any(c.startswith(command) for c in mine["list-question"]["commands"])
    flat = " ".join(plain.stdout.split())
    assert command in flat
    assert f"orchestrator confirm approve {card.confirmation_id}" in flat
    assert waits["list-card"] == ["confirmation"]
    assert waits["list-question"] == ["answer"]


async def test_a_decision_that_nobody_would_take_is_not_sent(
    idle: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said at once, with the queue; when a worker is back, the card is as open as before."""
    card = await waiting_on(idle, "deserted", "undecided")
    monkeypatch.setattr("orchestrator.client.obstacles._POLLER_GONE", _AT_ONCE)
    client = await client_on(idle, "deserted")
    began = time.monotonic()
    with raises_code("NothingSent") as decided:
        await client.approve(card.confirmation_id, card.digest, approver="ann")
    with raises_code("NothingSent"):
        await client.get("undecided").answer(card.confirmation_id, {})
    shown = await client.confirmation(card.confirmation_id)
    took_s = time.monotonic() - began
    monkeypatch.undo()
    await worker_on(idle, "deserted")
    still = await eventually(client.get("undecided").confirmations)
    await client.get("undecided").cancel()
    await run_to_end(client.get("undecided"))

    assert took_s < _SOON_S
    assert "nothing was decided" in str(decided.value)
    assert shown == card
    assert [c.digest for c in still] == [card.digest]


async def test_a_worker_that_has_just_died_is_missed_within_seconds(idle: Stack) -> None:
    """The server still remembers it: the command says that it asks, and what it cannot know."""
    card = await waiting_on(idle, "died", "left-alone")
    cli = commands_on(idle, "died")
    began = time.monotonic()
    approved, shown = await asyncio.gather(
        cli("confirm", "approve", card.confirmation_id, "--digest", card.digest),
        cli("mission", "show", "left-alone", "--json"),
    )
    took_s = time.monotonic() - began

    assert took_s < _SOON_S
    assert approved.exit_code == 1
    assert "no answer yet" in approved.stderr
    assert f"what was sent about {card.confirmation_id} may still be taken" in approved.stderr
    assert shown.exit_code == 0
    assert "is_partial" not in shown.json
    assert [leg["status"] for leg in shown.json["legs"]] == ["awaiting_confirmation"]


async def test_a_burst_on_one_busy_worker_is_started_whole(idle: Stack) -> None:
    """Thirty at once, from Python and from the command line: each is started, and says so."""
    await worker_on(idle, "burst")
    client = await client_on(idle, "burst")
    requests = [MissionRequest(goal=WEATHER, mission_id=f"burst-{n}") for n in range(30)]
    started = await asyncio.gather(*[client.start(one) for one in requests])
    results = await asyncio.gather(*[one.result() for one in started])

    async def all_are_listed() -> bool:
        listed = await client.missions(limit=60, status="succeeded")
        return len([one for one in listed if one.mission_id.startswith("burst-")]) == 30

    await eventually(all_are_listed)
    await idle.kill("worker-burst", gently=True)

    assert [r.status for r in results] == [MissionStatus.SUCCEEDED] * 30
