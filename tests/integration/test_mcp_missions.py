"""Missions over tools of MCP servers: streamable HTTP and stdio, two servers, real processes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import pytest
import yaml

from orchestrator import Catalog, MissionClient, MissionRequest
from orchestrator.activities.tool_activities import MOST_ROUNDS
from orchestrator.adapters.mcp.servers import McpServer
from orchestrator.client.connection import connect_temporal
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.client.stores import store_of
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.errors import NoWorker, QuestionError
from orchestrator.messages.leg import Question
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.question_field import DECLINED
from orchestrator.planning.models import WorkflowSource
from orchestrator.runtime.defaults import default_tools, list_mcp_servers
from orchestrator.runtime.devserver import Ports
from orchestrator.runtime.worker import build
from orchestrator.testing import approve, eventually, run_to_end

Restart = Callable[[], Awaitable[None]]

if TYPE_CHECKING:
    from orchestrator.core.record import JsonObject
    from orchestrator.runtime.devserver import Stack


KEY: Final[JsonObject] = {
    "name": "Idempotency-Key",
    "in": "header",
    "schema": {"type": "string"},
}


def overlay(noun: str, *, has_key: bool) -> JsonObject:
    """Return the overlay that pairs the two tools of a server and names the probe."""
    book: JsonObject = {
        "x-orchet-cancels": f"cancel_{noun}",
        "x-orchet-compensation-args": {"booking_id": "$response.body#/booking_id"},
        "x-orchet-compensation-probe": {
            "operationId": f"find_{noun}",
            "args": {"reference": "$request.body#/reference"},
        },
        "x-orchet-price": False,
        "responses": {"422": {"description": "Nothing was booked."}},
    }
    if has_key:
        book["parameters"] = [KEY]
    cancel: JsonObject = {
        "x-orchet-cancel-for": f"book_{noun}",
        "x-orchet-requires-confirmation": False,
    }
    return {
        "overlay": "1.0.0",
        "info": {"title": noun, "version": "1"},
        "actions": [
            {"target": f"$.paths['/book_{noun}'].post", "update": book},
            {"target": f"$.paths['/cancel_{noun}'].post", "update": cancel},
        ],
    }


class Server:
    """A server of `tests.mcp_rooms`, and its bookings."""

    def __init__(
        self, folder: Path, noun: str, *, port: int | None = None, has_key: bool = False
    ) -> None:
        self.folder = folder
        self.noun = noun
        self.port = port
        self.process: asyncio.subprocess.Process | None = None
        (folder / f"{noun}.yaml").write_text(yaml.safe_dump(overlay(noun, has_key=has_key)))

    @property
    def command(self) -> tuple[str, ...]:
        return sys.executable, "-m", "tests.mcp_rooms", str(self.folder), self.noun

    @property
    def entry(self) -> McpServer:
        """The server as the settings name it."""
        reached: dict[str, Any] = {"command": self.command, "cwd": Path.cwd()}
        if self.port is not None:
            reached = {"url": f"http://127.0.0.1:{self.port}/mcp"}
        return McpServer(name=self.noun, overlay=self.folder / f"{self.noun}.yaml", **reached)

    def bookings(self) -> list[str]:
        """Return the cities that are booked now."""
        return [str(one["city"]) for one in self.booked()]

    def booked(self) -> list[JsonObject]:
        """Return the bookings that stand now."""
        file = self.folder / f"{self.noun}.json"
        return [*json.loads(file.read_text()).values()] if file.exists() else []

    def effects(self) -> list[str]:
        """Return everything that was booked and cancelled."""
        file = self.folder / f"{self.noun}-effects.txt"
        return file.read_text().splitlines() if file.exists() else []

    async def hangs(self) -> bool:
        """Return True once a booking was made whose answer does not come."""
        return self.hanging.exists() and bool(self.hanging.read_text())

    @property
    def hanging(self) -> Path:
        """The file with the process that keeps an answer back."""
        return self.folder / f"{self.noun}-hangs.txt"

    def ask(self, wish: str) -> None:
        """Let the next booking go wrong."""
        (self.folder / f"{self.noun}-wish.txt").write_text(wish)

    async def start(self) -> None:
        """Run the server over HTTP."""
        assert self.port is not None
        self.process = await asyncio.create_subprocess_exec(*self.command, str(self.port))
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
            except OSError:
                await asyncio.sleep(0.1)
            else:
                writer.close()
                return

    async def stop(self) -> None:
        if self.port is None and self.hanging.exists():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(self.hanging.read_text()), signal.SIGKILL)
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()


@pytest.fixture
async def rooms(tmp_path: Path) -> AsyncIterator[Server]:
    """A server over HTTP."""
    server = Server(tmp_path, "room", port=Ports.free().sandbox)
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
def cars(tmp_path: Path) -> Server:
    """A server over stdio."""
    return Server(tmp_path, "car")


@asynccontextmanager
async def served(stack: Stack, *servers: Server) -> AsyncIterator[MissionClient]:
    """Yield a client of a worker with the tools of these servers alone."""
    queue = f"mcp-{uuid4().hex[:6]}"
    changes = {
        "task_queue": queue,
        "agent_queues": ("none",),
        "allowed_private_hosts": ("127.0.0.1",),
        "only_hosts": (),
    }
    settings = stack.settings.model_copy(update=changes)
    entries = [server.entry for server in servers]
    catalog = Catalog.load(mcp=list_mcp_servers(settings, entries))
    temporal = await connect_temporal(stack.address)
    async with (
        store_of(settings) as store,
        default_tools(settings, store, catalog, mcp=entries) as tools,
        build(temporal, settings, catalog=catalog, store=store, tools=tools)[0],
    ):
        yield MissionClient(temporal, settings)


def written(*steps: tuple[str, str], reference: str) -> MissionRequest:
    """Return a written mission that books, by server and city."""
    document: JsonObject = {
        "arazzo": "1.0.1",
        "info": {"title": "Book", "version": "1"},
        "sourceDescriptions": [
            {"name": noun, "url": f"mcp://{noun}", "type": "openapi"}
            for noun in dict.fromkeys(noun for noun, _ in steps)
        ],
        "workflows": [
            {
                "workflowId": "book",
                "steps": [
                    {
                        "stepId": f"step-{index}",
                        "operationId": f"book_{noun}",
                        "requestBody": {
                            "payload": {"city": city, "reference": f"{reference}-{index}"}
                        },
                    }
                    for index, (noun, city) in enumerate(steps)
                ],
            }
        ],
    }
    source = WorkflowSource(document=document)
    return MissionRequest(goal="Book", workflow=source)


@asynccontextmanager
async def killable(stack: Stack, server: Server) -> AsyncIterator[tuple[MissionClient, Restart]]:
    """Yield a client of a worker in a process of its own, and its death with a successor."""
    name = f"mcp-{uuid4().hex[:6]}"
    file = server.folder / "servers.yaml"
    entry = server.entry.model_dump(mode="json", exclude_defaults=True)
    file.write_text(yaml.safe_dump([entry]))
    variables = {
        "ORCHESTRATOR_MCP": str(file),
        "ORCHESTRATOR_TASK_QUEUE": name,
        "ORCHESTRATOR_AGENT_QUEUES": "none",
        "ORCHESTRATOR_ONLY_HOSTS": "",
        "PYTHONPATH": os.getcwd(),
    }

    async def restart() -> None:
        await stack.kill(name)
        await stack.start_worker(name, variables=variables)

    if server.port is not None:
        await server.start()
    await stack.start_worker(name, variables=variables)
    settings = stack.settings.model_copy(update={"task_queue": name, "agent_queues": ("none",)})
    try:
        yield MissionClient(await connect_temporal(stack.address), settings), restart
    finally:
        await stack.kill(name)
        await server.stop()


@pytest.fixture(params=["http", "stdio"])
def transport(request: pytest.FixtureRequest) -> str:
    """The transport of a server."""
    return str(request.param)


def a_server(folder: Path, transport: str, *, has_key: bool) -> Server:
    """Return a server of rooms, not started yet."""
    port = Ports.free().sandbox if transport == "http" else None
    return Server(folder, "room", port=port, has_key=has_key)


@pytest.mark.parametrize("has_key", [True, False], ids=["key", "probe"])
async def test_a_worker_that_dies_between_call_and_answer_leaves_one_effect(
    stack: Stack, tmp_path: Path, transport: str, has_key: bool
) -> None:
    """The same key finds the booking; without one the probe does, and it is cancelled."""
    server = a_server(tmp_path, transport, has_key=has_key)
    server.ask("hang")
    async with killable(stack, server) as (client, restart):
        mission = await client.start(written(("room", "Oslo"), reference="k"))
        ending = asyncio.create_task(run_to_end(mission, timeout_s=150))
        await eventually(server.hangs, timeout_s=60)
        await restart()
        result = await ending

    if has_key:
        assert result.status is MissionStatus.SUCCEEDED
        assert server.effects() == ["book k-0"]
    else:
        assert result.status is MissionStatus.ROLLED_BACK
        assert server.effects() == ["book k-0", "cancel"]
    assert len(server.booked()) == has_key


@pytest.mark.parametrize("has_key", [True, False], ids=["key", "probe"])
async def test_a_worker_that_dies_around_an_answer_leaves_one_effect(
    stack: Stack, tmp_path: Path, transport: str, has_key: bool
) -> None:
    """While the question is open, and after the call went on with the answer."""
    server = a_server(tmp_path, transport, has_key=has_key)
    server.ask("ask-then-hang")
    async with killable(stack, server) as (client, restart):
        mission = await client.start(written(("room", "Oslo"), reference="q"))
        question = await asked(mission)
        await restart()
        await answered(mission, question)
        await eventually(server.hangs, timeout_s=60)
        await restart()
        result = await run_to_end(mission, timeout_s=150)

    if has_key:
        assert result.status is MissionStatus.SUCCEEDED
        assert server.effects() == ["book q-0"]
        assert server.booked()[0]["beds"] == 2
    else:
        assert result.status is MissionStatus.ROLLED_BACK
        assert server.effects() == ["book q-0", "cancel"]


async def test_a_worker_that_dies_right_after_an_answer_goes_on(
    stack: Stack, tmp_path: Path
) -> None:
    """The answer is in the history, and the call is sent with it once."""
    server = a_server(tmp_path, "http", has_key=True)
    server.ask("ask")
    async with killable(stack, server) as (client, restart):
        mission = await client.start(written(("room", "Oslo"), reference="r"))
        await answered(mission, await asked(mission))
        await restart()
        result = await run_to_end(mission, timeout_s=150)

    assert result.status is MissionStatus.SUCCEEDED
    assert server.effects() == ["book r-0"]


async def answered(mission: MissionHandle, question: Question) -> None:
    """Answer a question, also of a worker that is still starting."""

    async def taken() -> bool:
        with contextlib.suppress(NoWorker):
            await mission.answer(question.question_id, {"beds": 2})
            return True
        return False

    await eventually(taken, timeout_s=60)


async def test_a_mission_books_at_two_servers(stack: Stack, rooms: Server, cars: Server) -> None:
    """Each booking has its card, and is in the ledger."""
    async with served(stack, rooms, cars) as client:
        mission = await client.start(written(("room", "Oslo"), ("car", "Rome"), reference="a"))
        result = await run_to_end(mission, approve)

    assert result.status is MissionStatus.SUCCEEDED
    assert (rooms.bookings(), cars.bookings()) == (["Oslo"], ["Rome"])


async def test_a_refusal_rolls_both_servers_back(stack: Stack, rooms: Server, cars: Server) -> None:
    """The overlays' pairs leave nothing behind."""
    async with served(stack, rooms, cars) as client:
        request = written(("room", "Oslo"), ("car", "Rome"), ("room", "Bern"), reference="b")
        mission = await client.start(request)

        async def refused(mission: MissionHandle, card: ConfirmationCard) -> None:
            if card.arguments["city"] == "Bern":
                rooms.ask("refuse")
            await approve(mission, card)

        result = await run_to_end(mission, refused)

    assert result.status is MissionStatus.ROLLED_BACK
    assert (rooms.bookings(), cars.bookings()) == ([], [])


