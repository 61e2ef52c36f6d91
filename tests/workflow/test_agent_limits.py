"""What an agent may use up: calls of tools, which are limited, and tokens, which are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.core.budget import Usage
from orchestrator.messages.mission import MissionStatus
from orchestrator.planning.models import AgentProfile, AskUser, CallTool, DiscoverTools, Finish
from orchestrator.testing import FakeWorld, fake_leg

if TYPE_CHECKING:
    from tests.workflow.conftest import Stage

SCOUT = AgentProfile(name="scout", max_tool_calls=2)
FIND = CallTool(tool="find_flights")


async def test_a_leg_that_wants_more_calls_than_it_has_is_lost(
    stage: Stage, world: FakeWorld
) -> None:
    """The call over the limit is not sent, and what was done before is taken back."""
    world.plan(fake_leg("flight", agent=SCOUT))
    world.decide("flight", FIND, CallTool(tool="book_flight"), FIND)

    result = await (await stage.start()).end()

    assert result.error == "the leg made 2 tool calls without reaching its goal"
    assert result.status is MissionStatus.ROLLED_BACK
    assert len(world.sent("find_flights")) == 1


async def test_a_leg_may_finish_with_all_its_calls_made(stage: Stage, world: FakeWorld) -> None:
    """The limit is on calls, not on what follows them."""
    world.plan(fake_leg("flight", agent=SCOUT))
    world.decide("flight", FIND, FIND, Finish(summary="Found."))

    assert (await (await stage.start()).end()).status is MissionStatus.SUCCEEDED


async def test_discovery_and_questions_are_no_calls(stage: Stage, world: FakeWorld) -> None:
    """Nor is a call that was refused before it was sent."""
    world.plan(fake_leg("flight", agent=SCOUT))
    world.decide(
        "flight",
        DiscoverTools(query="a"),
        DiscoverTools(query="b"),
        AskUser(question="When?", fields={"day": {"type": "string"}}),
        CallTool(tool="buy_ticket", arguments={"seat": "1"}),
        FIND,
        FIND,
        Finish(summary="Found."),
    )
    mission = await stage.start()
    await mission.answer(await mission.question("flight"), {"day": "2026-12-03"})
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert [s.outcome for s in result.legs[0].steps if s.did.startswith("call")] == [
        "invalid",
        "succeeded",
        "succeeded",
    ]


async def test_what_models_took_is_summed(stage: Stage, world: FakeWorld) -> None:
    """Over the steps of a leg, and over the legs of the mission."""
    world.plan(fake_leg("flight"), fake_leg("hotel"))
    world.decide("flight", FIND, Finish(summary="Found."))
    world.decide("hotel", Finish(summary="Found."))
    world.usage = Usage(requests=1, input_tokens=100, output_tokens=7)

    result = await (await stage.start()).end()

    assert [leg.usage.requests for leg in result.legs] == [2, 1]
    assert result.usage == Usage(requests=3, input_tokens=300, output_tokens=21)


async def test_without_a_model_nothing_is_used(stage: Stage, world: FakeWorld) -> None:
    """The sum of nothing."""
    world.plan(fake_leg("flight"))
    world.decide("flight", Finish(summary="Found."))

    assert (await (await stage.start()).end()).usage == Usage()
