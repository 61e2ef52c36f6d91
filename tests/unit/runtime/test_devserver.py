"""Servers that are started later, and started again: their ports, and the command of ours."""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator.core.errors import ServiceUnavailable
from orchestrator.runtime.devserver import CodecToken, Ports, Stack, ourselves


def test_ports_that_are_free_are_never_those_of_outgoing_connections() -> None:
    """Linux gives those out from 32768, others from 49152; ours differ from each other."""
    for _ in range(50):
        ports = Ports.free()
        chosen = {ports.temporal, ports.ui, ports.sandbox}

        assert len(chosen) == 3
        assert all(1024 < port < 32_768 for port in chosen)


def test_a_port_that_somebody_listens_on_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another is looked for."""
    first = Ports.free()
    others = Ports.free()
    spare = Ports.free().sandbox
    offered = iter([first.temporal, first.ui, first.ui, first.sandbox, others.sandbox, spare])
    monkeypatch.setattr(
        "orchestrator.runtime.devserver.secrets.choice", lambda ports: next(offered)
    )
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", first.temporal))
        taken.listen()
        found = Ports.free()

    assert found == Ports(first.ui, first.sandbox, others.sandbox, inbox=None)


def test_a_file_with_our_name_is_not_run_in_our_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of a user's may hold `orchestrator.py`: the parts of an installation start there."""
    (tmp_path / "orchestrator.py").write_text("raise SystemExit('not ours')")
    monkeypatch.chdir(tmp_path)
    ran = subprocess.run([*ourselves(), "--help"], capture_output=True, text=True, check=False)

    assert (ran.returncode, ran.stderr) == (0, "")


async def test_what_a_part_writes_is_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files, its log and the variables for a shell, whatever umask we were started with."""
    folder = tmp_path / "state"
    made = "import pathlib; pathlib.Path('made').mkdir(); pathlib.Path('made/db').touch()"
    stack = Stack(folder, ())

    async def start(self: Stack) -> None:
        await self._spawn("part", [sys.executable, "-c", made])
        await self._processes["part"].wait()

    async def nothing(self: Stack) -> None:
        return

    for name, does in (("start_server", start), ("start_sandbox", nothing)):
        monkeypatch.setattr(Stack, name, does)
    for name in ("start_worker", "start_inbox"):
        monkeypatch.setattr(Stack, name, nothing)
    monkeypatch.chdir(tmp_path)
    before = os.umask(0)
    try:
        await stack.__aenter__()
    finally:
        os.umask(before)
    found = [folder, *folder.rglob("*"), tmp_path / "made", tmp_path / "made" / "db"]

    assert {"env.sh", "part.log", "store.db", "db"} <= {path.name for path in found}
    assert [path.name for path in found if path.stat().st_mode & 0o077] == []


async def test_a_part_that_is_started_again_takes_the_place_of_one_that_never_answered(
    tmp_path: Path,
) -> None:
    """Two workers of one name, or two servers on one database, are one too many.

    One that does not come up is told with its end and its last line, without our own name.
    """
    stack = Stack(tmp_path, ())
    idle = [sys.executable, "-c", "import time; time.sleep(60)"]
    await stack._spawn("worker", idle)
    first = stack._processes["worker"]
    await stack._spawn("worker", idle)

    assert first.returncode == -signal.SIGKILL
    assert stack.pid("worker") != first.pid
    broken = "import sys; print('working'); sys.exit('orchestrator: the key is gone')"
    told = re.escape("worker has ended (exit code 1): the key is gone")
    with pytest.raises(ServiceUnavailable, match=f"^{told}$"):
        await stack.start_worker(command=[sys.executable, "-c", broken])
    await stack.stop()


async def test_each_part_is_told_as_it_comes_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And one that takes long, as it is waited for."""
    told: list[str] = []

    async def nothing(self: Stack) -> None:
        await asyncio.sleep(0.02)

    for name in ("start_server", "start_sandbox", "start_worker", "start_inbox"):
        monkeypatch.setattr(Stack, name, nothing)
    monkeypatch.setattr("orchestrator.runtime.devserver._TELLS_EVERY_S", 0.015)
    async with Stack(tmp_path, (), report=told.append):
        pass

    assert "waiting for the worker: 0 s" in told
    came_up = [re.sub(r" after \d+\.\d s$", "", line) for line in told if " after " in line]
    assert came_up == [
        *("Temporal answers", "the sandbox answers"),
        *("the worker polls", "the inbox answers"),
    ]


def test_the_token_of_the_codec_server_is_made_once_and_never_put_into_the_file_for_shells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shell reads it from its file, whatever the folder is called."""
    for name in ("ORCHESTRATOR_CODEC_TOKEN", "ORCHESTRATOR_CODEC_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "it's state"
    folder.mkdir()
    token = CodecToken(folder)
    made = [Path(token.variables()["ORCHESTRATOR_CODEC_TOKEN_FILE"]).read_text() for _ in "12"]
    lines = token.exports("http://127.0.0.1:8081")
    script = "\n".join([*lines, 'echo "$TEMPORAL_CODEC_ENDPOINT $TEMPORAL_CODEC_AUTH"'])
    read = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)

    assert made[0] == made[1]
    assert len(made[0]) == 64
    assert (folder / "codec.token").stat().st_mode & 0o077 == 0
    assert made[0] not in "".join(lines)
    assert read.stdout == f"http://127.0.0.1:8081/{{namespace}} Bearer {made[0]}\n"


def test_a_token_of_the_operator_s_own_is_left_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file of ours holds it."""
    monkeypatch.setenv("ORCHESTRATOR_CODEC_TOKEN", "their own")
    token = CodecToken(tmp_path)
    exported = "".join(token.exports("http://x"))

    assert token.variables() == {}
    assert "AUTH" not in exported and "their own" not in exported
    assert "ORCHESTRATOR_CODEC_TOKEN" in token.location
    assert list(tmp_path.iterdir()) == []


async def test_workers_are_stopped_side_by_side_and_before_their_servers(tmp_path: Path) -> None:
    """Several that have calls to end take as long as the slowest of them."""
    stack = Stack(tmp_path, ())
    did: list[str] = []
    asked = {"worker": asyncio.Event(), "worker-2": asyncio.Event()}

    class Part:
        pid, returncode = 0, None

        def __init__(self, name: str) -> None:
            self.name, self.is_worker = name, name in asked

        def terminate(self) -> None:
            did.append(f"{self.name} asked")
            if self.is_worker:
                asked[self.name].set()

        async def wait(self) -> int:
            if self.is_worker:
                await asyncio.gather(*(event.wait() for event in asked.values()))
            did.append(f"{self.name} ended")
            return 0

        def kill(self) -> None:
            raise AssertionError("it ends by itself")

    parts: dict[str, Any] = {name: Part(name) for name in ("temporal", "sandbox", *asked)}
    stack._processes.update(parts)
    await stack.stop()

    assert did[:2] == ["worker asked", "worker-2 asked"]
    assert sorted(did[2:4]) == ["worker ended", "worker-2 ended"]
    assert {"temporal ended", "sandbox ended"} <= set(did[4:])
