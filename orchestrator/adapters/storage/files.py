"""Files that are either whole or not there, whoever dies while writing them; SQLite files."""

import contextlib
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path


def replace_file(path: Path, content: bytes, *, mode: int = 0o600) -> None:
    """Write a file so that a reader sees all of the old content or all of the new."""
    with _written_beside(path, content, mode) as written:
        os.replace(written, path)
        _settle(path.parent)


def create_file(path: Path, content: bytes, *, mode: int = 0o600) -> bool:
    """Write a file that must not exist yet; False when another process was first."""
    with _written_beside(path, content, mode) as written:
        try:
            # A hard link, unlike a rename, refuses to take the place of a file.
            os.link(written, path)
        except FileExistsError:
            return False
        _settle(path.parent)
        return True


def open_database(path: Path, *statements: str) -> sqlite3.Connection:
    """A SQLite file, made with its folder where there is none, after these statements.

    Raises:
        sqlite3.Error, OSError: it cannot be used; nothing is left open.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=1, check_same_thread=False)
    try:
        for statement in statements:
            connection.execute(statement)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _settle(folder: Path) -> None:
    """Make the names in a folder survive a loss of power, as the files' contents do."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def _written_beside(path: Path, content: bytes, mode: int) -> Iterator[str]:
    """A complete temporary file in the same directory, removed at the end if it is still there."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield name
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
