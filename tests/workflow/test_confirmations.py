"""The confirmation gate: what a person may answer, and what a call may do before and after it."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

from temporalio.exceptions import ApplicationError

from orchestrator.confirmation.models import Approve, ConfirmationCard
from orchestrator.messages import names
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.planning.models import CallTool, Finish, GiveUp, StepContext
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.testing import FakeWorld, fake_leg, states_of

if TYPE_CHECKING:
    from tests.workflow.conftest import Mission, Stage

ONE_DAY = MissionPolicy(confirmation_expiry=timedelta(hours=24))


def buy(seat: str = "12A") -> CallTool:
    return CallTool(tool="buy_ticket", arguments={"seat": seat})


def finish_or_give_up(context: StepContext) -> Finish | GiveUp:
    if context.last_error is None:
        return Finish(summary="Bought.")
    return GiveUp(reason=f"refused: {context.last_error}")


async def at_the_card(
    stage: Stage, world: FakeWorld, policy: MissionPolicy = ONE_DAY
) -> tuple[Mission, ConfirmationCard]:
    """A mission whose only leg wants to buy a ticket, and gives up when it may not."""
    world.plan(fake_leg("ticket"))
    world.decide("ticket", buy(), finish_or_give_up)
    mission = await stage.start(policy=policy)
    return mission, await mission.card("ticket")


def with_digest(card: ConfirmationCard, digest: str) -> Approve:
    return Approve(confirmation_id=card.confirmation_id, digest=digest, approver="eve@example.com")


async def test_nothing_is_called_before_the_approval(stage: Stage, world: FakeWorld) -> None:
    """While the card is open the call is neither sent nor in the ledger; approved, it is both."""
    world.plan(fake_leg("ticket"))
    world.decide("ticket", buy())

    mission = await stage.start()
    card = await mission.card("ticket")
    sent_before = list(world.sent("buy_ticket"))
    before = await mission.leg("ticket")
    receipt = await mission.approve(card)
    result = await mission.end()

    assert sent_before == []
    assert before.ledger.obligations == ()
    assert receipt.accepted == "approved"
    assert len(world.sent("buy_ticket")) == 1
    assert result.status is MissionStatus.SUCCEEDED
    assert result.receipts[0].confirmed_by == "ada@example.com"


async def test_the_grant_that_arrives_is_for_what_the_card_showed(
    stage: Stage, world: FakeWorld
) -> None:
    """Its digest is the card's, and the arguments are those that were read."""
    mission, card = await at_the_card(stage, world)
    await mission.approve(card)
    await mission.end()
    call = world.sent("buy_ticket")[0]

    assert call.grant is not None
    assert call.grant.digest == card.digest
    assert call.grant.confirmation_id == card.confirmation_id == call.call_id
    assert call.arguments == card.arguments == {"seat": "12A"}


async def test_who_decided_what_and_when_is_kept(stage: Stage, world: FakeWorld) -> None:
    """The leg's record names the person, the card and its digest."""
    mission, card = await at_the_card(stage, world)
    await mission.approve(card)
    result = await mission.end()
    record = result.legs[0].decisions[0]

    assert (record.kind, record.approver) == ("approved", "ada@example.com")
    assert (record.confirmation_id, record.digest) == (card.confirmation_id, card.digest)
    assert card.expires_at is not None
    assert record.at < card.expires_at


async def test_an_approval_of_another_digest_is_refused(stage: Stage, world: FakeWorld) -> None:
    """The mission goes on unharmed: the card stays open and can be approved."""
    mission, card = await at_the_card(stage, world)

    refusal = await mission.refusal(mission.decide(with_digest(card, "0" * 64)))
    still = (await mission.waiting("ticket")).card
    await mission.approve(card)
    result = await mission.end()

    assert refusal.type == "DigestMismatch"
    assert still == card
    assert result.status is MissionStatus.SUCCEEDED
    assert [d.approver for d in result.legs[0].decisions] == ["ada@example.com"]


