"""The confirmation gate: decisions, approvers, reminders, expiry, and replays of all of them."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from temporalio.exceptions import ApplicationError

from orchestrator.confirmation.models import Approve, ConfirmationCard, DecisionRecord, Reject
from orchestrator.confirmation.policy import ApproverRule, ConfirmationPolicy, StandingApproval
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject
from orchestrator.messages import names
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.planning.models import AskUser, CallTool, Finish, GiveUp, StepContext
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.workflows.confirmation import ConfirmationGate
from tests.fakes import fake_leg, states_of
from tests.workflow.replays import replays_at_every_task
from tests.world import FakeWorld

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
    mission = await stage.start_leg("ticket", buy(), finish_or_give_up, policy=policy)
    return mission, await mission.card("ticket")


def with_digest(card: ConfirmationCard, digest: str) -> Approve:
    return Approve(confirmation_id=card.confirmation_id, digest=digest, approver="eve@example.com")


async def test_nothing_is_called_before_the_approval(stage: Stage, world: FakeWorld) -> None:
    """While the card is open the call is neither sent nor in the ledger; approved, it is both."""
    mission = await stage.start_leg("ticket", buy())
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


async def test_the_grant_and_the_record_are_of_what_the_card_showed(
    stage: Stage, world: FakeWorld
) -> None:
    """The digest is the card's, the arguments are those that were read, the person is named."""
    mission, card = await at_the_card(stage, world)
    await mission.approve(card)
    result = await mission.end()
    call, record = world.sent("buy_ticket")[0], result.legs[0].decisions[0]

    assert call.grant is not None
    assert call.grant.digest == card.digest
    assert call.grant.confirmation_id == card.confirmation_id == call.call_id
    assert call.arguments == card.arguments == {"seat": "12A"}
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


async def test_a_decision_on_a_card_of_another_mission_is_refused(
    stage: Stage, world: FakeWorld
) -> None:
    """Also by a mission with a leg of that name, which has an open card of its own."""
    mission, card = await at_the_card(stage, world)
    other = await stage.start(policy=ONE_DAY)
    others = await other.card("ticket")

    refusal = await mission.refusal(mission.approve(others))
    await mission.approve(card)
    result = await mission.end()

    assert refusal.type == "CardUnknown"
    assert (await other.waiting("ticket")).card == others
    assert [call.mission_id for call in world.sent("buy_ticket")] == [mission.mission_id]
    assert result.status is MissionStatus.SUCCEEDED


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


FINANCE = ApproverRule(card_types=("structured-payment",), approvers=("*@finance.example.com",))
SMALL = StandingApproval(
    name="small-tickets",
    card_types=("structured-payment",),
    max_amount=Money(amount=Decimal(50), currency="EUR"),
)
AGAIN = ConfirmationPolicy(on_expiry="ask_again", max_rounds=3)


def under(policy: ConfirmationPolicy) -> MissionPolicy:
    return MissionPolicy(confirmation_expiry=timedelta(hours=24), confirmation=policy)


def buy_for(price: JsonObject | None = None) -> CallTool:
    arguments: JsonObject = {"seat": "12A"} if price is None else {"seat": "12A", "price": price}
    return CallTool(tool="buy_ticket", arguments=arguments)


async def buying(
    stage: Stage, world: FakeWorld, policy: ConfirmationPolicy, call: CallTool | None = None
) -> Mission:
    world.plan(fake_leg("ticket"))
    world.decide("ticket", call or buy_for())
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
        buy_for({"amount": 49.5, "currency": "EUR"}),
    )
    result = await mission.end()
    (call,) = world.sent("buy_ticket")
    (record,) = result.legs[0].decisions

    assert result.status is MissionStatus.SUCCEEDED
    assert (record.kind, record.approver) == ("approved", "policy:small-tickets")
    assert call.grant is not None
    assert (call.grant.approver, call.grant.digest) == (record.approver, record.digest)
    assert result.receipts[0].confirmed_by == "policy:small-tickets"


