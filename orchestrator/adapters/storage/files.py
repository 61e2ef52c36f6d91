"""Files that are written completely or not at all, and are private to their owner.

Folders have mode 0700, files 0600. Counts of unfinished thoughts are such files: they outlive a
worker which a thought crashes.
"""

import contextlib
import logging
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from uuid import uuid4

PRIVATE_UMASK = 0o077
"""The umask of processes whose files others cannot read."""
_OWNER_FOLDER = 0o700
_OWNER_FILE = 0o600
_log = logging.getLogger(__name__)


def private_folder(folder: Path) -> Path:
    """Create a private folder, with missing parents.

    An existing folder loses the rights of others. A folder of another owner, or a shared one like
    `/tmp`, stays unchanged, with a warning.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=_OWNER_FOLDER, exist_ok=True)
    found = folder.stat()
    if found.st_mode & PRIVATE_UMASK:
        if found.st_uid == os.geteuid() and not found.st_mode & stat.S_ISVTX:
            folder.chmod(stat.S_IMODE(found.st_mode) & ~PRIVATE_UMASK)
        else:
            _log.warning("others may look into %s; give state a folder of its own", folder)
    return folder


def private_file(path: Path) -> Path:
    """Create an empty private file; an existing one loses the rights of others."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _OWNER_FILE))
    except FileExistsError:
        # Not opened: closing it would drop the SQLite locks of this whole process.
        if path.stat().st_mode & PRIVATE_UMASK:
            with contextlib.suppress(PermissionError):
                path.chmod(_OWNER_FILE)
    return path


def replace_file(path: Path, content: bytes, *, mode: int = _OWNER_FILE) -> None:
    """Replace a file atomically: readers see the old content or the new."""
    with _temporary(path, content, mode) as written:
        os.replace(written, path)
        _sync(path.parent)


def create_file(path: Path, content: bytes) -> bool:
    """Create a file with content atomically; return False if it exists."""
    with _temporary(path, content, _OWNER_FILE) as written:
        try:
            # A hard link, unlike a rename, does not replace an existing file.
            os.link(written, path)
        except FileExistsError:
            return False
        _sync(path.parent)
        return True


def _sync(folder: Path) -> None:
    """Sync the names in a folder to disk, as the contents of files are."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def _temporary(path: Path, content: bytes, mode: int) -> Iterator[str]:
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


FOLDER: Final = "thoughts"
"""The name of the folder in the state directory."""


class BegunThoughts:
    """Counts in FOLDER/MISSION.LEG.STEP how often a thought began without ending.

    Nothing is synced to disk: files survive their process, but possibly not a loss of power.
    """

    def __init__(self, folder: Path) -> None:
        """Use a folder, which need not exist."""
        self._folder = folder

    def begin(self, mission_id: str, leg_id: str, step: int) -> int:
        """Record that a thought begins; return how many began without ending, with this one.

        Returns 1 if nothing can be written.
        """
        path = self._path(mission_id, leg_id, step)
        count = 1
        with contextlib.suppress(OSError, ValueError):
            count = int(path.read_text()) + 1
        written = path.with_name(f".{uuid4().hex}")
        try:
            private_folder(self._folder)
            with os.fdopen(os.open(written, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as f:
                f.write(str(count))
            os.replace(written, path)
        except OSError:
            return 1
        return count

    def end(self, mission_id: str, leg_id: str, step: int) -> None:
        """Remove the count of a thought that ended in any way: its worker is alive."""
        with contextlib.suppress(OSError):
            self._path(mission_id, leg_id, step).unlink(missing_ok=True)

    def missions(self) -> Mapping[str, datetime]:
        """Return the missions with counts, and when the last of each was written."""
        found: dict[str, datetime] = {}
        with contextlib.suppress(FileNotFoundError):
            for path in self._folder.iterdir():
                with contextlib.suppress(FileNotFoundError):
                    at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
                    mission_id = path.name.partition(".")[0]
                    found[mission_id] = max(at, found.get(mission_id, at))
        found.pop("", None)  # temporary file of a worker that died while it wrote
        return found

    def purge(self, *mission_ids: str) -> None:
        """Remove the counts of these missions; idempotent."""
        for mission_id in mission_ids:
            for path in self._folder.glob(f"{mission_id}.*"):
                path.unlink(missing_ok=True)

    def _path(self, mission_id: str, leg_id: str, step: int) -> Path:
        return self._folder / f"{mission_id}.{leg_id}.{step}"
