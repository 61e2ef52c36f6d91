"""A plan before any leg begins: its approval card, the question about its doubts, its preview."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from temporalio.client import WorkflowExecutionStatus
from temporalio.testing import WorkflowEnvironment

from orchestrator.adapters.approval_keys import ApprovalKeys
from orchestrator.adapters.temporal.search_attributes import STATUS
from orchestrator.confirmation.models import Amend, Approve, Reject, Respond
from orchestrator.confirmation.policy import (
    ApproverRule,
    ConfirmationPolicy,
    StandingApproval,
    TwoApprovers,
)
from orchestrator.confirmation.signatures import SigningKey, sign_decision
from orchestrator.core.errors import GoalUnread
from orchestrator.messages import names
from orchestrator.messages.leg import LegStatus, Question
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.messages.mission_policy import BeginInput, MissionPolicy
from orchestrator.messages.plan_preview import MOST_ROUNDS, PlanInput, PlanPreview
from orchestrator.planning.models import CallTool, Doubt, GiveUp, MissionPlan
from orchestrator.saga.orders import Order
from tests.fakes import fake_leg, fake_tool, states_of
from tests.workflow.replays import replays_at_every_task
from tests.world import SELECT_TOOLS, FakeWorld

if TYPE_CHECKING:
    from tests.workflow.conftest import Mission, Stage


FIRST = MissionPolicy(plan_first=True)
FLIGHT = Order(clause="book a flight", tools=("book_flight",))
LOST = Doubt(kind="left_over", about="and feed the cat", why="no tool does that")


def a_trip(world: FakeWorld) -> None:
    """A leg that only looks, and one after it that books."""
    world.plan(fake_leg("look"), fake_leg("flight", after=("look",), orders=[FLIGHT]))
    world.decide("flight", CallTool(tool="book_flight"))


async def shown(stage: Stage, goal: str = "go to Lisbon") -> PlanPreview:
    """What `mission plan` shows."""
    preview: PlanPreview = await stage.env.client.execute_workflow(
        names.PLAN_WORKFLOW,
        PlanInput(request=MissionRequest(goal=goal)),
        id=names.plan_workflow_id("0" * 40),
        task_queue=stage.task_queue,
        result_type=PlanPreview,
    )
    return preview


async def test_nothing_begins_before_the_plan_is_approved(stage: Stage, world: FakeWorld) -> None:
    """Not even what only reads; the digest is that of the plan as it is shown without a mission."""
    a_trip(world)
    preview = await shown(stage)
    mission = await stage.start(policy=FIRST)
    card = await mission.plan_card()

    before = list(world.subjects(SELECT_TOOLS))
    found = (await mission.handle.describe()).typed_search_attributes
    await mission.approve(card)
    result = await mission.end()

    assert before == []
    assert found.get(STATUS) == "awaiting_confirmation"
    assert card.digest == preview.digest
    assert card.card_type == "structured-plan"
    assert [line.value for section in card.sections() for line in section.lines] == [
        "do look (agent look)",
        "find_flights: Find flights; reads",
        "do flight (agent flight, after look)",
        "Book flight: once; for 'book a flight'; sent without asking, as its document says; "
        "cancelled by cancel_flight",
    ]
    assert result.status is MissionStatus.SUCCEEDED
    assert [(d.kind, d.approver, d.digest) for d in result.plan_decisions] == [
        ("approved", "ada@example.com", preview.digest)
    ]
    assert [a.outcome for a in result.plan_answers] == ["go on"]


async def test_rejecting_the_plan_ends_it_with_nothing_done(stage: Stage, world: FakeWorld) -> None:
    """With the reason in the error, and no rollback."""
    a_trip(world)
    mission = await stage.start(policy=FIRST)

    await mission.reject(await mission.plan_card(), "not this year")
    result = await mission.end()

    assert result.status is MissionStatus.FAILED
    assert result.error == (
        "ada@example.com stopped it before it began: not this year; nothing was done"
    )
    assert await mission.rollback_status() is None
    assert world.subjects(SELECT_TOOLS) == []


async def test_another_digest_is_refused(stage: Stage, world: FakeWorld) -> None:
    """What is approved is this plan; an amendment is none either."""
    a_trip(world)
    mission = await stage.start(policy=FIRST)
    card = await mission.plan_card()
    other = card.model_copy(update={"digest": "0" * 64})

    refused = await mission.refusal(mission.approve(other))
    amended = await mission.refusal(
        mission.decide(
            Amend(confirmation_id=card.confirmation_id, changes={"x": 1}, approver="ada@x.example")
        )
    )
    await mission.approve(card)
    result = await mission.end()

    assert refused.type == "DigestMismatch"
    assert amended.type == "AmendmentInvalid"
    assert "say the whole goal otherwise" in amended.message
    assert result.status is MissionStatus.SUCCEEDED


async def test_a_late_or_second_decision_is_refused(stage: Stage, world: FakeWorld) -> None:
    """The card is closed once it is decided."""
    a_trip(world)
    mission = await stage.start(policy=FIRST)
    card = await mission.plan_card()
    holding = world.hold(SELECT_TOOLS, "look")

    await mission.approve(card)
    async with holding:
        twice = await mission.refusal(mission.reject(card, "oh no"))
    result = await mission.end()

    assert twice.type == "CardDecided"
    assert result.status is MissionStatus.SUCCEEDED


async def test_sent_back_the_goal_is_said_otherwise(stage: Stage, world: FakeWorld) -> None:
    """Another plan, and another card for it; doubts are on the card and ask no question."""
    a_trip(world)
    first = MissionPlan(legs=(fake_leg("flight", orders=[FLIGHT]),), doubts=(LOST,))
    world.replan(
        first,
        GoalUnread("no tool fits 'sing'", code="NothingFits"),
        MissionPlan(legs=(fake_leg("look"),)),
    )
    mission = await stage.start(policy=FIRST)
    card = await mission.plan_card()

    for number, words in ((1, "sing"), (2, "only look")):
        await mission.decide(
            Respond(
                confirmation_id=names.plan_card_id(mission.mission_id, number),
                text=words,
                approver="ada@example.com",
            )
        )
        await mission.plan_card(number + 1)
    last = await mission.plan_card(3)
    await mission.approve(last)
    result = await mission.end()

    warned = [line.value for section in card.sections() for line in section.lines]
    assert "'and feed the cat': no tool does that" in warned
    assert last.digest != card.digest
    assert result.goal_became == "only look"
    assert [a.outcome for a in result.plan_answers] == ["said otherwise", "said otherwise", "go on"]
    assert result.status is MissionStatus.SUCCEEDED


async def test_a_plan_that_nobody_approves_ends_its_mission(stage: Stage, world: FakeWorld) -> None:
    """After the expiry, asked as often as the policy says; with nothing done."""
    a_trip(world)
    policy = MissionPolicy(
        plan_first=True,
        confirmation_expiry=timedelta(hours=1),
        confirmation=ConfirmationPolicy(
            on_expiry="ask_again", max_rounds=2, reminders=(timedelta(minutes=30),)
        ),
    )
    world.govern(
        MissionPolicy(confirmation=ConfirmationPolicy(on_expiry="ask_again", max_rounds=2))
    )
    result = await (await stage.start(policy=policy)).end()

    assert result.status is MissionStatus.FAILED
    assert result.error == "nobody answered in time about its plan; nothing was done"
    assert [d.kind for d in result.plan_decisions] == ["expired", "expired"]
    assert world.subjects(SELECT_TOOLS) == []


async def test_the_rules_on_approvers_hold_for_plans(stage: Stage, world: FakeWorld) -> None:
    """Those of the mission, of the worker, two people where that is asked, and not the requester.

    A standing approval for every tool approves no plan.
    """
    a_trip(world)
    rules = ConfirmationPolicy(
        two_approvers=(TwoApprovers(card_types=("structured-plan",)),),
        requester_may_approve=False,
        approvers=(ApproverRule(card_types=("structured-plan",), approvers=("*@example.com",)),),
    )
    every = ConfirmationPolicy(standing=(StandingApproval(name="all", tools=("*",)),))
    world.govern(
        MissionPolicy(confirmation=every.model_copy(update={"approvers": rules.approvers}))
    )
    mission = await stage.start(
        policy=MissionPolicy(
            plan_first=True,
            confirmation=rules.model_copy(update={"standing": every.standing}),
        ),
        requester="ada@example.com",
    )
    card = await mission.plan_card()

    async def approve(by: str) -> object:
        return await mission.decide(
            Approve(confirmation_id=card.confirmation_id, digest=card.digest, approver=by)
        )

    stranger = await mission.refusal(approve("eve@elsewhere.example"))
    requester = await mission.refusal(approve("ada@example.com"))
    await approve("bob@example.com")
    between = list(world.subjects(SELECT_TOOLS))
    await approve("cyd@example.com")
    result = await mission.end()

    assert (stranger.type, requester.type) == ("ApproverRefused", "ApproverRefused")
    assert between == []
    assert result.status is MissionStatus.SUCCEEDED
    assert result.plan_answers[0].by == "bob@example.com, cyd@example.com"


async def test_an_approval_is_checked_again_before_it_counts(
    stage: Stage, world: FakeWorld
) -> None:
    """By the policy that the worker has by then."""
    a_trip(world)
    mission = await stage.start(policy=FIRST)
    card = await mission.plan_card()
    rule = ApproverRule(approvers=("boss@example.com",))
    world.govern(MissionPolicy(confirmation=ConfirmationPolicy(approvers=(rule,))))

    await mission.approve(card)
    result = await mission.end()

    assert result.status is MissionStatus.FAILED
    assert result.error is not None
    assert result.error.startswith("the approval of its plan does not hold: ")
    assert world.subjects(SELECT_TOOLS) == []


_PRIVATE, _PUBLIC = SigningKey.generate(issuer="", subject="")
KEY = SigningKey(_PRIVATE)


@pytest.fixture
async def signed_stage(
    stage: Stage, workflow_env: WorkflowEnvironment, tmp_path: Path
) -> AsyncIterator[Stage]:
    """A worker that takes signed decisions only."""
    public = {name: value for name, value in _PUBLIC.items() if name not in ("iss", "sub")}
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps({"keys": [public]}))
    world = FakeWorld(
        workflow_env.client,
        [fake_tool("book_flight", cancel_tool="cancel_flight")],
        approval_keys=ApprovalKeys(str(path)),
    )
    made = type(stage)(stage.env, world, "signed")
    async with made.worker():
        yield made


async def test_a_plan_is_approved_by_a_signature_where_keys_are_set(signed_stage: Stage) -> None:
    """Over the digest of the plan and the id of its card; a bare word, or another's, is refused."""
    world = signed_stage.world
    a_trip(world)
    mission = await signed_stage.start(policy=FIRST)
    card = await mission.plan_card()
    plain = Approve(confirmation_id=card.confirmation_id, digest=card.digest, approver="ann")
    assert card.opened_at is not None

    bare = await mission.refusal(mission.decide(plain))
    signed = [
        sign_decision(
            plain.model_copy(update={"approver": ""}),
            KEY,
            digest=digest,
            at=card.opened_at + timedelta(seconds=1),
            issuer="https://id.example.com",
            subject="ann@example.com",
        )
        for digest in ("0" * 64, card.digest)
    ]
    other = await mission.refusal(mission.decide(signed[0]))
    await mission.decide(signed[1])
    result = await mission.end()

    assert (bare.type, other.type) == ("SignatureRefused", "SignatureRefused")
    assert result.plan_decisions[0].signature
    assert result.plan_decisions[0].approver == "ann@example.com"
    assert result.status is MissionStatus.SUCCEEDED


