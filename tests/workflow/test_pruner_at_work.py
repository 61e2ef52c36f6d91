"""What a planner receives at each step is exactly the selection, whoever plans."""

from typing import Final

import pytest
from temporalio.testing import WorkflowEnvironment

from orchestrator.planning.llm.meta_tools import META_TOOLS
from tests.workflow.model_missions import Case, ModelWorld, Part, order, run_all
from tests.workflow.test_perfect_model import RESERVE, forecast, table

META: Final = {meta.name for meta in META_TOOLS}
CASES: Final = [
    Case(
        "Reserve a table for 4 in Lisbon on 6 December 2026 at 20:00",
        [Part(table("Lisbon"), [order(RESERVE)])],
    ),
    Case("What is the weather in Lisbon on 6 December 2026?", [Part([forecast("Lisbon")])]),
]


@pytest.mark.parametrize("by_rules", [False, True], ids=["model", "rules"])
async def test_a_planner_receives_exactly_the_selection(
    workflow_env: WorkflowEnvironment, by_rules: bool
) -> None:
    """As the record of each step has it; a model is shown that, and core tools of its domains."""
    world = ModelWorld(workflow_env.client, CASES, by_rules=by_rules)

    results = await run_all(workflow_env, world, CASES, "pruner", longest_s=20.0)

    recorded = {
        (result.mission_id, leg.leg_id, step.step): step.tools_forwarded
        for _, result in results
        for leg in result.legs
        for step in leg.steps
    }
    assert len(recorded) > len(CASES)
    assert world.received.selections == recorded
    assert all(len(tools) < len(world.catalog.tools) / 4 for tools in recorded.values())
    core = {tool.name for tool in world.catalog.tools.values() if tool.load_policy == "core"}
    shown = [frozenset(tools - META - core) for tools in world.script.shown]
    pruned = [frozenset(tools) - core for tools in recorded.values()]
    assert sorted(map(sorted, shown)) == ([] if by_rules else sorted(map(sorted, pruned)))
