"""A model that is away when a goal is split: asked again, then one leg has the whole goal."""

import dataclasses
from datetime import UTC, datetime
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.planning_activities import PlanningActivities
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import ModelRefused, ModelUnavailable
from orchestrator.messages.begin import BeginInput
from orchestrator.messages.plan_preview import BegunPlan
from orchestrator.planning.per_agent import PerAgentPlanner
from orchestrator.routing.router import Router
from orchestrator.testing.memory import MemoryCatalogs, MemoryTraces
from tests.unit.activities.planners import Scripted

GOAL = "Find flights from Berlin to Lisbon on 3 December 2026"


class Away:
    """A splitter whose model raises one error, again and again."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.asked = 0

    async def split(self, *_: Any) -> Any:
        self.asked += 1
        raise self.error

    def holds(self, *_: Any) -> bool:
        return False


async def split(catalog: Catalog, away: Away, *, attempt: int = 1) -> BegunPlan:
    """The plan that the activity makes, on one attempt of Temporal's."""
    store = MemoryCatalogs()
    store.put(catalog)
    planner = PerAgentPlanner(
        Scripted(),
        lambda: pytest.fail("no step is planned here"),
        default_model="a:model",
        splitter=lambda: away,
    )
    thought = PlanningActivities(store, Router, planner, (), MemoryTraces())
    environment = ActivityEnvironment()
    environment.info = dataclasses.replace(environment.info, attempt=attempt)
    mission = BeginInput(
        mission_id="m",
        goal=GOAL,
        now=datetime(2026, 11, 23, tzinfo=UTC),
        catalog_digest=catalog.digest,
    )
    plan: BegunPlan = await environment.run(thought.split_goal, mission)
    return plan


async def test_a_model_that_may_come_back_is_asked_again(shipped: Catalog) -> None:
    """By Temporal, which tries the activity again."""
    with pytest.raises(ApplicationError) as failed:
        await split(shipped, Away(ModelUnavailable("a:model", "it is away")))

    assert not failed.value.non_retryable


@pytest.mark.parametrize(
    ("error", "attempt"),
    [(ModelUnavailable("a:model", "it is away"), 3), (ModelRefused("a:model", "401"), 1)],
    ids=["stays-away", "refuses"],
)
async def test_a_model_that_splits_nothing_does_not_lose_the_mission(
    shipped: Catalog, error: Exception, attempt: int
) -> None:
    """One leg without orders has the whole goal, and the plan says why; a refusal is final."""
    away = Away(error)

    plan = await split(shipped, away, attempt=attempt)

    assert [(leg.goal, leg.orders) for leg in plan.legs] == [(GOAL, ())]
    assert plan.is_unproven
    assert plan.made_by.fallback
    assert away.asked == 1
