"""Observations of legs, and results of missions that are over, in a database.

Results are stored for longer than the server retains histories.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import sqlalchemy as sa

from orchestrator.adapters.storage.schema import observations, results
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


@dataclass(frozen=True)
class KeptPiece:
    """The stored result of one mission; `piece` is its encoded form."""

    mission_id: str
    status: str
    started_at: datetime
    closed_at: datetime
    """The end of the mission, or of its rollback."""
    key_id: str
    """The key that encrypts the piece; empty if it is not encrypted."""
    piece: bytes


class SqlResults:
    """A row for each mission: its newest result."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    def put(self, kept: KeptPiece) -> None:
        """Store a result in place of an earlier one of the mission; committed when it returns."""
        row = {column.name: getattr(kept, column.name) for column in results.columns}
        changing = [column.name for column in results.columns if not column.primary_key]
        self._database.run(self._database.put(results, *changing), row)

    def find(self, mission_id: str) -> KeptPiece | None:
        """Return the result of a mission, or None."""
        query = sa.select(results).where(results.c.mission_id == mission_id)
        found = self._database.fetch(query)
        return KeptPiece(**found[0]._mapping) if found else None

    def newest(self, *, status: str | None = None, page: int = 100) -> Iterator[KeptPiece]:
        """Yield the results, of one status if it is given, the newest missions first."""
        of = results.c
        query = sa.select(results).order_by(of.started_at.desc(), of.mission_id)
        if status is not None:
            query = query.where(of.status == status)
        offset = 0
        while True:
            rows = self._database.fetch(query.offset(offset).limit(page))
            yield from (KeptPiece(**row._mapping) for row in rows)
            if len(rows) < page:
                return
            offset += page

    def closed(self) -> Mapping[str, datetime]:
        """Return the missions with a result, and the end time that each result covers."""
        query = sa.select(results.c.mission_id, results.c.closed_at)
        return {mission_id: at for mission_id, at in self._database.fetch(query)}

    def under_other_keys(self, key_id: str) -> tuple[str, ...]:
        """Return the missions whose results are encrypted with another key."""
        query = sa.select(results.c.mission_id).where(results.c.key_id != key_id)
        return tuple(row.mission_id for row in self._database.fetch(query))

    def prune(self, before: datetime) -> int:
        """Remove the results of missions that ended before a moment; return how many."""
        return self._database.run(sa.delete(results).where(results.c.closed_at < before))
