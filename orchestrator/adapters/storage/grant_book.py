"""Which grants have been used, by whom, and which calls are taken back: what is not sent again.

A server that is restored from an older copy forgets both; the book is the workers' own.
"""

from typing import Protocol


class GrantBook(Protocol):
    """Where the first use of every grant is written down, on disk before the call is on the wire.

    Each method raises StoreUnavailable where nobody can know or note it now.
    """

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