async def test_an_amended_call_is_not_covered_by_a_standing_approval(
    stage: Stage, world: FakeWorld
) -> None:
    """A person who changed it is the one to approve what it became."""
    dear = buy_for({"amount": 80, "currency": "EUR"})
    mission = await buying(stage, world, ConfirmationPolicy(standing=(SMALL,)), dear)
    card = await mission.card("ticket")
    amended = await mission.amend(card, price={"amount": 40, "currency": "EUR"})
    still = (await mission.waiting("ticket")).card
    await mission.approve(amended)
    result = await mission.end()

    assert still == amended
    assert [d.approver for d in result.legs[0].decisions] == ["ada@example.com"] * 2


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
    seen = {"confirmation_id": "m.1-leg.2", "kind": became, "approver": "ada@example.com"}
    seen |= {"digest": "d", "at": "2030-01-01T00:00:00Z"}
    gate = ConfirmationGate([DecisionRecord.model_validate(seen)])

    with pytest.raises(ApplicationError) as refused:
        gate.check(Reject(confirmation_id="m.1-leg.2", reason="late", approver="ada@example.com"))

    assert refused.value.type == refusal
    assert became in refused.value.message


HOUR = timedelta(hours=1)
POLICY = MissionPolicy(
    confirmation_expiry=4 * HOUR,
    answer_expiry=4 * HOUR,
    confirmation=ConfirmationPolicy(reminders=(HOUR, 2 * HOUR), on_expiry="ask_again"),
)


@pytest.mark.parametrize("moment", [HOUR, 2 * HOUR, 4 * HOUR], ids=["first", "second", "expiry"])
async def test_a_decision_that_meets_a_timer(
    forgetful: Stage, world: FakeWorld, moment: timedelta
) -> None:
    """At the very moment of a reminder, or of the expiry, in which case the next card takes it."""
    mission = await forgetful.start_leg(
        "ticket", CallTool(tool="buy_ticket", arguments={"seat": "12A"}), policy=POLICY
    )
    await mission.card("ticket")
    await forgetful.env.sleep(moment)
    async with asyncio.timeout(60):
        for _ in range(20):
            card = await mission.card("ticket")
            receipts = await asyncio.gather(mission.approve(card), return_exceptions=True)
            if not isinstance(receipts[0], BaseException):
                break
    result = await mission.end()
    tasks = await replays_at_every_task(mission.handle)

    assert result.status is MissionStatus.SUCCEEDED
    assert result.legs[0].decisions[-1].kind == "approved"
    assert len(world.sent("buy_ticket")) == 1
    assert tasks > 3


async def test_a_long_conversation(forgetful: Stage, world: FakeWorld) -> None:
    """A question, an amendment, reminders, an expiry, a second card, and an approval."""
    mission = await forgetful.start_leg(
        "ticket",
        AskUser(question="Which seat?", fields={"seat": {"type": "string"}}),
        CallTool(tool="buy_ticket", arguments={"seat": "12A"}),
        policy=POLICY,
    )
    await mission.answer(await mission.question("ticket"), {"seat": "12A"})
    await mission.amend(await mission.card("ticket"), seat="14C")
    await forgetful.env.sleep(90 * HOUR / 60)
    reminded = await mission.card("ticket")
    await forgetful.env.sleep(3 * HOUR)
    again = await mission.card("ticket")
    await mission.approve(again)
    result = await mission.end()
    await replays_at_every_task(mission.handle)

    assert (reminded.reminded, again.round) == (1, 2)
    assert [d.kind for d in result.legs[0].decisions] == ["amended", "expired", "approved"]
    assert [c.arguments for c in world.sent("buy_ticket")] == [{"seat": "14C"}]


async def test_many_open_cards_take_only_their_own_answers(stage: Stage, world: FakeWorld) -> None:
    """Six legs, all decisions at once, each also sent to the wrong card: none goes astray."""
    legs = [f"leg{n}" for n in range(6)]
    world.plan(*map(fake_leg, legs))
    for n, leg in enumerate(legs):
        world.decide(leg, CallTool(tool="buy_ticket", arguments={"seat": f"{n}A"}))
    mission = await stage.start(policy=POLICY)
    cards = [await mission.card(leg) for leg in legs]
    crossed = [
        mission.refusal(mission.approve(card.model_copy(update={"digest": other.digest})))
        for card, other in zip(cards, [*cards[1:], cards[0]], strict=True)
    ]
    refusals = await asyncio.gather(*crossed)
    await asyncio.gather(*(mission.amend(card, seat=f"{n}B") for n, card in enumerate(cards)))
    stale = await asyncio.gather(*(mission.refusal(mission.approve(card)) for card in cards))
    await asyncio.gather(*[mission.approve(await mission.card(leg)) for leg in reversed(legs)])
    result = await mission.end()

    assert {r.type for r in [*refusals, *stale]} == {"DigestMismatch"}
    assert {c.leg_id: c.arguments for c in world.sent("buy_ticket")} == {
        leg: {"seat": f"{n}B"} for n, leg in enumerate(legs)
    }
    assert result.status is MissionStatus.SUCCEEDED