async def test_an_approved_plan_replays_at_every_task(forgetful: Stage, world: FakeWorld) -> None:
    """On a worker that remembers nothing, with a card sent back, a reminder, and an approval."""
    a_trip(world)
    reminders = ConfirmationPolicy(reminders=(timedelta(hours=1),))
    mission = await forgetful.start(policy=MissionPolicy(plan_first=True, confirmation=reminders))
    card = await mission.plan_card()
    await forgetful.env.sleep(timedelta(hours=1))
    await mission.decide(
        Respond(confirmation_id=card.confirmation_id, text="look", approver="ada@example.com")
    )
    await mission.approve(await mission.plan_card(2))

    result = await mission.end()
    tasks = await replays_at_every_task(mission.handle)

    assert result.status is MissionStatus.SUCCEEDED
    assert tasks > 5


async def test_a_plan_that_is_shown_does_nothing(stage: Stage, world: FakeWorld) -> None:
    """One activity planned; there is no leg, no catalog was pinned, and no call was prepared."""
    world.plan(fake_leg("look"), fake_leg("flight", after=("look",), orders=[FLIGHT]))
    world.doubt(LOST)
    world.uncover("what it costs")

    preview = await shown(stage)

    assert [call.activity for call in world.calls] == [names.PREVIEW_PLAN]
    assert [(leg.leg_id, leg.stage) for leg in preview.legs] == [("look", 1), ("flight", 2)]
    assert [tool.name for tool in preview.legs[1].tools] == ["book_flight"]
    assert preview.legs[1].orders == (FLIGHT,)
    assert preview.uncovered == ("what it costs",)
    assert preview.doubts == (LOST,)
    assert preview.asks_first
    assert not preview.needs_approval


