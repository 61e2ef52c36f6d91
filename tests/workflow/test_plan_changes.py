"""Changed plans: a part handed to another agent, and another plan after a leg failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from orchestrator.core.budget import Usage
from orchestrator.core.errors import GoalUnread
from orchestrator.messages import names
from orchestrator.messages.leg import LegStatus
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.mission_policy import BeginInput, MissionPolicy
from orchestrator.planning.models import (
    AgentProfile,
    CallTool,
    Finish,
    GiveUp,
    HandOver,
    MissionPlan,
    StepContext,
    StepDecision,
)
from orchestrator.saga.orders import Order
from orchestrator.saga.outcome import ToolOutcome
from tests.fakes import fake_leg
from tests.world import PLAN_STEP, FakeWorld

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


ONCE = MissionPolicy(replan=1)
FIRST = MissionPlan(legs=(fake_leg("train"), fake_leg("visa")))
OTHER = MissionPlan(legs=(fake_leg("flight"), fake_leg("hotel", after=("flight",))))


@pytest.fixture
def lost(world: FakeWorld) -> FakeWorld:
    """A world in which the first plan is lost at once, and another one would do."""
    world.replan(FIRST, OTHER)
    world.decide("train", GiveUp(reason="no train goes there"))
    # The server for tests refuses to cancel an activity that ends at the same moment.
    world.hold(PLAN_STEP, "visa")
    return world


def _briefs(world: FakeWorld) -> list[BeginInput]:
    told = [call.message for call in world.attempts(names.SPLIT_GOAL)]
    return [one for one in told if isinstance(one, BeginInput)]


async def test_another_plan_is_tried(stage: Stage, lost: FakeWorld) -> None:
    """Its legs have ids of their own; the result says what was tried before, and why not on."""
    result = await (await stage.start(policy=ONCE)).end()

    assert result.status is MissionStatus.SUCCEEDED
    assert [leg.leg_id for leg in result.legs] == ["r1-flight", "r1-hotel"]
    (again,) = result.replanned
    assert (again.leg_id, again.why) == ("train", "no train goes there")
    assert {leg.leg_id: leg.status for leg in again.legs}["train"] is LegStatus.FAILED
    assert "no train goes there" in _briefs(lost)[1].failed_before[0]


async def test_not_unless_the_policy_says_so(stage: Stage, lost: FakeWorld) -> None:
    """By default a leg that fails for good ends its mission."""
    result = await (await stage.start()).end()

    assert result.status is MissionStatus.FAILED
    assert result.error == "no train goes there"
    assert result.replanned == ()


async def test_only_once(stage: Stage, lost: FakeWorld) -> None:
    """What fails again has failed."""
    lost.decide("r1-flight", GiveUp(reason="no seat is left"))

    result = await (await stage.start(policy=ONCE)).end()

    assert result.status is MissionStatus.FAILED
    assert result.error == "no seat is left"
    assert len(_briefs(lost)) == 2


async def test_the_same_plan_is_not_tried_again(stage: Stage, lost: FakeWorld) -> None:
    """What failed would fail again."""
    lost.replan(FIRST, FIRST)

    result = await (await stage.start(policy=ONCE)).end()

    assert result.status is MissionStatus.FAILED
    assert result.error == "no train goes there"
    assert result.legs[0].leg_id == "train"
    assert result.replanned == ()


async def test_what_cannot_be_planned_again_fails_as_it_did(stage: Stage, lost: FakeWorld) -> None:
    """The first error is told, and not that of the second plan."""
    lost.replan(FIRST, GoalUnread("go to Lisbon", code="NothingFits"))

    result = await (await stage.start(policy=ONCE)).end()

    assert result.error == "no train goes there"


async def test_another_plan_is_made_of_what_is_left(stage: Stage, lost: FakeWorld) -> None:
    """What the first plan and its legs took counts already while the second one is made."""
    asked = Usage(requests=1, input_tokens=900)
    lost.replan(FIRST.model_copy(update={"usage": asked}), OTHER)
    lost.usage = asked

    await (await stage.start(policy=ONCE)).end()

    first, second = (brief.used.usage.requests for brief in _briefs(lost))
    assert first == 0
    assert second >= 2


async def test_what_a_plan_took_that_came_to_nothing_is_counted(
    stage: Stage, lost: FakeWorld
) -> None:
    """It was paid for, whatever came of it."""
    lost.usage = Usage(requests=3, input_tokens=2_000)
    lost.replan(FIRST, GoalUnread("go to Lisbon", code="NothingFits"))

    result = await (await stage.start(policy=ONCE)).end()

    steps = sum(len(leg.steps) for leg in result.legs)
    assert result.usage.requests == 3 * (steps + 1)


@pytest.mark.parametrize("leg", ["train", "visa"])
async def test_nothing_is_tried_again_after_a_consequence(
    stage: Stage, lost: FakeWorld, leg: str
) -> None:
    """Whichever leg it is of: that is rolled back."""
    lost.replan(MissionPlan(legs=(fake_leg("visa"), fake_leg("train", after=("visa",)))), OTHER)
    lost.hold(PLAN_STEP, "visa").release()
    lost.decide(leg, CallTool(tool="book_flight"), GiveUp(reason="lost"))
    if leg == "visa":
        lost.decide("visa", CallTool(tool="book_flight"))

    result = await (await stage.start(policy=ONCE)).end()

    assert result.status is MissionStatus.ROLLED_BACK
    assert lost.subjects(names.COMPENSATE) == ["book_flight"]
    assert len(_briefs(lost)) == 1


async def test_nor_where_one_may_have_happened(stage: Stage, lost: FakeWorld) -> None:
    """A call without a clear answer counts."""
    lost.answer("book_flight", ToolOutcome(kind="unknown", reason="no answer"))
    lost.decide("train", CallTool(tool="book_flight"), GiveUp(reason="unclear"))

    mission = await stage.start(policy=ONCE)
    await mission.eventually(lambda: _began_rollback(mission))

    assert len(_briefs(lost)) == 1


async def _began_rollback(mission: object) -> bool | None:
    status = (await mission.snapshot()).status  # type: ignore[attr-defined]
    return True if status in (MissionStatus.ROLLING_BACK, MissionStatus.ROLLED_BACK) else None


async def test_what_a_person_refused_is_not_tried_otherwise(stage: Stage, lost: FakeWorld) -> None:
    """A no is a no, whichever plan it is asked in."""
    ticket = CallTool(tool="buy_ticket", arguments={"seat": "12A"})
    lost.decide("train", ticket, GiveUp(reason="nobody wants it"))

    mission = await stage.start(policy=ONCE)
    await mission.reject(await mission.card("train"), "too dear")
    result = await mission.end()

    assert result.status is MissionStatus.FAILED
    assert len(_briefs(lost)) == 1
