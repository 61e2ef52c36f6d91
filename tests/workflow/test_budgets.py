"""Budget reservations: legs ask their mission for money before they call what costs some."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject
from orchestrator.messages import names
from orchestrator.messages.leg import LegStatus, ReserveInput, ReserveOutput
from orchestrator.messages.mission import MissionResult, MissionStatus
from orchestrator.planning.models import CallTool
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.testing import FakeWorld, fake_leg

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


async def test_a_refused_reservation_reaches_the_planner(stage: Stage, world: FakeWorld) -> None:
    """As an observation it can act on: what was left, and of how much."""
    world.plan(fake_leg("north"))
    world.decide("north", buy("250.00"))

    result = await (await stage.start(budget=HUNDRED)).end()
    seen = world.contexts("north")[1].observations[0]

    assert seen.outcome == "refused"
    assert seen.error == "250.00 EUR is more than the 100.00 EUR left of the budget of 100.00 EUR"
    assert result.legs[0].steps[0].outcome == "refused"
    assert world.sent("buy_pass") == []


async def test_a_price_in_another_currency_is_refused(stage: Stage, world: FakeWorld) -> None:
    """Nobody guesses an exchange rate with somebody's money."""
    world.plan(fake_leg("north"))
    world.decide("north", buy("1.00", "USD"))

    await (await stage.start(budget=HUNDRED)).end()

    assert "not in the budget's currency" in (world.contexts("north")[1].last_error or "")


async def test_what_was_spent_is_no_longer_left(stage: Stage, world: FakeWorld) -> None:
    """The planner sees what is left; a second call must fit beside the first."""
    world.plan(fake_leg("north"))
    world.decide("north", buy("70.00"), buy("40.00"))
    mission = await stage.start(budget=HUNDRED)
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


async def test_an_amended_price_must_fit_too(stage: Stage, world: FakeWorld) -> None:
    """The approval of a dearer card is not an approval of a larger budget."""
    world.plan(fake_leg("north"))
    world.decide("north", buy("60.00"))
    mission = await stage.start(budget=HUNDRED)
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


async def test_a_reservation_whose_leg_is_gone_harms_nothing(
    stage: Stage, world: FakeWorld
) -> None:
    """The mission cannot answer it, and goes on."""
    world.plan(fake_leg("north"))
    world.decide("north", CallTool(tool="book_flight"))
    call = world.hold(names.INVOKE_TOOL, "book_flight")
    mission = await stage.start(budget=HUNDRED)

    lost = ReserveInput(leg_id="ghost", call_id=f"{mission.mission_id}.ghost.1", price=HUNDRED)
    async with call:
        await mission.handle.signal(names.RESERVE_SIGNAL, lost)
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED


async def test_without_a_budget_nothing_is_refused(stage: Stage, world: FakeWorld) -> None:
    """What is spent is counted all the same."""
    world.plan(fake_leg("north"))
    world.decide("north", buy("5000.00"))
    mission = await stage.start()
    await mission.approve(await mission.card("north"))

    result = await mission.end()

    assert result.spend.by_currency == {"EUR": Decimal("5000.00")}


async def test_a_stranger_cannot_say_that_money_is_set_aside(
    stage: Stage, world: FakeWorld
) -> None:
    """A signal names no sender: the worker that sends asks the mission, which refused."""
    world.plan(fake_leg("north"))
    world.decide("north", CallTool(tool="find_flights"), buy("250.00"))
    search = world.hold(names.INVOKE_TOOL, "find_flights")
    mission = await stage.start(budget=HUNDRED)
    async with search:
        leg = mission.leg_handle("north")
        forged = ReserveOutput(call_id=f"{leg.id}.2")
        await leg.signal(names.RESERVED_SIGNAL, forged)

    async def asked_or_over() -> ConfirmationCard | MissionResult | None:
        ended = (await mission.snapshot()).finished_at is not None
        return await mission.end() if ended else (await mission.waiting("north")).card

    # Which of the two answers the leg hears last is not ours to say: the mission's own is a no.
    heard = await mission.eventually(asked_or_over)
    believed = isinstance(heard, ConfirmationCard)
    if isinstance(heard, ConfirmationCard):
        await mission.approve(heard)
    result = await mission.end()
    step = result.legs[0].steps[1]

    assert world.attempts(names.INVOKE_TOOL, "buy_pass") == []
    if believed:
        assert step.outcome == "rejected"
        assert "has not set 250.00 EUR of its budget aside" in str(step.error)
    else:
        assert step.outcome == "refused"
        assert "250.00 EUR is more than the 100.00 EUR left of the budget" in str(step.error)
