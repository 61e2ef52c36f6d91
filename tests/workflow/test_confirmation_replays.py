"""A worker that remembers nothing takes the same commands, however events came together."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from orchestrator.confirmation.policy import ConfirmationPolicy
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.planning.models import AskUser, CallTool
from orchestrator.testing import FakeWorld, fake_leg
from tests.workflow.replays import replays_at_every_task

if TYPE_CHECKING:
    from tests.workflow.conftest import Stage

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
    world.plan(fake_leg("ticket"))
    world.decide("ticket", CallTool(tool="buy_ticket", arguments={"seat": "12A"}))
    mission = await forgetful.start(policy=POLICY)
    await mission.card("ticket")
    await forgetful.env.sleep(moment)
    async with asyncio.timeout(60):
        for _ in range(20):
            card = await mission.card("ticket")
            receipts = await asyncio.gather(mission.approve(card), return_exceptions=True)
            if not isinstance(receipts[0], BaseException):
                break
    result = await mission.end()
    tasks = await replays_at_every_task(mission.leg_handle("ticket"))

    assert result.status is MissionStatus.SUCCEEDED
    assert result.legs[0].decisions[-1].kind == "approved"
    assert len(world.sent("buy_ticket")) == 1
    assert tasks > 3


async def test_a_long_conversation(forgetful: Stage, world: FakeWorld) -> None:
    """A question, an amendment, reminders, an expiry, a second card, and an approval."""
    world.plan(fake_leg("ticket"))
    world.decide(
        "ticket",
        AskUser(question="Which seat?", fields={"seat": {"type": "string"}}),
        CallTool(tool="buy_ticket", arguments={"seat": "12A"}),
    )
    mission = await forgetful.start(policy=POLICY)
    await mission.answer(await mission.question("ticket"), {"seat": "12A"})
    await mission.amend(await mission.card("ticket"), seat="14C")
    await forgetful.env.sleep(90 * HOUR / 60)
    reminded = await mission.card("ticket")
    await forgetful.env.sleep(3 * HOUR)
    again = await mission.card("ticket")
    await mission.approve(again)
    result = await mission.end()
    await replays_at_every_task(mission.leg_handle("ticket"))

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
