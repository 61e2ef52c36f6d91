"""Workers that keep their state apart: a catalog that one lacks costs a wait, and no mission."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
import yaml
from cryptography.fernet import Fernet
from pydantic import SecretStr
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest

from orchestrator.client.connection import connect_temporal
from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.client.stores import store_of
from orchestrator.core.errors import MissionNotFound
from orchestrator.messages import names
from orchestrator.messages.mission import MissionRequest, MissionResult, MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.runtime.defaults import default_tools
from orchestrator.runtime.demo import DINNER
from orchestrator.runtime.devserver import Stack
from orchestrator.runtime.worker import build
from orchestrator.settings import Settings, bundled_specs
from orchestrator.testing import approve, eventually, run_to_end
from tests.integration.conftest import Witness

_TASK_DONE = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
_KEY = Fernet.generate_key().decode()
_QUICK = MissionPolicy(call_timeout=timedelta(seconds=3))
"""A rollback waits until what is unclear can no longer arrive: 40 seconds, not 174."""
"""Bytes from which on a payload is kept in the store that machines share: plans are, for one."""


@dataclass(frozen=True)
class Site:
    """Machines with a folder each, on one task queue of the shared installation."""

    stack: Stack
    folder: Path
    queue: str
    store: str | None = None
    """Where all of them keep their state; none: in their folders."""

    def settings(self, machine: str, specs: Path | None = None) -> Settings:
        """What a worker of one machine is set to, over other documents where these are given."""
        changes = {"task_queue": self.queue, "state_dir": self.folder / machine}
        changes |= {"routing_timeout_ms": 5000, "specs": (specs or bundled_specs(),)}
        if self.store is not None:
            changes |= {"store": SecretStr(self.store), "pii_key": SecretStr(_KEY)}
        return self.stack.settings.model_copy(update=changes)

    @asynccontextmanager
    async def worker(self, machine: str, specs: Path | None = None) -> AsyncIterator[None]:
        """A worker of that machine; where they share no store, it has the installation's vault."""
        settings = self.settings(machine, specs)
        temporal = await connect_temporal(self.stack.address, settings=settings)
        async with AsyncExitStack() as running:
            store = await running.enter_async_context(store_of(settings))
            vault = store if self.store else store_of(self.stack.settings)
            tools = await running.enter_async_context(default_tools(settings, vault))
            for worker in build(temporal, settings, tools=tools, store=store):
                await running.enter_async_context(worker)
            yield

    async def client(self) -> MissionClient:
        """A client of the task queue."""
        settings = self.settings("client")
        temporal = await connect_temporal(self.stack.address, settings=settings)
        return MissionClient(temporal, settings)


@pytest.fixture
def site(stack: Stack, tmp_path: Path) -> Site:
    """Folders of this test's own."""
    return Site(stack, tmp_path, f"folders-{uuid4().hex[:8]}")


@pytest.fixture
def newer(tmp_path: Path) -> Path:
    """The documents in their next version."""
    folder = Path(shutil.copytree(bundled_specs(), tmp_path / "newer"))
    for path in folder.glob("*.yaml"):
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        document["info"]["version"] += "-next"
        path.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return folder


@pytest.mark.long
async def test_after_a_change_of_documents_a_worker_with_its_own_folder_loses_nothing(
    site: Site, newer: Path, sandbox: Witness
) -> None:
    """Neither the mission nor its rollback: both wait, say why, and go on with who has it."""
    client = await site.client()
    async with site.worker("old"):
        kept = await client.start(MissionRequest(goal=DINNER))
        cancelled = await client.start(MissionRequest(goal=DINNER))
        (card,) = await eventually(kept.confirmations)
        await _booked(cancelled, sandbox)
    async with site.worker("new", newer):
        await approve(kept, card)
        await cancelled.cancel()

        (stalled, *_) = await eventually(lambda: _stalled(kept))
        why = await eventually(lambda: _why_not_yet(client, cancelled))
        assert "no catalog" in stalled
        assert "no catalog" in why
        assert "provider" not in why
        assert "store" in await eventually(lambda: _waits(client, kept))
        assert await sandbox.live(kept.mission_id) == []
        async with site.worker("old"):
            result, ended = await asyncio.gather(
                run_to_end(kept, timeout_s=120), run_to_end(cancelled, timeout_s=120)
            )

    assert result.status is MissionStatus.SUCCEEDED, result.error
    assert len(await sandbox.live(kept.mission_id)) == 2
    assert ended.status is MissionStatus.CANCELLED
    assert await sandbox.live(cancelled.mission_id) == []
    for mission in (kept, cancelled):
        assert await sandbox.duplicates(mission.mission_id) == []


