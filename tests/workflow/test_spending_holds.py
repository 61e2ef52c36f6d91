"""While an overcharge is undecided no other leg spends, whichever workers die meanwhile."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from temporalio import workflow
from temporalio.client import WorkflowExecutionStatus

from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject
from orchestrator.messages import names
from orchestrator.messages.leg import LegStatus
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.planning.models import CallTool
from orchestrator.testing import FakeWorld, fake_leg, states_of
from tests.workflow.charges import buy, charged, eur, overcharge_card
from tests.workflow.replays import replays_at_every_task

if TYPE_CHECKING:
    from tests.workflow.conftest import Mission, Stage

# -- the mission stops spending --------------------------------------------------------------------


async def test_no_other_leg_spends_until_it_is_decided(stage: Stage, world: FakeWorld) -> None:
    """South's card was approved before; its call waits, and then must fit what is left."""
    world.plan(fake_leg("north"), fake_leg("south"))
    world.decide("north", buy("60.00"))
    world.decide("south", CallTool(tool="buy_ticket", arguments=ticket("60.00")))
    world.answer("buy_pass", charged("90.00"))
    mission = await stage.start(budget=eur("120"))
    north, south = await mission.card("north"), await mission.card("south")
    await mission.approve(north)
    card = await overcharge_card(mission)
    await mission.eventually(lambda: is_held(mission, "south"))
    await mission.approve(south)
    await mission.eventually(lambda: is_running(mission, "south"))

    assert world.sent("buy_ticket") == []
    await mission.approve(card)
    result = await mission.end()

    assert world.sent("buy_ticket") == []
    assert "30.00 EUR left" in (world.contexts("south")[1].last_error or "")
    assert result.spend.by_currency == {"EUR": Decimal("90.00")}


@pytest.mark.parametrize("budget", [eur("200"), None], ids=["with a budget", "without"])
async def test_a_leg_that_waited_goes_on_when_it_is_decided(
    stage: Stage, world: FakeWorld, budget: Money | None
) -> None:
    """What is undone is free again, and what was approved meanwhile is sent."""
    world.plan(fake_leg("north"), fake_leg("south"))
    world.decide("north", buy("60.00"))
    world.decide("south", CallTool(tool="buy_ticket", arguments=ticket("60.00")))
    world.answer("buy_pass", charged("190.00"))
    mission = await stage.start(budget=budget)
    north, south = await mission.card("north"), await mission.card("south")
    await mission.approve(north)
    card = await overcharge_card(mission)
    await mission.eventually(lambda: is_held(mission, "south"))
    await mission.approve(south)
    await mission.reject(card, "too dear")
    result = await mission.end()

    assert states_of(result.ledger) == {"buy_pass": "cancelled", "buy_ticket": "committed"}
    assert result.spend.by_currency == {"EUR": Decimal("60.00")}


async def test_a_reservation_is_not_answered_while_spending_is_held(
    stage: Stage, world: FakeWorld
) -> None:
    """South asks for money while north's overcharge is undecided: it gets no card until then."""
    world.plan(fake_leg("north"), fake_leg("south"))
    world.decide("north", buy("60.00"))
    world.decide("south", CallTool(tool="find_flights"), buy("20.00", "buy_pass"))
    search = world.hold(names.INVOKE_TOOL, "find_flights")
    world.answer("buy_pass", charged("90.00"), charged("20.00"))
    mission = await stage.start(budget=eur("120"))
    await mission.approve(await mission.card("north"))
    card = await overcharge_card(mission)
    async with search:
        pass
    await mission.eventually(lambda: at_step(mission, "south", 2))
    assert (await mission.waiting("south")).card is None

    await mission.approve(card)
    await mission.approve(await mission.card("south"))
    result = await mission.end()

    assert result.spend.by_currency == {"EUR": Decimal("110.00")}


async def test_a_mission_that_is_lost_while_legs_wait_ends(stage: Stage, world: FakeWorld) -> None:
    """Nobody decides: the mission fails, and no leg waits for ever for its money."""
    world.plan(fake_leg("north"), fake_leg("south"))
    world.decide("north", buy("60.00"))
    world.decide("south", CallTool(tool="find_flights"), buy("20.00"))
    search = world.hold(names.INVOKE_TOOL, "find_flights")
    world.answer("buy_pass", charged("90.00"))
    policy = MissionPolicy(confirmation_expiry=timedelta(hours=1))
    mission = await stage.start(budget=eur("120"), policy=policy)
    await mission.approve(await mission.card("north"))
    await overcharge_card(mission)
    async with search:
        pass
    result = await mission.end()

    assert result.status is MissionStatus.ROLLED_BACK
    assert states_of(result.ledger) == {"buy_pass": "cancelled"}


