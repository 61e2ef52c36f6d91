"""Legs that are run only if another one has found that something is so."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from orchestrator.messages.leg import LegStatus
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.planning.models import (
    CallTool,
    Decided,
    GoalCondition,
    LegPlan,
    MissionPlan,
    OnlyIf,
)
from orchestrator.saga.served import Order, Proviso
from orchestrator.testing import FakeWorld, fake_leg, states_of
from tests.workflow.replays import replays_at_every_task

if TYPE_CHECKING:
    from tests.workflow.conftest import Stage

RAIN = "if it rains in Oslo"
CLEAR = Decided(clause=RAIN, met=False, why="the forecast answers condition: clear")
WET = Decided(clause=RAIN, met=True, why="the forecast answers condition: rain")
UNCLEAR = Decided(clause=RAIN, met=None, why="Forecast: cloudy, 3 mm.")
HOTEL = Order(clause="book a hotel", tools=("book_hotel",))
CAR = Order(clause="rent a car", tools=("book_car",))


def looking(*, is_unless: bool = False) -> LegPlan:
    """A leg that looks whether it rains."""
    condition = GoalCondition(
        clause=RAIN, told="it rains in Oslo", is_unless=is_unless, tools=("find_flights",)
    )
    leg = fake_leg("look")
    return leg.model_copy(update={"decides": (condition,), "only_looks": True})


def under(leg: LegPlan, *, met: bool = True) -> LegPlan:
    """A leg that is run only if it rains, or otherwise."""
    wanted = OnlyIf(clause=RAIN, leg_id="look", met=met)
    waits = ("look", *leg.depends_on)
    return leg.model_copy(update={"only_if": (wanted,), "depends_on": waits})


def either_or(world: FakeWorld) -> None:
    """A hotel if it rains, otherwise a car; the goal orders both."""
    world.plan(
        looking(),
        under(fake_leg("hotel", orders=[HOTEL])),
        under(fake_leg("car", orders=[CAR]), met=False),
    )
    world.order(HOTEL, CAR)
    world.decide("look", CallTool(tool="find_flights"))
    world.decide("hotel", CallTool(tool="book_hotel"))
    world.decide("car", CallTool(tool="book_car"))


@pytest.mark.parametrize(
    ("found", "booked", "skipped"), [(CLEAR, "book_car", "hotel"), (WET, "book_hotel", "car")]
)
async def test_one_of_two_cases_is_done_and_the_other_one_left_out(
    stage: Stage, world: FakeWorld, found: Decided, booked: str, skipped: str
) -> None:
    """What was not called for is no part that is missing; the result says why it was left."""
    either_or(world)
    world.find_out("look", found)

    result = await (await stage.start()).end()
    by_id = {leg.leg_id: leg for leg in result.legs}

    assert result.status is MissionStatus.SUCCEEDED, result.error
    assert states_of(result.ledger) == {booked: "committed"}
    assert by_id[skipped].status is LegStatus.SKIPPED
    assert by_id[skipped].not_called_for
    assert found.why in (by_id[skipped].error or "")
    assert f"Not done: 'do {skipped}'" in result.summary
    assert result.unserved == ()
    assert by_id["look"].decided == (found,)


async def test_a_mission_that_was_not_called_for_does_nothing_and_succeeds(
    stage: Stage, world: FakeWorld
) -> None:
    """And says why; what goes on about it is left out with it."""
    message = Order(clause="message Bo about it", tools=("post_note",))
    world.plan(
        looking(),
        under(fake_leg("hotel", orders=[HOTEL])),
        fake_leg("message", after=["hotel"], orders=[message]),
    )
    world.order(HOTEL, message)
    world.find_out("look", CLEAR)
    world.decide("hotel", CallTool(tool="book_hotel"))
    world.decide("message", CallTool(tool="post_note"))

    mission = await stage.start()
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED, result.error
    assert states_of(result.ledger) == {}
    assert [leg.not_called_for for leg in result.legs] == [False, True, True]
    assert RAIN in result.summary
    await replays_at_every_task(mission.handle, mission.leg_handle("look"))


async def test_what_goes_on_about_several_things_goes_on_about_the_one_that_was_done(
    stage: Stage, world: FakeWorld
) -> None:
    """Of two cases one is always left out: a message about either is sent."""
    message = Order(clause="message Bo about it", tools=("post_note",))
    either_or(world)
    world.plan(
        looking(),
        under(fake_leg("hotel", orders=[HOTEL])),
        under(fake_leg("car", orders=[CAR]), met=False),
        fake_leg("message", after=["hotel", "car"], orders=[message]),
    )
    world.order(HOTEL, CAR, message)
    world.find_out("look", WET)
    world.decide("message", CallTool(tool="post_note"))

    result = await (await stage.start()).end()

    assert result.status is MissionStatus.SUCCEEDED, result.error
    assert states_of(result.ledger) == {"book_hotel": "committed", "post_note": "committed"}


@pytest.mark.parametrize(
    ("is_unless", "said", "booked"),
    [
        (False, "yes", "book_hotel"),
        (False, "no", "book_car"),
        (True, "yes", "book_car"),
        (True, "no", "book_hotel"),
    ],
)
async def test_what_an_answer_leaves_open_a_person_says(
    stage: Stage, world: FakeWorld, is_unless: bool, said: str, booked: str
) -> None:
    """The question holds what was answered; who said what is in the record."""
    either_or(world)
    hotel = under(fake_leg("hotel", orders=[HOTEL]))
    car = under(fake_leg("car", orders=[CAR]), met=False)
    world.plan(looking(is_unless=is_unless), hotel, car)
    world.find_out("look", UNCLEAR)

    mission = await stage.start()
    question = await mission.question("look")
    refusal = await mission.refusal(mission.answer(question, {"holds": "perhaps"}))
    await mission.answer(question, {"holds": said})
    result = await mission.end()
    (decided,) = result.legs[0].decided

    assert "it rains in Oslo" in question.question
    assert "cloudy, 3 mm" in question.question
    assert refusal.type == "AnswerInvalid"
    assert states_of(result.ledger) == {booked: "committed"}
    assert decided.by_person
    assert decided.met is ((said == "yes") is not is_unless)
    assert result.status is MissionStatus.SUCCEEDED, result.error
    await replays_at_every_task(mission.handle, mission.leg_handle("look"))


async def test_nobody_saying_whether_it_is_so_does_nothing(stage: Stage, world: FakeWorld) -> None:
    """An open condition is never taken to be met."""
    either_or(world)
    world.find_out("look", UNCLEAR)

    policy = MissionPolicy(answer_expiry=timedelta(hours=1))
    result = await (await stage.start(policy=policy)).end()

    assert result.status is MissionStatus.FAILED
    assert states_of(result.ledger) == {}
    assert "nobody answered in time" in (result.error or "")


async def test_what_was_decided_before_it_was_done_is_not_in_doubt_after(
    stage: Stage, world: FakeWorld
) -> None:
    """Whatever the words of the answer are: it was decided by them."""
    rain = Proviso(clause="If it rains in Oslo", tools=(), stems=("rain",))
    hotel = under(fake_leg("hotel", orders=[HOTEL])).model_copy(update={"conditions": (rain,)})
    world.plan_anew(MissionPlan(legs=(looking(), hotel), orders=(HOTEL,), conditions=(rain,)))
    world.find_out("look", WET)
    world.decide("hotel", CallTool(tool="book_hotel"))

    result = await (await stage.start()).end()

    assert result.status is MissionStatus.SUCCEEDED, result.error
    assert result.unserved == ()
