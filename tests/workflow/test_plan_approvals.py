"""A plan that has to be approved before any of it begins, and a plan that is only shown."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from temporalio.client import WorkflowFailureError
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
from orchestrator.core.errors import NothingFits
from orchestrator.messages import names
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.plan_preview import PlanInput, PlanPreview
from orchestrator.planning.models import CallTool, Doubt, MissionPlan
from orchestrator.saga.orders import Order
from orchestrator.testing import FakeWorld, fake_leg, fake_tool
from tests.workflow.replays import replays_at_every_task

if TYPE_CHECKING:
    from tests.workflow.conftest import Stage

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

    before = list(world.subjects(names.SELECT_TOOLS))
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
        "undone by cancel_flight",
    ]
    assert result.status is MissionStatus.SUCCEEDED
    assert [(d.kind, d.approver, d.digest) for d in result.plan_decisions] == [
        ("approved", "ada@example.com", preview.digest)
    ]
    assert [a.came_to for a in result.plan_answers] == ["go on"]


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
    assert world.subjects(names.SELECT_TOOLS) == []


async def test_a_worker_that_wants_it_has_every_plan_approved(
    stage: Stage, world: FakeWorld
) -> None:
    """Whatever the mission's own policy says: both hold."""
    a_trip(world)
    world.govern(MissionPolicy(plan_first=True))
    mission = await stage.start(policy=MissionPolicy(plan_first=False))

    await mission.approve(await mission.plan_card())

    assert (await mission.end()).status is MissionStatus.SUCCEEDED


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
    holding = world.hold(names.SELECT_TOOLS, "look")

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
    world.plan_anew(first, NothingFits("sing"), MissionPlan(legs=(fake_leg("look"),)))
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
    assert [a.came_to for a in result.plan_answers] == ["said otherwise", "said otherwise", "go on"]
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
    assert world.subjects(names.SELECT_TOOLS) == []


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
    between = list(world.subjects(names.SELECT_TOOLS))
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
    assert world.subjects(names.SELECT_TOOLS) == []


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


async def test_a_goal_that_nothing_fits_is_one_sentence(stage: Stage, world: FakeWorld) -> None:
    """The run fails with it."""
    world.plan_anew(NothingFits("sing"))

    with pytest.raises(WorkflowFailureError) as failed:
        await shown(stage)

    assert "no tool fits 'sing'" in str(failed.value.cause.__cause__)


async def test_a_decision_on_no_card_is_refused(stage: Stage, world: FakeWorld) -> None:
    """A mission that asks nothing takes none."""
    a_trip(world)
    holding = world.hold(names.SELECT_TOOLS, "look")
    mission = await stage.start()
    card = names.plan_card_id(mission.mission_id, 1)

    async with holding:
        refused = await mission.refusal(
            mission.decide(Reject(confirmation_id=card, reason="no", approver="ada"))
        )

    assert refused.type == "CardUnknown"
    assert (await mission.end()).status is MissionStatus.SUCCEEDED
