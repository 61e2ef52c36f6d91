"""A server that is restored from an older copy of its file, while missions run on it.

What it forgets, nobody can tell it: a booking made after the copy may be of a mission, or of a
call, that the restored history has never heard of. What still holds, because the providers and the
workers' grants did not go back: no call has its effect twice (the same ids give the same
idempotency keys), none is sent that was not approved, and no cancel takes back another call's work.
"""

import asyncio
import sqlite3
from pathlib import Path

from orchestrator.chaos.crew import start_again
from orchestrator.runtime.devserver import Stack

_COPIED_AFTER_S = 3.0
"""When missions are in their searches, and the first of them at their cards."""
_RESTORED_AFTER_S = 5.0
"""After the copy: by then bookings were made of which it knows nothing."""


class Rewind:
    """Copies the file of a server, and puts the copy back some seconds later."""

    def __init__(self, stack: Stack) -> None:
        """Take the installation whose server it is."""
        self._stack = stack
        self._copy = stack.folder / "temporal-copy.db"
        self.over = asyncio.Event()
        """Set once the server answers on its older file."""

    async def strike(self) -> None:
        """Copy, wait, kill, restore, start."""
        await asyncio.sleep(_COPIED_AFTER_S)
        await asyncio.to_thread(_copy, self._file, self._copy)
        await asyncio.sleep(_RESTORED_AFTER_S)
        await self._stack.kill("temporal")
        await asyncio.to_thread(_put_back, self._copy, self._file)
        await start_again(self._stack)
        self.over.set()

    @property
    def _file(self) -> Path:
        return self._stack.folder / "temporal.db"


def _copy(source: Path, target: Path) -> None:
    """A consistent copy of a database that is being written to."""
    live, copied = sqlite3.connect(source), sqlite3.connect(target)
    try:
        live.backup(copied)
    finally:
        live.close()
        copied.close()


def _put_back(copied: Path, file: Path) -> None:
    for suffix in ("-wal", "-shm"):
        Path(f"{file}{suffix}").unlink(missing_ok=True)
    copied.replace(file)
