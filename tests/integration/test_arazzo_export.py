"""A mission that ran, exported as an Arazzo document that makes its calls again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.arazzo.arazzo_document import parse_document
from orchestrator.arazzo.arazzo_files import content_of, load_contents
from orchestrator.arazzo.binding import bind
from orchestrator.arazzo.engine import CallMove, StepAnswer, next_move
from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_record import mission_calls
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.planning.models import WorkflowSource
from orchestrator.runtime.demo import LEAVING
from orchestrator.testing import run_to_end
from tests.shipped import shipped_catalog

if TYPE_CHECKING:
    from tests.integration.conftest import Cli, Witness


async def test_an_exported_mission_makes_the_same_calls(
    client: MissionClient, cli: Cli, sandbox: Witness, tmp_path: Path
) -> None:
    """The arguments of the second call are read from the first answer, and not written down."""
    mission = await client.start(
        MissionRequest(goal=f"Book a flight from Berlin to Lisbon on {LEAVING}")
    )
    await run_to_end(mission)
    file = tmp_path / "flight.arazzo.yaml"

    ran = await cli(
        "mission", "export", mission.mission_id, "--format", "arazzo", "--out", str(file)
    )

    assert ran.exit_code == 0, ran.stderr
    made = await mission_calls(client.connection, mission.mission_id)
    text = file.read_text(encoding="utf-8")
    document = parse_document(file.name, content_of(file.name, text))
    workflow = bind(document, "", shipped_catalog())[0]
    answers: list[StepAnswer] = []
    moves: list[CallMove] = []
    while isinstance(move := next_move(workflow, {}, answers), CallMove):
        moves.append(move)
        answers.append(StepAnswer(move.step_id, "succeeded", 200, body=made[len(answers)].body))
    assert [move.tool for move in moves] == ["flight_search_offers", "flight_book_offer"]
    assert [move.tool for move in moves] == [call.tool for call in made]
    assert moves[1].arguments["offer_id"] == made[1].arguments["offer_id"]
    assert str(made[1].arguments["offer_id"]) not in text

    source = WorkflowSource(document=load_contents(file)[0])
    again = await client.start(MissionRequest(goal="Again", workflow=source))
    result = await run_to_end(again)

    assert result.status is MissionStatus.SUCCEEDED, result.error
    first, second = [
        [(one["operation"], one["kind"], one["status"]) for one in await sandbox.ledger(m)]
        for m in (mission.mission_id, again.mission_id)
    ]
    assert first == second == [("flight_book_offer", "create", "live")]
