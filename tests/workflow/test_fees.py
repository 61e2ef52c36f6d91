"""Money for cancellation fees: kept aside, so that a rollback can pay what undoing costs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal

from temporalio.testing import WorkflowEnvironment

from orchestrator.core.budget import Money
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.spending_policy import SpendingPolicy
from orchestrator.planning.models import CallTool, GiveUp
from orchestrator.testing import FakeWorld, fake_leg, fake_tool, states_of
from tests.workflow.conftest import Stage


def eur(amount: str) -> Money:
    return Money(amount=Decimal(amount), currency="EUR")


def buy(tool: str, amount: str) -> CallTool:
    return CallTool(tool=tool, arguments={"price": {"amount": amount, "currency": "EUR"}})


@asynccontextmanager
async def staged(env: WorkflowEnvironment, fee: Money | None = None) -> AsyncIterator[Stage]:
    """A worker of a world in which undoing costs a fee."""
    paid = fake_tool("buy_pass", cancel_tool="refund", card_type="structured-payment", fee=fee)
    held = fake_tool("hold_room", cancel_tool="release", fee=fee)
    tools = [paid, held, fake_tool("refund"), fake_tool("release")]
    stage = Stage(env, FakeWorld(env.client, tools), "fees")
    async with stage.worker():
        yield stage


async def test_a_call_fits_only_beside_what_undoing_it_may_cost(
    workflow_env: WorkflowEnvironment,
) -> None:
    """95 and a fee of 10 do not fit 100; the card of what fits tells the fee."""
    async with staged(workflow_env, eur("10")) as stage:
        world = stage.world
        world.plan(fake_leg("north"))
        world.decide("north", buy("buy_pass", "95.00"), buy("buy_pass", "80.00"))
        mission = await stage.start(budget=eur("100"))
        card = await mission.card("north")
        await mission.approve(card)
        result = await mission.end()

    refused = world.contexts("north")[1].last_error
    assert refused == (
        "undoing it may cost 10.00 EUR, which is kept aside: 10.00 EUR is more than the 5.00 EUR "
        "left of the budget of 100.00 EUR"
    )
    assert card.undo == "undone by refund; which may cost 10.00 EUR"
    assert world.contexts("north")[2].budget_left == eur("10.00")
    assert result.spend.by_currency == {"EUR": Decimal("80.00")}
    assert result.ledger.obligations[0].fee == eur("10")


async def test_what_costs_nothing_but_to_be_undone_keeps_money_aside(
    workflow_env: WorkflowEnvironment,
) -> None:
    """Three rooms are held for nothing, and letting go of each costs 40: the third does not fit."""
    async with staged(workflow_env, eur("40")) as stage:
        world = stage.world
        world.plan(fake_leg("north"))
        world.decide("north", *[CallTool(tool="hold_room", arguments={"n": n}) for n in range(3)])
        result = await (await stage.start(budget=eur("100"))).end()

    assert [step.outcome for step in result.legs[0].steps] == [
        "succeeded",
        "succeeded",
        "refused",
        "done",
    ]
    assert result.spend.by_currency == {}


async def test_legs_side_by_side_do_not_take_each_others_fees(
    workflow_env: WorkflowEnvironment,
) -> None:
    """40 and 20 for its undoing, twice, do not fit 100."""
    async with staged(workflow_env, eur("20")) as stage:
        world = stage.world
        world.plan(fake_leg("north"), fake_leg("south", after=("north",)))
        for leg in ("north", "south"):
            world.decide(leg, buy("buy_pass", "40.00"))
        mission = await stage.start(budget=eur("100"))
        await mission.approve(await mission.card("north"))
        result = await mission.end()

    assert len(world.sent("buy_pass")) == 1
    assert "undoing it may cost 20.00 EUR" in (world.contexts("south")[1].last_error or "")
    assert result.legs[1].steps[0].outcome == "refused"


async def test_a_share_of_the_policy_is_kept_where_a_document_says_no_fee(
    workflow_env: WorkflowEnvironment,
) -> None:
    """A quarter of the price, by the tighter of both policies."""
    async with staged(workflow_env) as stage:
        world = stage.world
        world.govern(MissionPolicy(spending=SpendingPolicy(fee_share=Decimal("0.25"))))
        world.plan(fake_leg("north"))
        world.decide("north", buy("buy_pass", "90.00"), buy("buy_pass", "80.00"))
        mission = await stage.start(budget=eur("100"))
        await mission.approve(await mission.card("north"))
        await mission.end()

    assert "undoing it may cost 22.50 EUR" in (world.contexts("north")[1].last_error or "")
    assert world.contexts("north")[2].budget_left == eur("0")


async def test_a_rollback_asks_for_no_money(workflow_env: WorkflowEnvironment) -> None:
    """What was kept aside is there; it takes back all the same, whatever is left."""
    async with staged(workflow_env, eur("60")) as stage:
        world = stage.world
        world.plan(fake_leg("north"))
        world.decide("north", buy("buy_pass", "40.00"), GiveUp(reason="no visa"))
        mission = await stage.start(budget=eur("100"))
        await mission.approve(await mission.card("north"))
        result = await mission.end()

    assert result.status is MissionStatus.ROLLED_BACK
    assert states_of(result.ledger) == {"buy_pass": "cancelled"}
    assert result.legs[0].taken.by_currency == {"EUR": Decimal("100.00")}
