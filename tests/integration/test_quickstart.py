"""docs/quickstart.md, as a newcomer types it: from a document to a mission, and to a rollback."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from orchestrator.runtime.devserver import Ports, ourselves
from orchestrator.testing.commands import run_apart

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs/quickstart.md").read_text(encoding="utf-8")


def _typed(section: str) -> list[list[str]]:
    """The words of each `orchestrator` command in the section of that number."""
    text = PAGE.partition(f"\n## {section}.")[2].partition("\n## ")[0]
    blocks = "".join(re.findall(r"^```bash\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    lines = [shlex.split(line, comments=True) for line in blocks.splitlines()]
    return [words[1:] for words in lines if words[:1] == ["orchestrator"]]


@dataclass(frozen=True)
class Newcomer:
    """A folder with the proposed overlay, and the installation that `dev` runs on it."""

    folder: Path
    ports: Ports
    printed: str


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


def test_dev_says_what_to_type_next(newcomer: Newcomer) -> None:
    """Nothing of the documents that come along."""
    assert "orchestrator tools list" in newcomer.printed
    assert "Oslo" not in newcomer.printed
