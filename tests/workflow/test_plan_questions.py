"""What a mission asks when its plan is in doubt, before any leg of it begins."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from temporalio.client import WorkflowExecutionStatus

from orchestrator.adapters.temporal.search_attributes import STATUS
from orchestrator.core.errors import NothingFits
from orchestrator.messages import names
from orchestrator.messages.begin import BeginInput
from orchestrator.messages.leg import LegStatus, Question
from orchestrator.messages.mission import AcceptedMission, MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.plan_answers import MOST_ROUNDS
from orchestrator.planning.models import CallTool, Doubt, GiveUp, MissionPlan
from orchestrator.saga.orders import Order
from orchestrator.testing import FakeWorld, fake_leg, states_of
from tests.workflow.replays import replays_at_every_task

if TYPE_CHECKING:
    from tests.workflow.conftest import Mission, Stage

FLIGHT = Order(clause="book a flight", tools=("book_flight",))
LOST = Doubt(kind="left_over", about="and feed the cat", why="no tool does that")
MISMATCH = Doubt(
    kind="ambiguous", about="from Acme", why="no vendor is called that", choices=("Acme Ltd",)
)


def in_doubt(world: FakeWorld, *doubts: Doubt) -> None:
    """Every goal orders a flight, and these things of it are in doubt."""
    world.plan(fake_leg("flight", orders=[FLIGHT]))
    world.decide("flight", CallTool(tool="book_flight"))
    world.doubt(*(doubts or (LOST,)))


async def at_the_question(
    stage: Stage, world: FakeWorld, *doubts: Doubt
) -> tuple[Mission, Question]:
    in_doubt(world, *doubts)
    mission = await stage.start(goal="book a flight and feed the cat")
    return mission, await mission.plan_question()


async def test_a_doubt_about_a_consequence_is_asked_before_anything(
    stage: Stage, world: FakeWorld
) -> None:
    """The question says what would be done and what was not understood; nothing was started."""
    mission, question = await at_the_question(stage, world, LOST, MISMATCH)

    shown = await mission.snapshot()
    found = (await mission.handle.describe()).typed_search_attributes

    assert shown.status is MissionStatus.AWAITING_ANSWER
    assert found.get(STATUS) == "awaiting_answer"
    assert "I would do this: (1) do flight [changes something]" in question.question
    assert "'and feed the cat': no tool does that" in question.question
    assert "'from Acme': no vendor is called that (found: Acme Ltd)" in question.question
    assert list(question.fields) == ["answer"]
    assert (question.mission_id, question.leg_id) == (mission.mission_id, "")
    assert [leg.status for leg in shown.legs] == [LegStatus.WAITING]
    assert world.subjects(names.SELECT_TOOLS) == []


@pytest.mark.parametrize("words", ["go on", " Go on. "])
async def test_going_on_does_it_and_says_what_was_left(
    stage: Stage, world: FakeWorld, words: str
) -> None:
    """What a person set aside is listed with who said so, and changes no status."""
    mission, question = await at_the_question(stage, world)

    await mission.answer(question, {"answer": words})
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert result.unserved == ()
    assert result.set_aside == ("'and feed the cat': no tool does that; ada said to go on",)
    assert [a.came_to for a in result.plan_answers] == ["go on"]
    assert len(world.sent("book_flight")) == 1


@pytest.mark.parametrize("is_lost", [True, False], ids=["by itself", "by a person"])
async def test_what_was_done_past_a_doubt_is_rolled_back(
    stage: Stage, world: FakeWorld, *, is_lost: bool
) -> None:
    """The flight is the mission's own, whatever its leg was told of the plan's doubts."""
    visa = fake_leg("visa", after=("flight",))
    world.plan(fake_leg("flight", orders=[FLIGHT]), *([visa] if is_lost else []))
    world.decide("flight", CallTool(tool="book_flight"))
    world.decide("visa", GiveUp(reason="no visa"))
    world.doubt(LOST)
    mission = await stage.start(goal="book a flight and feed the cat")

    await mission.answer(await mission.plan_question(), {"answer": "go on"})
    await mission.over()
    report = await mission.report() if is_lost else await (await mission.start_rollback()).result()

    assert states_of(report.ledger) == {"book_flight": "cancelled"}
    assert report.notes == ()


async def test_stopping_ends_it_with_nothing_done(stage: Stage, world: FakeWorld) -> None:
    """It has failed, says who stopped it, and there is no rollback."""
    mission, question = await at_the_question(stage, world)

    await mission.answer(question, {"answer": "Stop"})
    result = await mission.end()

    assert result.status is MissionStatus.FAILED
    assert result.error == "ada stopped it before it began; nothing was done"
    assert await mission.status() is WorkflowExecutionStatus.FAILED
    assert await mission.rollback_status() is None
    assert world.subjects(names.SELECT_TOOLS) == []
    assert result.unserved == ()


async def test_anything_else_is_the_goal_said_otherwise(stage: Stage, world: FakeWorld) -> None:
    """It is planned anew, as of when it was said; its legs have it for their mission's goal."""
    in_doubt(world)
    first = MissionPlan(legs=(fake_leg("flight", orders=[FLIGHT]),), doubts=(LOST,))
    world.plan_anew(first, MissionPlan(legs=(fake_leg("flight", orders=[FLIGHT]),)))
    mission = await stage.start(goal="book a flight and feed the cat")
    question = await mission.plan_question()

    await stage.env.sleep(timedelta(hours=3))
    await mission.answer(question, {"answer": "Book a flight to Lisbon"})
    result = await mission.end()
    said = [c.message for c in world.attempts(names.SPLIT_GOAL)]
    context = world.contexts("flight")[0]

    assert result.status is MissionStatus.SUCCEEDED
    assert result.goal == "book a flight and feed the cat"
    assert result.goal_became == "Book a flight to Lisbon"
    assert [m.goal for m in said if isinstance(m, BeginInput)] == [result.goal, result.goal_became]
    assert context.mission_goal == "Book a flight to Lisbon"
    assert result.started_at is not None
    assert context.now >= result.started_at + timedelta(hours=3)
    assert result.unserved == ()


