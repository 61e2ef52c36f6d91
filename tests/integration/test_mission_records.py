"""The record of a mission, on the real server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.client.mission_client import MissionClient
from orchestrator.json_schema.canonical import canonical_digest
from orchestrator.messages.mission import MissionRequest
from orchestrator.runtime.demo import DINNER
from orchestrator.testing import run_to_end

if TYPE_CHECKING:
    from tests.integration.conftest import Cli


async def test_the_record_of_a_mission_names_no_person(
    client: MissionClient, cli: Cli, person: dict[str, str]
) -> None:
    """Its record has its digest and names no person."""
    mission = await client.start(MissionRequest(goal=DINNER))
    await run_to_end(mission)
    exported = await cli("mission", "export", mission.mission_id)
    written, record = exported.stdout, exported.json["record"]

    assert exported.json["sha256"] == canonical_digest(record)
    assert {"card", "decision", "call", "obligation"} <= {one["kind"] for one in record["events"]}
    assert {one["workflow_id"] for one in record["histories"]} >= {mission.mission_id}
    assert record["result"]["receipts"]
    assert not [value for value in person.values() if value in written]
