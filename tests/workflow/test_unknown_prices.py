"""Calls that cost nobody knows what, in missions with a budget; and approvals of one price."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from orchestrator.catalog.tool import Tool
from orchestrator.confirmation.policy import ConfirmationPolicy, StandingApproval
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject
from orchestrator.messages import names
from orchestrator.messages.leg import LegStatus
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy, SpendingPolicy, UnknownPrice
from orchestrator.planning.models import CallTool
from orchestrator.saga.outcome import ToolOutcome
from tests.fakes import fake_leg, fake_tool
from tests.workflow.conftest import OPERATORS, TOOLS
from tests.world import FakeWorld

if TYPE_CHECKING:
    from temporalio.testing import WorkflowEnvironment

    from tests.workflow.conftest import Stage

EIGHTY = Money(amount=Decimal(80), currency="EUR")
STANDING = ConfirmationPolicy(standing=(StandingApproval(name="any", tools=("*",)),))


def unpriced(tool: str = "buy_pass") -> CallTool:
    return CallTool(tool=tool, arguments={"offer_id": "of-1"})


def rule(unknown_price: UnknownPrice) -> MissionPolicy:
    return MissionPolicy(spending=SpendingPolicy(unknown_price=unknown_price))


def free_of_cards() -> Tool:
    """A tool that asks nobody and whose answer states a price."""
    answer: JsonObject = {
        "type": "object",
        "properties": {"ride_id": {"type": "string"}, "fare": {"type": "object"}},
    }
    tool = fake_tool("take_ride", cancel_tool="end_ride")
    return tool.model_copy(update={"output_schema": answer})


@pytest.fixture
def world(workflow_env: WorkflowEnvironment) -> FakeWorld:
    """The usual tools, and one that spends without asking anybody."""
    return FakeWorld(workflow_env.client, (*TOOLS, free_of_cards()), policy=OPERATORS)


async def test_a_card_says_what_an_unknown_price_may_exceed(stage: Stage, world: FakeWorld) -> None:
    """What is left with all legs counted: 50 of the 80 EUR are another leg's."""
    world.plan(fake_leg("north"), fake_leg("south", after=("north",)))
    thirty: JsonObject = {"price": {"amount": "30.00", "currency": "EUR"}}
    world.decide("north", CallTool(tool="buy_pass", arguments=thirty))
    world.decide("south", unpriced())
    mission = await stage.start(budget=EIGHTY)
    await mission.approve(await mission.card("north"))
    card = await mission.card("south")

    assert card.price is None
    assert "price unknown: it may exceed what is left of the budget, 50.00 EUR" in card.warnings
    await mission.approve(card)
    assert (await mission.end()).status is MissionStatus.SUCCEEDED


async def test_after_one_of_unknown_price_what_is_left_is_at_most_that(
    stage: Stage, world: FakeWorld
) -> None:
    """Of this leg or another: nobody knows how much of the budget it took."""
    world.plan(fake_leg("north"), fake_leg("south", after=("north",)))
    world.decide("north", unpriced("take_ride"))
    world.decide("south", unpriced())
    mission = await stage.start(budget=EIGHTY)
    await mission.approve(await mission.card("north"))
    card = await mission.card("south")
    told = "80.00 EUR at most, not counting 1 call of unknown price"

    assert f"price unknown: it may exceed what is left of the budget, {told}" in card.warnings
    await mission.approve(card)
    await mission.end()


async def test_without_a_budget_nothing_is_said(stage: Stage, world: FakeWorld) -> None:
    """There is nothing that it could exceed."""
    mission = await stage.start_leg("north", unpriced())
    card = await mission.card("north")

    assert not any("price unknown" in warning for warning in card.warnings)
    await mission.approve(card)
    await mission.end()


@pytest.mark.parametrize("budget", [None, EIGHTY], ids=["no budget", "a budget"])
async def test_no_standing_approval_covers_an_unknown_price(
    stage: Stage, budget: Money | None
) -> None:
    """A person decides, also where the approval names no amount."""
    policy = MissionPolicy(confirmation=STANDING)
    mission = await stage.start_leg(
        "north", unpriced(), goal="a pass of of-1", policy=policy, budget=budget
    )
    await mission.approve(await mission.card("north"))

    assert (await mission.end()).ledger.obligations[0].confirmed_by == "ada@example.com"


async def test_a_tool_that_asks_nobody_asks_when_its_price_is_unknown(
    stage: Stage, world: FakeWorld
) -> None:
    """Its contract lets it be called without a card, and a budget does not."""
    mission = await stage.start_leg("north", unpriced("take_ride"), budget=EIGHTY)
    card = await mission.card("north")
    assert any("price unknown" in warning for warning in card.warnings)
    assert world.sent("take_ride") == []

    await mission.approve(card)
    await mission.end()
    (sent,) = world.sent("take_ride")

    assert sent.grant is not None
    assert sent.grant.digest == card.digest