async def test_a_server_that_dies_after_booking_leaves_nothing(
    stack: Stack, rooms: Server, cars: Server
) -> None:
    """The call is unclear, the probe finds its booking at the next process, and it is cancelled."""
    cars.ask("die")
    async with served(stack, rooms, cars) as client:
        request = written(("room", "Oslo"), ("car", "Rome"), ("room", "Bern"), reference="c")
        mission = await client.start(request)

        async def refused(mission: MissionHandle, card: ConfirmationCard) -> None:
            if card.arguments["city"] == "Bern":
                rooms.ask("refuse")
            await approve(mission, card)

        result = await run_to_end(mission, refused, timeout_s=120)

    assert result.status is MissionStatus.ROLLED_BACK
    assert (rooms.bookings(), cars.bookings()) == ([], [])


async def test_a_tool_that_changed_under_a_mission_is_refused(
    stack: Stack, rooms: Server, cars: Server
) -> None:
    """The call is refused, and nothing is sent."""
    async with served(stack, rooms, cars) as client:
        mission = await client.start(written(("room", "Oslo"), ("car", "Rome"), reference="d"))

        async def changed(mission: MissionHandle, card: ConfirmationCard) -> None:
            if card.arguments["city"] == "Rome":
                (cars.folder / "car-changed").touch()
            await approve(mission, card)

        result = await run_to_end(mission, changed, timeout_s=120)

    assert result.status is MissionStatus.ROLLED_BACK
    assert "has changed book_car" in str(result.error)
    assert (rooms.bookings(), cars.bookings()) == ([], [])