async def test_a_decision_on_no_card_is_refused(stage: Stage, world: FakeWorld) -> None:
    """A mission that asks nothing takes none."""
    a_trip(world)
    holding = world.hold(SELECT_TOOLS, "look")
    mission = await stage.start()
    card = names.plan_card_id(mission.mission_id, 1)

    async with holding:
        refused = await mission.refusal(
            mission.decide(Reject(confirmation_id=card, reason="no", approver="ada"))
        )

    assert refused.type == "CardUnknown"
    assert (await mission.end()).status is MissionStatus.SUCCEEDED


MISMATCH = Doubt(kind="ambiguous", about="from Acme", why="no vendor is called that")


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
    assert "'from Acme': no vendor is called that" in question.question
    assert list(question.fields) == ["answer"]
    assert (question.mission_id, question.leg_id) == (mission.mission_id, "")
    assert [leg.status for leg in shown.legs] == [LegStatus.WAITING]
    assert world.subjects(SELECT_TOOLS) == []


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
    assert [a.outcome for a in result.plan_answers] == ["go on"]
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
    assert world.subjects(SELECT_TOOLS) == []
    assert result.unserved == ()


async def test_anything_else_is_the_goal_said_otherwise(stage: Stage, world: FakeWorld) -> None:
    """It is planned anew, as of when it was said; its legs have it for their mission's goal."""
    in_doubt(world)
    first = MissionPlan(legs=(fake_leg("flight", orders=[FLIGHT]),), doubts=(LOST,))
    world.replan(first, MissionPlan(legs=(fake_leg("flight", orders=[FLIGHT]),)))
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
    world.replan(first, GoalUnread("no tool fits 'sing'", code="NothingFits"))
    mission = await stage.start()
    await mission.answer(await mission.plan_question(), {"answer": "sing"})

    again = await mission.plan_question(2)
    await mission.answer(again, {"answer": "go on"})
    result = await mission.end()

    assert again.question.startswith("That cannot be planned: no tool fits 'sing'")
    assert result.goal_became == ""
    assert [a.outcome for a in result.plan_answers] == ["said otherwise", "go on"]
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
    assert world.subjects(SELECT_TOOLS) == []


