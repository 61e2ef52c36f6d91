"""How long one hostile answer, or goal, holds the event loop that all missions share."""

import asyncio
import contextlib
import gzip
import json
import tempfile
import time
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.catalog.catalog import Catalog
from orchestrator.client.mission_client import MissionClient
from orchestrator.core.record import JsonObject
from orchestrator.language.goal_clauses import split_goal
from orchestrator.language.values import find_values
from orchestrator.messages.mission import MissionRequest
from orchestrator.runtime.worker import build
from orchestrator.settings import Settings
from orchestrator.testing.installation import running_temporal
from tests.benchmarks.figure import Figure
from tests.fakes import MemoryPii, MemorySecrets

_GOAL_MS = 100.0
_SETTLED_S = 3.0
_BEAT_S = 0.002
_TIMES = 3
_SECRET = "key\\live\\51HxQ9aVeryLongSecretTokenValue"
_NODE: JsonObject = {"$ref": "#/components/schemas/Node"}
_NOW = datetime(2026, 12, 1)
_HANGING = ("turtle report", "beetle list")
"""What is read at the providers that never answer."""


class _Answer(NamedTuple):
    """An answer, and the schema that it is compared with."""

    body: bytes
    schema: JsonObject = {}  # noqa: RUF012  # of a tuple, which is never changed
    status: int = 200
    headers: tuple[tuple[bytes, bytes], ...] = ()


def _branch(name: str) -> JsonObject:
    properties: JsonObject = {name: {"type": "integer"}, "child": _NODE}
    return {"type": "object", "required": [name], "properties": properties}


def _nested(levels: int) -> JsonObject:
    value: JsonObject = {"a": "x", "b": "x"}
    for _ in range(levels):
        value = {"a": 1, "b": 1, "child": value}
    return value


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


_NUMBERS: JsonObject = {"type": "array", "items": {"type": "integer", "minimum": 0}}
_ANSWERS = {
    "a conflict with a title of 480 kB": _Answer(_json({"title": "request " * 60_000}), status=409),
    "2,000 unique objects": _Answer(
        _json([{"number": n} for n in range(2_000)]), {"type": "array", "uniqueItems": True}
    ),
    "recursive alternatives, 90 levels": _Answer(_json(_nested(90)), _NODE),
    "50,000 compressed members": _Answer(
        gzip.compress(b"", mtime=0) * 50_000, headers=((b"content-encoding", b"gzip"),)
    ),
    "1 MB of backslashes": _Answer(_json({"text": "\\" * 490_000})),
    "64 kB of backslashes": _Answer(_json({"text": "\\" * 32_000})),
    "1 MB of %5c": _Answer(_json({"text": "%5c" * 330_000})),
    "300,000 numbers": _Answer(_json([1] * 300_000), _NUMBERS),
    "333,000 empty lists": _Answer(b"[" + b"[]," * 332_000 + b"[]]"),
    "19,000 empty lists": _Answer(b"[" + b"[]," * 19_000 + b"[]]"),
    "4,000 members that may be prices": _Answer(_json({f"k{n}": n for n in range(4_000)})),
    "1,000 cookies": _Answer(
        b"{}", headers=tuple((b"set-cookie", f"c{n}=1; Path=/".encode()) for n in range(1_000))
    ),
    "a file name of 90 kB": _Answer(
        b"x", headers=((b"content-disposition", b"attachment" + b';"' * 45_000),)
    ),
}
_GOALS = {
    "a goal of 3,900 blanks": "Book a flight" + " " * 3_900 + "to Rome",
    "a goal of 3,900 digits": "Pay " + "1" * 3_900 + " EUR",
}


def run() -> list[Figure]:
    """Return the longest hold of a call of each kind, and what hanging calls cost a bystander."""
    held = {**asyncio.run(_by_answers()), **{name: _by_goal(goal) for name, goal in _GOALS.items()}}
    note = f"goal under {_GOAL_MS:g}; the longest hold of the event loop"
    alone, beside = asyncio.run(bystanders(hanging=20, slots=10))
    _, next_to_two = asyncio.run(bystanders(hanging=20, slots=10, providers=2))
    return [
        *(
            Figure(name=f"hostile: {name}", value=value * 1e3, unit="ms", note=note)
            for name, value in held.items()
        ),
        Figure(name="hostile: a bystander's mission, alone", value=alone, unit="s"),
        Figure(name="hostile: next to 20 hanging calls, 10 slots", value=beside, unit="s"),
        Figure(name="hostile: next to 20 calls of each of two", value=next_to_two, unit="s"),
    ]