async def asked(mission: MissionHandle) -> Question:
    """Return the open question of a mission, once its cards are approved."""

    async def first() -> list[Question]:
        for card in await mission.confirmations():
            await approve(mission, card)
        return await mission.questions()

    return (await eventually(first))[0]


async def test_a_server_asks_a_person_during_a_call(stack: Stack, rooms: Server) -> None:
    """The answer goes to the server with the same call, and there is one effect."""
    rooms.ask("ask")
    async with served(stack, rooms) as client:
        mission = await client.start(written(("room", "Oslo"), reference="e"))
        question = await asked(mission)
        with pytest.raises(QuestionError):
            await mission.answer(question.question_id, {"beds": "0"})
        with pytest.raises(QuestionError):
            await mission.answer(question.question_id, {"beds": 2, "floor": "4111 1111 1111 1111"})
        await mission.answer(question.question_id, {"beds": "two"})
        result = await run_to_end(mission)

    assert question.server == "room" and "room asks" in question.question
    assert "\x1b" not in question.question
    assert result.status is MissionStatus.SUCCEEDED
    assert rooms.effects() == ["book e-0"]
    assert rooms.booked()[0]["beds"] == 2


async def test_a_declined_question_of_a_server_books_nothing(stack: Stack, rooms: Server) -> None:
    """The tool's own refusal settles the call, as its document declares."""
    rooms.ask("ask")
    async with served(stack, rooms) as client:
        mission = await client.start(written(("room", "Oslo"), reference="f"))
        question = await asked(mission)
        await mission.answer(question.question_id, DECLINED)
        result = await run_to_end(mission)

    assert result.status is MissionStatus.FAILED
    assert "decline: nothing was booked" in str(result.error)
    assert not rooms.effects()


async def test_a_cancelled_mission_withdraws_the_question(stack: Stack, rooms: Server) -> None:
    """The server is informed, and nothing is left."""
    rooms.ask("ask")
    async with served(stack, rooms) as client:
        mission = await client.start(written(("room", "Oslo"), reference="g"))
        await asked(mission)
        await mission.cancel()
        result = await mission.result()

    assert result.status is MissionStatus.CANCELLED
    assert not rooms.effects()


async def test_a_server_that_asks_for_ever_ends_unknown(stack: Stack, rooms: Server) -> None:
    """After ten questions the call is unclear; its probe finds nothing."""
    rooms.ask("ask-then-for-ever")
    async with served(stack, rooms) as client:
        mission = await client.start(written(("room", "Oslo"), reference="h"))
        before = ""
        for _ in range(MOST_ROUNDS):

            async def another(known: str = before) -> Question | None:
                question = await asked(mission)
                return question if question.question_id != known else None

            question = await eventually(another)
            assert question is not None
            before = question.question_id
            await mission.answer(before, {"beds": 1})
        result = await run_to_end(mission)

    assert "has asked 10 times" in str(result.error)
    assert not rooms.effects()
