"""Planning by rules stays inside the wall of the leg's agent: it asks, or says what it may not."""

from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.models import AgentProfile, AskUser, CallTool, GiveUp, StepContext
from orchestrator.planning.route_context import route_context
from orchestrator.planning.rules.chaining import ChainingPlanner
from orchestrator.routing.router import Router, fail_open

BOOK = "book a flight from Berlin to Lisbon on 2026-12-03"
CANCEL = "cancel my flight to Oslo"


@pytest.fixture
def step(shipped: Catalog, router: Router, step_context: StepContext) -> Any:
    """The first step of a leg, for an agent with these tools and domains."""

    async def plan(
        goal: str, *, is_open: bool = False, found: tuple[str, ...] = (), **wall: Any
    ) -> Any:
        agent = AgentProfile(name="agent", **wall)
        context = step_context.model_copy(
            update={"agent": agent, "leg_goal": goal, "mission_goal": goal, "discovered": found}
        )
        selection = router.route(goal, route_context(context), now=context.now)
        if is_open:
            selection = fail_open(shipped, "a test", (agent.wall,))
        return await ChainingPlanner(lambda _: router).plan_step(context, selection, shipped)

    return plan


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize(
    ("wall", "tool"),
    [({}, "flight_search_offers"), ({"domains": ("flights",)}, "flight_search_offers")],
)
async def test_a_search_inside_feeds_the_booking(
    step: Any, wall: dict[str, Any], tool: str, is_open: bool
) -> None:
    """As without a wall, also when the router had failed open."""
    decision = await step(BOOK, is_open=is_open, **wall)

    assert isinstance(decision, CallTool)
    assert decision.tool == tool


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("found", [(), ("flight_search_offers",)])
async def test_a_search_outside_is_neither_called_nor_looked_for(
    step: Any, is_open: bool, found: tuple[str, ...]
) -> None:
    """Though the leg claims to have found it: the value is asked for, and it is said why."""
    decision = await step(BOOK, is_open=is_open, found=found, tools=("flight_book_offer",))

    assert isinstance(decision, AskUser)
    assert list(decision.fields) == ["offer_id"]
    assert decision.question.endswith(
        "; flight_search_offers would look it up, which the agent agent may not use."
    )


@pytest.mark.parametrize("goal", [CANCEL, "pay the electricity invoice"])
async def test_a_leg_for_a_tool_outside_is_given_up(step: Any, goal: str) -> None:
    """It does not do with its own tools what comes nearest: cancel a message for a flight."""
    decision = await step(goal, domains=("messages",))

    assert isinstance(decision, GiveUp)
    assert "is not for the agent agent" in decision.reason


@pytest.mark.parametrize(
    ("goal", "tool"),
    [
        ("list my scheduled messages", "message_list_scheduled"),
        ("search the messages of the finance channel for the budget", "message_find_channels"),
    ],
)
async def test_a_leg_for_a_tool_inside_goes_on(step: Any, goal: str, tool: str) -> None:
    """Whatever else the catalog holds."""
    decision = await step(goal, domains=("messages",))

    assert isinstance(decision, CallTool)
    assert decision.tool == tool
