"""A mission whose planner asks a model over a real wire, through what happens on that wire."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.client.mission_client import MissionClient
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.planning.llm.model_planner import LlmPlanner
from orchestrator.planning.llm.splitting import ModelSplitter
from orchestrator.planning.per_agent import PerAgentPlanner
from orchestrator.planning.rules.rule_planner import RulePlanner
from orchestrator.routing.router import Router
from orchestrator.runtime.demo import DINNER
from orchestrator.testing import approve, run_to_end
from orchestrator.testing.model_server import ModelServer, broken_call, cut_body, say
from orchestrator.testing.model_server.rule_model import RuleModel
from tests.integration.installations import served_by

if TYPE_CHECKING:
    from orchestrator.runtime.devserver import Stack
    from tests.integration.conftest import Witness

QUEUE = "asked-over-a-wire"
NAME = "anthropic:claude-sonnet-5-5"


@pytest.fixture
async def server(stack: Stack) -> AsyncIterator[ModelServer]:
    """A provider whose models decide as rules do; every request of the planner has to fit."""
    async with ModelServer(RuleModel(Catalog.load(*stack.specs))) as running:
        yield running


@pytest.fixture
async def client(stack: Stack, server: ModelServer) -> AsyncIterator[MissionClient]:
    """A client of a task queue whose worker asks that provider."""
    model = LlmPlanner(default_model=NAME, models=server.model)
    planner = PerAgentPlanner(
        RulePlanner(Router),
        lambda: model,
        default_model=NAME,
        splitter=lambda: ModelSplitter(server.model),
    )
    async with served_by(stack, planner, QUEUE) as served:
        yield served


async def test_a_mission_goes_through_trouble_of_its_model(
    client: MissionClient, server: ModelServer, sandbox: Witness
) -> None:
    """Half a call, a connection that ends, and text: a table and a message all the same."""
    server.next(broken_call("tools_discover"), cut_body(), say("I would book it."))
    mission = await client.start(MissionRequest(goal=DINNER))
    result = await run_to_end(mission, approve)

    assert (result.status, result.error) == (MissionStatus.SUCCEEDED, None)
    done = [effect["operation"] for effect in await sandbox.live(result.mission_id)]
    assert sorted(map(str, done)) == ["dining_reserve_table", "message_send"]
    assert len(server.replies) == len(server.requests) > 5
