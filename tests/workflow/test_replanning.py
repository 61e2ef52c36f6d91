"""A mission whose leg failed before anything happened is planned anew, once, where that is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from orchestrator.core.budget import Usage
from orchestrator.core.errors import NothingFits
from orchestrator.messages import names
from orchestrator.messages.begin import BeginInput
from orchestrator.messages.leg import LegStatus
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.planning.models import CallTool, GiveUp, MissionPlan
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.testing import FakeWorld, fake_leg

if TYPE_CHECKING:
    from tests.workflow.conftest import Stage

ONCE = MissionPolicy(replan=1)
FIRST = MissionPlan(legs=(fake_leg("train"), fake_leg("visa")))
OTHER = MissionPlan(legs=(fake_leg("flight"), fake_leg("hotel", after=("flight",))))


@pytest.fixture
def lost(world: FakeWorld) -> FakeWorld:
    """A world in which the first plan is lost at once, and another one would do."""
    world.plan_anew(FIRST, OTHER)
    world.decide("train", GiveUp(reason="no train goes there"))
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
    lost.plan_anew(FIRST, FIRST)

    result = await (await stage.start(policy=ONCE)).end()

    assert result.status is MissionStatus.FAILED
    assert result.error == "no train goes there"
    assert result.legs[0].leg_id == "train"
    assert result.replanned == ()


async def test_what_cannot_be_planned_again_fails_as_it_did(stage: Stage, lost: FakeWorld) -> None:
    """The first error is told, and not that of the second plan."""
    lost.plan_anew(FIRST, NothingFits("go to Lisbon"))

    result = await (await stage.start(policy=ONCE)).end()

    assert result.error == "no train goes there"


async def test_another_plan_is_made_of_what_is_left(stage: Stage, lost: FakeWorld) -> None:
    """What the first plan and its legs took counts already while the second one is made."""
    asked = Usage(requests=1, input_tokens=900)
    lost.plan_anew(FIRST.model_copy(update={"usage": asked}), OTHER)
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
    lost.plan_anew(FIRST, NothingFits("go to Lisbon"))

    result = await (await stage.start(policy=ONCE)).end()

    steps = sum(len(leg.steps) for leg in result.legs)
    assert result.usage.requests == 3 * (steps + 1)


@pytest.mark.parametrize("leg", ["train", "visa"])
async def test_nothing_is_tried_again_after_a_consequence(
    stage: Stage, lost: FakeWorld, leg: str
) -> None:
    """Whichever leg it is of: that is rolled back."""
    lost.plan_anew(MissionPlan(legs=(fake_leg("visa"), fake_leg("train", after=("visa",)))), OTHER)
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
