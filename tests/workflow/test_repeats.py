"""Effects that repeat one of their mission: calls that run at the same time are asked about too."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from temporalio import workflow
from temporalio.client import WorkflowHandle
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    from orchestrator import ToolCallFailed, ToolSaga
    from orchestrator.catalog.declared_prices import PriceContract
    from orchestrator.client.waits import waits_in
    from orchestrator.confirmation.models import (
        ConfirmationCard,
        DecisionEnvelope,
        Reject,
    )
    from orchestrator.confirmation.policy import ConfirmationPolicy, StandingApproval
    from orchestrator.messages import names
    from orchestrator.messages.mission import MissionStatus
    from orchestrator.messages.mission_policy import MissionPolicy
    from orchestrator.planning.models import CallTool, Finish
    from orchestrator.runtime.worker import workflow_runner
    from orchestrator.saga.orders import Order
    from orchestrator.saga.outcome import OutcomeKind, ToolOutcome
    from orchestrator.workflows import ALL_WORKFLOWS
    from orchestrator.workflows.saga_desk import SagaRouting
    from tests.fakes import fake_leg
    from tests.workflow.conftest import OPERATORS, TOOLS
    from tests.workflow.replays import replays_at_every_task
    from tests.world import FakeWorld

if TYPE_CHECKING:
    from temporalio.testing import WorkflowEnvironment

    from tests.workflow.conftest import Mission, Stage

ASKING = MissionPolicy()
OPEN = MissionPolicy(
    confirmation=ConfirmationPolicy(standing=(StandingApproval(name="all", tools=("*",)),))
)
"""A standing approval for every call."""
TICKET = Order(tools=("buy_ticket",), clause="buy a ticket")
DONE = Finish(summary="done")


@workflow.defn
class Twice:
    """A user's workflow that makes the same call twice at once."""

    @workflow.run
    async def run(self, seats: list[str]) -> list[str]:
        """Buy a ticket for each seat, all at once; return the outcomes."""

        async def buy(seat: str) -> str:
            try:
                await saga.call("buy_ticket", {"seat": seat})
            except ToolCallFailed as failed:
                return failed.outcome
            return "bought"

        async with ToolSaga(policy=OPEN) as saga:
            return list(await asyncio.gather(*map(buy, seats)))


@pytest.fixture
def world(workflow_env: WorkflowEnvironment) -> FakeWorld:
    """The usual tools, which cost nothing; legs are held to their orders."""
    free = {"price": PriceContract(is_free=True)}
    world = FakeWorld(
        workflow_env.client, [tool.model_copy(update=free) for tool in TOOLS], policy=OPERATORS
    )
    world.checks_orders = True
    world.govern(OPEN)
    return world


def ticket(seat: str = "12A") -> CallTool:
    return CallTool(tool="buy_ticket", arguments={"seat": seat})


async def both_ask(stage: Stage, world: FakeWorld, *seats: str) -> Mission:
    """A mission of two legs, each of which orders and asks about a ticket, at the same time."""
    world.plan(fake_leg("one", orders=[TICKET]), fake_leg("two", orders=[TICKET]))
    for leg, seat in zip(("one", "two"), seats, strict=True):
        world.decide(leg, ticket(seat), DONE)
    mission = await stage.start(policy=ASKING)
    await mission.card("one")
    return mission


async def card_after(mission: Mission, leg: str, before: ConfirmationCard) -> ConfirmationCard:
    """The card of a leg that follows this one."""

    async def look() -> ConfirmationCard | None:
        card = (await mission.waiting(leg)).card
        return card if card is not None and card.digest != before.digest else None

    return await mission.eventually(look)


async def test_an_open_card_is_renewed_when_another_leg_does_the_same(
    stage: Stage, world: FakeWorld
) -> None:
    """An approval of what it showed before is refused, and the new card names the effect."""
    mission = await both_ask(stage, world, "12A", "12A")
    first, second = await mission.card("one"), await mission.card("two")
    await mission.approve(first)

    renewed = await card_after(mission, "two", second)
    refused = await mission.refusal(mission.approve(second))
    await mission.reject(renewed, "one is enough")
    await mission.end()

    assert (first.unordered, second.unordered) == ("", "")
    assert refused.type == "DigestMismatch"
    assert "repeats" in renewed.unordered
    assert world.sent("buy_ticket")[0].call_id in renewed.unordered
    assert len(world.sent("buy_ticket")) == 1


async def test_a_person_may_want_the_same_twice(stage: Stage, world: FakeWorld) -> None:
    """The card that says so is a card like any other."""
    mission = await both_ask(stage, world, "12A", "12A")
    second = await mission.card("two")
    await mission.approve(await mission.card("one"))

    await mission.approve(await card_after(mission, "two", second))
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert len(world.sent("buy_ticket")) == 2


