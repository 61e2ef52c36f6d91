"""A model that is away when a goal is split: asked again, then the goal is split without it."""

import dataclasses
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic_ai.exceptions import ModelHTTPError, ModelServerError
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models.function import AgentInfo, FunctionModel
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.planning_activities import PlanningActivities
from orchestrator.catalog.catalog import Catalog
from orchestrator.messages.begin import BeginInput
from orchestrator.messages.plan_preview import BegunPlan
from orchestrator.planning.accounted import accounted
from orchestrator.planning.llm.splitting import ModelSplitter
from orchestrator.planning.per_agent import PerAgentPlanner
from orchestrator.planning.rules.chaining import ChainingPlanner
from orchestrator.routing.router import Router
from orchestrator.testing.memory import MemoryCatalogs, MemoryTraces

GOAL = "Find flights from Berlin to Lisbon on 3 December 2026"
OPEN = "Make our ninth anniversary unforgettable"


class Away:
    """A model whose provider answers with one status, again and again."""

    def __init__(self, status: int) -> None:
        self.status = status
        self.asked = 0

    async def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.asked += 1
        if self.status >= 500:
            raise ModelServerError("a:model", "come back later")
        raise ModelHTTPError(self.status, "a:model")


class Splits:
    """Runs the activity that splits, on one attempt of Temporal's."""

    def __init__(self, catalog: Catalog, router: Router, folder: Path) -> None:
        self.catalog, self.router = catalog, router
        self.store = MemoryCatalogs()
        self.store.put(catalog)
        self.folder = folder

    async def __call__(self, away: Away, goal: str, *, attempt: int = 1) -> BegunPlan:
        """The plan that the mission begins with."""
        splitter = ModelSplitter(
            lambda plan, brief, c: accounted(plan, brief.goal, c, self.router, now=brief.now),
            lambda name: FunctionModel(away),
        )
        planner = PerAgentPlanner(
            ChainingPlanner(lambda catalog: self.router),
            lambda: pytest.fail("no step is planned here"),
            default_model="a:model",
            splitter=lambda: splitter,
        )
        traces = MemoryTraces()
        thought = PlanningActivities(self.store, lambda c: self.router, planner, (), traces)
        environment = ActivityEnvironment()
        environment.info = dataclasses.replace(environment.info, attempt=attempt)
        mission = BeginInput(
            mission_id="m",
            goal=goal,
            now=datetime(2026, 11, 23, tzinfo=UTC),
            catalog_digest=self.catalog.digest,
        )
        plan: BegunPlan = await environment.run(thought.split_goal, mission)
        return plan


@pytest.fixture
def splits(shipped: Catalog, router: Router, tmp_path: Path) -> Splits:
    """Over the documents that ship."""
    return Splits(shipped, router, tmp_path)


async def test_a_model_that_may_come_back_is_asked_again(splits: Splits) -> None:
    """By Temporal, which tries the activity again."""
    with pytest.raises(ApplicationError) as failed:
        await splits(Away(503), GOAL)

    assert not failed.value.non_retryable


async def test_a_model_that_stays_away_does_not_lose_the_mission(splits: Splits) -> None:
    """The rules split it, and the plan says why."""
    away = Away(503)

    plan = await splits(away, GOAL, attempt=3)

    assert [leg.agent.name for leg in plan.legs] == ["flights"]
    assert plan.made_by.planner == "rules"
    assert "does not answer" in plan.made_by.fallback
    assert away.asked == 1


@pytest.mark.parametrize("status", [401, 402, 403, 404])
async def test_a_refusal_is_not_asked_again(splits: Splits, status: int) -> None:
    """What the rules cannot read is one leg: there the model is waited for in the open."""
    plan = await splits(Away(status), OPEN)

    assert [(leg.goal, leg.agent.name) for leg in plan.legs] == [(OPEN, "generalist")]
    assert plan.made_by.planner == "one leg"
    assert str(status) in plan.made_by.fallback
