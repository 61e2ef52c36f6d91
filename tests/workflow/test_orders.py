"""Effects are checked against the orders of the plan, whoever planned it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from orchestrator.confirmation.policy import ConfirmationPolicy, StandingApproval
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.planning.models import CallTool, Finish
from orchestrator.saga.orders import Order, WhenRead
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.testing import FakeWorld, fake_leg
from tests.workflow.replays import replays_at_every_task

if TYPE_CHECKING:
    from tests.workflow.conftest import Mission, Stage

EVERYTHING = ConfirmationPolicy(standing=(StandingApproval(name="all", tools=("*",)),))
"""A standing approval for every call: none of these things may happen by it."""
OPEN = MissionPolicy(confirmation=EVERYTHING)
FLIGHT = Order(tools=("book_flight",), clause="book a flight")
TICKET = Order(tools=("buy_ticket",), clause="buy a ticket")
DRY = Order(tools=("book_flight",), clause="book a flight", when="if it is dry")
DONE = Finish(summary="done")


def book(**arguments: str) -> CallTool:
    return CallTool(tool="book_flight", arguments={**arguments})


def ticket(seat: str = "12A") -> CallTool:
    return CallTool(tool="buy_ticket", arguments={"seat": seat})


@pytest.fixture
def ordered(world: FakeWorld) -> FakeWorld:
    """A world in which every leg is held to its orders, and a standing approval covers all."""
    world.checks_orders = True
    world.govern(OPEN)
    return world


async def asked_about(stage: Stage, world: FakeWorld, leg: list[Order], *calls: CallTool) -> str:
    """The first line of the card that the last of these calls waits at; the others were sent."""
    world.plan(fake_leg("trip", orders=leg))
    world.decide("trip", *calls, *[DONE] * 2)
    mission = await stage.start(policy=OPEN)
    card = await mission.card("trip")
    assert len(world.sent(calls[-1].tool)) == len(calls) - 1
    await mission.reject(card, "no")
    await mission.end()
    assert len(world.sent(calls[-1].tool)) == len(calls) - 1
    return card.unordered


async def test_what_its_leg_does_not_order_is_asked_about(stage: Stage, ordered: FakeWorld) -> None:
    """Though its document lets it ask nobody, and a standing approval is for everything."""
    assert "does not order this" in await asked_about(stage, ordered, [], book())


async def test_one_more_than_ordered_is_asked_about(stage: Stage, ordered: FakeWorld) -> None:
    """The first has its standing approval, the second has none."""
    line = await asked_about(stage, ordered, [TICKET], ticket("1A"), ticket("2B"))

    assert "more than the plan orders" in line


async def test_a_repeated_effect_is_asked_about(stage: Stage, ordered: FakeWorld) -> None:
    """The same tool with the same essential arguments, though two are ordered."""
    two = TICKET.model_copy(update={"count": 2})

    assert "repeats" in await asked_about(stage, ordered, [two], ticket(), ticket())


async def test_an_order_for_each_thing_has_as_many_effects_as_were_read(
    stage: Stage, ordered: FakeWorld
) -> None:
    """One more than the list is long is asked about; before anything was read, the first is."""
    each = TICKET.model_copy(update={"each": "all my seats"})
    ordered.answer("find_flights", ToolOutcome(kind="succeeded", body={"seats": ["1A", "2B"]}))
    find = CallTool(tool="find_flights")
    ordered.plan(fake_leg("trip", orders=[each]))
    ordered.decide("trip", ticket("0X"), find, ticket("1A"), ticket("2B"), ticket("3C"), DONE)

    mission = await stage.start(policy=OPEN)
    unread = await mission.card("trip")
    await mission.reject(unread, "look first")
    await _another(mission, unread.confirmation_id)
    result = await mission.end()

    assert "0 that were read" in unread.unordered
    assert result.status is MissionStatus.SUCCEEDED
    assert [call.arguments["seat"] for call in ordered.sent("buy_ticket")] == ["1A", "2B"]


async def _another(mission: Mission, before: str) -> None:
    """Reject the card that opens after the one of this id."""

    async def look() -> bool | None:
        card = (await mission.waiting("trip")).card
        return True if card is not None and card.confirmation_id != before else None

    await mission.eventually(look)
    card = (await mission.waiting("trip")).card
    assert card is not None
    assert "one for each of the 2" in card.unordered
    await mission.reject(card, "enough")


async def test_a_read_only_mission_changes_nothing(stage: Stage, ordered: FakeWorld) -> None:
    """Its planner is told in a sentence, and nobody is asked."""
    ordered.plan(fake_leg("trip", orders=[FLIGHT]))
    ordered.decide("trip", book(), *[DONE] * 2)

    result = await (await stage.start(policy=OPEN, read_only=True)).end()

    assert ordered.sent("book_flight") == []
    assert result.status is MissionStatus.INCOMPLETE
    assert "read-only" in (result.legs[0].steps[0].error or "")
    assert ordered.contexts("trip")[0].read_only


async def test_a_model_plans_orders_are_covered_once_a_person_or_the_request_has_them(
    stage: Stage, ordered: FakeWorld
) -> None:
    """Listed by the request for one of two legs, the other one's is asked about."""
    ordered.plan(fake_leg("trip", orders=[TICKET]), fake_leg("back", orders=[TICKET]))
    ordered.plan_by_model()
    ordered.decide("trip", ticket("1A"))
    ordered.decide("back", ticket("2B"))

    mission = await stage.start(policy=OPEN, orders=[TICKET])
    card = await mission.card("back")
    await mission.approve(card)
    result = await mission.end()

    assert card.unordered == ""
    assert result.status is MissionStatus.SUCCEEDED
    assert [d.approver for leg in result.legs for d in leg.decisions] == [
        "policy:all",
        "ada@example.com",
    ]


