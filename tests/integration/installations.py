"""Installations and workers of a module's own, beside the one that all integration tests share."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from orchestrator.client.connection import connect_temporal
from orchestrator.client.mission_client import MissionClient
from orchestrator.runtime.defaults import default_tools
from orchestrator.runtime.worker import build

if TYPE_CHECKING:
    from orchestrator.planning.planner import Planner
    from orchestrator.runtime.devserver import Stack

_OURS = ("ORCHESTRATOR_", "TEMPORAL_")


@asynccontextmanager
async def standing(installation: Stack) -> AsyncIterator[Stack]:
    """Run an installation whose processes get no settings of this machine."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(_OURS)]:
            patch.delenv(name)
        await installation.__aenter__()
    try:
        yield installation
    finally:
        await installation.stop()


@asynccontextmanager
async def served_by(stack: Stack, planner: Planner, queue: str) -> AsyncIterator[MissionClient]:
    """A client of a task queue whose worker plans with this planner."""
    changes = {"task_queue": queue, "routing_timeout_ms": 5000}
    settings = stack.settings.model_copy(update=changes)
    temporal = await connect_temporal(stack.address)
    async with AsyncExitStack() as running:
        tools = await running.enter_async_context(default_tools(settings))
        for worker in build(temporal, settings, planner=planner, tools=tools):
            await running.enter_async_context(worker)
        yield MissionClient(temporal, settings)