async def test_what_asks_nobody_spends_of_the_budget_too(stage: Stage, world: FakeWorld) -> None:
    """Its stated price is reserved, counted, and compared with what it charged."""
    world.plan(fake_leg("north"))
    ride: JsonObject = {"fare": {"amount": "30.00", "currency": "EUR"}}
    world.decide("north", *[CallTool(tool="take_ride", arguments=ride)] * 3)
    mission = await stage.start(budget=EIGHTY)
    result = await mission.end()

    assert len(world.sent("take_ride")) == 2
    assert result.spend.by_currency == {"EUR": Decimal("60.00")}
    assert "20.00 EUR left" in (world.contexts("north")[3].last_error or "")


@pytest.mark.parametrize("tool", ["buy_pass", "take_ride"])
async def test_a_policy_may_refuse_it(stage: Stage, world: FakeWorld, tool: str) -> None:
    """Nobody is asked, and the planner reads why."""
    await stage.run_leg("north", unpriced(tool), budget=EIGHTY, policy=rule("refuse"))

    assert world.sent(tool) == []
    seen = world.contexts("north")[1].last_error or ""
    assert "price unknown: it may exceed what is left of the budget, 80.00 EUR" in seen
    assert "spending.unknown_price" in seen


async def test_a_policy_may_allow_it_where_the_workers_does(stage: Stage, world: FakeWorld) -> None:
    """A card as always, without a warning; what asks nobody is sent."""
    world.govern(OPERATORS.model_copy(update={"spending": rule("allow").spending}))
    mission = await stage.start_leg(
        "north", unpriced("take_ride"), unpriced(), budget=EIGHTY, policy=rule("allow")
    )
    card = await mission.card("north")

    assert len(world.sent("take_ride")) == 1
    assert not any("price unknown" in warning for warning in card.warnings)
    await mission.approve(card)
    await mission.end()


async def test_nothing_is_spent_after_a_charge_that_exceeded_the_budget(
    stage: Stage, world: FakeWorld
) -> None:
    """Two passes of unknown price are charged 60 EUR each; the result says so before all else."""
    price = Money(amount=Decimal(60), currency="EUR")
    world.answer("buy_pass", ToolOutcome(kind="succeeded", body={}, price=price))
    mission = await stage.start_leg("north", unpriced(), unpriced(), unpriced(), budget=EIGHTY)
    for _ in range(2):
        await mission.approve(await mission.card("north"))
    result = await mission.end()
    told = "has exceeded its budget of 80.00 EUR (spent: 120.00 EUR)"

    assert len(world.sent("buy_pass")) == 2
    assert told in (world.contexts("north")[3].last_error or "")
    assert (result.over_budget, result.document()["over_budget"]) == (told, told)


# -- the price is part of what is approved ---------------------------------------------------------


async def test_an_approval_is_of_one_price(stage: Stage, world: FakeWorld) -> None:
    """The same arguments at another price are another card, and the old digest approves nothing."""
    world.plan(fake_leg("north"))
    sixty: JsonObject = {"price": {"amount": "60.00", "currency": "EUR"}}
    world.decide("north", CallTool(tool="buy_pass", arguments=sixty))
    mission = await stage.start(budget=EIGHTY)
    card = await mission.card("north")
    dearer = await mission.amend(card, price={"amount": "70.00", "currency": "EUR"})
    refusal = await mission.refusal(mission.approve(card))

    assert (refusal.type, str(dearer.price)) == ("DigestMismatch", "70.00 EUR")
    await mission.approve(dearer)
    await mission.end()
    (sent,) = world.sent("buy_pass")
    assert sent.approval_terms["price"] == {"amount": "70.00", "currency": "EUR"}


async def test_a_price_that_nobody_knew_is_spent_as_it_is_charged(
    stage: Stage, world: FakeWorld
) -> None:
    """The person who approved knew that it might be more than is left: it is no overcharge."""
    price = Money(amount=Decimal(95), currency="EUR")
    world.answer("buy_pass", ToolOutcome(kind="succeeded", body={}, price=price))
    mission = await stage.start_leg("north", unpriced(), budget=EIGHTY)
    await mission.approve(await mission.card("north"))
    result = await mission.end()
    (obligation,) = result.ledger.obligations

    assert (obligation.approved_price, obligation.overcharged) == (None, None)
    assert result.legs[0].status is LegStatus.SUCCEEDED
    assert result.spend.by_currency == {"EUR": Decimal(95)}
    assert world.attempts(names.PREPARE_OVERCHARGE) == []
