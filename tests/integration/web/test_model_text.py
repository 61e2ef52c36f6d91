"""What a model says beside its calls, on the stream of its mission while it arrives."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.client.connection import connect_temporal
from orchestrator.client.mission_client import MissionClient
from orchestrator.proxy.server import running_app
from orchestrator.runtime.worker import introduce
from orchestrator.testing.model_server import ModelAnswer, ModelServer, ReceivedRequest
from orchestrator.testing.model_server.rule_model import PLAN_MISSION, RuleModel
from orchestrator.web.web_app import create_app
from tests.forked import Command, Forked
from tests.integration.web.conftest import ANN, service_for
from tests.integration.web.test_api_events import received
from tests.integration.web.test_api_missions import READS, ended, started

if TYPE_CHECKING:
    from pathlib import Path

    from orchestrator.runtime.devserver import Stack

SAID = " ".join(f"word{number}" for number in range(120))
"""More than is shown at once, and longer than a worker needs to be missed."""
THOUGHT = "planted-thought"


class Talkative:
    """The rules as a model, which says something before the first call of a leg."""

    def __init__(self, stack: Stack) -> None:
        self._rules = RuleModel(Catalog.load(*stack.specs))

    async def __call__(self, request: ReceivedRequest) -> ModelAnswer:
        answer = await self._rules(request)
        is_first = PLAN_MISSION not in request.tools and len(request.turns) == 1
        return replace(answer, text=SAID, thought=THOUGHT) if is_first else answer


class Workers:
    """Worker processes of one task queue that ask a model server; the last one can be killed."""

    def __init__(self, environment: dict[str, str], log: Path) -> None:
        self._environment, self._log = environment, log
        self.running: Forked | None = None

    def start(self) -> None:
        log = self._log
        self.running = Forked.start(Command(("worker",), self._environment, log, log))

    async def kill(self) -> None:
        assert self.running is not None
        self.running.kill()
        await self.running.wait()


@asynccontextmanager
async def talking(
    stack: Stack, server: ModelServer, model: str, folder: Path
) -> AsyncIterator[tuple[Workers, MissionClient]]:
    """A worker whose planner is a model of that server, and a client of its queue."""
    queue = f"talks-{model.partition(':')[0]}"
    environment = {
        **stack.environment,
        **server.environment,
        "ORCHESTRATOR_TASK_QUEUE": queue,
        "ORCHESTRATOR_PLANNER": "llm",
        "ORCHESTRATOR_PLANNER_MODEL": model,
    }
    temporal = await connect_temporal(stack.address)
    settings = stack.settings.model_copy(update={"task_queue": queue})
    await introduce(temporal, settings)
    workers = Workers(environment, folder / "worker.log")
    workers.start()
    try:
        yield workers, MissionClient(temporal, settings)
    finally:
        await workers.kill()


async def texts(api: Any, mission_id: str, until_attempt: int = 1) -> list[tuple[int, str]]:
    """The texts of the stream with their attempts, until an attempt has said two."""
    found: list[tuple[int, str]] = []
    async with aclosing(received(api, f"/missions/{mission_id}/events")) as events:
        async for event in events:
            if event.get("event") != "progress":
                continue
            for one in json.loads(event["data"])["calls"]:
                if one["text"]:
                    assert "id" not in event
                    found.append((one["attempt"], one["text"]))
            if len([a for a, _ in found if a == until_attempt]) >= 2:
                break
    return found


@pytest.mark.parametrize("model", ["anthropic:claude-sonnet-5-5", "openai-chat:gpt-4o"])
async def test_text_of_a_model_is_streamed_and_survives_its_worker(
    stack: Stack, tmp_path: Path, model: str
) -> None:
    """It grows while it arrives; the next attempt begins its own, and no thought is shown."""
    async with ModelServer(Talkative(stack)) as server, AsyncExitStack() as opened:
        server.pause_s = 0.1
        async with talking(stack, server, model, tmp_path) as (workers, client):
            url = await opened.enter_async_context(
                running_app(create_app(service_for(client, stack, ANN)))
            )
            ann = await opened.enter_async_context(
                httpx.AsyncClient(base_url=f"{url}/api/v1", timeout=60)
            )
            mission_id = await started(ann, goal=READS)
            async with asyncio.timeout(180):
                before = await texts(ann, mission_id)
                await workers.kill()
                workers.start()
                after = await texts(ann, mission_id, until_attempt=2)
            server.pause_s = 0.0
            result = await ended(ann, mission_id)

    assert result["status"] == "succeeded"
    for said in (before, [text for text in after if text[0] == 2]):
        (_, first), (_, second) = said[:2]
        assert len(first) < len(second) <= 500
        assert second in SAID
    assert THOUGHT not in str([before, after])
    assert result["legs"][0]["usage"]["requests"] == 2