async def test_what_cannot_be_planned_is_asked_again(stage: Stage, world: FakeWorld) -> None:
    """The plan before it stands, and the question says why the new words do not do."""
    in_doubt(world)
    first = MissionPlan(legs=(fake_leg("flight", orders=[FLIGHT]),), doubts=(LOST,))
    world.plan_anew(first, NothingFits("sing"))
    mission = await stage.start()
    await mission.answer(await mission.plan_question(), {"answer": "sing"})

    again = await mission.plan_question(2)
    await mission.answer(again, {"answer": "go on"})
    result = await mission.end()

    assert again.question.startswith("That cannot be planned: no tool fits 'sing'")
    assert result.goal_became == ""
    assert [a.came_to for a in result.plan_answers] == ["said otherwise", "go on"]
    assert len(world.sent("book_flight")) == 1


async def test_a_goal_is_said_otherwise_a_few_times_only(stage: Stage, world: FakeWorld) -> None:
    """Then it ends, before anything is done."""
    in_doubt(world)
    mission = await stage.start()
    for number in range(1, MOST_ROUNDS + 2):
        await mission.answer(await mission.plan_question(number), {"answer": f"try {number}"})

    result = await mission.end()

    assert result.status is MissionStatus.FAILED
    assert result.error is not None
    assert "said otherwise 5 times" in result.error
    assert world.subjects(names.SELECT_TOOLS) == []


async def test_nobody_answering_ends_it(stage: Stage, world: FakeWorld) -> None:
    """After the policy's time, with nothing done."""
    in_doubt(world)
    mission = await stage.start(policy=MissionPolicy(answer_expiry=timedelta(hours=2)))

    result = await mission.end()

    assert result.error == "nobody answered in time about its plan; nothing was done"
    assert result.status is MissionStatus.FAILED
    assert [a.came_to for a in result.plan_answers] == ["expired"]