async def bystanders(*, hanging: int, slots: int, providers: int = 1) -> tuple[float, float]:
    """Return the seconds of one provider's mission, alone and while calls of others hang."""
    hangs = asyncio.Event()

    async def answer(request: httpx.Request) -> httpx.Response:
        if request.url.host != "127.0.0.1":
            await hangs.wait()
        headers = {"content-type": "application/json"}
        return httpx.Response(200, headers=headers, stream=httpx.ByteStream(b"{}"))

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = Settings.model_construct(
            specs=(), state_dir=folder, task_queue="bench", max_activities=slots
        )
        http = httpx.AsyncClient(transport=httpx.MockTransport(answer))
        tools = ToolClient(secrets=MemorySecrets(), pii=MemoryPii(), http=http)
        async with running_temporal(folder) as temporal, tools:
            (worker,) = build(temporal, settings, catalog=_providers(), agents=(), tools=tools)
            async with worker:
                missions = MissionClient(temporal, settings)
                await _seconds_of(missions)
                alone = await _seconds_of(missions)
                for what in _HANGING[:providers]:
                    for _ in range(hanging):
                        await missions.start(MissionRequest(goal=f"Read the {what}"))
                await asyncio.sleep(_SETTLED_S)
                beside = await _seconds_of(missions)
                hangs.set()
    return alone, beside


async def _seconds_of(missions: MissionClient) -> float:
    began = time.perf_counter()
    mission = await missions.start(MissionRequest(goal="Read the rabbit note"))
    await mission.result()
    return time.perf_counter() - began


def _providers() -> Catalog:
    return Catalog.from_documents(
        {
            name: _document(name, f"http://{host}", what)
            for name, host, what in (
                ("turtles", "127.0.0.2", _HANGING[0]),
                ("beetles", "127.0.0.3", _HANGING[1]),
                ("rabbits", "127.0.0.1", "rabbit note"),
            )
        }
    )


def _document(name: str, server: str, what: str) -> Any:
    operation = {
        "operationId": f"{name}_read",
        "x-orchet-tool": True,
        "x-orchet-requires-confirmation": False,
        "summary": f"Read the {what}",
        "description": f"Reads the {what}.",
        "tags": [name],
        "responses": {"200": {"description": "read", "content": {"application/json": {}}}},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": name, "version": "1"},
        "servers": [{"url": server}],
        "paths": {f"/{name}": {"get": operation}},
    }


def _by_goal(goal: str) -> float:
    """Seconds of reading a goal, which nothing else shares the interpreter with."""
    split_goal("warm up")
    began = time.perf_counter()
    split_goal(goal)
    find_values(goal, now=_NOW)
    return time.perf_counter() - began


async def _by_answers() -> dict[str, float]:
    return {name: await _held(answer) for name, answer in _ANSWERS.items()}


async def _held(answer: _Answer) -> float:
    """Seconds that the loop was held for at most, in calls that are answered so."""
    catalog = _catalog(answer.schema)
    headers = [(b"content-type", b"application/json"), *answer.headers]
    http = httpx.AsyncClient(
        transport=httpx.MockTransport(
            lambda _: httpx.Response(
                answer.status, headers=headers, stream=httpx.ByteStream(answer.body)
            )
        )
    )
    secrets = MemorySecrets({"shop__key": _SECRET})
    async with ToolClient(secrets=secrets, pii=MemoryPii(), http=http) as tools:
        for _ in range(_TIMES):
            async with _watched() as beats:
                await tools.call(
                    catalog, catalog.tool("ask"), {}, call_id="c", idempotency_key="k", timeout_s=30
                )
            worst = max(beats)
        return worst


@contextlib.asynccontextmanager
async def _watched() -> AsyncIterator[list[float]]:
    """How late each beat of the loop came, in seconds."""
    late = [0.0]

    async def beat() -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(_BEAT_S)
            late.append(time.perf_counter() - began - _BEAT_S)

    beating = asyncio.ensure_future(beat())
    await asyncio.sleep(_BEAT_S)
    yield late
    await asyncio.sleep(2 * _BEAT_S)
    beating.cancel()


def _catalog(schema: JsonObject) -> Catalog:
    content = {"application/json": {"schema": schema}}
    operation = {
        "operationId": "ask",
        "x-orchet-tool": True,
        "x-orchet-requires-confirmation": False,
        "security": [{"key": []}],
        "parameters": [{"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}],
        "responses": {
            "200": {"description": "done", "content": content},
            "409": {"description": "conflict", "content": {"application/json": {}}},
        },
    }
    document: Any = {
        "openapi": "3.1.0",
        "info": {"title": "Shop", "version": "1"},
        "servers": [{"url": "https://shop.example"}],
        "components": {
            "schemas": {"Node": {"oneOf": [_branch("a"), _branch("b")]}},
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
        },
        "paths": {"/ask": {"post": operation}},
    }
    return Catalog.from_documents({"shop": document})