@pytest.mark.parametrize("kind", ["succeeded", "unknown"])
async def test_an_approval_that_meets_the_same_effect_sends_nothing(
    stage: Stage, world: FakeWorld, kind: OutcomeKind
) -> None:
    """It was given before the card could be renewed, and while the other call was under way."""
    world.answer("buy_ticket", ToolOutcome(kind=kind, reason="lost"), ToolOutcome(kind=kind))
    mission = await both_ask(stage, world, "12A", "12A")
    first, second = await mission.card("one"), await mission.card("two")
    sending = world.hold(names.INVOKE_TOOL, "buy_ticket")
    renewing = world.hold(names.PREPARE_CALL, "buy_ticket")
    await mission.approve(first)
    async with sending:
        async with renewing:
            receipt = await mission.approve(second)
        asked = await card_after(mission, "two", second)
        sent = len(world.sent("buy_ticket"))
        await mission.reject(asked, "one is enough")
    await mission.end()

    assert receipt.accepted == "approved"
    assert sent == 1
    assert "repeats" in asked.unordered
    assert "was sent" in asked.unordered
    assert len(world.sent("buy_ticket")) == 1


async def test_other_calls_of_the_tool_renew_no_card(stage: Stage, world: FakeWorld) -> None:
    """Another seat is another effect: nothing is prepared or asked again."""
    mission = await both_ask(stage, world, "12A", "14C")
    second = await mission.card("two")
    await mission.approve(await mission.card("one"))
    await mission.approve(second)
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert len(world.sent("buy_ticket")) == 2
    assert len(world.attempts(names.PREPARE_CALL)) == 2


async def test_an_amended_card_that_repeats_says_so(stage: Stage, world: FakeWorld) -> None:
    """A person changes one seat into the one that the other leg has bought."""
    mission = await both_ask(stage, world, "12A", "14C")
    await mission.approve(await mission.card("one"))

    amended = await mission.amend(await mission.card("two"), seat="12A")
    await mission.reject(amended, "one is enough")
    await mission.end()

    assert "repeats" in amended.unordered
    assert len(world.sent("buy_ticket")) == 1


async def test_renewed_cards_replay_at_every_task(forgetful: Stage, world: FakeWorld) -> None:
    """On a worker that remembers nothing, as after a kill at any point."""
    mission = await both_ask(forgetful, world, "12A", "12A")
    second = await mission.card("two")
    await mission.approve(await mission.card("one"))
    await mission.reject(await card_after(mission, "two", second), "one is enough")
    await mission.end()

    assert await replays_at_every_task(mission.handle) > 3


async def test_a_standing_approval_covers_the_first_of_two_legs_alone(
    stage: Stage, world: FakeWorld
) -> None:
    """The second is asked about while the first is still under way."""
    world.plan(fake_leg("one", orders=[TICKET]), fake_leg("two", orders=[TICKET]))
    for leg in ("one", "two"):
        world.decide(leg, ticket(), DONE)
    sending = world.hold(names.INVOKE_TOOL, "buy_ticket")
    mission = await stage.start(policy=OPEN)
    async with sending:
        later = "two" if names.leg_of(world.sent("buy_ticket")[0].call_id) == "one" else "one"
        card = await mission.card(later)
        await mission.reject(card, "one is enough")
    await mission.end()

    assert "repeats" in card.unordered
    assert len(world.sent("buy_ticket")) == 1


async def test_no_standing_approval_covers_the_second_of_two_calls_at_once(
    workflow_env: WorkflowEnvironment, world: FakeWorld
) -> None:
    """In a user's workflow: both are prepared before either is sent."""
    queue = f"twice-{uuid4().hex[:6]}"
    async with Worker(
        workflow_env.client,
        task_queue=queue,
        workflows=[*ALL_WORKFLOWS, Twice],
        activities=world.activities(),
        workflow_runner=workflow_runner(),
        interceptors=[SagaRouting()],
    ):
        run = await workflow_env.client.start_workflow(
            Twice.run, ["12A", "12A", "14C"], id=queue, task_queue=queue
        )
        card = await open_card(run)
        rejected = Reject(confirmation_id=card.confirmation_id, reason="no", approver="ada")
        await run.execute_update(names.DECIDE_UPDATE, DecisionEnvelope(decision=rejected))
        outcomes = await run.result()

    assert sorted(outcomes) == ["bought", "bought", "refused"]
    assert "repeats" in card.unordered
    assert sorted(str(one.arguments["seat"]) for one in world.sent("buy_ticket")) == ["12A", "14C"]


async def open_card(run: WorkflowHandle[Twice, list[str]]) -> ConfirmationCard:
    async with asyncio.timeout(60):
        while True:
            if cards := (await waits_in(await run.describe())).cards:
                return cards[0]
            await asyncio.sleep(0.05)
