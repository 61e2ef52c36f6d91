"""Charges above the approved price, and other legs while an overcharge is undecided."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from temporalio.exceptions import ApplicationError

from orchestrator.confirmation.models import Amend, ConfirmationCard
from orchestrator.confirmation.policy import ConfirmationPolicy, StandingApproval
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject
from orchestrator.messages import names
from orchestrator.messages.leg import LegStatus
from orchestrator.messages.mission import MissionResult, MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy, SpendingPolicy
from orchestrator.planning.models import AskUser, CallTool, Finish, GiveUp
from orchestrator.saga.outcome import CompensationFailure, CompensationOutcome, ToolOutcome
from tests.fakes import fake_leg, states_of
from tests.workflow.charges import buy, charged, eur, overcharge_card, overcharged
from tests.workflow.conftest import OPERATORS
from tests.workflow.replays import replays_at_every_task
from tests.world import FakeWorld

if TYPE_CHECKING:
    from tests.workflow.conftest import Mission, Stage


def spending(**keys: object) -> MissionPolicy:
    return MissionPolicy(spending=SpendingPolicy.model_validate(keys))


def govern(world: FakeWorld, **keys: object) -> None:
    """Give the worker a policy with these rules on spending."""
    rules = SpendingPolicy.model_validate(keys)
    world.govern(OPERATORS.model_copy(update={"spending": rules}))


def all_text(card: ConfirmationCard) -> str:
    return "\n".join(f"{line.label}: {line.value}" for s in card.sections() for line in s.lines)


# -- asked -----------------------------------------------------------------------------------------


async def test_a_person_is_asked_about_a_charge_above_the_approval(
    stage: Stage, world: FakeWorld
) -> None:
    """The card says what was approved, what was charged, and what either answer leads to."""
    mission = await overcharged(stage, world)
    card = await overcharge_card(mission)
    leg = await mission.leg("north")

    assert leg.status is LegStatus.AWAITING_CONFIRMATION
    assert card.price == eur("97.50")
    assert "The budget has for it: 80.00 EUR: kept, it exceeds the budget" in all_text(card)
    for words in ("78.00 EUR", "97.50 EUR", "19.50 EUR", "refund_pass"):
        assert words in all_text(card)
    assert card.confirmation_id != leg.ledger.obligations[0].obligation_id
    await mission.approve(card)
    await mission.end()


async def test_what_is_kept_stands_marked(stage: Stage, world: FakeWorld) -> None:
    """Approved price, and by how much more was charged, in ledger and receipt."""
    mission = await overcharged(stage, world)
    await mission.approve(await overcharge_card(mission))
    result = await mission.end()
    (obligation,) = result.ledger.obligations

    assert result.status is MissionStatus.SUCCEEDED
    assert (obligation.approved_price, obligation.price, obligation.overcharged) == (
        eur("78.00"),
        eur("97.50"),
        eur("19.50"),
    )
    assert result.receipts[0].overcharged == eur("19.50")
    assert result.spend.by_currency == {"EUR": Decimal("97.50")}
    assert [d.kind for d in result.legs[0].decisions] == ["approved", "approved"]
    assert world.compensated() == []


async def test_what_is_rejected_is_cancelled_by_its_leg(stage: Stage, world: FakeWorld) -> None:
    """That one obligation, by its cancel tool, without a further card; the planner is told."""
    mission = await overcharged(stage, world)
    await mission.reject(await overcharge_card(mission), "too dear")
    result = await mission.end()

    assert states_of(result.ledger) == {"buy_pass": "cancelled"}
    assert len(world.compensated()) == 1
    assert await mission.rollback_status() is None
    assert result.spend.by_currency == {}
    seen = world.contexts("north")[1].observations
    assert [o.outcome for o in seen] == ["refused"]
    assert "97.50 EUR" in (seen[0].error or "")
    assert "78.00 EUR" in (seen[0].error or "")
    assert world.contexts("north")[1].budget_left == eur("80")


async def test_it_is_asked_again_where_the_policy_says_so(stage: Stage, world: FakeWorld) -> None:
    """Under an id of its own, and with a digest of its own."""
    policy = MissionPolicy(
        confirmation_expiry=timedelta(minutes=5),
        confirmation=ConfirmationPolicy(on_expiry="ask_again", max_rounds=2),
    )
    mission = await overcharged(stage, world, policy=policy)
    first = await overcharge_card(mission)
    await stage.env.sleep(timedelta(minutes=6))

    async def again() -> ConfirmationCard | None:
        card = (await mission.waiting("north")).card
        return card if card is not None and card.round == 2 else None

    second = await mission.eventually(again)
    await mission.approve(second)
    result = await mission.end()

    assert second.confirmation_id != first.confirmation_id
    assert second.digest != first.digest
    assert result.status is MissionStatus.SUCCEEDED


async def test_a_cancel_of_the_mission_cancels_what_is_asked_about(
    stage: Stage, world: FakeWorld
) -> None:
    """The open card is withdrawn; nobody has kept it."""
    mission = await overcharged(stage, world)
    await overcharge_card(mission)
    await mission.handle.cancel()
    result = await mission.end()

    assert result.status is MissionStatus.CANCELLED
    assert states_of(result.ledger) == {"buy_pass": "cancelled"}


async def test_nothing_of_an_overcharge_can_be_amended(stage: Stage, world: FakeWorld) -> None:
    """What is done is done: it is kept or cancelled."""
    mission = await overcharged(stage, world)
    card = await overcharge_card(mission)
    amendments: tuple[JsonObject, ...] = ({}, {"price": {"amount": "1.00", "currency": "EUR"}})
    for changes in amendments:
        amend = Amend(
            confirmation_id=card.confirmation_id, changes=changes, approver="ada@example.com"
        )
        refusal = await mission.refusal(mission.decide(amend))

        assert refusal.type == "AmendmentInvalid"
    await mission.approve(card)
    await mission.end()


async def test_an_undo_that_is_unclear_is_tried_again(stage: Stage, world: FakeWorld) -> None:
    """Under the key that a rollback would use; the mission goes on when it is done."""
    busy = ApplicationError(
        "HTTP 503", CompensationFailure(reason="HTTP 503"), type=names.PROVIDER_BUSY
    )
    world.compensate("buy_pass", busy, CompensationOutcome(state="cancelled"))
    mission = await overcharged(stage, world)
    await mission.reject(await overcharge_card(mission), "too dear")
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert states_of(result.ledger) == {"buy_pass": "cancelled"}


async def test_an_undo_that_is_refused_is_left_to_rollback(stage: Stage, world: FakeWorld) -> None:
    """The leg is lost, the mission with it, and an operator sees what nobody could undo."""
    world.compensate("buy_pass", CompensationOutcome(state="parked", note="too late"))
    mission = await overcharged(stage, world)
    await mission.reject(await overcharge_card(mission), "too dear")
    result = await mission.over()

    assert result.status is MissionStatus.PARKED
    assert "too late" in (result.error or "")
    assert states_of(result.ledger) == {"buy_pass": "parked"}
    await mission.parked()
    await mission.resolve(result.ledger.obligations[0].obligation_id, "accept")


# -- what counts as one ----------------------------------------------------------------------------


async def end_of(
    stage: Stage, world: FakeWorld, outcome: ToolOutcome, **started: object
) -> MissionResult:
    """A mission whose call, approved for 78 EUR, was answered so; no further card is decided."""
    world.plan(fake_leg("north"))
    world.decide("north", buy("78.00"))
    world.answer("buy_pass", outcome)
    mission = await stage.start(**started)  # type: ignore[arg-type]
    await mission.approve(await mission.card("north"))
    return await mission.end()


async def test_a_charge_up_to_the_approval_is_none(stage: Stage, world: FakeWorld) -> None:
    """To the cent, and below it."""
    result = await end_of(stage, world, charged("78.00"))
    (obligation,) = result.ledger.obligations

    assert result.status is MissionStatus.SUCCEEDED
    assert (obligation.approved_price, obligation.overcharged) == (eur("78.00"), None)


async def test_the_tolerance_is_a_fraction_of_the_approved_price(
    stage: Stage, world: FakeWorld
) -> None:
    """78.00 EUR and 5 % are 81.90 EUR: that fits, a cent more does not."""
    govern(world, overcharge_tolerance="0.05")
    policy = spending(overcharge_tolerance="0.05", on_overcharge="cancel")

    fits = await end_of(stage, world, charged("81.90"), policy=policy)
    does_not = await end_of(stage, world, charged("81.91"), policy=policy)

    assert fits.ledger.obligations[0].overcharged is None
    assert does_not.ledger.obligations[0].overcharged == eur("3.91")
    assert states_of(does_not.ledger) == {"buy_pass": "cancelled"}


async def test_a_charge_in_another_currency_is_one(stage: Stage, world: FakeWorld) -> None:
    """Nobody converts it: none of it is approved, and the approved price stays reserved."""
    mission = await stage_with(stage, world, charged("78.00", "USD"))
    card = await overcharge_card(mission)
    assert "78.00 USD" in all_text(card)
    await mission.approve(card)
    result = await mission.end()

    assert str(result.ledger.obligations[0].overcharged) == "78.00 USD"
    assert [str(m) for m in result.spend.amounts()] == ["78.00 USD"]
    assert "22.00 EUR left" in (world.contexts("north")[2].last_error or "")


async def stage_with(stage: Stage, world: FakeWorld, outcome: ToolOutcome) -> Mission:
    world.answer("buy_pass", outcome)
    mission = await stage.start_leg("north", buy("78.00"), buy("40.00"), budget=eur("100"))
    await mission.approve(await mission.card("north"))
    return mission


async def test_a_charge_that_is_not_stated_counts_as_approved(
    stage: Stage, world: FakeWorld
) -> None:
    """Never as nothing; and it is said."""
    mission = await stage_with(stage, world, charged(None))
    result = await mission.end()
    (obligation,) = result.ledger.obligations

    assert obligation.price is None
    assert "not stated" in obligation.note
    assert result.spend.by_currency == {"EUR": Decimal("78.00")}
    assert "22.00 EUR left" in (world.contexts("north")[2].last_error or "")


async def test_a_standing_approval_approves_up_to_its_amount(
    stage: Stage, world: FakeWorld
) -> None:
    """Without a budget: 97.50 EUR are within 100 EUR, and above 80 EUR somebody is asked."""

    def up_to(amount: str) -> MissionPolicy:
        rule = StandingApproval(name="passes", tools=("buy_pass",), max_amount=eur(amount))
        return MissionPolicy(confirmation=ConfirmationPolicy(standing=(rule,)))

    goal = "Buy a pass for 78 EUR"
    world.answer("buy_pass", charged("97.50"))
    within = await stage.run_leg("north", buy("78.00"), goal=goal, policy=up_to("100"))
    above = await stage.start(goal=goal, policy=up_to("80"))
    await above.approve(await overcharge_card(above))

    assert within.ledger.obligations[0].overcharged is None
    assert (await above.end()).ledger.obligations[0].overcharged == eur("19.50")


# -- the policy decides ----------------------------------------------------------------------------


async def test_a_policy_may_keep_or_undo_without_asking(stage: Stage, world: FakeWorld) -> None:
    """Marked all the same; to keep is for the worker's policy to allow."""
    govern(world, on_overcharge="keep")

    kept = await end_of(stage, world, charged("97.50"), policy=spending(on_overcharge="keep"))
    cancelled = await end_of(
        stage, world, charged("97.50"), policy=spending(on_overcharge="cancel")
    )

    assert kept.ledger.obligations[0].overcharged == eur("19.50")
    assert states_of(kept.ledger) == {"buy_pass": "committed"}
    assert cancelled.ledger.obligations[0].overcharged == eur("19.50")
    assert states_of(cancelled.ledger) == {"buy_pass": "cancelled"}


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
    """What is cancelled is free again, and what was approved meanwhile is sent."""
    world.plan(fake_leg("north"), fake_leg("south"))
    world.decide("north", buy("60.00"))
    world.decide("south", CallTool(tool="buy_ticket", arguments=ticket("60.00")))
    world.answer("buy_pass", charged("190.00"))
    mission = await stage.start(budget=budget)
    north, south = await mission.card("north"), await mission.card("south")
    await mission.approve(north)
    card = await overcharge_card(mission)
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