async def test_a_decision_on_an_unknown_card_is_refused(stage: Stage, world: FakeWorld) -> None:
    """An id of a step that asked nothing."""
    mission, card = await at_the_card(stage, world)
    other = card.model_copy(update={"confirmation_id": f"{mission.mission_id}.ticket.7"})

    refusal = await mission.refusal(mission.approve(other))

    assert refusal.type == "CardUnknown"
    assert (await mission.waiting("ticket")).card == card


async def test_a_second_decision_is_refused(stage: Stage, world: FakeWorld) -> None:
    """The call is under way, or made: neither a yes nor a no changes that."""
    call = world.hold(names.INVOKE_TOOL, "buy_ticket")
    mission, card = await at_the_card(stage, world)
    await mission.approve(card)

    async with call:
        again = await mission.refusal(mission.approve(card))
        no = await mission.refusal(mission.reject(card, "changed my mind"))
    result = await mission.end()

    assert [again.type, no.type] == ["CardDecided", "CardDecided"]
    assert "it was approved" in again.message
    assert len(world.sent("buy_ticket")) == 1
    assert result.status is MissionStatus.SUCCEEDED


async def test_a_card_that_nobody_decides_loses_its_leg(stage: Stage, world: FakeWorld) -> None:
    """After its expiry, by the server's clock; the step says so, and nothing was called."""
    mission, card = await at_the_card(stage, world)

    result = await mission.end()
    record = result.legs[0].decisions[0]

    assert result.error == "nobody confirmed it in time: Buy ticket"
    assert [s.outcome for s in result.legs[0].steps] == ["expired"]
    assert (record.kind, record.approver) == ("expired", "")
    assert card.expires_at is not None
    assert record.at >= card.expires_at
    assert world.sent("buy_ticket") == []


async def test_a_rejection_tells_its_reason(stage: Stage, world: FakeWorld) -> None:
    """The planner reads who refused and why; it is in the mission's error and on record."""
    mission, card = await at_the_card(stage, world)

    receipt = await mission.reject(card, "too expensive")
    result = await mission.end()
    record = result.legs[0].decisions[0]

    assert receipt.accepted == "rejected"
    assert result.error == "refused: ada@example.com rejected it: too expensive"
    assert (record.kind, record.reason) == ("rejected", "too expensive")
    assert world.sent("buy_ticket") == []


async def test_a_planner_may_go_another_way_after_a_rejection(
    stage: Stage, world: FakeWorld
) -> None:
    """Its next call has a card of its own, with another id and another digest."""
    world.plan(fake_leg("ticket"))
    world.decide("ticket", buy("12A"), buy("30F"))
    mission = await stage.start()
    first = await mission.card("ticket")
    await mission.reject(first, "not at the front")

    second = await mission.card("ticket")
    await mission.approve(second)
    await mission.end()

    assert second.confirmation_id != first.confirmation_id
    assert second.digest != first.digest
    assert [call.arguments for call in world.sent("buy_ticket")] == [{"seat": "30F"}]


async def test_an_amendment_makes_a_new_card_that_must_be_approved(
    stage: Stage, world: FakeWorld
) -> None:
    """The old digest no longer counts; what is called is what the new card shows."""
    mission, card = await at_the_card(stage, world)

    amended = await mission.amend(card, seat="14C")
    sent_meanwhile = list(world.sent("buy_ticket"))
    refusal = await mission.refusal(mission.approve(card))
    await mission.approve(amended)
    result = await mission.end()

    assert amended.digest != card.digest
    assert amended.confirmation_id == card.confirmation_id
    assert amended.arguments == {"seat": "14C"}
    assert sent_meanwhile == []
    assert refusal.type == "DigestMismatch"
    assert [c.arguments for c in world.sent("buy_ticket")] == [{"seat": "14C"}]
    assert result.ledger.obligations[0].arguments == {"seat": "14C"}
    assert [d.kind for d in result.legs[0].decisions] == ["amended", "approved"]


