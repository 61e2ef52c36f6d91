"""Logs and exit codes of an installation's parts, for people."""

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from orchestrator.core.shown_text import visible

OUR_NAME: Final = "orchestrator: "
"""The prefix of our commands' messages, redundant next to the name of a part."""
_MOST_BYTES: Final = 65_536
"""Maximum bytes that are read of new log text; a part that prints more at once is truncated."""
_FULL_BYTES: Final = 4 * 1024 * 1024
"""Minimum free bytes on the disk, below which a database cannot be written."""


class PartLog:
    """A log that a part appends to, read from the last position."""

    def __init__(self, path: Path) -> None:
        """Start at the end of the existing text; the file need not exist yet."""
        self._path = path
        self._read = _size(path)
        self._kept = b""

    def new_lines(self, *, to_the_end: bool = False) -> list[str]:
        """Return the lines since the last read; an incomplete line waits for its end."""
        size = _size(self._path)
        if size < self._read:  # the file was truncated
            self._read, self._kept = 0, b""
        start = max(self._read, size - _MOST_BYTES)
        text = self._kept
        if start < size:
            with self._path.open("rb") as file:
                file.seek(start)
                text += file.read(size - start)
        self._read = size
        whole, ended, rest = text.rpartition(b"\n")
        if to_the_end:
            whole, rest = text, b""
        elif not ended:
            whole, rest = b"", text
        self._kept = rest
        return list(_shown(whole))

    def said_last(self, most: int) -> list[str]:
        """Return the newest unread lines; the last one also reports a full disk."""
        unread = self.new_lines(to_the_end=True)
        return [*unread[-most:-1], last_line(self._path)]


def last_line(log: Path) -> str:
    """Return the last line of a log, as shown next to the name of its part.

    A full disk is reported as well, as the part that met it could not log it.
    """
    lines = list(_shown(log.read_bytes()[-_MOST_BYTES:])) if log.exists() else []
    said = lines[-1] if lines else "it printed nothing"
    full = full_disk(log.parent)
    return f"{said}; {full}" if full else said


def full_disk(folder: Path) -> str | None:
    """Return a warning if there is too little room for a database."""
    free = shutil.disk_usage(folder).free
    return f"only {free // 1024} kB are free at {folder}" if free < _FULL_BYTES else None


def how_it_ended(code: int) -> str:
    """Return an exit code in words; negative codes are signals."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def _shown(text: bytes) -> Iterator[str]:
    for line in text.decode(errors="replace").splitlines():
        if line.strip():
            yield visible(line.removeprefix(OUR_NAME).rstrip())


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
