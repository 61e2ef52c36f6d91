"""Cards of real missions are announced: also when workers die, and not when it is too late."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_feed import mission_feed
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.messages import names
from orchestrator.messages.events import CardEvent, Cursor
from orchestrator.messages.mission import MissionRequest
from orchestrator.messages.notice import notice_of_records
from orchestrator.runtime.demo import LEAVING
from orchestrator.testing import eventually
from tests.integration.web_notices.conftest import Announcing, announcing
from tests.integration.web_notices.receiver import SECRET, Answer, Received, Receiver, receiving

if TYPE_CHECKING:
    from orchestrator.runtime.devserver import Stack

FLIGHT = f"Book a flight from Berlin to Lisbon on {LEAVING}"


def hook(receiver: Receiver, **changes: Any) -> dict[str, Any]:
    return {"webhook": receiver.url, "secrets": ["hook"], **changes}


def rules(*receivers: Receiver, **changes: Any) -> dict[str, Any]:
    channels = {f"hook{number}": hook(one) for number, one in enumerate(receivers)}
    routes = [{"channels": list(channels)}]
    return {
        "inbox": "https://inbox.example.com",
        "channels": channels,
        "routes": routes,
        "next_after": 2,
        "give_up_after": 3600,
        **changes,
    }


async def card_of(
    client: MissionClient, goal: str = FLIGHT
) -> tuple[MissionHandle, ConfirmationCard]:
    mission = await client.start(MissionRequest(goal=goal, requester="ann@example.com"))
    card, *_ = await eventually(mission.confirmations)
    return mission, card


async def stands(running: Announcing, card: ConfirmationCard) -> str:
    with running.store() as store:
        records = store.notices.of_waits([card.confirmation_id])
    return notice_of_records(records[card.confirmation_id]).state


async def test_a_card_is_announced_and_so_is_its_decision(stack: Stack, tmp_path: Path) -> None:
    """Signed, with digest and link; the mission's own history knows nothing of it."""
    with receiving() as receiver:
        async with announcing(stack, tmp_path, "notices-plain", rules(receiver), hook=SECRET) as (
            running,
            client,
        ):
            mission, card = await card_of(client)
            opened, *_ = await eventually(lambda: _some(receiver, "card.opened", card))
            state = await stands(running, card)
            await mission.reject(card, reason="a private reason", approver="bo", then="rollback")
            decided, *_ = await eventually(lambda: _some(receiver, "card.decided", card))
            history = str(
                await client.temporal.get_workflow_handle(mission.mission_id).fetch_history()
            )

    data = opened.body["data"]
    assert data["digest"] == card.digest
    assert data["link"] == f"https://inbox.example.com/cards/{card.confirmation_id}"
    assert data["tool"] == "flight_book_offer"
    assert data["price"]["currency"] == "EUR"
    assert state == "delivered"
    assert decided.body["data"]["decision"] == "rejected"
    assert "a private reason" not in str(decided.body)
    others = {one.body["data"]["mission_id"] for one in receiver.received} - {mission.mission_id}
    assert not others, "missions of other task queues are announced by their own workers"
    assert "deliver_notice" not in history
    assert receiver.forged == []
    assert len({one.message_id for one in receiver.received}) == len(receiver.received)


async def test_a_failed_attempt_is_repeated_with_the_same_id(stack: Stack, tmp_path: Path) -> None:
    with receiving(Receiver(script=[Answer(500), Answer(503)])) as receiver:
        plan = rules(receiver)
        async with announcing(stack, tmp_path, "notices-retry", plan, hook=SECRET) as (_, client):
            _, card = await card_of(client)
            await eventually(lambda: _several(receiver, "card.opened", 3))

    tries = receiver.of("card.opened", card.confirmation_id)
    assert len({one.message_id for one in tries}) == 1
    assert tries[0].body == tries[2].body


async def test_the_next_channel_takes_what_the_first_cannot(stack: Stack, tmp_path: Path) -> None:
    """The first is gone for good (410), is never asked again, and shows as disabled."""
    with receiving(Receiver(script=[Answer(410)])) as first, receiving() as second:
        plan = rules(first, second)
        async with announcing(stack, tmp_path, "notices-next", plan, hook=SECRET) as (
            running,
            client,
        ):
            mission, card = await card_of(client)
            await eventually(lambda: _some(second, "card.opened", card))
            await mission.reject(card, reason="no", approver="bo", then="rollback")
            await eventually(lambda: _some(second, "card.decided", card))
            state = await stands(running, card)
            with running.store() as store:
                off = store.notices.all_disabled()

    assert len(first.received) == 1
    assert [one.channel for one in off] == ["hook0"]
    assert state == "delivered"


