"""Who may decide, what is approved without asking, reminders, and what follows an expiry."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from temporalio.exceptions import ApplicationError

from orchestrator.confirmation.models import Approve, ConfirmationCard, Reject
from orchestrator.confirmation.policy import ApproverRule, ConfirmationPolicy, StandingApproval
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.planning.models import CallTool
from orchestrator.testing import FakeWorld, fake_leg
from workflows.confirmation import ConfirmationGate

if TYPE_CHECKING:
    from tests.workflow.conftest import Mission, Stage

FINANCE = ApproverRule(card_types=("structured-payment",), approvers=("*@finance.example.com",))
SMALL = StandingApproval(
    name="small-tickets",
    card_types=("structured-payment",),
    max_amount=Money(amount=Decimal(50), currency="EUR"),
)
AGAIN = ConfirmationPolicy(on_expiry="ask_again", max_rounds=3)


def under(policy: ConfirmationPolicy) -> MissionPolicy:
    return MissionPolicy(confirmation_expiry=timedelta(hours=24), confirmation=policy)


def buy(price: JsonObject | None = None) -> CallTool:
    arguments: JsonObject = {"seat": "12A"} if price is None else {"seat": "12A", "price": price}
    return CallTool(tool="buy_ticket", arguments=arguments)


async def buying(
    stage: Stage, world: FakeWorld, policy: ConfirmationPolicy, call: CallTool | None = None
) -> Mission:
    world.plan(fake_leg("ticket"))
    world.decide("ticket", call or buy())
    return await stage.start(goal="Buy a ticket for seat 12A at 49.5 EUR", policy=under(policy))


def approval(card: ConfirmationCard, by: str) -> Approve:
    return Approve(confirmation_id=card.confirmation_id, digest=card.digest, approver=by)


@pytest.mark.parametrize(
    "name", ["eve@example.com", "", "policy:small-tickets", "a\nb@finance.example.com"]
)
async def test_only_allowed_approvers_decide(stage: Stage, world: FakeWorld, name: str) -> None:
    """The refusal has a type of its own; the card stays open for those who may."""
    mission = await buying(stage, world, ConfirmationPolicy(approvers=(FINANCE,)))
    card = await mission.card("ticket")

    refusal = await mission.refusal(mission.decide(approval(card, name)))
    rejected = await mission.refusal(
        mission.decide(
            Reject(confirmation_id=card.confirmation_id, reason="no", approver="eve@example.com")
        )
    )
    still = (await mission.waiting("ticket")).card
    await mission.decide(approval(card, "Ann@Finance.example.com"))
    result = await mission.end()

    assert refusal.type == rejected.type == "ApproverRefused"
    assert "eve@example.com may not decide on this" in rejected.message
    assert still == card
    assert card.approvers == ("*@finance.example.com",)
    assert result.status is MissionStatus.SUCCEEDED
    assert [d.approver for d in result.legs[0].decisions] == ["Ann@Finance.example.com"]


async def test_a_standing_approval_is_a_recorded_decision(stage: Stage, world: FakeWorld) -> None:
    """Nobody is asked; the policy's name is in the record, in the grant and on the receipt."""
    mission = await buying(
        stage,
        world,
        ConfirmationPolicy(standing=(SMALL,)),
        buy({"amount": 49.5, "currency": "EUR"}),
    )
    result = await mission.end()
    (call,) = world.sent("buy_ticket")
    (record,) = result.legs[0].decisions

    assert result.status is MissionStatus.SUCCEEDED
    assert (record.kind, record.approver) == ("approved", "policy:small-tickets")
    assert call.grant is not None
    assert (call.grant.approver, call.grant.digest) == (record.approver, record.digest)
    assert result.receipts[0].confirmed_by == "policy:small-tickets"


@pytest.mark.parametrize(
    "price",
    [None, {"amount": 50.01, "currency": "EUR"}, {"amount": 1, "currency": "USD"}],
    ids=["unknown", "too much", "another currency"],
)
async def test_a_standing_approval_ends_at_its_amount(
    stage: Stage, world: FakeWorld, price: JsonObject | None
) -> None:
    """A call that costs more, or nobody knows what, waits for a person."""
    mission = await buying(stage, world, ConfirmationPolicy(standing=(SMALL,)), buy(price))
    card = await mission.card("ticket")
    sent = list(world.sent("buy_ticket"))
    await mission.approve(card)
    result = await mission.end()

    assert sent == []
    assert [d.approver for d in result.legs[0].decisions] == ["ada@example.com"]


