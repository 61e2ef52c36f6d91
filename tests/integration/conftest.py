"""One whole installation for all integration tests: real server, sandbox and worker processes."""

import asyncio
import json
import os
import sqlite3
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass

import pytest

from orchestrator.adapters.storage.store import Store
from orchestrator.cli import main
from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.record import JsonObject
from orchestrator.messages.mission import MissionRequest
from orchestrator.messages.rollback import SweepReport
from orchestrator.runtime.demo import TRIP
from orchestrator.runtime.devserver import Ports, Stack
from orchestrator.sandbox import SandboxClient
from orchestrator.settings import bundled_specs
from orchestrator.testing import approve, eventually, run_to_end
from tests.commands import Ran, run_apart
from tests.forked import ForkedStack
from tests.otlp_receiver import OtlpReceiver

PERSON = {
    "traveler_id": "TRV-90417-QX",
    "traveler_name": "Zephyrine Oakhollow",
    "traveler_email": "zephyrine.oakhollow@planted.example",
    "traveler_phone": "+4930555019283",
    "employee_id": "EMP-61873-QX",
    "payment_method_id": "PM-55310-QX",
}
"""Whom the bookings are made for: values that nothing else in a run can contain."""

SECRETS = {
    "ORCHESTRATOR_SECRET_PAYMENTS__PAYMENTS_TOKEN": "planted-payments-7f3a90c2d1",
    "ORCHESTRATOR_SECRET_EXPENSES__EXPENSES_KEY": "planted-expenses-b81e44f6a0",
}


def _ours_hidden() -> dict[str, str]:
    """The environment of this machine without settings that would be ours."""
    foreign = ("ORCHESTRATOR_", "TEMPORAL_")
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)}


@pytest.fixture(scope="session")
def person() -> dict[str, str]:
    """What the PII vault of the stack holds."""
    return PERSON


@pytest.fixture(scope="session")
def secrets() -> dict[str, str]:
    """The credentials that the stack's worker was given."""
    return SECRETS


@pytest.fixture(scope="session")
def collector() -> Iterator[OtlpReceiver]:
    """What the telemetry of the stack's worker arrives at."""
    with OtlpReceiver() as receiver:
        yield receiver


@pytest.fixture(scope="session")
async def stack(
    tmp_path_factory: pytest.TempPathFactory, collector: OtlpReceiver
) -> AsyncIterator[Stack]:
    """The installation, on free ports and in a folder of its own."""
    installation = ForkedStack(
        tmp_path_factory.mktemp("stack"),
        (bundled_specs(),),
        Ports.free(),
        variables={
            # With every core at work, some routings take more than 50 ms, and forward all tools.
            "ORCHESTRATOR_ROUTING_TIMEOUT_MS": "5000",
            # A scheduled sweep could start what a test expects its own sweep to start.
            "ORCHESTRATOR_SWEEP_INTERVAL": "604800",
            **collector.variables,
        },
    )
    vault = Store(installation.settings.state_dir).vault
    for name, value in PERSON.items():
        vault.put(name, value)
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ.keys() - _ours_hidden().keys():
            patch.delenv(name)
        for name, value in SECRETS.items():
            patch.setenv(name, value)
        await installation.__aenter__()
    try:
        yield installation
    finally:
        await installation.stop()


@pytest.fixture(scope="session")
async def client(stack: Stack) -> MissionClient:
    """A client of the installation."""
    return await stack.client()


class Witness(SandboxClient):
    """The sandbox, and what its providers keep of each thing they made."""

    def __init__(self, stack: Stack) -> None:
        """Take the installation whose sandbox is asked."""
        super().__init__(stack.sandbox_url)
        self._file = stack.folder / "sandbox.db"

    def resource(self, resource_id: str) -> JsonObject:
        """One booking, report or message as its provider stored it."""
        connection = sqlite3.connect(f"file:{self._file}?mode=ro", uri=True)
        try:
            row = connection.execute(
                "SELECT facts FROM resources WHERE resource_id = ?", (resource_id,)
            ).fetchone()
        finally:
            connection.close()
        facts: JsonObject = json.loads(row[0])
        return facts

    async def made(self, mission_id: str, operation: str) -> JsonObject:
        """The one thing that an operation made for a mission, as its provider stored it."""
        (effect,) = [e for e in await self.live(mission_id) if e["operation"] == operation]
        return self.resource(effect["resource_id"])


@pytest.fixture
async def sandbox(stack: Stack) -> AsyncIterator[Witness]:
    """The witness; it forgets planned trouble when the test is over."""
    async with Witness(stack) as witness:
        yield witness
        await witness.clear_faults()


@dataclass(frozen=True)
class Cli:
    """Runs `python -m orchestrator ...` as a process of its own.

    `await cli("mission", "list", "--json")`; keywords add or replace environment variables.
    """

    environment: dict[str, str]

    async def __call__(self, *arguments: str, **variables: str) -> Ran:
        """Run one command to its end."""
        environment = {**_ours_hidden(), "COLUMNS": "200", **self.environment, **variables}
        return await run_apart(*arguments, environment=environment)


@pytest.fixture
async def booked_trip(client: MissionClient, sandbox: Witness) -> MissionHandle:
    """A trip under way: flight and then hotel are booked, and nobody decides on the expense."""
    mission = await client.start(MissionRequest(goal=TRIP))

    async def all_but_expenses(mission: MissionHandle, card: ConfirmationCard) -> None:
        is_first = card.tool == "flight_book_offer"
        if is_first or (card.tool == "hotel_book_room" and await sandbox.live(mission.mission_id)):
            await approve(mission, card)

    going = asyncio.create_task(run_to_end(mission, all_but_expenses))

    async def asks_to_expense() -> bool:
        return "expense_file_report" in [card.tool for card in await mission.confirmations()]

    await eventually(asks_to_expense)
    going.cancel()
    return mission


SweepUntilFound = Callable[[str], Awaitable[SweepReport]]


@pytest.fixture
def sweep_until_found(client: MissionClient) -> SweepUntilFound:
    """Sweeps until that starts a mission's rollback: what just ended shows a moment later."""

    async def sweep(mission_id: str) -> SweepReport:
        async def found() -> SweepReport | None:
            report = await client.sweep()
            return report if mission_id in report.started else None

        report = await eventually(found)
        assert report is not None
        return report

    return sweep


@pytest.fixture(scope="session")
def cli(stack: Stack) -> Cli:
    """Commands that talk to the installation."""
    return Cli(stack.environment)


@pytest.fixture
def here(
    stack: Stack, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ran]:
    """Runs a command in this process, where many that differ in little cost little.

    Commands bring their own event loop, so this is for tests that are not coroutines.
    """
    for name, value in stack.environment.items():
        monkeypatch.setenv(name, value)

    def run(*arguments: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["orchestrator", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        printed = capsys.readouterr()
        assert isinstance(stopped.value.code, int)
        return Ran(stopped.value.code, printed.out, printed.err)

    return run
