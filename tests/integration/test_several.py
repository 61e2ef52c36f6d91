"""Several of a kind on the whole installation, with the sandbox as the witness."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx

from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.runtime.demo import day_in
from orchestrator.testing import approve, eventually, run_to_end

if TYPE_CHECKING:
    from orchestrator.runtime.devserver import Stack
    from tests.integration.conftest import Witness

THREE = (
    "Email ann@example.com that the office is closed. "
    "Email bob@example.com that the office is closed. "
    "Email cy@example.com that the office is closed. "
    f"Reserve a table for four in Lisbon on {day_in(90)} at 19:00. "
    f"Reserve a table for four in Lisbon on {day_in(91)} at 19:00"
)
DAYS = [day_in(60), day_in(60), day_in(61)]
ON_ONE_DAY = f"Cancel all my reminders on {DAYS[0]}"


async def remind(stack: Stack, number: int, day: str) -> str:
    """A reminder that somebody has set before."""
    async with httpx.AsyncClient(base_url=stack.sandbox_url) as http:
        answer = await http.post(
            "/calendar/reminders",
            json={"reminder_text": f"Water the plants on {day}", "date": day},
            headers={"authorization": "Bearer sandbox", "idempotency-key": f"before-{number}"},
        )
    answer.raise_for_status()
    return str(answer.json()["reminder_id"])


async def test_as_many_as_are_asked_for_are_made_each_by_a_card_of_its_own(
    client: MissionClient, sandbox: Witness
) -> None:
    """Three messages and two tables: no fewer, no more, and nobody gets two."""
    cards: dict[str, ConfirmationCard] = {}

    async def keep(mission: MissionHandle, card: ConfirmationCard) -> None:
        cards[card.confirmation_id] = card
        await approve(mission, card)

    mission = await client.start(MissionRequest(goal=THREE))
    result = await run_to_end(mission, keep)

    live = await sandbox.live(result.mission_id)
    made = sorted(str(effect["operation"]) for effect in live)
    assert result.status is MissionStatus.SUCCEEDED
    assert made == ["dining_reserve_table"] * 2 + ["message_send_email"] * 3
    assert await sandbox.duplicates(result.mission_id) == []
    told = [sandbox.resource(str(e["resource_id"])).get("recipient_email") for e in live]
    assert {"ann@example.com", "bob@example.com", "cy@example.com"} <= {*told}
    assert len(cards) == 5


async def test_all_that_are_meant_are_ended_and_no_other(
    stack: Stack, client: MissionClient, sandbox: Witness
) -> None:
    """Two reminders are on that day; the one of the day after stays."""
    ids = [await remind(stack, number, day) for number, day in enumerate(DAYS)]

    mission = await client.start(MissionRequest(goal=ON_ONE_DAY))
    result = await run_to_end(mission, approve)

    alive = {str(effect["resource_id"]) for effect in await sandbox.live()}
    assert result.status is MissionStatus.SUCCEEDED
    assert alive & {*ids} == {ids[2]}


async def test_several_values_of_one_input_are_asked_about(
    client: MissionClient, sandbox: Witness
) -> None:
    """The rules send one message for a clause: the question names whom it would leave out."""
    goal = "Email ann@example.com, bob@example.com and cy@example.com that the office is closed"

    mission = await client.start(MissionRequest(goal=goal))
    (question,) = await eventually(mission.questions)
    await mission.cancel()

    assert "'bob@example.com'" in question.question
    assert "'cy@example.com'" in question.question
    assert await sandbox.live(mission.mission_id) == []