async def test_an_amended_call_is_not_covered_by_a_standing_approval(
    stage: Stage, world: FakeWorld
) -> None:
    """A person who changed it is the one to approve what it became."""
    dear = buy({"amount": 80, "currency": "EUR"})
    mission = await buying(stage, world, ConfirmationPolicy(standing=(SMALL,)), dear)
    card = await mission.card("ticket")
    amended = await mission.amend(card, price={"amount": 40, "currency": "EUR"})
    still = (await mission.waiting("ticket")).card
    await mission.approve(amended)
    result = await mission.end()

    assert still == amended
    assert [d.approver for d in result.legs[0].decisions] == ["ada@example.com"] * 2


async def test_reminders_show_on_the_card(stage: Stage, world: FakeWorld) -> None:
    """Each by its own timer; the card stays the same, and can be approved as before."""
    policy = ConfirmationPolicy(
        reminders=(timedelta(hours=8), timedelta(hours=2), timedelta(days=2))
    )
    mission = await buying(stage, world, policy)
    card = await mission.card("ticket")
    await stage.env.sleep(timedelta(hours=3))
    once = (await mission.waiting("ticket")).card
    await stage.env.sleep(timedelta(hours=6))
    twice = (await mission.waiting("ticket")).card
    await mission.approve(card)
    result = await mission.end()

    assert once is not None
    assert twice is not None
    assert [card.reminded, once.reminded, twice.reminded] == [0, 1, 2]
    assert card.digest == twice.digest
    assert result.status is MissionStatus.SUCCEEDED


async def test_an_expired_card_is_asked_again_under_another_id(
    stage: Stage, world: FakeWorld
) -> None:
    """The first card's id and digest count no more; the second's approval makes the call."""
    mission = await buying(stage, world, AGAIN)
    first = await mission.card("ticket")
    await stage.env.sleep(timedelta(hours=25))
    second = await mission.card("ticket")
    late = await mission.refusal(mission.approve(first))
    swapped = await mission.refusal(
        mission.decide(
            approval(second.model_copy(update={"digest": first.digest}), "ada@example.com")
        )
    )
    await mission.approve(second)
    result = await mission.end()
    (call,) = world.sent("buy_ticket")

    assert (first.round, second.round) == (1, 2)
    assert second.confirmation_id == f"{first.confirmation_id}-2"
    assert second.arguments == first.arguments
    assert second.digest != first.digest
    assert (late.type, swapped.type) == ("CardExpired", "DigestMismatch")
    assert call.call_id == first.confirmation_id
    assert [d.kind for d in result.legs[0].decisions] == ["expired", "approved"]
    assert result.status is MissionStatus.SUCCEEDED


async def test_an_amendment_survives_the_expiry_of_its_card(stage: Stage, world: FakeWorld) -> None:
    """What is asked about again is the call as it was last amended, and can be amended again."""
    mission = await buying(stage, world, AGAIN)
    await mission.amend(await mission.card("ticket"), seat="14C")
    await stage.env.sleep(timedelta(hours=25))
    second = await mission.card("ticket")
    third = await mission.amend(second, seat="15D")
    await mission.approve(third)
    await mission.end()

    assert second.arguments == {"seat": "14C"}
    assert third.confirmation_id == second.confirmation_id
    assert [c.arguments for c in world.sent("buy_ticket")] == [{"seat": "15D"}]


async def test_a_call_is_asked_about_a_bounded_number_of_times(
    stage: Stage, world: FakeWorld
) -> None:
    """After the last card the leg is lost, with every expiry on record."""
    mission = await buying(stage, world, AGAIN)

    result = await mission.end()

    assert result.error == "nobody confirmed it in time: Buy ticket"
    assert [d.kind for d in result.legs[0].decisions] == ["expired"] * 3
    assert len({d.digest for d in result.legs[0].decisions}) == 3
    assert world.sent("buy_ticket") == []


@pytest.mark.parametrize(
    ("became", "refusal"),
    [("expired", "CardExpired"), ("approved", "CardDecided"), ("rejected", "CardDecided")],
)
def test_a_leg_that_was_continued_knows_what_was_decided_before(became: str, refusal: str) -> None:
    """Its record outlives the run, so a late decision is told what became of its card."""
    gate = ConfirmationGate({"m.1-leg.2": became}, on_reminder=lambda: None)

    with pytest.raises(ApplicationError) as refused:
        gate.check(Reject(confirmation_id="m.1-leg.2", reason="late", approver="ada@example.com"))

    assert refused.value.type == refusal
    assert became in refused.value.message
