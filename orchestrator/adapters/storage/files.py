"""Files that are either whole or not there, whoever dies while writing them.

All of it is for the owner's eyes alone: folders are made with mode 0700, files with 0600.
"""

import contextlib
import logging
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

PRIVATE_UMASK = 0o077
"""With which a process makes nothing that others can read."""
_OWNER_FOLDER = 0o700
_OWNER_FILE = 0o600
_log = logging.getLogger(__name__)


def private_folder(folder: Path) -> Path:
    """Make a folder, and those above it that are missing, for the owner's eyes alone.

    One that is there loses what its mode gives to others: releases before 0.2 made it readable by
    all. One that is not ours to narrow, or that is shared by its nature (`/tmp`), stays as it is,
    and a warning says so.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        # Another process may make it at the same moment.
        path.mkdir(mode=_OWNER_FOLDER, exist_ok=True)
    found = folder.stat()
    if found.st_mode & PRIVATE_UMASK:
        if found.st_uid == os.geteuid() and not found.st_mode & stat.S_ISVTX:
            folder.chmod(stat.S_IMODE(found.st_mode) & ~PRIVATE_UMASK)
        else:
            _log.warning("others may look into %s; give state a folder of its own", folder)
    return folder


def private_file(path: Path) -> Path:
    """Make an empty file for the owner's eyes alone; one that is there is narrowed to that."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _OWNER_FILE))
    except FileExistsError:
        # Not opened: to close it again would drop SQLite's locks on it, of this whole process.
        if path.stat().st_mode & PRIVATE_UMASK:
            with contextlib.suppress(PermissionError):
                path.chmod(_OWNER_FILE)
    return path


def replace_file(path: Path, content: bytes, *, mode: int = _OWNER_FILE) -> None:
    """Write a file so that a reader sees all of the old content or all of the new."""
    with _written_beside(path, content, mode) as written:
        os.replace(written, path)
        _settle(path.parent)


def create_file(path: Path, content: bytes, *, mode: int = _OWNER_FILE) -> bool:
    """Write a file that must not exist yet; False when another process was first."""
    with _written_beside(path, content, mode) as written:
        try:
            # A hard link, unlike a rename, refuses to take the place of a file.
            os.link(written, path)
        except FileExistsError:
            return False
        _settle(path.parent)
        return True


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
