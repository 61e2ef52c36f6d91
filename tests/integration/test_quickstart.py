"""docs/quickstart.md, as a newcomer types it: from a document to a mission, and to a rollback."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx
import pytest

from orchestrator.client.connection import connect_temporal
from orchestrator.client.mission_client import MissionClient
from orchestrator.runtime.devserver import Ports, ourselves
from orchestrator.settings import Settings
from orchestrator.testing import eventually
from tests.commands import Ran, run_apart

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs/quickstart.md").read_text(encoding="utf-8")
PATIENCE_S: Final = 240
"""Until a command that waits for others is given up: other tests run beside this one."""


def _typed(section: str, command: str) -> list[list[str]]:
    """The words of each line of that command in the section of that number."""
    text = PAGE.partition(f"\n## {section}.")[2].partition("\n## ")[0]
    blocks = "".join(re.findall(r"^```bash\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    joined = blocks.replace("\\\n", "")  # a command may go on in the next line
    lines = [shlex.split(line, comments=True) for line in joined.splitlines()]
    return [words[1:] for words in lines if words[:1] == [command]]


def _environment() -> dict[str, str]:
    ours = ("ORCHESTRATOR_", "TEMPORAL_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


def _sourced(script: Path) -> dict[str, str]:
    """What the environment holds after a script was sourced by a shell."""
    told = ("bash", "-c", '. "$0" && env -0', str(script))
    ran = subprocess.run(told, env=_environment(), capture_output=True, check=True)
    return dict(line.split("=", 1) for line in ran.stdout.decode().split("\0") if line)


@dataclass(frozen=True)
class Newcomer:
    """A folder with the proposed overlay, and the installation that `dev` runs on it."""

    folder: Path
    ports: Ports
    printed: str

    async def types(self, *words: str) -> Ran:
        """A command in the second terminal, after what `dev` says to source there."""
        environment = {**_environment(), **_sourced(self.folder / "state/env.sh")}
        return await run_apart(
            *words, environment=environment, folder=self.folder, timeout_s=PATIENCE_S
        )

    async def confirms(self, tool: str) -> None:
        """What the third terminal is for: the card of a tool is listed, and approved.

        Until it is there a client looks for it, for a process that asks costs a second of a core.
        """
        temporal = await connect_temporal(f"127.0.0.1:{self.ports.temporal}")
        client = MissionClient(temporal, Settings.model_construct())

        async def asked() -> bool:
            return tool in [card.tool for card in (await client.waiting()).cards]

        await eventually(asked, timeout_s=PATIENCE_S)
        listed = (await self.types("confirm", "list", "--json")).json
        (card,) = [card for card in listed if card["tool"] == tool]
        digest = ("--digest", card["digest"])
        said = await self.types("confirm", "approve", card["confirmation_id"], *digest)
        assert said.exit_code == 0, said.stderr

    async def ledger(self) -> list[list[str]]:
        """What the sandbox saw done, oldest first: operation and kind of effect."""
        async with httpx.AsyncClient() as client:
            answer = await client.get(f"http://127.0.0.1:{self.ports.sandbox}/_sandbox/ledger")
        return [[e["operation"], e["kind"], e["status"]] for e in answer.json()["effects"]]


async def _in_folder(folder: Path, *words: str) -> Ran:
    return await run_apart(*words, environment=_environment(), folder=folder, timeout_s=PATIENCE_S)


@pytest.fixture(scope="module")
async def newcomer(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Newcomer]:
    """What sections 1 and 3 lead to."""
    folder = tmp_path_factory.mktemp("quickstart")
    shutil.copy(ROOT / "docs/examples/helpdesk.yaml", folder)
    for command in _typed("1", "orchestrator"):
        ran = await _in_folder(folder, *command)
        assert ran.exit_code == 0, ran.stderr
    (dev,) = [words for words in _typed("3", "orchestrator") if words[0] == "dev"]
    ports = Ports.free(has_inbox=True)
    process = await asyncio.create_subprocess_exec(
        *(*ourselves(), *dev, f"--folder={folder / 'state'}"),
        *(f"--temporal-port={ports.temporal}", f"--ui-port={ports.ui}"),
        *(f"--sandbox-port={ports.sandbox}", f"--inbox-port={ports.inbox}"),
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


def test_dev_says_what_to_type_next(newcomer: Newcomer) -> None:
    """Nothing of the documents that come along."""
    assert "orchestrator tools list" in newcomer.printed
    assert "Oslo" not in newcomer.printed


async def test_missions_succeed_and_roll_back(newcomer: Newcomer) -> None:
    """A ticket is created; another one is deleted again when the callback after it is refused.

    Then the first one is taken back, as one of yesterday would be.
    """
    plan, succeeds = _typed("3", "orchestrator")[1:3]
    (rolls_back,) = _typed("4", "orchestrator")
    (faults,) = _typed("4", "curl")

    planned = await newcomer.types(*plan)
    done, _ = await asyncio.gather(
        newcomer.types(*succeeds, "--json"), newcomer.confirms("createTicket")
    )
    made = await newcomer.ledger()
    async with httpx.AsyncClient() as client:
        told, form = faults[faults.index("-d") + 1], {"content-type": "application/json"}
        where = f"http://127.0.0.1:{newcomer.ports.sandbox}/_sandbox/faults"
        (await client.put(where, content=told, headers=form)).raise_for_status()

    async def both() -> None:
        await newcomer.confirms("createTicket")
        await newcomer.confirms("scheduleCallback")

    cancelled, _ = await asyncio.gather(newcomer.types(*rolls_back, "--json"), both())
    left = await newcomer.ledger()
    scripted = ("--yes", "--reason=wrong ticket")
    rolled_back_later = await newcomer.types(
        "mission", "rollback", done.json["mission_id"], *scripted
    )
    first = (await newcomer.ledger())[0]

    assert "Create a ticket" in planned.stdout
    assert done.json["status"] == "succeeded", done.stdout
    assert made == [["createTicket", "create", "live"]]
    assert cancelled.json["status"] == "rolled_back", cancelled.stdout
    assert [effect[:2] for effect in left[1:]] == [
        ["createTicket", "create"],
        ["deleteTicket", "cancel"],
    ]
    assert left[1][2] == "cancelled"
    assert rolled_back_later.exit_code == 0, rolled_back_later.stderr
    assert first == ["createTicket", "create", "cancelled"]


async def test_another_server_is_called_where_it_is(newcomer: Newcomer) -> None:
    """Section 5: the address is made of the settings, and nobody is there, which is said."""
    section = PAGE.partition("\n## 5.")[2]
    exports = " ".join(re.findall(r"^export (.*)$", section, re.MULTILINE))
    settings = dict(word.split("=", 1) for word in shlex.split(exports))
    (call,) = [words for words in _typed("5", "orchestrator") if words[0] == "tools"]

    ran = await run_apart(
        *call,
        environment={**_environment(), **settings},
        folder=newcomer.folder,
        timeout_s=PATIENCE_S,
    )

    assert ran.exit_code == 1
    assert ran.stderr.strip() == "unknown: the host's name could not be resolved"


@pytest.mark.long
async def test_a_proposed_pair_can_be_cancelled(newcomer: Newcomer) -> None:
    """Section 2, of one pair alone, without a word of the proposal changed."""
    suggest = [*_typed("1", "orchestrator")[0][:-1], "one.yaml", "--only=callbacks"]
    (check,) = _typed("2", "orchestrator")
    proposed = await _in_folder(newcomer.folder, *suggest)
    ran = await _in_folder(newcomer.folder, *check[:-1], "one.yaml", "--seed=1", "--json")

    assert proposed.exit_code == 0, proposed.stderr
    assert {trial["tool"] for trial in ran.json["checks"]} == {"scheduleCallback"}
    assert [trial["flaws"] for trial in ran.json["checks"] if not trial["ok"]] == []