def ticket(amount: str) -> JsonObject:
    return {"seat": "12A", "price": {"amount": amount, "currency": "EUR"}}


async def is_running(mission: Mission, leg_id: str) -> bool | None:
    """Whether a leg waits for no person."""
    return (await mission.leg(leg_id)).status is LegStatus.RUNNING or None


async def at_step(mission: Mission, leg_id: str, step: int) -> bool | None:
    """Whether a leg has made this many steps but one."""
    return len((await mission.leg(leg_id)).steps) == step - 1 or None


# -- workers that die ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kept",
    [pytest.param(True, id="kept"), pytest.param(False, id="cancelled", marks=pytest.mark.long)],
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
    await mission.approve(south)
    await (mission.approve(card) if kept else mission.reject(card, "too dear"))
    result = await mission.end()
    replays = await replays_at_every_task(mission.handle)

    assert result.status is MissionStatus.SUCCEEDED
    assert len(charges(world, "buy_pass")) == len(charges(world, "buy_ticket")) == 1
    assert replays > 10


def charges(world: FakeWorld, tool: str) -> set[str]:
    """What a provider that knows keys charges for a tool: attempts of one call are one."""
    return {call.call_id for call in world.sent(tool)}


# -- stopped on the way ----------------------------------------------------------------------------


