"""Forked commands are processes like those that are started anew."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from orchestrator.runtime.devserver import Ports
from orchestrator.testing import eventually
from tests.commands import run_apart
from tests.forked import Command, Forked

BARE = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}


@pytest.mark.parametrize(
    "arguments",
    [("tools", "show", "weather_get_forecast"), ("mission", "start"), ("settings", "--json")],
    ids=["text", "wrong usage", "json"],
)
async def test_it_prints_what_a_command_prints_that_is_started_anew(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """With the same exit code, in the same folder and under the same environment."""
    environment = {**BARE, "COLUMNS": "70", "ORCHESTRATOR_STATE_DIR": "here"}
    path = os.pathsep.join(sys.path)
    anew = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "orchestrator", *arguments),
        env={**environment, "PYTHONPATH": path},
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    stdout, stderr = await anew.communicate()
    forked = await run_apart(*arguments, environment=environment, folder=tmp_path)

    assert forked.exit_code == anew.returncode
    assert forked.stdout == stdout.decode()
    assert forked.stderr == stderr.decode().replace("python -m orchestrator", "orchestrator")


async def test_what_a_command_changes_is_its_own(tmp_path: Path) -> None:
    """Neither the next command nor this process has it."""
    before = dict(os.environ), Path.cwd()
    first = await run_apart("pii", "a", "--generate", environment=BARE, folder=tmp_path)
    second = await run_apart("tools", "list", environment={**BARE, "COLUMNS": "60"})

    assert first.exit_code == 2
    assert max(map(len, second.stdout.splitlines())) == 60
    assert (dict(os.environ), Path.cwd()) == before


@pytest.mark.parametrize(("told", "exit_code"), [(signal.SIGINT, 0), (signal.SIGKILL, -9)])
async def test_a_service_hears_signals(
    tmp_path: Path, told: signal.Signals, exit_code: int
) -> None:
    """It ends well when it is asked to, and at once when it is killed."""
    log = tmp_path / "log"
    process = Forked.start(Command(sandbox(tmp_path), BARE, stdout=log, stderr=log, umask=0o077))

    async def serves() -> bool:
        return log.exists() and b"http" in log.read_bytes()

    await eventually(serves)
    still = process.returncode
    os.kill(process.pid, told)

    assert still is None
    assert await process.wait() == exit_code
    assert process.returncode == exit_code
    assert log.stat().st_mode & 0o777 == 0o600


async def test_a_command_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    """Nothing of it is left."""
    with pytest.raises(TimeoutError):
        await run_apart(*sandbox(tmp_path), environment=BARE, timeout_s=0.5)


def sandbox(folder: Path) -> tuple[str, ...]:
    """A command that runs until it is stopped."""
    return ("sandbox", f"--port={Ports.free().sandbox}", f"--db={folder / 'sandbox.db'}")