async def test_a_leg_that_starts_meanwhile_does_not_spend(stage: Stage, world: FakeWorld) -> None:
    """It begins while spending is held, without a budget, and waits like the others."""
    world.plan(fake_leg("north"), fake_leg("look"), fake_leg("south", after=("look",)))
    world.decide("north", buy("60.00"))
    world.decide("look", CallTool(tool="find_flights"))
    world.decide("south", CallTool(tool="buy_ticket", arguments=ticket("20.00")))
    search = world.hold(names.INVOKE_TOOL, "find_flights")
    world.answer("buy_pass", charged("90.00"))
    mission = await stage.start()
    await mission.approve(await mission.card("north"))
    card = await overcharge_card(mission)
    async with search:
        pass
    await mission.approve(await mission.card("south"))
    await mission.eventually(lambda: is_running(mission, "south"))
    assert world.sent("buy_ticket") == []

    await mission.approve(card)
    result = await mission.end()

    assert len(world.sent("buy_ticket")) == 1
    assert result.status is MissionStatus.SUCCEEDED


async def test_a_leg_that_goes_on_in_a_new_run_keeps_what_was_decided(
    stage: Stage, world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Marked and counted as before, and held if it was."""
    monkeypatch.setattr(
        workflow.Info,
        "is_continue_as_new_suggested",
        lambda info: info.continued_run_id is None and info.get_current_history_length() > 20,
    )
    world.plan(fake_leg("north"))
    world.decide("north", buy("78.00"), buy("40.00"))
    world.answer("buy_pass", charged("97.50"))
    mission = await stage.start(budget=eur("130"))
    await mission.approve(await mission.card("north"))
    await mission.approve(await overcharge_card(mission))
    result = await mission.end()
    leg = await mission.leg_handle("north").describe()
    first = stage.env.client.get_workflow_handle(leg.id, run_id=leg.raw_info.first_run_id)

    assert (await first.describe()).status is WorkflowExecutionStatus.CONTINUED_AS_NEW
    assert result.ledger.obligations[0].overcharged == eur("19.50")
    assert "32.50 EUR left" in (world.contexts("north")[2].last_error or "")


def ticket(amount: str) -> JsonObject:
    return {"seat": "12A", "price": {"amount": amount, "currency": "EUR"}}


async def is_held(mission: Mission, leg_id: str) -> bool | None:
    """Whether a leg was told that nothing may be spent now."""
    history = await mission.leg_handle(leg_id).fetch_history()
    signals = [e.workflow_execution_signaled_event_attributes.signal_name for e in history.events]
    return names.HOLD_SIGNAL in signals or None


async def is_running(mission: Mission, leg_id: str) -> bool | None:
    """Whether a leg waits for no person."""
    return (await mission.leg(leg_id)).status is LegStatus.RUNNING or None


async def at_step(mission: Mission, leg_id: str, step: int) -> bool | None:
    """Whether a leg has made this many steps but one."""
    return len((await mission.leg(leg_id)).steps) == step - 1 or None


# -- workers that die ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kept",
    [pytest.param(True, id="kept"), pytest.param(False, id="undone", marks=pytest.mark.long)],
)
async def test_workers_that_remember_nothing_come_to_the_same(
    forgetful: Stage, world: FakeWorld, kept: bool
) -> None:
    """Whichever dies between charge and comparison, or while others are held: history tells."""
    world.plan(fake_leg("north"), fake_leg("south"))
    world.decide("north", buy("60.00"))
    world.decide("south", CallTool(tool="buy_ticket", arguments=ticket("20.00")))
    world.answer("buy_pass", charged("90.00"))
    mission = await forgetful.start(budget=eur("120"))
    south = await mission.card("south")  # While spending is held, a leg that asks gets none.
    await mission.approve(await mission.card("north"))
    card = await overcharge_card(mission)
    await mission.eventually(lambda: is_held(mission, "south"))
    await mission.approve(south)
    await (mission.approve(card) if kept else mission.reject(card, "too dear"))
    result = await mission.end()
    handles = (mission.handle, mission.leg_handle("north"), mission.leg_handle("south"))
    replays = await replays_at_every_task(*handles)

    assert result.status is MissionStatus.SUCCEEDED
    assert len(charges(world, "buy_pass")) == len(charges(world, "buy_ticket")) == 1
    assert replays > 10


def charges(world: FakeWorld, tool: str) -> set[str]:
    """What a provider that knows keys charges for a tool: attempts of one call are one."""
    return {call.call_id for call in world.sent(tool)}
