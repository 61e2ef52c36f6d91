"""The public API as users write it: checked by mypy, never executed."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import assert_type

import agents
import httpx
import numpy as np
import pydantic_ai
from langchain_core.tools import BaseTool
from numpy.typing import NDArray

from orchestrator import (
    AgentPlanner,
    AgentProfile,
    AskUser,
    AsyncPruningTransport,
    CallTool,
    Catalog,
    ConfirmationCard,
    DiscoverTools,
    Embedder,
    Finish,
    GiveUp,
    GoalBrief,
    LangGraphAgent,
    LegPlan,
    MissionClient,
    MissionHandle,
    MissionPlan,
    MissionPolicy,
    MissionRequest,
    MissionResult,
    MissionStatus,
    Money,
    OpenAIAgent,
    OrchestratorError,
    PlannedStep,
    Planner,
    PlannerParts,
    PruningTransport,
    PydanticAIAgent,
    Router,
    Selection,
    Settings,
    SigningKey,
    StepContext,
    StepDecision,
    Tool,
    decision_claims,
    prune,
    run_worker,
    sign_decision,
)
from orchestrator.confirmation.models import Amend, Approve
from orchestrator.core.record import JsonObject
from orchestrator.planning.frameworks.langgraph_agent import Graph


def pruning(tools: list[dict[str, object]], turns: list[dict[str, object]]) -> httpx.Client:
    pruned = prune(tools, turns)
    assert_type(pruned.headers, dict[str, str])
    httpx.AsyncClient(transport=AsyncPruningTransport(mode="sticky"))
    return httpx.Client(transport=PruningTransport())


async def missions() -> None:
    client = await MissionClient.connect(Settings(task_queue="mine"))
    request = MissionRequest(
        goal="book a flight",
        inputs={"passengers": 2},
        budget=Money(amount=Decimal(900), currency="EUR"),
        policy=MissionPolicy(),
    )
    mission = await client.start(request)
    assert_type(mission, MissionHandle)
    for card in await mission.confirmations():
        assert_type(card, ConfirmationCard)
        await mission.approve(card, approver="ada@example.com")
    try:
        result = await mission.result()
    except OrchestratorError:
        return
    assert_type(result, MissionResult)
    assert_type(result.status, MissionStatus)


async def signed(client: MissionClient, card: ConfirmationCard, pem: str, at: datetime) -> None:
    approve = Approve(confirmation_id=card.confirmation_id, digest=card.digest)
    decision = sign_decision(
        approve, SigningKey.read(pem), digest=card.digest, at=at, issuer="id", subject="ann"
    )
    assert_type(decision, Approve)
    await client.decide(decision)
    amend = Amend(confirmation_id=card.confirmation_id, changes={"party_size": 5})
    claims = decision_claims(amend, digest=card.digest, issuer="id", subject="ann", at=at)
    assert_type(claims, JsonObject)


def tools() -> None:
    catalog = Catalog.load("specs/")
    assert_type(catalog.tool("weather_get_forecast"), Tool)
    assert_type(Router(catalog).route("weather in Oslo"), Selection)


class MyPlanner:
    def __init__(self, parts: PlannerParts) -> None:
        self.default = assert_type(parts.default, Planner)
        self.agents = assert_type(parts.agents, tuple[AgentProfile, ...])
        self.queue = assert_type(parts.settings.task_queue, str)

    async def split_goal(
        self, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile]
    ) -> MissionPlan:
        leg = LegPlan(leg_id="1-all", goal=brief.goal, agent=AgentProfile(name="mine"))
        return MissionPlan(legs=(leg,))

    async def plan_step(
        self, context: StepContext, selection: Selection, catalog: Catalog
    ) -> StepDecision | PlannedStep:
        match context.step:
            case 1:
                return DiscoverTools(query="flights")
            case 2:
                return CallTool(tool=selection.tools[0], arguments={"to": "LIS"})
            case 3:
                return AskUser(question="When?", fields={"date": {"type": "string"}})
            case 4:
                return GiveUp(reason="no flight")
        return PlannedStep(decision=Finish(summary="booked"))


class MyEmbedder:
    name = "mine"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.ones((len(texts), 2), dtype=np.float32)


def make_planner(parts: PlannerParts) -> Planner:
    return MyPlanner(parts)


def own_agents(graph: Callable[[Sequence[BaseTool]], Graph]) -> list[AgentPlanner]:
    sdk = OpenAIAgent(agents.Agent(name="mine"))
    ours = PydanticAIAgent(pydantic_ai.Agent(name="mine"))
    return [AgentPlanner(ours), AgentPlanner(sdk), AgentPlanner(LangGraphAgent(graph))]


def make_embedder(settings: Settings) -> Embedder:
    return MyEmbedder()


def serve(planner: Planner) -> None:
    asyncio.run(run_worker(planner=planner, embedder=MyEmbedder()))
