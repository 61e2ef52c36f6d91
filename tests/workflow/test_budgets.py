"""Budgets: reservations before calls, and money for cancellation fees."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from temporalio.testing import WorkflowEnvironment

from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject
from orchestrator.messages.leg import LegStatus
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy, SpendingPolicy
from orchestrator.planning.models import AskUser, CallTool, Finish, GiveUp
from orchestrator.saga.outcome import ToolOutcome
from tests.fakes import fake_leg, fake_tool, states_of
from tests.workflow.conftest import Stage
from tests.world import FakeWorld

if TYPE_CHECKING:
    from tests.workflow.conftest import Mission, Stage


HUNDRED = Money(amount=Decimal(100), currency="EUR")


def buy(amount: str, currency: str = "EUR") -> CallTool:
    price: JsonObject = {"amount": amount, "currency": currency}
    return CallTool(tool="buy_pass", arguments={"price": price})


async def over(mission: Mission, *leg_ids: str) -> str:
    """The first of these legs that has ended."""

    async def look() -> str | None:
        for leg_id in leg_ids:
            if (await mission.leg(leg_id)).status is LegStatus.SUCCEEDED:
                return leg_id
        return None

    return await mission.eventually(look)


async def test_two_parallel_legs_cannot_spend_the_same_money(
    stage: Stage, world: FakeWorld
) -> None:
    """60 and 60 do not fit 100: one leg gets a card, the other is refused before anything is."""
    world.plan(fake_leg("north"), fake_leg("south"))
    world.decide("north", buy("60.00"))
    world.decide("south", buy("60.00"))

    mission = await stage.start(budget=HUNDRED)
    refused = await over(mission, "north", "south")
    lucky = "south" if refused == "north" else "north"
    await mission.approve(await mission.card(lucky))
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert [call.leg_id for call in world.sent("buy_pass")] == [lucky]
    assert result.spend.by_currency == {"EUR": Decimal("60.00")}


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (buy("250.00"), "250.00 EUR is more than the 100.00 EUR left of the budget of 100.00 EUR"),
        (buy("1.00", "USD"), "not in the budget's currency"),
    ],
    ids=["too much", "another currency"],
)
async def test_a_refused_reservation_reaches_the_planner(
    stage: Stage, world: FakeWorld, call: CallTool, why: str
) -> None:
    """As an observation it can act on; nobody guesses an exchange rate."""
    result = await stage.run_leg("north", call, budget=HUNDRED)
    seen = world.contexts("north")[1].observations[0]

    assert seen.outcome == result.legs[0].steps[0].outcome == "refused"
    assert why in (seen.error or "")
    assert world.sent("buy_pass") == []


async def test_what_was_spent_is_no_longer_left(stage: Stage, world: FakeWorld) -> None:
    """The planner sees what is left; a second call must fit beside the first."""
    mission = await stage.start_leg("north", buy("70.00"), buy("40.00"), budget=HUNDRED)
    await mission.approve(await mission.card("north"))

    result = await mission.end()
    left = [c.budget_left for c in world.contexts("north")]

    assert [str(money) for money in left] == ["100.00 EUR", "30.00 EUR", "30.00 EUR"]
    assert [s.outcome for s in result.legs[0].steps] == ["succeeded", "refused", "done"]
    assert result.spend.by_currency == {"EUR": Decimal("70.00")}


async def test_money_of_a_call_that_was_not_made_is_free_for_other_legs(
    stage: Stage, world: FakeWorld
) -> None:
    """A person rejected it and the leg ended without it: the next leg may spend the money."""
    world.plan(fake_leg("north"), fake_leg("south", after=("north",)))
    world.decide("north", buy("60.00"))
    world.decide("south", buy("60.00"))
    mission = await stage.start(budget=HUNDRED)
    await mission.reject(await mission.card("north"), "not that one")

    await mission.approve(await mission.card("south"))
    result = await mission.end()

    assert result.spend.by_currency == {"EUR": Decimal("60.00")}
    assert [call.leg_id for call in world.sent("buy_pass")] == ["south"]


async def test_what_a_call_really_cost_is_what_counts(stage: Stage, world: FakeWorld) -> None:
    """The answer says less than the quote: the difference is there for the next leg."""
    world.plan(fake_leg("north"), fake_leg("south", after=("north",)))
    world.decide("north", buy("60.00"))
    world.decide("south", buy("60.00"))
    cheaper = Money(amount=Decimal("35.00"), currency="EUR")
    world.answer("buy_pass", ToolOutcome(kind="succeeded", body={"pass_id": "P-1"}, price=cheaper))
    mission = await stage.start(budget=HUNDRED)
    await mission.approve(await mission.card("north"))

    await mission.approve(await mission.card("south"))
    result = await mission.end()

    assert [call.leg_id for call in world.sent("buy_pass")] == ["north", "south"]
    assert result.spend.by_currency == {"EUR": Decimal("70.00")}  # as the provider says


async def test_a_charge_counts_for_other_legs_before_its_leg_goes_on(
    stage: Stage, world: FakeWorld
) -> None:
    """Its price was unknown when it was approved, and its leg waits for a person since."""
    ask = AskUser(question="what now?", why="", fields={"next": {"type": "string"}})
    world.plan(fake_leg("north"), fake_leg("south"))
    world.decide("north", CallTool(tool="buy_pass"), ask, Finish(summary="north"))
    world.decide("south", ask, buy("60.00"), Finish(summary="south"))
    world.answer("buy_pass", ToolOutcome(kind="succeeded", status=201, price=eur("95")))
    mission = await stage.start(budget=eur("80"))
    await mission.approve(await mission.card("north"))
    waiting = await mission.question("north")

    await mission.answer(await mission.question("south"), {"next": "buy"})
    await over(mission, "south")
    await mission.answer(waiting, {"next": "nothing"})
    await mission.end()

    assert len(world.sent("buy_pass")) == 1


async def test_an_amended_price_must_fit_too(stage: Stage, world: FakeWorld) -> None:
    """The approval of a dearer card is not an approval of a larger budget."""
    mission = await stage.start_leg("north", buy("60.00"), budget=HUNDRED)
    card = await mission.card("north")

    dearer = await mission.amend(card, price={"amount": "160.00", "currency": "EUR"})
    await mission.approve(dearer)
    await mission.end()

    assert str(dearer.price) == "160.00 EUR"
    assert dearer.warnings[0] == (
        "it costs 160.00 EUR, and 100.00 EUR is left of the budget: approved, it is not sent"
    )
    assert "it is not sent" in dearer.choices()[0].follows[0]
    assert world.sent("buy_pass") == []
    assert "160.00 EUR is more than" in (world.contexts("north")[1].last_error or "")


async def test_an_amended_card_counts_what_other_legs_have_spent(
    stage: Stage, world: FakeWorld
) -> None:
    """40 EUR are left for this leg, whatever it has spent itself."""
    world.plan(fake_leg("north"), fake_leg("south", after=("north",)))
    world.decide("north", buy("60.00"))
    world.decide("south", buy("10.00"))
    mission = await stage.start(budget=HUNDRED)
    await mission.approve(await mission.card("north"))
    card = await mission.card("south")

    fits = await mission.amend(card, price={"amount": "40.00", "currency": "EUR"})
    dearer = await mission.amend(fits, price={"amount": "41.00", "currency": "EUR"})
    foreign = await mission.amend(dearer, price={"amount": "1.00", "currency": "USD"})

    assert not fits.exceeds_budget
    assert "40.00 EUR is left of the budget" in dearer.warnings[0]
    assert "the budget is in EUR" in foreign.warnings[0]
    await mission.reject(foreign, "no")
    await mission.end()


async def test_without_a_budget_nothing_is_refused(stage: Stage, world: FakeWorld) -> None:
    """What is spent is counted all the same."""
    mission = await stage.start_leg("north", buy("5000.00"))
    await mission.approve(await mission.card("north"))

    result = await mission.end()

    assert result.spend.by_currency == {"EUR": Decimal("5000.00")}


def eur(amount: str) -> Money:
    return Money(amount=Decimal(amount), currency="EUR")


def buy_of(tool: str, amount: str) -> CallTool:
    return CallTool(tool=tool, arguments={"price": {"amount": amount, "currency": "EUR"}})


@asynccontextmanager
async def staged(env: WorkflowEnvironment, fee: Money | None = None) -> AsyncIterator[Stage]:
    """A worker of a world in which cancelling costs a fee."""
    paid = fake_tool("buy_pass", cancel_tool="refund", card_type="structured-payment", fee=fee)
    held = fake_tool("hold_room", cancel_tool="release", fee=fee)
    tools = [paid, held, fake_tool("refund"), fake_tool("release")]
    stage = Stage(env, FakeWorld(env.client, tools), "fees")
    async with stage.worker():
        yield stage


async def test_a_call_fits_only_beside_what_cancelling_it_may_cost(
    workflow_env: WorkflowEnvironment,
) -> None:
    """95 and a fee of 10 do not fit 100; the card of what fits tells the fee."""
    async with staged(workflow_env, eur("10")) as stage:
        world = stage.world
        world.plan(fake_leg("north"))
        world.decide("north", buy_of("buy_pass", "95.00"), buy_of("buy_pass", "80.00"))
        mission = await stage.start(budget=eur("100"))
        card = await mission.card("north")
        await mission.approve(card)
        result = await mission.end()

    refused = world.contexts("north")[1].last_error
    assert refused == (
        "cancelling it may cost 10.00 EUR, which is reserved: 10.00 EUR is more than the 5.00 EUR "
        "left of the budget of 100.00 EUR"
    )
    assert card.cancellation == "cancelled by refund; which may cost 10.00 EUR"
    assert world.contexts("north")[2].budget_left == eur("10.00")
    assert result.spend.by_currency == {"EUR": Decimal("80.00")}
    assert result.ledger.obligations[0].fee == eur("10")


async def test_what_costs_nothing_but_to_be_cancelled_keeps_money_aside(
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
    """40 and 20 for its cancelling, twice, do not fit 100."""
    async with staged(workflow_env, eur("20")) as stage:
        world = stage.world
        world.plan(fake_leg("north"), fake_leg("south", after=("north",)))
        for leg in ("north", "south"):
            world.decide(leg, buy_of("buy_pass", "40.00"))
        mission = await stage.start(budget=eur("100"))
        await mission.approve(await mission.card("north"))
        result = await mission.end()

    assert len(world.sent("buy_pass")) == 1
    assert "cancelling it may cost 20.00 EUR" in (world.contexts("south")[1].last_error or "")
    assert result.legs[1].steps[0].outcome == "refused"


async def test_a_share_of_the_policy_is_kept_where_a_document_says_no_fee(
    workflow_env: WorkflowEnvironment,
) -> None:
    """A quarter of the price, by the tighter of both policies."""
    async with staged(workflow_env) as stage:
        world = stage.world
        world.govern(MissionPolicy(spending=SpendingPolicy(fee_share=Decimal("0.25"))))
        world.plan(fake_leg("north"))
        world.decide("north", buy_of("buy_pass", "90.00"), buy_of("buy_pass", "80.00"))
        mission = await stage.start(budget=eur("100"))
        await mission.approve(await mission.card("north"))
        await mission.end()

    assert "cancelling it may cost 22.50 EUR" in (world.contexts("north")[1].last_error or "")
    assert world.contexts("north")[2].budget_left == eur("0")


async def test_a_rollback_asks_for_no_money(workflow_env: WorkflowEnvironment) -> None:
    """What was kept aside is there; it takes back all the same, whatever is left."""
    async with staged(workflow_env, eur("60")) as stage:
        world = stage.world
        world.plan(fake_leg("north"))
        world.decide("north", buy_of("buy_pass", "40.00"), GiveUp(reason="no visa"))
        mission = await stage.start(budget=eur("100"))
        await mission.approve(await mission.card("north"))
        result = await mission.end()

    assert result.status is MissionStatus.ROLLED_BACK
    assert states_of(result.ledger) == {"buy_pass": "cancelled"}
    assert result.legs[0].taken.by_currency == {"EUR": Decimal("100.00")}
