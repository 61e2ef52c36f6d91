"""Observed calls over a real server, store and provider: nothing is gated, and reports say so."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from temporalio.client import Client, WorkflowFailureError
from temporalio.worker import Worker

from orchestrator.client.mission_client import MissionClient
from orchestrator.client.stores import store_of
from orchestrator.core.errors import UsageError
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.messages.observed import OBSERVED
from orchestrator.runtime.defaults import default_tools
from orchestrator.runtime.demo import DINNER
from orchestrator.runtime.worker import build
from orchestrator.temporal import OrchestratorPlugin
from orchestrator.testing import eventually
from tests.guarded_workflows import TwoTables

if TYPE_CHECKING:
    from orchestrator.client.observe_report import ObserveReport
    from orchestrator.runtime.devserver import Stack
    from tests.integration.conftest import Cli, Witness


async def test_an_observed_failure_leaves_all_and_is_reported(
    stack: Stack, client: MissionClient, sandbox: Witness
) -> None:
    """No card, no cancel, no sweep; the report names the table that a rollback would free."""
    began = datetime.now(UTC) - timedelta(minutes=1)
    plugin = OrchestratorPlugin(settings=stack.settings, mode="observe")
    theirs = await Client.connect(stack.address, plugins=[plugin])
    queue = f"observed-{uuid4().hex[:6]}"
    day = (date.today() + timedelta(days=7)).isoformat()
    async with Worker(theirs, task_queue=queue, workflows=[TwoTables]):
        handle = await theirs.start_workflow(
            TwoTables.run, day, id=f"tables/{uuid4()}", task_queue=queue
        )
        with pytest.raises(WorkflowFailureError):
            await handle.result()
        swept = await client.sweep()

    async def look() -> ObserveReport | None:
        report = await client.observed(since=began)
        return report if any(c.workflow_id == handle.id for c in report.caught) else None

    report = await eventually(look)
    assert report is not None
    (failed,) = [c for c in report.caught if c.kind == "failed" and c.workflow_id == handle.id]
    assert "dining_cancel_reservation" in failed.text
    assert len(await sandbox.live(failed.mission_id)) == 1
    assert failed.mission_id not in swept.started
    assert len([ask for ask in report.asks if ask.workflow_id == handle.id]) == 2
    assert all(card.mission_id != failed.mission_id for card in await client.confirmations())


async def test_an_observed_mission_says_so_and_can_be_rolled_back(
    stack: Stack, client: MissionClient, sandbox: Witness, cli: Cli
) -> None:
    """By somebody with a name; a worker that guards has refused the same mission."""
    request = MissionRequest(goal=DINNER, observe=True, requester="ana@example.com")
    refused = await (await client.start(request)).result()
    queue = f"observed-{uuid4().hex[:6]}"
    changes = {"task_queue": queue, "agent_queues": ("none",), "observe": True}
    settings = stack.settings.model_copy(update=changes)
    watcher = MissionClient(client.temporal, settings)
    async with store_of(settings) as store, default_tools(settings, store) as tools:
        (worker,) = build(client.temporal, settings, store=store, tools=tools)
        async with worker:
            mission = await watcher.start(request)
            result = await mission.result()
            held = await sandbox.live(mission.mission_id)
            shown = await cli("mission", "show", mission.mission_id)
            listed = await cli("mission", "list")
            with pytest.raises(UsageError):
                await watcher.rollback(mission.mission_id, reason="wrong week")
            report = await watcher.rollback(
                mission.mission_id, reason="wrong week", approver="ana@example.com"
            )

    assert refused.status is MissionStatus.FAILED
    assert "ORCHESTRATOR_OBSERVE" in str(refused.error)
    assert result.status is MissionStatus.SUCCEEDED
    assert result.observed
    assert held
    assert OBSERVED in shown.stdout
    assert "observed" in listed.stdout
    assert not report.parked
    assert not await sandbox.live(mission.mission_id)


async def test_the_command_reads_what_the_client_reads(cli: Cli) -> None:
    """One JSON document, with the words that no report of observed calls leaves out."""
    found = (await cli("report", "observe", "--since", "1h", "--json")).json

    assert found["mode"] == OBSERVED
    assert found["calls"] >= 0
