"""Questions and refusals: answers, rejections, hints, and planners that propose the same again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from orchestrator.confirmation.models import ConfirmationCard, Decision, Reject, Respond, Then
from orchestrator.confirmation.policy import ConfirmationPolicy
from orchestrator.core.record import JsonObject
from orchestrator.messages.leg import LegStatus, Question
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.planning.models import AskUser, CallTool
from orchestrator.saga.outcome import ToolOutcome
from tests.fakes import fake_leg, states_of
from tests.world import FakeWorld

if TYPE_CHECKING:
    from tests.workflow.conftest import Mission, Stage


SOLD_OUT = ToolOutcome(kind="rejected", status=409, reason="sold out")


def buy(seat: str = "12A") -> CallTool:
    return CallTool(tool="buy_ticket", arguments={"seat": seat}, reason=f"seat {seat} is free")


def no(card: ConfirmationCard, then: Then = "replan") -> Decision:
    return Reject(
        confirmation_id=card.confirmation_id,
        reason="too dear",
        approver="ada@example.com",
        then=then,
    )


def further_back(card: ConfirmationCard) -> Decision:
    return Respond(
        confirmation_id=card.confirmation_id, text="further back", approver="ada@example.com"
    )


async def other_card(mission: Mission, *seen: ConfirmationCard) -> ConfirmationCard:
    async def look() -> ConfirmationCard | None:
        card = (await mission.waiting("ticket")).card
        return card if card is not None and card not in seen else None

    return await mission.eventually(look)


async def test_a_card_tells_what_the_call_is_for(stage: Stage, world: FakeWorld) -> None:
    """Goal, part, agent, the planner's words and who asked; nothing was asked before."""
    mission = await stage.start_leg("ticket", buy(), requester="eve@example.com")
    card = await mission.card("ticket")
    await mission.approve(card)
    await mission.end()

    assert (card.goal, card.clause, card.agent) == ("go to Lisbon", "do ticket", "ticket")
    assert card.reason == "seat 12A is free"
    assert card.requester == "eve@example.com"
    assert (card.asked_because, card.changes) == ("", ())


async def test_a_leg_that_is_left_out_takes_what_depends_on_it_along(
    stage: Stage, world: FakeWorld
) -> None:
    """The rest goes on, and what was booked stands; the mission does not say that all is done."""
    world.plan(
        fake_leg("hotel"),
        fake_leg("ticket", after=("hotel",)),
        fake_leg("seat", after=("ticket",)),
        fake_leg("car", after=("hotel",)),
    )
    world.decide("hotel", CallTool(tool="book_hotel"))
    world.decide("ticket", buy())
    world.decide("car", CallTool(tool="book_car"))
    mission = await stage.start()
    await mission.decide(no(await mission.card("ticket"), "skip"))
    result = await mission.end()

    assert {leg.leg_id: leg.status for leg in result.legs} == {
        "hotel": LegStatus.SUCCEEDED,
        "ticket": LegStatus.SKIPPED,
        "seat": LegStatus.SKIPPED,
        "car": LegStatus.SUCCEEDED,
    }
    assert states_of(result.ledger) == {"book_hotel": "committed", "book_car": "committed"}
    assert world.contexts("seat") == []
    assert "ada@example.com rejected 'Buy ticket': too dear" in (result.legs[1].error or "")
    assert "depends on ticket" in (result.legs[2].error or "")
    assert result.status is MissionStatus.INCOMPLETE


async def test_a_rejection_may_undo_all(stage: Stage, world: FakeWorld) -> None:
    """The planner is not asked for another way, and what was booked is cancelled."""
    mission = await stage.start_leg("ticket", CallTool(tool="book_hotel"), buy(), buy("30F"))
    await mission.decide(no(await mission.card("ticket"), "rollback"))
    result = await mission.end()

    assert result.status is MissionStatus.ROLLED_BACK
    assert states_of(result.ledger) == {"book_hotel": "cancelled"}
    assert len(world.contexts("ticket")) == 2
    assert result.legs[0].decisions[-1].then == "rollback"


@pytest.mark.parametrize("decide", [no, further_back])
async def test_the_same_again_is_not_put_to_a_person(
    stage: Stage, world: FakeWorld, decide: Callable[[ConfirmationCard], Decision]
) -> None:
    """A planner that does not listen is told once more, and stopped then, whatever it says."""
    world.plan(fake_leg("ticket"))
    again = buy().model_copy(update={"reason": "I insist"})
    world.decide("ticket", buy(), again, again)
    mission = await stage.start()
    await mission.decide(decide(await mission.card("ticket")))
    result = await mission.end()

    assert result.status is MissionStatus.FAILED
    assert result.error == "the planner proposed again what ada@example.com refused: Buy ticket"
    assert len(result.legs[0].decisions) == 1
    assert world.sent("buy_ticket") == []
    first, again_seen = world.contexts("ticket")[2].observations
    assert (again_seen.outcome, again_seen.refused_by) == ("refused", "ada@example.com")
    assert again_seen.hint == first.hint
    assert "refused before by ada@example.com" in (again_seen.error or "")


async def test_a_planner_that_listens_then_goes_on(stage: Stage, world: FakeWorld) -> None:
    """One repeat loses nothing: the next proposal is put to the person."""
    mission = await stage.start_leg("ticket", buy(), buy(), buy("30F"))
    first = await mission.card("ticket")
    await mission.decide(further_back(first))
    await mission.approve(await other_card(mission, first))
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert len(world.sent("buy_ticket")) == 1