async def test_words_left_over_in_a_read_ask_nobody(stage: Stage, world: FakeWorld) -> None:
    """They are listed in the result."""
    world.plan(fake_leg("look"))
    world.doubt(LOST)

    result = await (await stage.start()).end()

    assert result.plan_answers == ()
    assert result.status is MissionStatus.SUCCEEDED
    assert result.set_aside == ("'and feed the cat': no tool does that",)


async def test_a_goal_in_a_language_that_is_not_read_is_always_asked(
    stage: Stage, world: FakeWorld
) -> None:
    """Whatever was made of it."""
    world.plan(fake_leg("look"))
    world.doubt(Doubt(kind="language", about="Wie wird das Wetter", why="it is not English"))
    mission = await stage.start()

    await mission.answer(await mission.plan_question(), {"answer": "stop"})

    assert (await mission.end()).status is MissionStatus.FAILED


async def test_wrong_late_and_repeated_answers_are_refused(stage: Stage, world: FakeWorld) -> None:
    """Each with a sentence; the question stays open until a good one."""
    mission, question = await at_the_question(stage, world)
    other = question.model_copy(update={"question_id": f"{mission.mission_id}.plan-7"})
    holding = world.hold(names.SELECT_TOOLS, "flight")

    unknown = await mission.refusal(mission.answer(other, {"answer": "go on"}))
    empty = await mission.refusal(mission.answer(question, {"answer": "  "}))
    none = await mission.refusal(mission.answer(question, {}))
    await mission.answer(question, {"answer": "go on"})
    async with holding:
        twice = await mission.refusal(mission.answer(question, {"answer": "stop"}))
    result = await mission.end()

    assert (unknown.type, empty.type, none.type) == (
        "QuestionUnknown",
        "AnswerInvalid",
        "AnswerInvalid",
    )
    assert twice.type == "QuestionUnknown"
    assert "it is closed: somebody said to go on" in twice.message
    assert result.status is MissionStatus.SUCCEEDED


async def test_a_cancel_ends_the_question(stage: Stage, world: FakeWorld) -> None:
    """As a cancelled mission, of which there is nothing to take back."""
    mission, _ = await at_the_question(stage, world)

    await mission.handle.cancel()
    result = await mission.end()

    assert result.status is MissionStatus.CANCELLED
    assert await mission.status() is WorkflowExecutionStatus.CANCELED
    assert await mission.rollback_status() is None


async def test_a_plan_is_told_while_it_is_asked_about(stage: Stage, world: FakeWorld) -> None:
    """`submit` waits for no answer: the doubts are in the plan."""
    mission, question = await at_the_question(stage, world)

    accepted: AcceptedMission = await mission.handle.query(
        names.ACCEPTED_QUERY, result_type=AcceptedMission
    )
    await mission.answer(question, {"answer": "stop"})

    assert accepted.plan.doubts == (LOST,)
    assert accepted.refusal is None


async def test_the_talk_replays_at_every_task(forgetful: Stage, world: FakeWorld) -> None:
    """On a worker that remembers nothing, with a restatement, an answer, and a leg after it."""
    in_doubt(world)
    mission = await forgetful.start()
    await mission.answer(await mission.plan_question(), {"answer": "say it anew"})
    await mission.answer(await mission.plan_question(2), {"answer": "go on"})

    result = await mission.end()
    tasks = await replays_at_every_task(mission.handle)

    assert result.goal_became == "say it anew"
    assert result.status is MissionStatus.SUCCEEDED
    assert tasks > 5


async def test_an_answer_at_the_moment_of_the_expiry_counts_or_is_refused(
    forgetful: Stage, world: FakeWorld
) -> None:
    """Never is it taken and then lost."""
    in_doubt(world)
    policy = MissionPolicy(answer_expiry=timedelta(hours=2))
    mission = await forgetful.start(policy=policy)
    question = await mission.plan_question()

    await forgetful.env.sleep(timedelta(hours=2) - timedelta(milliseconds=5))
    sent = await asyncio.gather(
        mission.answer(question, {"answer": "go on"}), return_exceptions=True
    )
    result = await mission.end()
    await replays_at_every_task(mission.handle)

    was_taken = not isinstance(sent[0], BaseException)
    assert result.plan_answers[0].came_to == ("go on" if was_taken else "expired")