async def failed(mission: Mission, leg_id: str) -> None:
    """Wait until a leg has failed, and its mission stops the others."""

    async def look() -> bool | None:
        return (await mission.leg(leg_id)).status is LegStatus.FAILED or None

    await mission.eventually(look)


async def test_a_cancel_that_waits_for_its_probe_is_not_sent_again(
    stage: Stage, world: FakeWorld
) -> None:
    """The next attempt knows how long the thing has been looked for, as in a rollback."""
    settles = timedelta(seconds=30)
    stands = CompensationFailure(reason="it still stands", counts=False, settles_after=settles)
    later = ApplicationError("later", stands, type=names.PROVIDER_BUSY, non_retryable=True)
    world.compensate("buy_pass", later, later, CompensationOutcome(state="cancelled"))
    mission = await overcharged(stage, world)

    await mission.reject(await overcharge_card(mission), "too dear")
    await mission.end()

    asked = [one.missing_for for one in world.compensated()]
    assert asked[0] == timedelta(0) < asked[1] < asked[2] <= settles


async def test_a_leg_that_is_stopped_while_it_cancels_makes_no_other_call(
    stage: Stage, world: FakeWorld
) -> None:
    """Its attempt fails just then: the leg stops all the same, and the rollback takes over."""
    world.plan(fake_leg("north"), fake_leg("south"))
    world.decide("north", buy("78.00"), CallTool(tool="book_hotel"))
    when = AskUser(question="when?", why="", fields={"on": {"type": "string"}})
    world.decide("south", when, GiveUp(reason="no way"))
    world.answer("buy_pass", charged("97.50"))
    fault = CompensationFailure(reason="HTTP 503")
    busy = ApplicationError("HTTP 503", fault, type=names.PROVIDER_BUSY, non_retryable=True)
    world.compensate("buy_pass", busy, CompensationOutcome(state="cancelled"))
    mission = await stage.start()
    await mission.approve(await mission.card("north"))
    card = await overcharge_card(mission)

    held = world.hold(names.COMPENSATE, "buy_pass")
    await mission.reject(card, "too dear")
    async with held:
        await mission.answer(await mission.question("south"), {"on": "today"})
        await failed(mission, "south")
    result = await mission.end()

    assert result.status is MissionStatus.ROLLED_BACK
    assert states_of(result.ledger) == {"buy_pass": "cancelled"}
    assert not world.sent("book_hotel")