async def test_an_amendment_that_breaks_the_contract_is_refused(
    stage: Stage, world: FakeWorld
) -> None:
    """The sender reads what is wrong; the card stays open as it was."""
    mission, card = await at_the_card(stage, world)

    refusal = await mission.refusal(mission.amend(card, seat="1"))
    still = (await mission.waiting("ticket")).card
    await mission.approve(card)
    await mission.end()

    assert refusal.type == "AmendmentInvalid"
    assert "seat" in refusal.message
    assert still == card
    assert [c.arguments for c in world.sent("buy_ticket")] == [{"seat": "12A"}]


async def test_an_amended_card_is_open_until_its_own_expiry(stage: Stage, world: FakeWorld) -> None:
    """The new card shows a later expiry than the first, and keeps to it."""
    mission, card = await at_the_card(stage, world)
    await stage.env.sleep(timedelta(hours=20))
    amended = await mission.amend(card, seat="14C")
    await stage.env.sleep(timedelta(hours=10))

    still = (await mission.waiting("ticket")).card
    result = await mission.end()

    assert card.expires_at is not None
    assert amended.expires_at is not None
    assert amended.expires_at - card.expires_at >= timedelta(hours=19)
    assert still == amended
    assert result.legs[0].decisions[-1].kind == "expired"
    assert result.legs[0].decisions[-1].at >= amended.expires_at


async def test_an_amendment_that_an_approval_overtakes_is_refused(
    stage: Stage, world: FakeWorld
) -> None:
    """While it was being checked somebody approved the card: what they read is what is called."""
    mission, card = await at_the_card(stage, world)
    check = world.hold(names.PREPARE_CALL, "buy_ticket")
    amending = asyncio.create_task(mission.refusal(mission.amend(card, seat="14C")))

    async with check:
        await mission.approve(card)
    refusal = await amending
    await mission.end()

    assert refusal.type == "CardDecided"
    assert [c.arguments for c in world.sent("buy_ticket")] == [{"seat": "12A"}]


async def test_open_cards_of_two_legs_never_mix_answers(stage: Stage, world: FakeWorld) -> None:
    """Each answer reaches the leg that asked; one leg's digest does not open the other's gate."""
    world.plan(fake_leg("out"), fake_leg("back"))
    world.decide("out", buy("12A"))
    world.decide("back", buy("14C"), finish_or_give_up)
    mission = await stage.start()
    out, back = await mission.card("out"), await mission.card("back")

    crossed = await mission.refusal(mission.decide(with_digest(back, out.digest)))
    await mission.approve(out)
    back_meanwhile = (await mission.waiting("back")).card
    await mission.reject(back, "one way is enough")
    result = await mission.end()

    assert crossed.type == "DigestMismatch"
    assert back_meanwhile == back
    assert [c.arguments for c in world.sent("buy_ticket")] == [{"seat": "12A"}]
    assert {leg.leg_id: [d.kind for d in leg.decisions] for leg in result.legs} == {
        "out": ["approved"],
        "back": ["rejected"],
    }
    assert states_of(result.ledger) == {"buy_ticket": "cancelled"}


async def test_rollback_asks_nobody(stage: Stage, world: FakeWorld) -> None:
    """What was confirmed to be bought is refunded without a card."""
    world.plan(fake_leg("ticket"), fake_leg("visa", after=("ticket",)))
    world.decide("ticket", buy())
    world.decide("visa", GiveUp(reason="no visa"))
    mission = await stage.start()
    await mission.approve(await mission.card("ticket"))

    result = await mission.end()

    assert result.status is MissionStatus.ROLLED_BACK
    assert [o.cancel_tool for o in world.compensated()] == ["refund_ticket"]


async def test_an_approved_call_that_is_tried_again_keeps_its_grant(
    stage: Stage, world: FakeWorld
) -> None:
    """The same call goes out with the same id and the same grant, not a new one."""
    world.answer(
        "buy_ticket",
        ApplicationError("HTTP 503", type=names.PROVIDER_BUSY),
        ToolOutcome(kind="succeeded", body={"ticket_id": "T-1"}),
    )
    mission, card = await at_the_card(stage, world)
    await mission.approve(card)
    result = await mission.end()
    first, second = world.sent("buy_ticket")

    assert first == second
    assert states_of(result.ledger) == {"buy_ticket": "committed"}
