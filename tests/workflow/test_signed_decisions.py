"""Decisions that have to be signed, by two people, or not by who asked: at gate and send."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from temporalio.testing import WorkflowEnvironment

from orchestrator.adapters.approval_keys import ApprovalKeys
from orchestrator.confirmation.models import Amend, Approve, ConfirmationCard, Decision, Reject
from orchestrator.confirmation.policy import ConfirmationPolicy, StandingApproval, TwoApprovers
from orchestrator.confirmation.signatures import SigningKey, sign_decision
from orchestrator.messages import names
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.planning.models import CallTool
from tests.fakes import fake_leg, fake_tool
from tests.world import PLAN_STEP, FakeWorld

if TYPE_CHECKING:
    from tests.workflow.conftest import Stage

BUY = fake_tool("buy_ticket", cancel_tool="refund_ticket", card_type="structured-payment")
TWO = ConfirmationPolicy(two_approvers=(TwoApprovers(),))
ANN, BOB = "ann@example.com", "bob@example.com"
_PRIVATE, _PUBLIC = SigningKey.generate(issuer="", subject="")
KEY = SigningKey(_PRIVATE)
"""Of a service that signs for whoever is logged in."""


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    public = {name: value for name, value in _PUBLIC.items() if name not in ("iss", "sub")}
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps({"keys": [public]}))
    return path


@pytest.fixture
def signing(workflow_env: WorkflowEnvironment, key_file: Path) -> FakeWorld:
    """A world whose worker takes signed decisions only."""
    world = FakeWorld(workflow_env.client, [BUY], approval_keys=ApprovalKeys(str(key_file)))
    world.plan(fake_leg("ticket"))
    world.decide("ticket", CallTool(tool="buy_ticket", arguments={"seat": "12A"}))
    return world


@pytest.fixture
async def signed_stage(stage: Stage, signing: FakeWorld) -> AsyncIterator[Stage]:
    """A worker that plays that world."""
    made = type(stage)(stage.env, signing, "signed")
    async with made.worker():
        yield made


def plain(stage: Stage, world: FakeWorld) -> None:
    world.plan(fake_leg("ticket"))
    world.decide("ticket", CallTool(tool="buy_ticket", arguments={"seat": "12A"}))


def approval(card: ConfirmationCard, by: str = "") -> Approve:
    return Approve(confirmation_id=card.confirmation_id, digest=card.digest, approver=by)


def signed(decision: Decision, card: ConfirmationCard, by: str, at: datetime | None = None) -> Any:
    assert card.opened_at is not None
    return sign_decision(
        decision,
        KEY,
        digest=card.digest,
        at=at or card.opened_at + timedelta(seconds=1),
        issuer="https://id.example.com",
        subject=by,
    )


async def test_only_a_signed_decision_enters_history(
    signed_stage: Stage, signing: FakeWorld
) -> None:
    """Unsigned, for another card, or from before it: no trace. Signed: recorded with who proved."""
    mission = await signed_stage.start()
    card = await mission.card("ticket")
    other = card.model_copy(update={"digest": "e" * 64})
    early = card.opened_at and card.opened_at - timedelta(seconds=2)
    forged = signed(approval(other), other, ANN).signature
    refusals = [
        await mission.refusal(mission.decide(decision))
        for decision in (
            approval(card, "cfo@finance.example.com"),
            approval(card).model_copy(update={"signature": forged}),
            signed(approval(card), card, ANN, at=early),
            signed(approval(card), card, ANN).model_copy(update={"approver": "cfo@example.com"}),
            Amend(confirmation_id=card.confirmation_id, changes={"seat": "1A"}, approver=ANN),
            Reject(confirmation_id=card.confirmation_id, reason="no", approver=ANN),
        )
    ]
    untouched = (await mission.handle.fetch_history()).to_json()
    await mission.decide(signed(approval(card), card, ANN))
    result = await mission.end()
    (record,) = result.legs[0].decisions
    (call,) = signing.sent("buy_ticket")

    assert {one.type for one in refusals} == {"SignatureRefused"}
    assert "UPDATE" not in untouched
    assert result.status is MissionStatus.SUCCEEDED
    assert (record.approver, record.issuer) == (ANN, "https://id.example.com")
    assert call.grant is not None
    assert record.signature == call.grant.approvals[0].signature != ""
    assert result.receipts[0].confirmed_by == ANN


async def test_signed_amendments_and_rejections_are_taken(
    signed_stage: Stage, signing: FakeWorld
) -> None:
    """Each signed over its content; an approval of what was amended does not count any more."""
    mission = await signed_stage.start()
    card = await mission.card("ticket")
    amend = Amend(confirmation_id=card.confirmation_id, changes={"seat": "14C"})
    approved_before = signed(approval(card), card, ANN)
    amended = (await mission.decide(signed(amend, card, BOB))).card
    assert amended is not None
    late = await mission.refusal(
        mission.decide(approved_before.model_copy(update={"digest": amended.digest}))
    )
    reject = Reject(confirmation_id=card.confirmation_id, reason="too dear")
    await mission.decide(signed(reject, amended, ANN))
    result = await mission.end()

    assert late.type == "SignatureRefused"
    assert [(d.kind, d.approver) for d in result.legs[0].decisions] == [
        ("amended", BOB),
        ("rejected", ANN),
    ]
    assert signing.sent("buy_ticket") == []


async def test_a_call_that_was_approved_before_there_were_keys_is_not_sent(
    stage: Stage, world: FakeWorld, key_file: Path
) -> None:
    """The worker that sends it takes signed approvals only; the planner hears why."""
    plain(stage, world)
    mission = await stage.start()
    card = await mission.card("ticket")
    world.govern(MissionPolicy(), ApprovalKeys(str(key_file)))
    await mission.approve(card)
    result = await mission.end()

    assert world.sent("buy_ticket") == []
    assert "have to be signed here" in str(world.contexts("ticket")[-1].last_error)
    assert result.receipts == ()


async def test_two_different_people_have_to_approve(stage: Stage, world: FakeWorld) -> None:
    """The first is shown on the card; the same again, however written, is nobody new."""
    plain(stage, world)
    mission = await stage.start(policy=MissionPolicy(confirmation=TWO))
    card = await mission.card("ticket")
    first = await mission.decide(approval(card, ANN))
    again = await mission.refusal(mission.decide(approval(card, "Ann@Example.com")))
    shown = await mission.card("ticket")
    sent_before = list(world.sent("buy_ticket"))
    second = await mission.decide(approval(card, BOB))
    result = await mission.end()

    assert sent_before == []
    assert again.type == "ApproverRefused"
    assert first.card == shown
    assert (shown.approved_by, shown.approvals_needed) == ((ANN,), 2)
    assert second.card is None
    assert [d.approver for d in result.legs[0].decisions] == [ANN, BOB]
    assert result.receipts[0].confirmed_by == f"{ANN}, {BOB}"


async def test_an_amendment_clears_the_first_approval(stage: Stage, world: FakeWorld) -> None:
    """What was approved is not what is asked about any more, even when it is changed back."""
    plain(stage, world)
    mission = await stage.start(policy=MissionPolicy(confirmation=TWO))
    card = await mission.card("ticket")
    await mission.decide(approval(card, ANN))
    await mission.amend(card, seat="14C")
    back = await mission.amend(card, seat="12A")
    await mission.decide(approval(back, BOB))
    still_open = (await mission.waiting("ticket")).card
    await mission.decide(approval(back, ANN))
    await mission.end()

    assert still_open is not None
    assert still_open.approved_by == (BOB,)
    assert len(world.sent("buy_ticket")) == 1


async def test_one_approval_of_two_expires_with_its_card(stage: Stage, world: FakeWorld) -> None:
    """Nothing is sent on half of what is needed; one rejection is enough to end it."""
    plain(stage, world)
    mission = await stage.start(policy=MissionPolicy(confirmation=TWO))
    await mission.decide(approval(await mission.card("ticket"), ANN))
    result = await mission.end()

    assert [d.kind for d in result.legs[0].decisions] == ["approved", "expired"]
    assert world.sent("buy_ticket") == []


@pytest.mark.parametrize("requester", [ANN, "ANN@example.com"])
async def test_who_asked_does_not_approve(stage: Stage, world: FakeWorld, requester: str) -> None:
    """They may amend, and reject; another may approve."""
    plain(stage, world)
    rules = ConfirmationPolicy(requester_may_approve=False)
    mission = await stage.start(policy=MissionPolicy(confirmation=rules), requester=requester)
    card = await mission.card("ticket")
    refusal = await mission.refusal(mission.decide(approval(card, ANN)))
    amend = Amend(confirmation_id=card.confirmation_id, changes={"seat": "14C"}, approver=ANN)
    amended = (await mission.decide(amend)).card
    assert amended is not None
    await mission.decide(approval(amended, BOB))
    result = await mission.end()

    assert refusal.type == "ApproverRefused"
    assert "asked for this mission" in refusal.message
    assert card.requester == result.requester == requester
    assert result.status is MissionStatus.SUCCEEDED


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        (ConfirmationPolicy(standing=(StandingApproval(name="all", tools=("*",)),)), "tighten"),
        (ConfirmationPolicy(on_expiry="ask_again"), "may only tighten the worker's"),
        (ConfirmationPolicy(requester_may_approve=False), "--requester"),
    ],
    ids=["standing", "asks again", "nobody asked"],
)
async def test_a_worker_refuses_a_mission_that_goes_beyond_its_policy(
    workflow_env: WorkflowEnvironment, stage: Stage, rules: ConfirmationPolicy, says: str
) -> None:
    """Whatever its client has checked: nothing is planned, and the mission ends with a sentence."""
    world = FakeWorld(workflow_env.client, [BUY])
    strict = type(stage)(stage.env, world, "strict")
    async with strict.worker():
        mission = await strict.start(policy=MissionPolicy(confirmation=rules))
        result = await mission.end()

    assert result.status is MissionStatus.FAILED
    assert says in str(result.error)
    assert world.attempts(names.SPLIT_GOAL) == []


async def test_a_leg_with_a_policy_of_its_own_is_asked_about_all_the_same(
    workflow_env: WorkflowEnvironment, stage: Stage
) -> None:
    """A policy that was tightened after its mission began: the worker's of now holds."""
    free = ConfirmationPolicy(standing=(StandingApproval(name="all", tools=("*",)),))
    world = FakeWorld(workflow_env.client, [BUY], policy=MissionPolicy(confirmation=free))
    plain(stage, world)
    widened = type(stage)(stage.env, world, "tightened")
    async with widened.worker():
        held = world.hold(PLAN_STEP, "ticket")
        mission = await widened.start(policy=MissionPolicy(confirmation=free))
        async with held:
            world.govern(MissionPolicy())
        card = await mission.card("ticket")
        await mission.approve(card)
        result = await mission.end()

    assert [d.approver for d in result.legs[0].decisions] == ["ada@example.com"]
