"""The commands of notices, against a worker that announces."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.client import notice_replays as notices
from orchestrator.testing import eventually
from tests.commands import Ran, run_apart
from tests.integration.web_notices.conftest import Announcing, announcing
from tests.integration.web_notices.receiver import SECRET, Answer, Received, Receiver, receiving
from tests.integration.web_notices.test_announcing import card_of, rules

if TYPE_CHECKING:
    from orchestrator.runtime.devserver import Stack


async def ran(running: Announcing, *arguments: str) -> Ran:
    return await run_apart("confirm", "notices", *arguments, environment={**running.environment})


async def test_a_notice_is_listed_replayed_and_a_channel_tested(
    stack: Stack, tmp_path: Path
) -> None:
    """A replay has the id of the first delivery; a test enables a channel that was gone."""
    with receiving(Receiver(script=[Answer(), Answer(410)])) as receiver:
        plan = rules(receiver)
        async with announcing(stack, tmp_path, "notices-cli", plan, hook=SECRET) as (
            running,
            client,
        ):
            mission, card = await card_of(client)
            (opened,) = await eventually(lambda: _of(receiver, "card.opened", 1))
            replayed = await notices.replay(client.connection, [opened.message_id, "msg_unknown"])
            await eventually(lambda: _of(receiver, "card.opened", 2))
            listed, gone = await asyncio.gather(
                ran(running, "--json"), ran(running, "--state", "delivered")
            )
            tested, nowhere = await asyncio.gather(
                ran(running, "--test", "hook0", "--json"), ran(running, "--test", "nowhere")
            )
            with running.store() as store:
                enabled = store.notices.all_disabled() == []
            await mission.reject(card, reason="no", approver="bo", then="rollback")

    first, second = receiver.of("card.opened")
    assert (first.message_id, first.body) == (second.message_id, second.body)
    assert (replayed.started, replayed.gone) == ((first.message_id,), ("msg_unknown",))
    mine = [one for one in listed.json["notices"] if one["notice_id"] == first.message_id]
    assert [(one["channel"], one["wait_id"]) for one in mine] == [("hook0", card.confirmation_id)]
    assert [one["channel"] for one in listed.json["disabled"]] == ["hook0"]
    assert "is disabled since" in gone.stdout
    assert tested.json["state"] == "delivered"
    assert receiver.of("notice.test")
    assert enabled
    assert nowhere.exit_code == 1
    assert "no such channel" in nowhere.stdout


async def _of(receiver: Receiver, event: str, number: int) -> list[Received]:
    found = receiver.of(event)
    return found if len(found) >= number else []
