"""Which grants have been used, by whom, and which calls are taken back: what is not sent again.

A server that is restored from an older copy forgets both; the book is the workers' own.
"""

import hashlib
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

    def take_back(self, call_id: str) -> None:
        """Note that a call is being taken back: from now on nothing may send it."""
        ...

    def is_taken_back(self, call_id: str) -> bool:
        """Whether that was noted."""
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

    def take_back(self, call_id: str) -> None:
        """See `GrantBook.take_back`; on disk before the cancel is on the wire."""
        path = self._taken_back(call_id)
        private_folder(path.parent)
        create_file(path, b"")

    def is_taken_back(self, call_id: str) -> bool:
        """See `GrantBook.is_taken_back`."""
        return self._taken_back(call_id).exists()

    def _taken_back(self, call_id: str) -> Path:
        digest = hashlib.sha256(call_id.encode()).hexdigest()
        return self._directory / "taken-back" / digest[:2] / digest
