"""Tests as a user writes them, beside those of docs/testing.md; run in a folder of their own."""

import asyncio

import pytest

from orchestrator import MissionClient, MissionRequest
from orchestrator.planning.models import CallTool, GiveUp
from orchestrator.sandbox import SandboxClient
from orchestrator.testing import Installation, make_arguments, run_to_end


@pytest.fixture
def visit(orchestrator_stack: Installation) -> CallTool:
    """The call of a tool, with made-up arguments."""
    catalog = orchestrator_stack.catalog
    arguments = make_arguments(catalog, catalog.tool("crm_book_visit"))
    return CallTool(tool="crm_book_visit", arguments=arguments)


async def test_a_goal_is_planned_as_usual(
    mission_client: MissionClient, sandbox: SandboxClient
) -> None:
    """Missions without a script have the usual planner and router."""
    mission = await mission_client.start(MissionRequest(goal="find customers named Northwind"))

    result = await run_to_end(mission)

    assert [step.did for step in result.legs[0].steps] == ["call crm_find_customers", "finish"]


def test_a_test_without_a_loop_brings_its_own(start_script, assert_nothing_left, visit) -> None:  # type: ignore[no-untyped-def]  # as a user writes it
    """No plugin for coroutines is needed."""

    async def rolled_back() -> str:
        mission = await start_script(visit, GiveUp(reason="it rains"))
        result = await run_to_end(mission)
        await assert_nothing_left(mission)
        return str(result.status)

    assert asyncio.run(rolled_back()) == "rolled_back"


async def test_what_still_stands_is_told(start_script, assert_nothing_left, visit) -> None:  # type: ignore[no-untyped-def]  # as a user writes it
    """A mission that kept its booking has left something, until it is rolled back."""
    mission = await start_script(visit)
    await run_to_end(mission)

    with pytest.raises(AssertionError, match="crm_book_visit stands"):
        await assert_nothing_left(mission)
    await mission.rollback(approver="ann@example.com")

    await assert_nothing_left(mission)