async def test_what_was_amended_and_then_refused_is_refused_as_it_was_proposed_too(
    stage: Stage, world: FakeWorld
) -> None:
    """And as it was amended: neither is asked about again."""
    mission = await stage.start_leg("ticket", buy(), buy("14C"), buy("14C"))
    amended = await mission.amend(await mission.card("ticket"), seat="14C")
    await mission.decide(no(amended))
    result = await mission.end()

    assert result.error == "the planner proposed again what ada@example.com refused: Buy ticket"


async def test_a_hint_reaches_the_planner_as_data(stage: Stage, world: FakeWorld) -> None:
    """It is on record and in the observation, beside who said it; the next card tells of it."""
    mission = await stage.start_leg("ticket", buy(), buy("30F"))
    first = await mission.card("ticket")
    receipt = await mission.decide(further_back(first))
    second = await other_card(mission, first)
    await mission.approve(second)
    result = await mission.end()

    (seen,) = world.contexts("ticket")[1].observations
    assert receipt.accepted == "responded"
    assert (seen.outcome, seen.refused_by, seen.sent_back) == ("refused", "ada@example.com", True)
    assert seen.hint == "further back"
    assert "ada@example.com sent back" in second.asked_because
    assert "further back" in second.asked_because
    assert [(c.label, c.before, c.now) for c in second.changes] == [("Seat", "12A", "30F")]
    assert [d.kind for d in result.legs[0].decisions] == ["responded", "approved"]
    assert result.legs[0].decisions[0].reason == "further back"


async def test_a_series_of_refusals_has_an_end(stage: Stage, world: FakeWorld) -> None:
    """Each new card says why it comes; after as many as the policy lets, nobody is asked."""
    world.answer("buy_ticket", SOLD_OUT)
    policy = MissionPolicy(confirmation=ConfirmationPolicy(max_proposals=3))
    mission = await stage.start_leg("ticket", *[buy(f"{n}A") for n in range(10, 20)], policy=policy)
    cards: list[ConfirmationCard] = []
    for _ in range(3):
        cards.append(await other_card(mission, *cards))
        await mission.approve(cards[-1])
    result = await mission.end()

    assert cards[0].asked_because == ""
    assert "was refused when it was sent: sold out." in cards[1].asked_because
    assert "This is card no. 3 for this part of the goal." in cards[2].asked_because
    assert len(world.sent("buy_ticket")) == 3
    assert "3 proposals of this leg came to nothing" in (result.error or "")


async def test_what_a_provider_refused_is_told_to_the_planner_once(
    stage: Stage, world: FakeWorld
) -> None:
    """Nobody approves the very same call twice; a planner that insists is stopped."""
    world.answer("buy_ticket", SOLD_OUT)
    mission = await stage.start_leg("ticket", buy(), buy(), buy())
    await mission.approve(await mission.card("ticket"))
    result = await mission.end()

    outcomes = [o.outcome for o in world.contexts("ticket")[2].observations]
    assert outcomes == ["rejected", "refused"]
    assert len(result.legs[0].decisions) == 1
    assert "proposed again what was refused before" in (result.error or "")


async def test_another_success_ends_a_series(stage: Stage, world: FakeWorld) -> None:
    """Only calls one after the other that came to nothing are counted."""
    world.answer(
        "buy_ticket", SOLD_OUT, ToolOutcome(kind="succeeded", status=201, body={}), SOLD_OUT
    )
    policy = MissionPolicy(confirmation=ConfirmationPolicy(max_proposals=2))
    mission = await stage.start_leg("ticket", buy("10A"), buy("11A"), buy("12A"), policy=policy)
    cards: list[ConfirmationCard] = []
    for _ in range(3):
        cards.append(await other_card(mission, *cards))
        await mission.approve(cards[-1])
    await mission.end()

    assert cards[1].asked_because != ""
    assert cards[2].asked_because == ""


ASK = AskUser(
    question="Which seat, and which meal?",
    fields={"seat": {"type": "string"}, "meal": {"type": "string"}},
)


async def at_the_question(
    stage: Stage, world: FakeWorld, policy: MissionPolicy | None = None
) -> tuple[Mission, Question]:
    """A mission that has booked a flight and now asks for the seat and the meal."""
    mission = await stage.start_leg(
        "flight", CallTool(tool="book_flight"), ASK, inputs={"class": "economy"}, policy=policy
    )
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


@pytest.mark.parametrize(
    ("values", "faults"),
    [
        ({"seat": "12A", "colour": "red"}, ["not asked for: colour", "missing: meal"]),
        ({"seat": 12, "meal": "none"}, ["seat must be a string"]),
    ],
)
async def test_a_wrong_answer_is_refused_and_the_question_stays_open(
    stage: Stage, world: FakeWorld, values: JsonObject, faults: list[str]
) -> None:
    """The sender reads what is strange, missing or of another type."""
    mission, question = await at_the_question(stage, world)

    refusal = await mission.refusal(mission.answer(question, values))
    still = (await mission.waiting("flight")).question
    await mission.answer(question, {"seat": "12A", "meal": "none"})
    result = await mission.end()

    assert refusal.type == "AnswerInvalid"
    assert all(fault in refusal.message for fault in faults)
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
