"""An MCP server as a process of this worker: only declared variables, bounded lines, one group."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

_INHERITED = ("PATH", "HOME", "LANG")
_EXITS_WITHIN_S = 1.0
"""Time in which a server may end by itself after its input was closed, and after SIGTERM."""
_PIECE = 1 << 16
_LOOKED_AT_S = 0.1
"""Pause between looks at a process: waiting for it means waiting for its pipes too."""

Streams = tuple[
    MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]
]


@asynccontextmanager
async def bounded_stdio(
    command: Sequence[str],
    env: Mapping[str, str],
    *,
    cwd: Path | None,
    max_bytes: int,
    ended: Callable[[], None],
) -> AsyncIterator[Streams]:
    """Start a server and connect to its pipes; its process group is killed at the end.

    The library's own transport holds a line of any length, and passes more of this process's
    environment on. Standard error is dropped: it may repeat secrets.

    Args:
        command: the program and its arguments.
        env: all of its variables but PATH, HOME and LANG.
        cwd: the folder in which it runs.
        max_bytes: the longest message that is read.
        ended: called when no further message comes.

    Raises:
        OSError: the process cannot be started.
    """
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={**inherited, **env},
        cwd=cwd,
        start_new_session=True,
        limit=max_bytes,
    )
    received, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](0)
    reads = asyncio.create_task(_read(process, received))
    reads.add_done_callback(lambda _: ended())
    writes = asyncio.create_task(_write(process, to_send, received))
    watches = asyncio.create_task(_watch(process))
    try:
        yield incoming, outgoing
    finally:
        with anyio.CancelScope(shield=True):
            for task in (reads, writes, watches):
                task.cancel()
            await asyncio.gather(reads, writes, watches, return_exceptions=True)
            await _end(process)
            for stream in (received, incoming, outgoing, to_send):
                await stream.aclose()


async def _read(
    process: asyncio.subprocess.Process,
    received: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    """Pass each line on; the end, or a line beyond the limit, closes the stream."""
    assert process.stdout is not None
    async with received:
        with contextlib.suppress(ValueError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            while line := await process.stdout.readline():
                try:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError:
                    continue  # a server that prints to its output: no message, so no answer
                await received.send(SessionMessage(message))


async def _write(
    process: asyncio.subprocess.Process,
    to_send: MemoryObjectReceiveStream[SessionMessage],
    received: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    assert process.stdin is not None
    async with to_send:
        async for one in to_send:
            text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                process.stdin.write(text.encode() + b"\n")
                await process.stdin.drain()
            except OSError:
                await received.aclose()
                return


async def _watch(process: asyncio.subprocess.Process) -> None:
    """End the group with its leader: what is left of it would keep the output open."""
    while process.returncode is None:  # noqa: ASYNC110  # asyncio announces it to waiters too late
        await asyncio.sleep(_LOOKED_AT_S)
    _kill_group(process)


def _kill_group(process: asyncio.subprocess.Process, how: int = signal.SIGKILL) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, how)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Close the input, then stop the process group, which is this process's own."""
    if process.stdin is not None:
        process.stdin.close()
    for stop in (None, signal.SIGTERM, signal.SIGKILL):
        if stop is not None:
            _kill_group(process, stop)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_EXITS_WITHIN_S):
                await process.wait()
                break
    _kill_group(process)  # its children outlive it where they ignore the end of their input
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_EXITS_WITHIN_S):
            while await _discarded(process):
                pass
            await process.wait()


async def _discarded(process: asyncio.subprocess.Process) -> bytes:
    """Return output that nobody reads any more: its end closes the pipe."""
    assert process.stdout is not None
    return await process.stdout.read(_PIECE)
