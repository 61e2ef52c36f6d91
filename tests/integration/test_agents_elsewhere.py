"""Agents on machines of their own: each leg's work runs on its agent's task queue."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.client.mission_client import MissionClient
from orchestrator.messages import names
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.runtime.demo import TRIP
from orchestrator.settings import bundled_specs
from orchestrator.testing import approve, run_to_end
from tests.fakes import states_of

if TYPE_CHECKING:
    from orchestrator.client.mission_handle import MissionHandle
    from orchestrator.confirmation.models import ConfirmationCard
    from orchestrator.runtime.devserver import Stack
    from tests.integration.conftest import Witness

TRAVEL, BOOKS = "machine-travel", "machine-books"
TRAVELLER = "- {name: traveller, domains: [flights, hotels, weather]}\n"
BOOKKEEPER = f"- {{name: bookkeeper, domains: [expenses], task_queue: {BOOKS}}}\n"
SECRET = "ORCHESTRATOR_SECRET_EXPENSES__EXPENSES_KEY"


def machine(queue: str, agents: Path) -> dict[str, str]:
    """Settings of a worker that serves one queue, with the agents of a file."""
    return {
        "ORCHESTRATOR_TASK_QUEUE": queue,
        "ORCHESTRATOR_AGENT_QUEUES": "none",
        "ORCHESTRATOR_AGENTS": str(agents),
    }


async def test_a_leg_is_served_where_its_agent_is(
    stack: Stack, sandbox: Witness, tmp_path: Path
) -> None:
    """Only the bookkeeper's machine has the key of its service; killed, its successor goes on.

    The other machine holds no such key, so a call that it took would be refused before it left. The
    bookkeeper's own catalog has no flights: it serves missions of the other machine's all the same.
    """
    everybody, alone = tmp_path / "agents.yaml", tmp_path / "bookkeeper.yaml"
    everybody.write_text(TRAVELLER + BOOKKEEPER, encoding="utf-8")
    alone.write_text(BOOKKEEPER, encoding="utf-8")
    travel = {**machine(TRAVEL, everybody), SECRET: ""}
    books = {
        **machine(BOOKS, alone),
        "ORCHESTRATOR_SPECS": str(bundled_specs() / "expenses.yaml"),
    }
    settings = stack.settings.model_copy(update={"task_queue": TRAVEL})
    client = MissionClient((await stack.client()).temporal, settings)
    await stack.start_worker(TRAVEL, variables=travel)
    await stack.start_worker(BOOKS, variables=books)
    killed: list[str] = []

    async def decide(mission: MissionHandle, card: ConfirmationCard) -> None:
        if card.tool == "expense_file_report" and not killed:
            await stack.kill(BOOKS)
            killed.append(card.tool)
            await approve(mission, card)
            await stack.start_worker(BOOKS, variables=books)
        else:
            await approve(mission, card)

    try:
        mission = await client.start(MissionRequest(goal=TRIP))
        result = await run_to_end(mission, decide, timeout_s=120)
        history = await client.temporal.get_workflow_handle(mission.mission_id).fetch_history()
        report = await client.rollback(mission.mission_id, reason="a test", approver="ann")
    finally:
        for queue in (TRAVEL, BOOKS):
            await stack.kill(queue, gently=True)
    scheduled = [
        event.activity_task_scheduled_event_attributes
        for event in history.events
        if event.HasField("activity_task_scheduled_event_attributes")
    ]
    sent = [one.task_queue.name for one in scheduled if one.activity_type.name == names.INVOKE_TOOL]
    thought = {one.task_queue.name for one in scheduled if one.activity_type.name == names.THINK}

    assert killed == ["expense_file_report"]
    assert result.status is MissionStatus.SUCCEEDED, result.error
    assert states_of(result.ledger)["expense_file_report"] == "committed"
    assert {TRAVEL, BOOKS} == set(sent)
    assert sent.count(BOOKS) == 1
    assert BOOKS in thought
    assert await sandbox.duplicates(mission.mission_id) == []
    # The rollback cancels it where the key is.
    assert report.parked == ()
    assert await sandbox.live(mission.mission_id) == []
