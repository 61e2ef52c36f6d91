"""Parts that end are started again, and what they print is shown: real processes."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from orchestrator.core.errors import ServiceUnavailable
from orchestrator.runtime import supervision
from orchestrator.runtime.devserver import Stack
from orchestrator.runtime.part_logs import PartLog, last_line
from orchestrator.runtime.supervision import Supervisor
from orchestrator.testing import eventually

PARTS = ("temporal", "sandbox", "codec", "worker", "inbox")
STARTS = {"temporal": "start_server", "codec": "start_codec_server"}
"""Methods of a stack that are not called after their part."""
IDLE = "import time; print('{} is idle', flush=True); time.sleep(60)"


def _start(name: str) -> Callable[[Stack], Awaitable[None]]:
    async def start(self: Stack) -> None:
        await self._spawn(name, [sys.executable, "-c", IDLE.format(name)])

    return start


@asynccontextmanager
async def _supervised(stack: Stack, told: list[str]) -> AsyncIterator[None]:
    keeping = asyncio.create_task(Supervisor(stack, told.append).run())
    try:
        await asyncio.sleep(0)
        yield
    finally:
        keeping.cancel()
        await asyncio.wait([keeping])
        await stack.stop()


async def _hears(told: list[str], text: str) -> None:
    async def heard() -> bool:
        await asyncio.sleep(0.01)
        return any(text in line for line in told)

    await eventually(heard)


@pytest.fixture
async def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stack:
    for name in PARTS:
        monkeypatch.setattr(Stack, STARTS.get(name, f"start_{name}"), _start(name))
    monkeypatch.setattr(supervision, "_LOOKS_EVERY_S", 0.01)
    stack = Stack(tmp_path, ())
    for name in PARTS:
        await getattr(stack, STARTS.get(name, f"start_{name}"))()
    return stack


@pytest.mark.parametrize("name", PARTS)
async def test_a_part_that_is_killed_is_told_and_started_again(stack: Stack, name: str) -> None:
    """At once, and the others are left as they are."""
    told: list[str] = []
    before = {part: stack.pid(part) for part in PARTS}
    async with _supervised(stack, told):
        os.kill(before[name], signal.SIGKILL)
        await _hears(told, "is back")
        after = {part: stack.pid(part) for part in PARTS}

    assert any("has ended: killed by SIGKILL" in line for line in told)
    assert [part for part in PARTS if after[part] != before[part]] == [name]


async def test_what_a_part_prints_is_shown_with_its_name(stack: Stack) -> None:
    """A line each; of many at once the first, and where the others are."""
    told: list[str] = []
    async with _supervised(stack, told):
        with stack.log("worker").open("a") as log:
            log.write("".join(f"step {n}\n" for n in range(9)))
        await _hears(told, "more")

    assert "  worker | step 0" in told
    # A part that comes up late on a busy machine adds a line of its own.
    assert any(f"... and {more} more: " in line for line in told for more in (4, 5))


async def test_a_part_that_does_not_come_up_is_tried_later_and_later(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what kept it from coming up, each time."""
    told: list[str] = []
    tries = 0

    async def start() -> None:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise ServiceUnavailable("worker has ended (exit code 2): no key")
        await stack._spawn("worker", [sys.executable, "-c", IDLE.format("worker")])

    monkeypatch.setattr(stack, "start_worker", start)
    monkeypatch.setattr(supervision, "restart_pause", lambda failures: failures / 1000)
    async with _supervised(stack, told):
        os.kill(stack.pid("worker"), signal.SIGTERM)
        await _hears(told, "the worker is back")

    assert told.count("worker has ended (exit code 2): no key") == 2


async def test_the_server_is_started_again_once_a_full_disk_has_room(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not take up by itself what it could not write."""
    told: list[str] = []
    full: list[str | None] = ["only 0 kB are free"]
    monkeypatch.setattr(supervision, "_LOOKS_AT_DISK_EVERY_S", 0.01)
    monkeypatch.setattr(supervision, "full_disk", lambda folder: full[-1])
    before = stack.pid("temporal")
    async with _supervised(stack, told):
        await _hears(told, "nothing goes on")
        full.append(None)
        await _hears(told, "Temporal is back")

        assert stack.pid("temporal") != before


def _append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_only_what_is_new_and_whole_is_told(tmp_path: Path) -> None:
    """What earlier starts printed is no news; a line that is not complete waits for its end.

    A log that was emptied is read from its beginning, and one that is not there yet once it is.
    """
    path = tmp_path / "worker.log"
    _append(path, "of yesterday\n")
    log, missing = PartLog(path), PartLog(tmp_path / "later.log")
    assert missing.new_lines() == []
    _append(path, "orchestrator: one\n\ntwo\nthr")
    first = log.new_lines()
    _append(path, "ee\n")
    _append(tmp_path / "later.log", "there\n")

    assert first == ["one", "two"]
    assert log.new_lines() == ["three"]
    assert log.new_lines() == []
    assert missing.new_lines() == ["there"]
    path.write_text("new\n")
    assert log.new_lines() == ["new"]


def test_what_a_part_said_last_is_told_to_its_end(tmp_path: Path) -> None:
    """The lines that nobody has read, or else the last of all."""
    path = tmp_path / "worker.log"
    log = PartLog(path)
    _append(path, "a\nb\nc\nwithout an end")

    assert log.said_last(2) == ["c", "without an end"]
    assert log.said_last(2) == ["without an end"]


def test_what_a_part_prints_cannot_speak_to_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its lines stand among ours. A full disk is told with the last line.

    Whoever ran into it could not write it down.
    """
    path = tmp_path / "worker.log"
    path.write_bytes(b"\x1b[2Jgone\xff\n")

    assert "\x1b" not in last_line(path)
    assert last_line(tmp_path / "none.log") == "it printed nothing"
    monkeypatch.setattr("orchestrator.runtime.part_logs._FULL_BYTES", 1 << 62)
    assert "kB are free at" in last_line(tmp_path / "temporal.log")