@pytest.mark.parametrize("by", ["a person", "the policy"])
async def test_an_approved_plan_or_an_admitting_policy_covers_them_all(
    stage: Stage, ordered: FakeWorld, by: str
) -> None:
    """`unapproved_plans` is the worker's to admit: a mission's own policy may not widen it."""
    admits = EVERYTHING.model_copy(update={"unapproved_plans": by == "the policy"})
    policy = MissionPolicy(confirmation=admits, plan_first=by == "a person")
    ordered.govern(policy)
    ordered.plan(fake_leg("trip", orders=[TICKET]))
    ordered.plan_by_model()
    ordered.decide("trip", ticket())

    mission = await stage.start(policy=policy)
    if by == "a person":
        await mission.approve(await mission.plan_card())
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert [d.approver for d in result.legs[0].decisions] == ["policy:all"]


async def test_a_leg_without_orders_asks_about_each_of_its_effects(
    stage: Stage, ordered: FakeWorld
) -> None:
    """As where a model's goal could not be split: a person has both, and it succeeds."""
    ordered.plan(fake_leg("whole"))
    ordered.plan_by_model()
    ordered.decide("whole", book(), ticket(), DONE)
    mission = await stage.start(policy=OPEN)

    first = await mission.card("whole")
    await mission.approve(first)

    async def next_card() -> bool | None:
        card = (await mission.waiting("whole")).card
        return True if card is not None and card.tool == "buy_ticket" else None

    await mission.eventually(next_card)
    await mission.approve(await mission.card("whole"))
    result = await mission.end()

    assert first.unordered
    assert result.status is MissionStatus.SUCCEEDED


async def test_a_condition_that_does_not_hold_excuses_its_order(
    stage: Stage, ordered: FakeWorld
) -> None:
    """The planner says so with the value that it read, and the result shows it."""
    read = WhenRead(when="if it is dry", holds=False, read="rain 80 %")
    ordered.plan(fake_leg("trip", orders=[DRY]))
    ordered.decide(
        "trip", CallTool(tool="find_flights"), Finish(summary="It rains.", conditions=(read,))
    )

    result = await (await stage.start(policy=OPEN)).end()

    assert result.status is MissionStatus.SUCCEEDED
    assert result.legs[0].conditions == (read,)
    assert result.unserved == ()


@pytest.mark.parametrize(
    ("conditions", "told"),
    [
        ((), "if it is dry"),
        ((WhenRead(when="if it is dry", holds=False, read=" "),), "which value decides"),
        ((WhenRead(when="if it is dry", holds=True, read="dry"),), "did what was ordered"),
    ],
    ids=["unsaid", "unread", "holds"],
)
async def test_an_order_without_effect_or_excuse_is_incomplete(
    stage: Stage, ordered: FakeWorld, conditions: tuple[WhenRead, ...], told: str
) -> None:
    """It is refused once with the reason, and stands in the result after that."""
    end = Finish(summary="Nothing.", conditions=conditions)
    ordered.plan(fake_leg("trip", orders=[DRY]))
    ordered.decide("trip", CallTool(tool="find_flights"), end, Finish(summary="Nothing."))

    result = await (await stage.start(policy=OPEN)).end()

    assert told in (result.legs[0].steps[1].error or "")
    assert result.status is MissionStatus.INCOMPLETE
    assert [(one.clause, one.leg_id) for one in result.unserved] == [("book a flight", "trip")]


async def test_an_effect_whose_condition_fails_is_no_success(
    stage: Stage, ordered: FakeWorld
) -> None:
    """It was done, and its own planner says that it was not to be."""
    read = WhenRead(when="if it is dry", holds=False, read="rain 80 %")
    ordered.plan(fake_leg("trip", orders=[DRY]))
    ordered.decide("trip", book(), Finish(summary="Booked.", conditions=(read,)))

    result = await (await stage.start(policy=OPEN)).end()

    assert result.status is MissionStatus.INCOMPLETE
    assert "rain 80 %" in result.unserved[0].reason


async def test_text_that_no_leg_serves_is_shown_and_changes_no_status(
    stage: Stage, ordered: FakeWorld
) -> None:
    """On the plan's card, and in the result."""
    ordered.plan(fake_leg("trip", orders=[FLIGHT]))
    ordered.plan_by_model()
    ordered.uncover("and feed the cat")
    ordered.decide("trip", book())

    mission = await stage.start(policy=OPEN.model_copy(update={"plan_first": True}))
    card = await mission.plan_card()
    await mission.approve(card)
    result = await mission.end()

    lines = [line.value for section in card.sections() for line in section.lines]
    assert "and feed the cat" in lines
    assert result.status is MissionStatus.SUCCEEDED
    assert result.uncovered == ("and feed the cat",)


async def test_checked_orders_replay_at_every_task(forgetful: Stage, ordered: FakeWorld) -> None:
    """On a worker that remembers nothing."""
    ordered.plan(fake_leg("trip", orders=[TICKET, DRY]))
    ordered.decide("trip", ticket(), ticket("9F"), DONE, DONE)
    mission = await forgetful.start(policy=OPEN)
    await mission.approve(await mission.card("trip"))

    result = await mission.end()

    assert result.status is MissionStatus.INCOMPLETE
    assert await replays_at_every_task(mission.handle) > 3
