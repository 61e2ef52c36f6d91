"""A part of a leg that is handed to another agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from orchestrator.messages import names
from orchestrator.messages.leg import LegStatus
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.planning.models import (
    AgentProfile,
    CallTool,
    Finish,
    GiveUp,
    HandOver,
    StepContext,
    StepDecision,
)
from orchestrator.saga.orders import Order
from tests.fakes import fake_leg
from tests.world import FakeWorld

if TYPE_CHECKING:
    from tests.workflow.conftest import Stage


FLYER = AgentProfile(name="flyer", tools=("find_flights", "book_flight"), hands_over_to=("*",))
HOTELIER = AgentProfile(name="hotelier", tools=("book_hotel",), hands_over_to=("flyer",))
DRIVER = AgentProfile(name="driver", tools=("book_car",))
PART = HandOver(agent="hotelier", goal="the hotel near the airport", reason="mine cannot")
NEW = "h1-trip"


@pytest.fixture
def staffed(world: FakeWorld) -> FakeWorld:
    """A world of three agents; the leg `trip` is the flyer's, and hands a part over."""
    world.staff(FLYER, HOTELIER, DRIVER)
    world.plan(fake_leg("trip", agent=FLYER))
    world.decide("trip", PART, Finish(summary="There."))
    return world


async def test_a_part_becomes_a_leg_of_its_own(stage: Stage, staffed: FakeWorld) -> None:
    """Its agent has its own walls; the asking leg waits, and is told what it found."""
    staffed.decide(NEW, CallTool(tool="book_hotel"), Finish(summary="A room by the airport."))

    result = await (await stage.start()).end()

    assert result.status is MissionStatus.SUCCEEDED
    assert [(leg.leg_id, leg.agent) for leg in result.legs] == [
        ("trip", "flyer"),
        (NEW, "hotelier"),
    ]
    told = staffed.contexts("trip")[1]
    assert [fact.tool for fact in told.facts] == ["book_hotel"]
    assert told.observations[0].outcome == "handed_over"
    assert told.observations[0].body == {"summary": "A room by the airport."}
    assert [receipt.tool for receipt in result.receipts] == ["book_hotel"]


async def test_walls_hold_for_it(stage: Stage, staffed: FakeWorld) -> None:
    """What the other agent may not touch is refused, whoever handed it over."""
    staffed.decide(NEW, CallTool(tool="book_flight"), Finish(summary="No."))

    result = await (await stage.start()).end()

    assert staffed.sent("book_flight") == []
    assert result.legs[1].steps[0].outcome == "refused"


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (HandOver(agent="butler", goal="tea"), "flyer may hand over to driver, hotelier, not to"),
        (HandOver(agent="flyer", goal="fly"), "flyer may hand over to driver, hotelier, not to"),
    ],
)
async def test_only_to_colleagues(
    stage: Stage, staffed: FakeWorld, wanted: HandOver, why: str
) -> None:
    """The profile says to whom; the leg goes on without it."""
    staffed.decide("trip", wanted, Finish(summary="Alone."))

    result = await (await stage.start()).end()

    assert [leg.leg_id for leg in result.legs] == ["trip"]
    assert why in (staffed.contexts("trip")[1].observations[0].error or "")


async def test_one_part_is_not_handed_over_twice(stage: Stage, staffed: FakeWorld) -> None:
    """Nor handed round in a circle: the third in a row does it or gives up."""
    staffed.decide("trip", PART, PART, Finish(summary="There."))

    result = await (await stage.start()).end()

    assert len(result.legs) == 2
    assert (
        staffed.contexts("trip")[2].observations[1].error == f"hotelier has that already, as {NEW}"
    )


def _passed_on(context: StepContext) -> StepDecision:
    """Hands it on to the other one, whoever that is; done when that is refused."""
    if context.observations:
        return Finish(summary=context.observations[0].error or "passed on")
    other = "flyer" if context.agent.name == "hotelier" else "hotelier"
    return HandOver(agent=other, goal=f"{context.leg_goal}, please")


async def test_what_is_handed_round_ends(stage: Stage, staffed: FakeWorld) -> None:
    """Two agents that hand it to each other again and again are stopped."""
    for leg in ("trip", NEW, f"h2-{NEW}", f"h3-h2-{NEW}"):
        staffed.decide(leg, _passed_on, _passed_on)

    result = await (await stage.start()).end()

    assert result.status is MissionStatus.SUCCEEDED
    assert len(result.legs) == 4
    assert "it was handed on 3 times already" in result.legs[3].summary


async def test_a_mission_hands_over_no_more_than_its_policy_says(
    stage: Stage, staffed: FakeWorld
) -> None:
    """None, where that is what it says."""
    result = await (await stage.start(policy=MissionPolicy(hand_overs=0))).end()

    assert [leg.leg_id for leg in result.legs] == ["trip"]
    assert "no more than 0 parts" in (result.legs[0].steps[0].error or "")


async def test_a_part_that_fails_without_a_trace_sinks_nothing(
    stage: Stage, staffed: FakeWorld
) -> None:
    """The leg that handed it over is told why, and decides."""
    staffed.decide(NEW, GiveUp(reason="everything is full"))

    result = await (await stage.start()).end()

    assert result.status is MissionStatus.SUCCEEDED
    assert result.legs[1].status is LegStatus.FAILED
    assert staffed.contexts("trip")[1].observations[0].error == "everything is full"


async def test_a_part_that_fails_after_a_consequence_rolls_all_back(
    stage: Stage, staffed: FakeWorld
) -> None:
    """As any leg that does."""
    staffed.decide("trip", CallTool(tool="book_flight"), PART)
    staffed.decide(NEW, CallTool(tool="book_hotel"), GiveUp(reason="the room is a cupboard"))

    result = await (await stage.start()).end()

    assert result.status is MissionStatus.ROLLED_BACK
    assert result.error == "the room is a cupboard"
    assert sorted(staffed.subjects(names.COMPENSATE)) == ["book_flight", "book_hotel"]


async def test_a_part_takes_along_the_orders_that_its_agent_can_serve(
    stage: Stage, staffed: FakeWorld
) -> None:
    """Its effects serve them for the leg that handed it over, which orders no second one then."""
    hotel = Order(tools=("book_hotel",), clause="a hotel")
    staffed.plan(fake_leg("trip", agent=FLYER, orders=[hotel]))
    staffed.decide(NEW, CallTool(tool="book_hotel"), Finish(summary="A room."))
    again = PART.model_copy(update={"goal": "one more hotel"})
    staffed.decide("trip", PART, again, Finish(summary="There."))
    staffed.decide("h2-trip", CallTool(tool="book_hotel"), Finish(summary="Another room."))

    staffed.checks_orders = True
    mission = await stage.start()
    card = await mission.card("h2-trip")
    await mission.reject(card, "one is enough")
    result = await mission.end()

    assert card.unordered
    assert result.status is MissionStatus.SUCCEEDED
    assert len(staffed.sent("book_hotel")) == 1