async def test_a_notice_that_nobody_takes_is_reported(stack: Stack, tmp_path: Path) -> None:
    """To a channel outside of its route; the card says that its notice failed."""
    with receiving(Receiver(script=[Answer(302)] * 9)) as broken, receiving() as watched:
        plan = rules(
            broken,
            watched,
            routes=[{"channels": ["hook0"], "events": ["card.opened"]}],
            give_up_after=1,
        )
        async with announcing(stack, tmp_path, "notices-failed", plan, hook=SECRET) as (
            running,
            client,
        ):
            _, card = await card_of(client)
            failed, *_ = await eventually(lambda: _some(watched, "notice.failed", card))
            state = await stands(running, card)

    assert failed.body["data"]["notice_id"] == broken.received[0].message_id
    assert state == "failed"


async def test_a_killed_worker_loses_nothing_and_repeats_only_ids(
    stack: Stack, tmp_path: Path
) -> None:
    """Killed while a receiver works on a notice, and again while nobody reads the feed."""
    with receiving(Receiver(script=[Answer(after_s=60)])) as receiver:
        async with announcing(stack, tmp_path, "notices-killed", rules(receiver), hook=SECRET) as (
            running,
            client,
        ):
            _, card = await card_of(client)
            await eventually(lambda: _some(receiver, "card.opened", card))
            await running.kill()
            receiver.gone.set()
            running.start()
            await eventually(lambda: _several(receiver, "card.opened", 2))
            _, later = await card_of(client, FLIGHT)
            await running.kill()
            running.start()
            await eventually(lambda: _some(receiver, "card.opened", later))
            states = [await stands(running, one) for one in (card, later)]

    ids = [one.message_id for one in receiver.of("card.opened", card.confirmation_id)]
    assert len(ids) >= 2
    assert len(set(ids)) == 1
    assert len({one.message_id for one in receiver.of("card.opened", later.confirmation_id)}) == 1
    assert states == ["delivered", "delivered"]


async def test_what_was_missed_is_caught_up_and_what_is_closed_is_not_opened(
    stack: Stack, tmp_path: Path
) -> None:
    """Two cards open while no workflow announces; one of them is decided before it begins."""
    with receiving() as receiver:
        async with announcing(stack, tmp_path, "notices-missed", rules(receiver), hook=SECRET) as (
            _,
            client,
        ):
            notices = client.temporal.get_workflow_handle(
                names.notices_workflow_id("notices-missed")
            )
            await eventually(lambda: _reads(notices))
            receiver.script = [Answer(503)] * 50
            gone, early = await card_of(client)
            await eventually(lambda: _some(receiver, "card.opened", early))
            await gone.reject(early, reason="no", approver="bo", then="rollback")
            _, late = await card_of(client)
            refused = len(receiver.of("card.opened", early.confirmation_id))
            receiver.script = []
            await eventually(lambda: _some(receiver, "card.decided", early))
            await eventually(lambda: _some(receiver, "card.opened", late))
            await asyncio.sleep(3)

    # No attempt of the first card's opening came after it was decided and the receiver recovered.
    assert len(receiver.of("card.opened", early.confirmation_id)) <= refused + 1


async def _some(receiver: Receiver, event: str, card: ConfirmationCard) -> list[Received]:
    return receiver.of(event, card.confirmation_id)


async def _several(receiver: Receiver, event: str, number: int) -> bool:
    return len(receiver.of(event)) >= number


async def _reads(notices: Any) -> bool:
    return bool((await notices.describe()).raw_description.pending_activities)


async def test_an_idle_feed_continues_from_its_last_sweep(client: MissionClient) -> None:
    """Its cursor moves without an event, repeats none of before, and misses none of later."""
    passed: list[Cursor] = []
    mission, card = await card_of(client)
    seen = set()
    idle = mission_feed(client.connection, follow=False, swept=passed.append)
    async for event in idle:
        seen.add((event.kind, getattr(event, "confirmation_id", "")))
    await mission.reject(card, reason="no", approver="bo", then="rollback")

    async def closed() -> list[str]:
        after = mission_feed(client.connection, after=str(passed[-1]), follow=False)
        events = [event async for event in after]
        return [
            event.state
            for event in events
            if isinstance(event, CardEvent) and event.confirmation_id == card.confirmation_id
        ]

    states = await eventually(closed)

    assert ("card", card.confirmation_id) in seen
    assert passed[-1].since is not None
    assert states == ["rejected"]
