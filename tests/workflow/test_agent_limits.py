"""What an agent may use up: calls of tools, which are limited, and tokens, which are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.core.budget import Usage
from orchestrator.core.limits import Limits
from orchestrator.messages import names
from orchestrator.messages.mission import MissionStatus
from orchestrator.planning.models import AgentProfile, AskUser, CallTool, DiscoverTools, Finish
from orchestrator.testing import FakeWorld, fake_leg, states_of

if TYPE_CHECKING:
    from tests.workflow.conftest import Stage

SCOUT = AgentProfile(name="scout", limits=Limits(tool_calls=2))
FINDER = AgentProfile(name="finder", tools=("find_*",))
FIND = CallTool(tool="find_flights")


async def test_a_leg_that_wants_more_calls_than_it_has_is_lost(
    stage: Stage, world: FakeWorld
) -> None:
    """The call over the limit is not sent, and what was done before is taken back."""
    world.plan(fake_leg("flight", agent=SCOUT))
    world.decide("flight", FIND, CallTool(tool="book_flight"), FIND)

    result = await (await stage.start()).end()

    assert result.error == "the limit of the agent scout is reached: used 2 of 2 tool calls"
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


async def test_a_leg_learns_what_its_agent_may_not_touch_and_goes_on(
    stage: Stage, world: FakeWorld
) -> None:
    """The planner reads the sentence, and the mission's record keeps it; nothing is prepared."""
    world.plan(fake_leg("flight", agent=FINDER))
    world.decide("flight", CallTool(tool="book_car"), FIND, Finish(summary="Found."))

    result = await (await stage.start()).end()

    assert result.status is MissionStatus.SUCCEEDED
    (seen,) = world.contexts("flight")[1].observations
    assert (seen.tool, seen.outcome) == ("book_car", "refused")
    assert seen.error is not None
    assert seen.error.startswith("book_car is not for the agent finder")
    first = result.legs[0].steps[0]
    assert (first.did, first.outcome, first.error) == ("call book_car", "refused", seen.error)
    assert world.subjects(names.PREPARE_CALL) == ["find_flights"]


async def test_an_agent_that_insists_is_lost_in_its_steps(stage: Stage, world: FakeWorld) -> None:
    """A refusal is no end of the leg, and a step like any other; what was done is taken back."""
    agent = AgentProfile(name="scout", tools=("book_flight",), limits=Limits(steps=3))
    world.plan(fake_leg("flight", agent=agent))
    world.decide("flight", CallTool(tool="book_flight"), *[CallTool(tool="book_car")] * 5)

    result = await (await stage.start()).end()

    assert result.error == "the limit of the agent scout is reached: used 3 of 3 steps"
    assert [step.outcome for step in result.legs[0].steps] == ["succeeded", "refused", "refused"]
    assert world.sent("book_car") == []
    assert states_of(result.ledger) == {"book_flight": "cancelled"}


async def test_what_an_agent_may_touch_travels_with_all_it_does(
    stage: Stage, world: FakeWorld
) -> None:
    """With its searches, its calls as they are prepared, and as they are sent."""
    agent = AgentProfile(name="scout", domains=("elsewhere",), tools=("book_*",))
    world.plan(fake_leg("flight", agent=agent))
    world.decide("flight", DiscoverTools(query="a"), CallTool(tool="book_flight"))

    await (await stage.start()).end()

    did = (names.DISCOVER_TOOLS, names.PREPARE_CALL, names.INVOKE_TOOL)
    messages = [call.message for call in world.calls if call.activity in did]
    assert [getattr(message, "agent", None) for message in messages] == [agent.wall] * 3
