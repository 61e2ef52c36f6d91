"""What a leg asks the person who started the mission."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from orchestrator.messages.leg import Question
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.planning.models import AskUser, CallTool
from orchestrator.testing import FakeWorld, fake_leg, states_of

if TYPE_CHECKING:
    from tests.workflow.conftest import Mission, Stage

ASK = AskUser(
    question="Which seat, and which meal?",
    fields={"seat": {"type": "string"}, "meal": {"type": "string"}},
)


async def at_the_question(
    stage: Stage, world: FakeWorld, policy: MissionPolicy | None = None
) -> tuple[Mission, Question]:
    """A mission that has booked a flight and now asks for the seat and the meal."""
    world.plan(fake_leg("flight"))
    world.decide("flight", CallTool(tool="book_flight"), ASK)
    mission = await stage.start(inputs={"class": "economy"}, policy=policy)
    return mission, await mission.question("flight")


async def test_an_answer_resumes_the_leg_with_its_values(stage: Stage, world: FakeWorld) -> None:
    """They join the inputs of every later step."""
    mission, question = await at_the_question(stage, world)

    await mission.answer(question, {"seat": "12A", "meal": "none"})
    result = await mission.end()
    before, at, after = world.contexts("flight")

    assert question.question == ASK.question
    assert question.fields == ASK.fields
    assert question.why
    assert "rolled back" in question.otherwise
    assert question.asked_at is not None
    assert before.inputs == at.inputs == {"class": "economy"}
    assert after.inputs == {"class": "economy", "seat": "12A", "meal": "none"}
    assert [s.outcome for s in result.legs[0].steps] == ["succeeded", "answered", "done"]
    assert result.status is MissionStatus.SUCCEEDED


async def test_values_that_were_not_asked_for_are_refused(stage: Stage, world: FakeWorld) -> None:
    """The sender reads what is strange and what is missing; the question stays open."""
    mission, question = await at_the_question(stage, world)

    refusal = await mission.refusal(mission.answer(question, {"seat": "12A", "colour": "red"}))
    still = (await mission.waiting("flight")).question
    await mission.answer(question, {"seat": "12A", "meal": "none"})
    result = await mission.end()

    assert refusal.type == "AnswerInvalid"
    assert "not asked for: colour" in refusal.message
    assert "missing: meal" in refusal.message
    assert still == question
    assert result.status is MissionStatus.SUCCEEDED


async def test_a_value_that_its_field_does_not_take_is_refused(
    stage: Stage, world: FakeWorld
) -> None:
    """One sentence names the field and what it takes; nothing of the answer enters history."""
    mission, question = await at_the_question(stage, world)

    refusal = await mission.refusal(mission.answer(question, {"seat": 12, "meal": "none"}))
    still = (await mission.waiting("flight")).question
    await mission.answer(question, {"seat": "12A", "meal": "none"})
    result = await mission.end()

    assert refusal.type == "AnswerInvalid"
    assert refusal.message == f"{question.question_id}: seat must be a string"
    assert still == question
    assert result.status is MissionStatus.SUCCEEDED


async def test_an_answer_to_another_question_is_refused(stage: Stage, world: FakeWorld) -> None:
    """Only the open question of the leg takes an answer."""
    mission, question = await at_the_question(stage, world)
    other = question.model_copy(update={"question_id": f"{mission.mission_id}.flight.9"})

    refusal = await mission.refusal(mission.answer(other, {"seat": "12A", "meal": "none"}))

    assert refusal.type == "QuestionUnknown"
    assert (await mission.waiting("flight")).question == question


async def test_a_question_that_nobody_answers_loses_its_leg(stage: Stage, world: FakeWorld) -> None:
    """After its expiry the mission fails, and what it had booked is taken back."""
    policy = MissionPolicy(answer_expiry=timedelta(hours=2))
    mission, question = await at_the_question(stage, world, policy)

    result = await mission.end()

    assert result.error == "nobody answered in time: Which seat, and which meal?"
    assert states_of(result.ledger) == {"book_flight": "cancelled"}
    assert question.expires_at is not None
    assert result.finished_at is not None
    assert result.finished_at >= question.expires_at
