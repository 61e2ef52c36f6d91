"""How a mission stands while its legs run."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import cast

from temporalio.client import WorkflowExecutionStatus

from orchestrator.client.connection import Connection
from orchestrator.client.snapshot import take_snapshot
from orchestrator.core.budget import Usage
from orchestrator.core.errors import MissionNotFound
from orchestrator.messages.leg import LegResult, LegStatus
from orchestrator.messages.mission import MissionResult, MissionStatus

ENDED = LegResult(
    leg_id="1-flights",
    agent="flights",
    goal="book a flight",
    status=LegStatus.SUCCEEDED,
    usage=Usage(requests=3, input_tokens=300),
)
BEGUN = LegResult(leg_id="2-hotels", agent="hotels", goal="a room", status=LegStatus.RUNNING)
MISSION = MissionResult(
    mission_id="trip",
    goal="book a flight, then a room",
    status=MissionStatus.RUNNING,
    legs=(ENDED, BEGUN),
    usage=Usage(requests=4, input_tokens=400),  # with the request that split the goal
    catalog_digest="d",
    started_at=datetime(2026, 12, 1, tzinfo=UTC),
)


class _Answers:
    """What the workflows of a mission answer when they are asked."""

    async def mission(self, mission_id: str) -> object:
        return SimpleNamespace(status=WorkflowExecutionStatus.RUNNING)

    async def query(self, workflow_id: str, name: str, kind: type[object]) -> object:
        if workflow_id == "trip":
            return MISSION
        if workflow_id == "trip.2-hotels":
            return BEGUN.model_copy(update={"usage": Usage(requests=2, input_tokens=50)})
        raise MissionNotFound(workflow_id)


async def test_what_models_took_counts_the_legs_that_run() -> None:
    """Their mission is told only when they end; the sum is that of the legs beside it."""
    result = await take_snapshot(cast("Connection", _Answers()), "trip")

    assert [leg.usage.requests for leg in result.legs] == [3, 2]
    assert (result.usage.requests, result.usage.input_tokens) == (6, 450)
