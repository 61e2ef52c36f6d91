"""Planning activities: what a planner decides is checked, metered, and searched in one index."""

import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.planning_activities import PlanningActivities
from orchestrator.adapters.storage.catalog_store import CatalogStore
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.budget import Usage
from orchestrator.messages.begin import BeginInput
from orchestrator.messages.step import DiscoverInput, PlanStepInput
from orchestrator.planning.models import AgentProfile, CallTool, Finish, StepContext
from orchestrator.planning.planner import Planner
from orchestrator.routing.learning.trace import RouteRecord
from orchestrator.routing.router import Router
from orchestrator.testing import fake_selection
from orchestrator.testing.memory import MemoryCatalogs, MemoryTraces
from tests.unit.activities.planners import Careless, Metered, Scripted


@pytest.fixture
def store(shipped: Catalog, tmp_path: Path) -> CatalogStore:
    """The example documents, kept."""
    store = MemoryCatalogs()
    store.put(shipped)
    return store


def _step(catalog: Catalog) -> PlanStepInput:
    return PlanStepInput(
        context=StepContext(
            mission_id="m",
            leg_id="l",
            step=1,
            mission_goal="find me a hotel in Lisbon",
            leg_goal="find me a hotel in Lisbon",
            agent=AgentProfile(name="a"),
            now=datetime(2026, 11, 21, tzinfo=UTC),
            catalog_digest=catalog.digest,
        ),
        selection=fake_selection("hotel_search_rooms", catalog_size=93),
    )


class SlowTraces(MemoryTraces):
    """Notes where it was called, as a store does that a database is behind."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: list[threading.Thread] = []

    def record(self, record: RouteRecord) -> None:
        self.threads.append(threading.current_thread())

    def called(self, *, mission_id: str, leg_id: str, step: int, tool: str) -> None:
        self.threads.append(threading.current_thread())


async def test_a_store_that_hangs_stops_no_heartbeat(shipped: Catalog, store: CatalogStore) -> None:
    """Traces are written beside the event loop, like all else that is kept."""
    traces, step = SlowTraces(), _step(shipped)
    planner = Careless(CallTool(tool="hotel_search_rooms", arguments={"city": "Lisbon"}))
    thought = PlanningActivities(store, Router, planner, (), traces)
    await ActivityEnvironment().run(thought.select_tools, step.context)
    await ActivityEnvironment().run(thought.plan_step, step)

    assert len(traces.threads) == 2
    assert threading.current_thread() not in traces.threads


def _thought(store: CatalogStore, planner: Planner, folder: Path) -> PlanningActivities:
    traces = MemoryTraces()
    return PlanningActivities(store, Router, planner, (), traces)


@pytest.mark.parametrize(("planner", "usage"), [(Metered(), Metered.usage), (Scripted(), None)])
async def test_a_step_is_recorded_with_what_it_took(
    shipped: Catalog, store: CatalogStore, tmp_path: Path, planner: Planner, usage: Usage | None
) -> None:
    """Nothing where no model was asked."""
    thought = _thought(store, planner, tmp_path)

    planned = await ActivityEnvironment().run(thought.plan_step, _step(shipped))
    assert planned.usage == usage


@pytest.mark.parametrize(
    ("planner", "plan", "step"),
    [
        (Careless(None), "gives a NoneType, which is no Mis", "gives a NoneType, which is no dec"),
        (Careless("finish"), "gives a str, which is no MissionPlan", "gives a str, which is no de"),
        (Careless(Finish(summary="x"), at_once=True), "write `async def`", "write `async def`"),
    ],
)
async def test_an_answer_that_is_none_ends_the_mission_at_once(
    shipped: Catalog, store: CatalogStore, tmp_path: Path, planner: Planner, plan: str, step: str
) -> None:
    """It would be the same the next time; the error says what a planner of one's own lacks."""
    thought = _thought(store, planner, tmp_path)
    brief = BeginInput(
        mission_id="m",
        goal="x",
        now=datetime(2026, 11, 21, tzinfo=UTC),
        catalog_digest=shipped.digest,
    )

    with pytest.raises(ApplicationError, match=plan) as of_plan:
        await ActivityEnvironment().run(thought.split_goal, brief)
    with pytest.raises(ApplicationError, match=step) as of_step:
        await ActivityEnvironment().run(thought.plan_step, _step(shipped))
    assert of_plan.value.non_retryable
    assert of_step.value.non_retryable


async def test_discovery_hears_what_was_meant(
    shipped: Catalog, store: CatalogStore, tmp_path: Path
) -> None:
    """Over the whole catalog, best first."""
    thought = _thought(store, Scripted(), tmp_path)
    wanted = DiscoverInput(query="send a massage to the team", catalog_digest=shipped.digest)

    found = await ActivityEnvironment().run(thought.discover_tools, wanted)
    assert found.tools[0] == "message_send"
