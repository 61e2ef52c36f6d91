"""The public API as users write it: checked by mypy, never executed."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import assert_type

import agents
import httpx
import numpy as np
import pydantic_ai
from numpy.typing import NDArray
from pydantic import JsonValue
from temporalio.client import Client
from temporalio.worker import Worker

from orchestrator import (
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
    LegPlan,
    MissionClient,
    MissionHandle,
    MissionPlan,
    MissionPolicy,
    MissionRequest,
    MissionResult,
    MissionStatus,
    Money,
    OrchestratorError,
    OrchestratorPlugin,
    PlannedStep,
    Planner,
    PlannerParts,
    PruningTransport,
    ReadTools,
    Rejected,
    Router,
    SagaState,
    Selection,
    SessionHandle,
    SessionResult,
    Settings,
    SigningKey,
    StepContext,
    StepDecision,
    Tool,
    ToolCallFailed,
    ToolSaga,
    decision_claims,
    prune,
    run_worker,
    sign_decision,
    tool,
)
from orchestrator.confirmation.models import Amend, Approve
from orchestrator.core.record import JsonObject


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


def make_embedder(settings: Settings) -> Embedder:
    return MyEmbedder()


def serve(planner: Planner) -> None:
    asyncio.run(run_worker(planner=planner, embedder=MyEmbedder()))


@tool()
async def cancel_seat(ticket_id: str) -> None:
    raise Rejected("there is no such ticket")


@tool(cancel=cancel_seat, confirm="structured-payment", idempotent=True, price=False)
async def book_seat(seat: str, idempotency_key: str) -> dict[str, str]:
    return {"ticket_id": idempotency_key}


async def own_worker() -> Worker:
    assert_type(await book_seat("12A", idempotency_key="k"), dict[str, str])
    Catalog.load("specs/", functions=[book_seat])
    plugin = OrchestratorPlugin(
        specs="specs/", overlays=["crm-tools.yaml"], functions=[book_seat], store="state/"
    )
    client = await Client.connect("localhost:7233", plugins=[plugin])
    return Worker(client, task_queue="trips", workflows=[])


async def reads() -> None:
    async with ReadTools(Catalog.load("specs/")) as tools:
        await pydantic_ai.Agent(name="mine").run("look", toolsets=[tools.toolset(tools=["*"])])


async def session_calls(client: MissionClient) -> SessionResult:
    """The calls of a loop outside of Temporal."""
    session = await client.session(requester="ana@example.com", idle_limit=timedelta(hours=2))
    assert_type(session, SessionHandle)
    call_id = await session.begin("book", {"seat": "12A"}, key="seat")
    assert_type(await client.session_handle(session.session_id).outcome(call_id), JsonValue)
    return await session.complete()


async def guarded_calls(before: SagaState | None) -> SagaState:
    """Calls of a workflow of one's own."""
    async with ToolSaga(
        "trip", budget=Money(amount=Decimal(9), currency="EUR"), state=before
    ) as saga:
        try:
            assert_type(await saga.call("book", {"seat": "12A"}, key="seat"), JsonValue)
        except ToolCallFailed as failed:
            assert_type(failed.outcome, str)
        assert_type(saga.cards, tuple[ConfirmationCard, ...])
        await pydantic_ai.Agent(name="mine").run("book", toolsets=[saga.toolset(tools=["book_*"])])
        agents.Agent(name="mine", tools=[*await saga.function_tools(tools=["book_*"])])
    return saga.state