async def test_workers_of_two_folders_share_one_store(
    site: Site, newer: Path, sandbox: Witness, postgres_url: str, person: dict[str, str]
) -> None:
    """What one keeps, the other has: catalogs, personal values, used grants."""
    shared = replace(site, store=postgres_url)
    client = await shared.client()
    async with store_of(shared.settings("client")) as store:
        for field, value in person.items():
            await asyncio.to_thread(store.vault.put, field, value)
    async with shared.worker("old"):
        first = await client.start(MissionRequest(goal=DINNER, policy=_QUICK))
        cancelled = await client.start(MissionRequest(goal=DINNER))
        await _booked(first, sandbox)
        await _booked(cancelled, sandbox)
    async with shared.worker("new", newer):
        await cancelled.cancel()
        result, ended = await asyncio.gather(run_to_end(first), run_to_end(cancelled))
        made = await sandbox.live(first.mission_id)
        reset = await _sent_again(client, first)

    assert result.status is MissionStatus.SUCCEEDED, result.error
    assert ended.status is MissionStatus.CANCELLED
    assert await sandbox.live(cancelled.mission_id) == []
    assert len(made) == 2
    assert "has been used" in (reset.error or "")
    # What its history no longer knows is taken back with the rest: the store knows it.
    assert reset.status is MissionStatus.ROLLED_BACK
    assert await sandbox.live(first.mission_id) == []
    assert await sandbox.duplicates(first.mission_id) == []


async def _sent_again(client: MissionClient, mission: MissionHandle) -> MissionResult:
    """Reset the mission to before its last call was answered; return how it ends then."""
    handle = client.temporal.get_workflow_handle(mission.mission_id)
    events = (await handle.fetch_history()).events
    scheduled = [
        event.event_id
        for event in events
        if event.activity_task_scheduled_event_attributes.activity_type.name == names.INVOKE_TOOL
    ]
    before = max(
        e.event_id for e in events if e.event_type == _TASK_DONE and e.event_id < scheduled[-1]
    )
    await client.temporal.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace=client.temporal.namespace,
            workflow_execution=WorkflowExecution(workflow_id=mission.mission_id, run_id=""),
            reason="a test",
            workflow_task_finish_event_id=before,
            request_id=uuid4().hex,
        )
    )
    return await run_to_end(mission, timeout_s=120)


async def _booked(mission: MissionHandle, sandbox: Witness) -> None:
    """Approve its first card, and wait until that is booked and the next one open."""
    (first,) = await eventually(mission.confirmations)
    await approve(mission, first)

    async def asks_next() -> bool:
        cards = [card.confirmation_id for card in await mission.confirmations()]
        return bool(cards) and first.confirmation_id not in cards

    await eventually(asks_next)
    assert await sandbox.live(mission.mission_id)


async def _stalled(mission: MissionHandle) -> tuple[str, ...]:
    return (await mission.waiting()).stalled


async def _why_not_yet(client: MissionClient, mission: MissionHandle) -> str:
    """What the rollback of a mission notes of the first obligation that it could not take back."""
    try:
        report = await client.rollback_report(mission.mission_id)
    except MissionNotFound:
        return ""
    assert not report.parked
    return next((o.note for o in report.ledger.live() if o.note), "")


async def _waits(client: MissionClient, mission: MissionHandle) -> set[str]:
    """What a list says that a mission waits for."""
    (line,) = [m for m in await client.missions() if m.mission_id == mission.mission_id]
    return {wait.kind for wait in line.waits_for}
