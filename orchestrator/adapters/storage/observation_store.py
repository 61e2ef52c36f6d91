"""What the legs of missions have seen, kept once beside their histories, which name it by a key."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol


class ObservationStore(Protocol):
    """Pieces of bytes, each of one mission under a key that is never used for another content.

    All of it may be called from several threads and processes at once, and again after a death.
    """

    def put(self, mission_id: str, key: str, piece: bytes) -> bool:
        """Keep a piece; of a key that is there already nothing is changed.

        Returns:
            Whether it was not there.

        Raises:
            StoreUnavailable, OSError: nothing can be kept now.
        """
        ...

    def get(self, mission_id: str, key: str) -> bytes:
        """A piece that was kept.

        Raises:
            ObservationMissing: it is not here: it was kept in another place, is gone, or the
                store is away.
        """
        ...

    def missions(self) -> Mapping[str, datetime]:
        """Ids of the missions of which anything is kept, and when the last of it was."""
        ...

    def purge(self, *mission_ids: str) -> None:
        """Remove all that is kept of these missions; what is gone already stays so."""
        ...
