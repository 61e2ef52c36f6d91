"""Which grants have been used, and by whom: what makes one good for a single call."""

from pathlib import Path
from typing import Protocol

from orchestrator.adapters.storage.files import create_file, private_folder


class GrantBook(Protocol):
    """Where the first use of every grant is written down."""

    def claim(self, digest: str, user: str) -> str | None:
        """Note that `user` uses the grant with this digest.

        Returns:
            None when nobody had used it; else who did, and nothing is changed.
        """
        ...


class FileGrantBook:
    """A file for each used grant, in a directory that all workers of a mission share.

    Of any number of processes that claim a grant at once exactly one is told None, and it stays
    told: the file is on disk before the call is on the wire.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def claim(self, digest: str, user: str) -> str | None:
        """Note that `user` uses the grant with this digest; see `GrantBook.claim`."""
        # Spread over folders: one with a file for each call that was ever confirmed gets slow.
        folder = private_folder(self._directory / digest[:2])
        path = folder / digest
        if create_file(path, user.encode()):
            return None
        return path.read_text(encoding="utf-8")
