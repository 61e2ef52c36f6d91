"""Observations of legs, in a database."""

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
    """An `ObservationStore`: a row for each piece."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database
        self._keep = database.insert_new(observations)

    def put(self, mission_id: str, key: str, piece: bytes) -> bool:
        """See `ObservationStore.put`; committed before this returns."""
        row = {
            "mission_id": mission_id,
            "key_digest": _digest(key),
            "piece": piece,
            "kept_at": datetime.now(UTC),
        }
        return self._database.run(self._keep, row) == 1

    def get(self, mission_id: str, key: str) -> bytes:
        """See `ObservationStore.get`."""
        named = {"mission": mission_id, "key": _digest(key)}
        try:
            found = self._database.fetch(_PIECE, named)
        except StoreUnavailable as error:  # its leg waits as for a store elsewhere
            place = f"{self._database.place} ({error.reason})"
            raise ObservationMissing(mission_id, place) from error
        if not found:
            raise ObservationMissing(mission_id, self._database.place)
        return bytes(found[0].piece)

    def missions(self) -> Mapping[str, datetime]:
        """See `ObservationStore.missions`."""
        query = sa.select(_KEPT.mission_id, sa.func.max(_KEPT.kept_at)).group_by(_KEPT.mission_id)
        return {mission_id: at for mission_id, at in self._database.fetch(query)}

    def purge(self, *mission_ids: str) -> None:
        """See `ObservationStore.purge`; one transaction for each mission."""
        for mission_id in mission_ids:
            self._database.run(sa.delete(observations).where(_KEPT.mission_id == mission_id))


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
