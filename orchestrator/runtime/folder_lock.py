"""One installation at a time on a folder: two servers would write to one database."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.adapters.storage.files import private_file, private_folder
from orchestrator.core.errors import UsageError


@contextmanager
def held_alone(folder: Path) -> Iterator[None]:
    """Hold a folder while the block runs; however this process ends, it is let go of.

    Raises:
        UsageError: another process holds it.
    """
    private_folder(folder)
    with private_file(folder / "dev.lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"another `orchestrator dev` runs on {folder}; stop it, or choose another --folder"
            ) from None
        yield
