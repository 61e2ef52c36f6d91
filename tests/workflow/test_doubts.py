"""A call that does not match what was said: asked about before any card, once, and remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.confirmation.policy import ConfirmationPolicy, StandingApproval
from orchestrator.messages.leg import LegStatus
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.planning.models import CallTool, LegPlan
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.testing import FakeWorld, fake_leg, states_of

if TYPE_CHECKING:
    from tests.workflow.conftest import Mission, Stage

GOAL = "buy a ticket for seat AB-12"
SOLD_OUT = ToolOutcome(kind="rejected", status=409, reason="sold out")


def buy(seat: str) -> CallTool:
    return CallTool(tool="buy_ticket", arguments={"seat": seat})


def leg() -> LegPlan:
    return fake_leg("ticket").model_copy(update={"goal": GOAL})


async def in_doubt(
    stage: Stage, world: FakeWorld, *calls: CallTool, policy: MissionPolicy | None = None
) -> Mission:
    """A mission whose planner wants another seat than was said."""
    world.plan(leg())
    world.decide("ticket", *calls)
    return await stage.start(goal=GOAL, policy=policy)


async def test_a_call_that_does_not_match_is_asked_about_before_its_card(
    stage: Stage, world: FakeWorld
) -> None:
    """The question says what was said and what would be done; going on leads to the card."""
    mission = await in_doubt(stage, world, buy("30F"))
    question = await mission.question("ticket")
    waiting = await mission.waiting("ticket")
    await mission.answer(question, {"answer": "go on"})
    await mission.approve(await mission.card("ticket"))
    result = await mission.end()

    assert waiting.card is None
    assert "you said 'AB-12'" in question.question
    assert list(question.fields) == ["answer"]
    assert [call.arguments for call in world.sent("buy_ticket")] == [{"seat": "30F"}]
    assert result.status is MissionStatus.SUCCEEDED


async def test_the_answer_is_no_input_of_the_leg(stage: Stage, world: FakeWorld) -> None:
    """What was said of one call fills no field of another."""
    mission = await in_doubt(stage, world, buy("30F"))
    await mission.answer(await mission.question("ticket"), {"answer": "Go on."})
    await mission.approve(await mission.card("ticket"))
    await mission.end()

    assert "answer" not in world.contexts("ticket")[-1].inputs


async def test_stop_leaves_the_part_out(stage: Stage, world: FakeWorld) -> None:
    """Nothing is sent, nobody sees a card, and the mission does not say that all is done."""
    mission = await in_doubt(stage, world, buy("30F"))
    await mission.answer(await mission.question("ticket"), {"answer": "stop"})
    result = await mission.end()

    assert world.sent("buy_ticket") == []
    assert result.legs[0].status is LegStatus.SKIPPED
    assert "ada stopped" in (result.legs[0].error or "")
    assert result.status is not MissionStatus.SUCCEEDED


async def test_anything_else_reaches_the_planner_as_a_hint(stage: Stage, world: FakeWorld) -> None:
    """As when a person sends a card back: who said it, and in what words."""
    mission = await in_doubt(stage, world, buy("30F"), buy("AB-12"))
    await mission.answer(await mission.question("ticket"), {"answer": "seat AB-12, as I said"})
    await mission.approve(await mission.card("ticket"))
    await mission.end()
    seen = world.contexts("ticket")[1].observations[-1]

    assert (seen.outcome, seen.refused_by, seen.sent_back) == ("refused", "ada", True)
    assert seen.hint == "seat AB-12, as I said"
    assert [call.arguments for call in world.sent("buy_ticket")] == [{"seat": "AB-12"}]


async def test_a_planner_that_wants_the_same_again_is_stopped(
    stage: Stage, world: FakeWorld
) -> None:
    """A person who has said what is meant is not asked about that call again; it is told once."""
    mission = await in_doubt(stage, world, buy("30F"), buy("30F"), buy("30F"))
    await mission.answer(await mission.question("ticket"), {"answer": "AB-12"})
    result = await mission.end()

    assert world.sent("buy_ticket") == []
    assert "proposed again" in (result.legs[0].error or "")


async def test_a_doubt_is_asked_about_once(stage: Stage, world: FakeWorld) -> None:
    """The same call, once more after the provider was busy with it, goes on to its card."""
    world.answer("buy_ticket", SOLD_OUT, ToolOutcome(kind="succeeded", status=201, body={}))
    mission = await in_doubt(stage, world, buy("30F"), buy("31F"))
    await mission.answer(await mission.question("ticket"), {"answer": "go on"})
    first = await mission.card("ticket")
    await mission.approve(first)

    async def other() -> object:
        card = (await mission.waiting("ticket")).card
        return card if card is not None and card != first else None

    await mission.eventually(other)
    await mission.approve(await mission.card("ticket"))
    result = await mission.end()

    assert len(world.sent("buy_ticket")) == 2
    assert [s.did for s in result.legs[0].steps].count("ask the user") == 1


async def test_no_standing_approval_skips_a_doubt(stage: Stage, world: FakeWorld) -> None:
    """What a rule approves is what was meant; a person says whether it is."""
    standing = StandingApproval(name="trains", tools=("buy_ticket",))
    policy = MissionPolicy(confirmation=ConfirmationPolicy(standing=(standing,)))
    mission = await in_doubt(stage, world, buy("30F"), policy=policy)
    question = await mission.question("ticket")
    sent = world.sent("buy_ticket")
    await mission.answer(question, {"answer": "go on"})
    result = await mission.end()

    assert sent == []
    assert states_of(result.ledger) == {"buy_ticket": "committed"}


async def test_what_matches_is_not_asked_about(stage: Stage, world: FakeWorld) -> None:
    """The seat that was said goes straight to its card."""
    mission = await in_doubt(stage, world, buy("AB-12"))
    await mission.approve(await mission.card("ticket"))
    result = await mission.end()

    assert "ask the user" not in [s.did for s in result.legs[0].steps]
