"""A question of a mission, answered in a person's words by commands alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.client.mission_client import MissionClient
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.runtime.demo import LEAVING, day_in
from orchestrator.testing import eventually, run_to_end

if TYPE_CHECKING:
    from tests.integration.conftest import Cli, Witness


async def test_a_question_is_shown_and_answered_in_words(
    cli: Cli, client: MissionClient, sandbox: Witness
) -> None:
    """Listed with what it takes; a text that says no day leaves it open; "tomorrow" is a day."""
    mission = await client.start(MissionRequest(goal="Find a hotel in Lisbon for two nights"))

    await eventually(mission.questions)
    (question,) = (await cli("mission", "show", mission.mission_id, "--json")).json["waiting"]
    page = await cli("mission", "show", mission.mission_id)
    unread = await cli("mission", "answer", mission.mission_id, "check_in=soon")
    silent = await cli("mission", "answer", question["question_id"])
    answered = await cli("mission", "answer", mission.mission_id, "check_in=in 10 days", "--json")
    result = await run_to_end(mission)

    (field,) = (one for one in question["asks"] if one["name"] == "check_in")
    assert "such as tomorrow" in field["takes"]
    assert "rolled back" in question["otherwise"]
    assert question["why"] in page.stdout
    assert question["commands"][-1] in page.stdout
    assert (unread.exit_code, silent.exit_code, answered.exit_code) == (2, 2, 0)
    assert "'soon' names no day" in unread.stderr
    assert question["commands"][-1] in silent.stderr
    assert answered.json["values"]["check_in"] == LEAVING
    assert result.status is MissionStatus.SUCCEEDED
    assert "hotel rooms: " in result.summary
    (fact,) = result.legs[0].facts
    assert (fact.arguments["check_in"], fact.arguments["check_out"]) == (LEAVING, day_in(12))
    assert result.legs[0].table is not None
    assert await sandbox.ledger(mission.mission_id) == []
