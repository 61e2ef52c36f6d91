"""docs/quickstart.md, as a newcomer types it: from a document to a mission, and to a rollback."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import shutil
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from orchestrator.client.connection import connect_temporal
from orchestrator.client.mission_client import MissionClient
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.runtime.devserver import Ports, ourselves
from orchestrator.sandbox import FaultRule, SandboxClient
from orchestrator.settings import Settings
from orchestrator.testing import run_to_end
from orchestrator.testing.commands import run_apart

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs/quickstart.md").read_text(encoding="utf-8")


def _typed(section: str) -> list[list[str]]:
    """The words of each `orchestrator` command in the section of that number."""
    text = PAGE.partition(f"\n## {section}.")[2].partition("\n## ")[0]
    blocks = "".join(re.findall(r"^```bash\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    lines = [shlex.split(line, comments=True) for line in blocks.splitlines()]
    return [words[1:] for words in lines if words[:1] == ["orchestrator"]]


def _goal(section: str) -> str:
    """What its `mission start` is given."""
    (goal,) = [words[2] for words in _typed(section) if words[:2] == ["mission", "start"]]
    return goal


@dataclass(frozen=True)
class Newcomer:
    """A folder with the proposed overlay, and the installation that `dev` runs on it."""

    folder: Path
    ports: Ports
    printed: str

    async def client(self) -> MissionClient:
        """A client of it."""
        temporal = await connect_temporal(f"127.0.0.1:{self.ports.temporal}")
        return MissionClient(temporal, Settings(state_dir=self.folder / "state"))


def _environment() -> dict[str, str]:
    ours = ("ORCHESTRATOR_", "TEMPORAL_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


@pytest.fixture(scope="module")
async def newcomer(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Newcomer]:
    """What sections 1 and 3 lead to."""
    folder = tmp_path_factory.mktemp("quickstart")
    shutil.copy(ROOT / "docs/examples/helpdesk.yaml", folder)
    for command in _typed("1"):
        ran = await run_apart(*command, environment=_environment(), folder=folder)
        assert ran.exit_code == 0, ran.stderr
    (dev,) = [words for words in _typed("3") if words[0] == "dev"]
    ports = Ports.free()
    process = await asyncio.create_subprocess_exec(
        *(*ourselves(), *dev, f"--folder={folder / 'state'}"),
        *(f"--temporal-port={ports.temporal}", f"--ui-port={ports.ui}"),
        f"--sandbox-port={ports.sandbox}",
        cwd=folder,
        env={**_environment(), "COLUMNS": "200"},
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(60):
            printed = (await process.stdout.readuntil(b"state is kept")).decode()
        yield Newcomer(folder, ports, printed)
    finally:
        process.send_signal(signal.SIGINT)
        await process.communicate()


async def _run(newcomer: Newcomer, goal: str) -> tuple[str, Any]:
    client = await newcomer.client()
    mission = await client.start(MissionRequest(goal=goal))
    result = await run_to_end(mission)
    return mission.mission_id, result


async def test_the_proposed_pairs_can_be_undone(newcomer: Newcomer) -> None:
    """Section 2 holds for both, without a word of the proposal changed."""
    (command,) = _typed("2")
    ran = await run_apart(
        *command,
        "--seed=1",
        "--json",
        environment=_environment(),
        folder=newcomer.folder,
        timeout_s=250,
    )

    report = json.loads(ran.stdout)
    assert {check["tool"] for check in report["checks"]} == {"createTicket", "scheduleCallback"}
    assert [c["flaws"] for c in report["checks"] if not c["ok"]] == []


async def test_a_mission_succeeds(newcomer: Newcomer) -> None:
    """Section 3: the ticket is created, with what the goal says and a made-up credential."""
    mission_id, result = await _run(newcomer, _goal("3"))
    async with SandboxClient(f"http://127.0.0.1:{newcomer.ports.sandbox}") as sandbox:
        requests = await sandbox.requests(mission_id)

    assert result.status is MissionStatus.SUCCEEDED, result.error
    (request,) = [one for one in requests if one["operation"] == "createTicket"]
    assert {one["operation"] for one in requests} <= {"createTicket", "listCustomers"}
    assert request["arguments"]["customer_id"] == "cus_7f31"
    assert request["arguments"]["subject"] == "Invoice 2041 is wrong"


async def test_a_mission_rolls_back(newcomer: Newcomer) -> None:
    """Section 4: the callback is refused, and the ticket is deleted again."""
    (rules,) = re.findall(r"-d '(\[.*?\])'", PAGE)
    async with SandboxClient(f"http://127.0.0.1:{newcomer.ports.sandbox}") as sandbox:
        await sandbox.set_faults([FaultRule(**rule) for rule in json.loads(rules)])
        mission_id, result = await _run(newcomer, _goal("4"))
        left = await sandbox.live(mission_id)
        effects = await sandbox.ledger(mission_id)

    assert result.status is MissionStatus.ROLLED_BACK, result.error
    assert left == []
    assert [effect["kind"] for effect in effects] == ["create", "cancel"]


def test_dev_says_what_to_type_next(newcomer: Newcomer) -> None:
    """Nothing of the documents that come along."""
    assert "orchestrator tools list" in newcomer.printed
    assert "Oslo" not in newcomer.printed
