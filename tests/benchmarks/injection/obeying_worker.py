"""AgentDojo's environments, a Temporal server and a worker whose models obey every injection."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
from pydantic_ai.models.function import FunctionModel
from temporalio.client import Client

from orchestrator.catalog.catalog import Catalog
from orchestrator.client.mission_client import MissionClient
from orchestrator.core.limits import Limits
from orchestrator.core.record import JsonObject
from orchestrator.planning.llm.model_planner import LlmPlanner
from orchestrator.planning.models import (
    AgentProfile,
    GoalBrief,
    LegPlan,
    MissionPlan,
    StepContext,
)
from orchestrator.planning.planner import PlannedStep
from orchestrator.routing.selection import Selection
from orchestrator.runtime.defaults import default_tools
from orchestrator.runtime.worker import build
from orchestrator.settings import Settings
from orchestrator.testing.installation import running_temporal
from tests.benchmarks.injection.obeying import ObeyingModel

_LOOPBACK: Final = "127.0.0.1"
_MOST_STEPS: Final = 80


@dataclass
class ObeyingPlanner:
    """Plans each mission by a model of its own: one leg, for the agent that was chosen for it."""

    agents: dict[str, AgentProfile]
    models: dict[str, tuple[str, ObeyingModel]] = field(default_factory=dict)
    """By mission: its agent's name, and the model."""

    def __post_init__(self) -> None:
        self._planner = LlmPlanner(models=lambda name: FunctionModel(self._model(name)))

    def _model(self, name: str) -> ObeyingModel:
        return self.models[name.partition(":")[2]][1]

    async def split_goal(
        self, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile]
    ) -> MissionPlan:
        """The whole goal as one leg."""
        name, _ = self.models[brief.mission_id]
        named = {"model": f"obeying:{brief.mission_id}"}
        agent = self.agents[name].model_copy(update=named)
        return MissionPlan(legs=(LegPlan(leg_id="1-whole", goal=brief.goal, agent=agent),))

    async def plan_step(
        self, context: StepContext, selection: Selection, catalog: Catalog
    ) -> PlannedStep:
        """The next step, as the product asks a model for it."""
        return await self._planner.plan_step(context, selection, catalog)


def agents_for(documents: Mapping[str, Any]) -> dict[str, AgentProfile]:
    """One agent for each document, walled in: the others' tools are not for it."""
    return {
        name: AgentProfile(
            name=name, domains=(name,), limits=Limits(steps=_MOST_STEPS, tool_calls=_MOST_STEPS)
        )
        for name in documents
    }


@dataclass(frozen=True)
class ObeyingWorker:
    """What missions are driven on."""

    client: MissionClient
    planner: ObeyingPlanner


@asynccontextmanager
async def obeying_worker(
    temporal: Client, documents: Mapping[str, JsonObject], folder: Path
) -> AsyncIterator[ObeyingWorker]:
    """A worker over these documents, its missions planned by such models, until the block ends."""
    settings = Settings.model_construct(
        specs=(),
        state_dir=folder,
        task_queue="injection",
        allowed_private_hosts=(_LOOPBACK,),
        routing_timeout_ms=5_000,
    )
    planner = ObeyingPlanner(agents_for(documents))
    async with AsyncExitStack() as running:
        tools = await running.enter_async_context(default_tools(settings))
        for worker in build(
            temporal,
            settings,
            catalog=Catalog.from_documents(documents),
            planner=planner,
            agents=tuple(planner.agents.values()),
            tools=tools,
        ):
            await running.enter_async_context(worker)
        yield ObeyingWorker(MissionClient(temporal, settings), planner)


@asynccontextmanager
async def own_obeying_worker(
    documents: Mapping[str, JsonObject], folder: Path
) -> AsyncIterator[ObeyingWorker]:
    """The same with a Temporal server of its own."""
    async with (
        running_temporal(folder) as temporal,
        obeying_worker(temporal, documents, folder) as here,
    ):
        yield here


@asynccontextmanager
async def agentdojo(python: str, port: int) -> AsyncIterator[httpx.AsyncClient]:
    """AgentDojo's environments as a program of the environment that it is installed in.

    Raises:
        RuntimeError: it does not come up.
    """
    root = Path(__file__).parents[3]
    process = await asyncio.create_subprocess_exec(
        *(python, "-m", "tests.benchmarks.injection.agentdojo_side", str(port)),
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=sys.stderr,
    )
    url = f"http://{_LOOPBACK}:{port}"
    try:
        async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=60) as http:
            await _up(http, process)
            yield http
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def _up(http: httpx.AsyncClient, process: asyncio.subprocess.Process) -> None:
    while process.returncode is None:
        try:
            await http.get("/up")
        except httpx.TransportError:
            await asyncio.sleep(0.1)
        else:
            return
    raise RuntimeError("AgentDojo's environments did not come up")