async def test_a_repaired_leg_cancels_its_overcharge_once(stage: Stage, world: FakeWorld) -> None:
    """The cancel succeeded while the leg was being stopped; its planner reads of it."""
    world.plan(fake_leg("north"), fake_leg("south"))
    world.decide("north", CallTool(tool="book_hotel"), buy("78.00"), Finish(summary="north"))
    when = AskUser(question="when?", why="", fields={"on": {"type": "string"}})
    world.decide("south", when, GiveUp(reason="no way"), Finish(summary="south"))
    world.answer("buy_pass", charged("97.50"))
    govern(world, on_overcharge="cancel")
    policy = MissionPolicy(on_failure="ask", spending=SpendingPolicy(on_overcharge="cancel"))
    held = world.hold(names.COMPENSATE, "buy_pass")
    mission = await stage.start(policy=policy)
    await mission.approve(await mission.card("north"))
    await held.reached()
    await mission.answer(await mission.question("south"), {"on": "today"})
    await failed(mission, "south")
    held.release()

    await mission.answer(await mission.question(""), {"decision": "repair"})
    result = await mission.end()

    assert len(world.attempts(names.COMPENSATE)) == 1
    assert states_of(result.ledger) == {"book_hotel": "committed", "buy_pass": "cancelled"}
    assert result.error is None or "cannot become" not in result.error