async def test_nobody_answering_ends_it(stage: Stage, world: FakeWorld) -> None:
    """After the policy's time, with nothing done."""
    in_doubt(world)
    mission = await stage.start(policy=MissionPolicy(answer_expiry=timedelta(hours=2)))

    result = await mission.end()

    assert result.error == "nobody answered in time about its plan; nothing was done"
    assert result.status is MissionStatus.FAILED
    assert [a.outcome for a in result.plan_answers] == ["expired"]


async def test_words_left_over_in_a_read_ask_nobody(stage: Stage, world: FakeWorld) -> None:
    """They are listed in the result."""
    world.plan(fake_leg("look"))
    world.doubt(LOST)

    result = await (await stage.start()).end()

    assert result.plan_answers == ()
    assert result.status is MissionStatus.SUCCEEDED
    assert result.set_aside == ("'and feed the cat': no tool does that",)


async def test_wrong_late_and_repeated_answers_are_refused(stage: Stage, world: FakeWorld) -> None:
    """Each with a sentence; the question stays open until a good one."""
    mission, question = await at_the_question(stage, world)
    other = question.model_copy(update={"question_id": f"{mission.mission_id}.plan-7"})
    holding = world.hold(SELECT_TOOLS, "flight")

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
    assert result.plan_answers[0].outcome == ("go on" if was_taken else "expired")
