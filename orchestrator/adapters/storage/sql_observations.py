"""What the legs of missions have seen, in a database."""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

import sqlalchemy as sa

from orchestrator.adapters.storage.schema import observations
from orchestrator.adapters.storage.store_database import StoreDatabase
from orchestrator.core.errors import ObservationMissing, StoreUnavailable

_KEPT: Final = observations.c
_PIECE: Final = sa.select(_KEPT.piece).where(
    _KEPT.mission_id == sa.bindparam("mission"), _KEPT.key_digest == sa.bindparam("key")
)


class SqlObservations:
    """A row for each piece: whole, or not there."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database
        self._keep = database.insert_new(observations)

    def put(self, mission_id: str, key: str, piece: bytes) -> bool:
        """See `ObservationStore.put`; it is committed before this returns."""
        row = {
            "mission_id": mission_id,
            "key_digest": _digest(key),
            "piece": piece,
            "kept_at": datetime.now(UTC),
        }
        with self._database.write() as connection:
            return connection.execute(self._keep, row).rowcount == 1

    def get(self, mission_id: str, key: str) -> bytes:
        """See `ObservationStore.get`."""
        named = {"mission": mission_id, "key": _digest(key)}
        try:
            with self._database.read() as connection:
                piece = connection.execute(_PIECE, named).scalar()
        except StoreUnavailable as error:  # its leg waits for it as for one that is another
            place = f"{self._database.place} ({error.reason})"
            raise ObservationMissing(mission_id, place) from error
        if piece is None:
            raise ObservationMissing(mission_id, self._database.place)
        return bytes(piece)

    def missions(self) -> Mapping[str, datetime]:
        """See `ObservationStore.missions`."""
        query = sa.select(_KEPT.mission_id, sa.func.max(_KEPT.kept_at)).group_by(_KEPT.mission_id)
        with self._database.read() as connection:
            return {mission_id: at for mission_id, at in connection.execute(query)}

    def purge(self, *mission_ids: str) -> None:
        """See `ObservationStore.purge`; a transaction for each."""
        for mission_id in mission_ids:
            with self._database.write() as connection:
                unwanted = _KEPT.mission_id == mission_id
                connection.execute(sa.delete(observations).where(unwanted))


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
