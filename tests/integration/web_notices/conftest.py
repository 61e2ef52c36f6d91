"""Workers that announce, on task queues of their own at the shared server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.adapters.storage.store import Store
from orchestrator.client.connection import connect_temporal
from orchestrator.client.mission_client import MissionClient
from orchestrator.client.stores import store_of
from orchestrator.messages import names
from orchestrator.runtime.worker import introduce
from orchestrator.settings import Settings
from tests.forked import Command, Forked

if TYPE_CHECKING:
    from orchestrator.runtime.devserver import Stack


class Announcing:
    """Worker processes of one task queue, whose configuration announces; they may be killed."""

    def __init__(self, stack: Stack, folder: Path, queue: str, rules: Mapping[str, Any]) -> None:
        """Take the installation, an empty folder, the queue and the configuration."""
        self._folder = folder
        file = folder / "notices.yaml"
        file.write_text(json.dumps(rules), encoding="utf-8")
        self._variables = {
            **stack.environment,
            "ORCHESTRATOR_TASK_QUEUE": queue,
            "ORCHESTRATOR_NOTICES": str(file),
            "ORCHESTRATOR_ROUTING_TIMEOUT_MS": "5000",
        }
        changes = {"task_queue": queue, "notices": file}
        self.settings: Settings = stack.settings.model_copy(update=changes)
        self.queue = queue
        self.environment = self._variables
        self.worker: Forked | None = None

    def start(self, **secrets: str) -> None:
        """Start the worker."""
        self._variables |= {
            f"ORCHESTRATOR_SECRET_{name.upper()}": value for name, value in secrets.items()
        }
        log = self._folder / "worker.log"
        self.worker = Forked.start(Command(("worker",), dict(self._variables), log, log))

    async def kill(self) -> None:
        """Kill the worker as the system does when memory is short."""
        assert self.worker is not None
        self.worker.kill()
        await self.worker.wait()

    def store(self) -> Store:
        """The store of the workers, that of the whole installation."""
        return store_of(self.settings)


@asynccontextmanager
async def announcing(
    stack: Stack, folder: Path, queue: str, rules: Mapping[str, Any], **secrets: str
) -> AsyncIterator[tuple[Announcing, MissionClient]]:
    """Run a worker that announces by these rules; give it and a client of its queue."""
    running = Announcing(stack, folder, queue, rules)
    temporal = await connect_temporal(stack.address)
    await introduce(temporal, running.settings)
    running.start(**secrets)
    try:
        yield running, MissionClient(temporal, running.settings)
    finally:
        await running.kill()
        await temporal.get_workflow_handle(names.notices_workflow_id(queue)).terminate()
