"""What a result says is what happened, whatever a planner says: on real parts."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from orchestrator.catalog.catalog import Catalog
from orchestrator.client.mission_client import MissionClient
from orchestrator.core.errors import UsageError
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.planning.llm.model_planner import LlmPlanner
from orchestrator.planning.models import AgentProfile, GoalBrief, LegPlan, MissionPlan
from orchestrator.planning.per_agent import PerAgentPlanner
from orchestrator.planning.rules.rule_planner import RulePlanner
from orchestrator.routing.router import Router
from orchestrator.runtime.demo import DINING, LEAVING, RETURNING, day_in
from orchestrator.runtime.devserver import Ports, Stack
from orchestrator.saga.orders import Order
from orchestrator.sandbox import FaultRule, SandboxClient
from orchestrator.testing import approve, eventually, run_to_end
from tests.forked import ForkedStack
from tests.integration.installations import served_by

if TYPE_CHECKING:
    from tests.integration.conftest import Cli, Witness

BOOKED = "Your flight is booked, reference ABC123"
TABLE = f"Reserve a table in Lisbon on {DINING} at 20:00 for 4"
LOCKERS = Path(__file__).parents[1] / "documents" / "lockers.yaml"


async def _claims(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """A model that says at once that it is done."""
    return ModelResponse(parts=[ToolCallPart("part_done", {"summary": BOOKED})])


class HalfOfIt(RulePlanner):
    """A planner that forgets all of a goal but its first part."""

    async def split_goal(
        self, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile]
    ) -> MissionPlan:
        """The first leg of what would be done."""
        plan = await super().split_goal(brief, catalog, agents)
        first: LegPlan = plan.legs[0]
        orders = (*first.orders, Order(tools=("message_send",), clause="send the message"))
        legs = (first.model_copy(update={"orders": orders}),)
        return MissionPlan(legs=legs, uncovered=tuple(leg.goal for leg in plan.legs[1:]))


async def test_a_model_that_only_says_so_has_booked_nothing(
    stack: Stack, sandbox: Witness, cli: Cli
) -> None:
    """It is told once that nothing was done; its word stands in the result, marked as that."""
    model = LlmPlanner(default_model="a:model", models=lambda name: FunctionModel(_claims))
    planner = PerAgentPlanner(RulePlanner(Router), lambda: model, default_model="a:model")
    async with served_by(stack, planner, "claiming") as client:
        mission = await client.start(
            MissionRequest(goal=f"Book a flight from Berlin to Lisbon on {LEAVING}")
        )
        result = await run_to_end(mission, approve)
        shown = await cli("mission", "show", mission.mission_id)
        watched = await cli("mission", "watch", mission.mission_id, "--json")

    assert await sandbox.live(result.mission_id) == []
    assert result.status is MissionStatus.INCOMPLETE
    assert result.summary == f"The planner says, unproved: {BOOKED} (in no answer: 'ABC123')"
    assert [u.leg_id for u in result.unserved] == ["1-whole"]
    assert [s.outcome for s in result.legs[0].steps] == ["refused", "done"]
    assert shown.exit_code == 0
    assert f"unserved: 'Book a flight from Berlin to Lisbon on {LEAVING}'" in shown.stdout
    assert "unproved" in shown.stdout
    assert watched.exit_code == 1
    assert watched.lines[-1]["status"] == "incomplete"


async def test_what_a_planner_forgot_stands_in_the_result(stack: Stack) -> None:
    """What was done stands, needs a decision to be taken back, and is then rolled back."""
    async with served_by(stack, HalfOfIt(Router), "forgetting") as client:
        goal = f"{TABLE}; show me the weather in Oslo"
        mission = await client.start(MissionRequest(goal=goal))
        result = await run_to_end(mission, approve)
        with pytest.raises(UsageError, match="rolling it back is a decision"):
            await client.rollback(mission.mission_id, reason="wrong")
        preview = await client.rollback_preview(mission.mission_id)
        await client.rollback(mission.mission_id, reason="wrong", approver="ann")
        after = await mission.result()

    assert result.status is MissionStatus.INCOMPLETE
    assert [u.clause for u in result.unserved] == ["send the message"]
    assert ["weather in Oslo" in text for text in result.uncovered] == [True]
    assert [r.tool for r in result.receipts] == ["dining_reserve_table"]
    assert preview.is_a_decision
    assert after.status is MissionStatus.ROLLED_BACK
    (cancelled,) = after.cancelled
    assert (cancelled.tool, cancelled.confirmed_by) == ("dining_cancel_reservation", "ann")
    assert cancelled.by_rollback
    assert set(cancelled.reference.items()) == set(result.receipts[0].reference.items())


@pytest.mark.parametrize(
    ("goal", "unserved"),
    [
        (
            f"Book a hotel in Lisbon from {LEAVING} to {RETURNING}; "
            f"book a hotel in Porto from {RETURNING} to {day_in(15)}",
            "done: 1 of 2",
        ),
        # How what was done serves orders is a matter of unit tests: one of each kind is enough.
        pytest.param(
            *("Send the message 'we are live' to #general and #finance", "done: 1 of 2"),
            marks=pytest.mark.long,
        ),
        (
            "Upload a file notes.txt with the text 'hello' and share it with ann@example.com",
            "no call that was made does it",
        ),
    ],
)
async def test_what_was_done_serves_only_what_it_does(
    client: MissionClient, goal: str, unserved: str
) -> None:
    """A second event is none that was moved, and one of two is not both: done right or told."""
    mission = await client.start(MissionRequest(goal=goal))
    result = await run_to_end(mission, approve)

    if result.status is not MissionStatus.SUCCEEDED:
        assert result.status is MissionStatus.INCOMPLETE
        assert [u.reason for u in result.unserved] == [unserved]
    else:
        assert len({o.tool for o in result.ledger.obligations}) == 2 or "1 of 2" in unserved
        assert len(result.receipts) >= 2


@pytest.mark.parametrize(
    "change",
    [
        f"move my dentist event to {day_in(12)} at 10:00",
        pytest.param("update my dentist event", marks=pytest.mark.long),  # said in fewer words
    ],
)
async def test_a_change_that_no_tool_makes_is_asked_about_before_anything(
    client: MissionClient, sandbox: Witness, change: str
) -> None:
    """What moves files moves no event to a day: that is said while nothing was added yet."""
    goal = f"Add an event 'dentist' on {DINING} at 10:00, then {change}"
    mission = await client.start(MissionRequest(goal=goal))
    (asked,) = await eventually(mission.questions)
    await mission.answer(asked.question_id, {"answer": "stop"})
    result = await run_to_end(mission, approve)

    assert f"nothing uses {change.split()[0]!r}" in asked.question
    assert result.status is MissionStatus.FAILED
    assert await sandbox.live(result.mission_id) == []


async def test_a_success_that_was_rolled_back_is_no_success(
    client: MissionClient, cli: Cli
) -> None:
    """Everywhere it is asked about, and it has no receipts."""
    mission = await client.start(MissionRequest(goal=TABLE))
    before = await run_to_end(mission, approve)
    await client.rollback(mission.mission_id, reason="wrong week", approver="ann")
    after = await mission.result()
    shown = json.loads((await cli("mission", "show", mission.mission_id, "--json")).stdout)

    assert before.status is MissionStatus.SUCCEEDED
    assert after.status is MissionStatus.ROLLED_BACK_AFTER_SUCCESS
    assert shown["status"] == "rolled_back_after_success"
    assert after.receipts == ()
    assert after == await mission.snapshot()


async def test_a_resolve_ends_what_was_parked(client: MissionClient, sandbox: Witness) -> None:
    """While an operator has to look the mission is parked, and then no longer."""
    mission = await client.start(MissionRequest(goal=TABLE))
    await run_to_end(mission, approve)
    await sandbox.set_faults(
        [FaultRule(operation_id="dining_cancel_reservation", kind="refuse_cancel")]
    )
    report = await client.rollback(mission.mission_id, reason="wrong week", approver="ann")
    parked = await mission.result()
    await client.resolve(
        report.parked[0].obligation_id, "cancelled", operator="ops", note="by phone"
    )

    async def is_settled() -> bool:
        return (await mission.result()).status is not MissionStatus.PARKED

    await eventually(is_settled)
    assert parked.status is MissionStatus.PARKED
    assert (await mission.result()).status is MissionStatus.ROLLED_BACK_AFTER_SUCCESS


async def test_an_empty_answer_is_an_answer(client: MissionClient) -> None:
    """What was looked for and not found is told, and nothing has failed."""
    mission = await client.start(
        MissionRequest(goal="Show my calendar events from 2031-02-03 to 2031-02-04")
    )
    result = await run_to_end(mission)

    assert result.status is MissionStatus.SUCCEEDED
    assert result.summary == "No events found."
    assert result.unserved == ()


@pytest.fixture(scope="module")
async def lockers(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """An installation of one document, of somebody who rents lockers."""
    folder = tmp_path_factory.mktemp("lockers")
    async with ForkedStack(folder, (LOCKERS,), Ports.free()) as installation:
        yield installation


async def test_an_order_under_a_condition_is_asked_about_and_not_done(lockers: Stack) -> None:
    """What it depends on is named in a question, and stopping there leaves the rental as it is."""
    client = await lockers.client()
    rented = await run_to_end(
        await client.start(MissionRequest(goal="Rent a locker in building North for 3 days")),
        approve,
    )
    rental = rented.receipts[0].reference["rental_id"]
    goal = f"End the locker rental {rental}, only if it is in building South"
    mission = await client.start(MissionRequest(goal=goal))
    (asked,) = await eventually(mission.questions)
    assert await mission.confirmations() == []
    await mission.answer(asked.question_id, {"answer": "stop"})
    result = await run_to_end(mission, approve)

    assert str(rental) in asked.question
    assert "not carry out 'if it is in building South'" in asked.question
    assert result.status is MissionStatus.FAILED
    assert result.cancelled == ()
    assert all(leg.steps == () for leg in result.legs)
    async with SandboxClient(lockers.sandbox_url) as providers:
        assert rental in {effect["resource_id"] for effect in await providers.live()}
