"""The example in TypeScript: a foreign worker whose calls go through sessions over Nexus.

Run by `pytest -m interop`, because npm brings the SDK of another language.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import pytest
from temporalio.client import Client, WorkflowFailureError

from orchestrator.sandbox import FaultRule
from orchestrator.testing import eventually
from tests.guarded_examples import (
    EXAMPLES,
    all_approved,
    approve_next,
    nexus_endpoint,
    saga_of,
    until_sent,
    worker_process,
)

if TYPE_CHECKING:
    from orchestrator.client.mission_client import MissionClient
    from orchestrator.runtime.devserver import Stack
    from tests.integration.conftest import Witness

pytestmark = pytest.mark.interop
FOLDER: Final = Path(__file__).parents[2] / "build/typescript"
LEAVING, RETURNING = ((date.today() + timedelta(days=days)).isoformat() for days in (7, 10))


@pytest.fixture(scope="module")
def built() -> Path:
    """The example, checked and compiled by TypeScript, in a folder of its own."""
    for name in ("package.json", "package-lock.json", "tsconfig.json"):
        FOLDER.mkdir(parents=True, exist_ok=True)
        shutil.copy(EXAMPLES / "typescript" / name, FOLDER)
    shutil.rmtree(FOLDER / "src", ignore_errors=True)
    shutil.copytree(EXAMPLES / "typescript/src", FOLDER / "src")
    if not (FOLDER / "node_modules/@temporalio/worker").exists():
        _run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
    _run("npm", "run", "build")
    return FOLDER


def _run(*command: str) -> None:
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@asynccontextmanager
async def foreign_worker(stack: Stack, built: Path) -> AsyncIterator[None]:
    """Run the worker in TypeScript, which has nothing of ours."""
    environment = {"PATH": os.environ["PATH"], "TEMPORAL_ADDRESS": stack.address}
    command = ("node", str(built / "lib/worker.js"))
    process = await stack.start_process(command, environment, stack.log("typescript"))
    try:
        yield
    finally:
        process.kill()
        await process.wait()


async def test_a_workflow_in_typescript_books_a_trip(
    stack: Stack, client: MissionClient, sandbox: Witness, built: Path
) -> None:
    """Its cards are in the list of all cards, and its bookings stand at their providers."""
    temporal = await Client.connect(stack.address)
    async with (
        worker_process(stack, "guarded"),
        nexus_endpoint(temporal, "trips") as endpoint,
        foreign_worker(stack, built),
        all_approved(client, "session") as cards,
    ):
        printed = stack.folder / f"{endpoint}.out"
        environment = {"PATH": os.environ["PATH"], "TEMPORAL_ADDRESS": stack.address}
        command = ("node", str(built / "lib/start.js"), endpoint, "Lisbon", LEAVING, RETURNING)
        started = await stack.start_process(command, environment, printed)
        ended = await started.wait()

    assert ended == 0, printed.read_text()
    booked = json.loads(printed.read_text())
    live = await sandbox.live(saga_of(cards[0]))
    assert {effect["resource_id"] for effect in live} == set(booked.values())
    assert {card.tool for card in cards} == {"flight_book_offer", "hotel_book_room"}


async def test_a_trip_in_typescript_whose_last_call_is_refused_leaves_nothing(
    stack: Stack, client: MissionClient, sandbox: Witness, built: Path
) -> None:
    """The worker with the service is killed between the first booking and its answer."""
    temporal = await Client.connect(stack.address)
    await sandbox.set_faults(
        [
            FaultRule(operation_id="flight_book_offer", kind="latency", delay_s=2, times=1),
            FaultRule(operation_id="hotel_book_room", kind="status_before", status=409),
        ]
    )
    async with (
        nexus_endpoint(temporal, "trips") as endpoint,
        foreign_worker(stack, built),
    ):
        async with worker_process(stack, "first"):
            trip = await temporal.start_workflow(
                "trip",
                args=[endpoint, "Lisbon", LEAVING, RETURNING],
                id=f"trip/{uuid4()}",
                task_queue="typescript-trips",
            )
            saga = await approve_next(client, "session", "flight_book_offer")
            await until_sent(sandbox, saga, "flight_book_offer")
            await stack.kill("first")
        async with worker_process(stack, "second"), all_approved(client, "session"):
            with pytest.raises(WorkflowFailureError) as failed:
                await trip.result()

    assert "hotel_book_room rejected" in str(failed.value.cause)
    assert await sandbox.live(saga) == []
    assert await sandbox.duplicates(saga) == []
    report = await client.rollback_report(saga)
    assert [o.state for o in report.ledger.obligations] == ["cancelled", "void"]


async def test_a_cancelled_workflow_in_typescript_leaves_nothing(
    stack: Stack, client: MissionClient, sandbox: Witness, built: Path
) -> None:
    """Its cancel request reaches the session while the second card waits."""
    temporal = await Client.connect(stack.address)
    async with (
        worker_process(stack, "guarded"),
        nexus_endpoint(temporal, "trips") as endpoint,
        foreign_worker(stack, built),
    ):
        trip = await temporal.start_workflow(
            "trip",
            args=[endpoint, "Lisbon", LEAVING, RETURNING],
            id=f"trip/{uuid4()}",
            task_queue="typescript-trips",
        )
        saga = await approve_next(client, "session", "flight_book_offer")

        async def waits_for_the_second() -> bool:
            cards = await client.confirmations()
            return any(c.confirmation_id.startswith(f"{saga}.") for c in cards) and bool(
                await sandbox.live(saga)
            )

        await eventually(waits_for_the_second)
        await trip.cancel()
        with pytest.raises(WorkflowFailureError):
            await trip.result()

    assert await sandbox.live(saga) == []
    report = await client.rollback_report(saga)
    assert [o.state for o in report.ledger.obligations] == ["cancelled"]
