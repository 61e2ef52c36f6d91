"""Results of missions that are over, kept for longer than their server keeps histories."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from orchestrator.adapters.storage.schema import results
from orchestrator.adapters.storage.store_database import StoreDatabase


@dataclass(frozen=True)
class KeptPiece:
    """What is kept of one mission: `piece` is its result, as whoever keeps it has encoded it."""

    mission_id: str
    status: str
    started_at: datetime
    closed_at: datetime
    """When the last of it was over that it tells of: the mission, or its rollback."""
    key_id: str
    """Of the key that the piece is encrypted with; empty: it is not."""
    piece: bytes


class SqlResults:
    """A row for each mission: the newest that was kept of it."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    def put(self, kept: KeptPiece) -> None:
        """Keep it, in the place of what was kept of the same mission; it is committed then."""
        row = {column.name: getattr(kept, column.name) for column in results.columns}
        changing = [column.name for column in results.columns if not column.primary_key]
        with self._database.write() as connection:
            connection.execute(self._database.put(results, *changing), row)

    def find(self, mission_id: str) -> KeptPiece | None:
        """What is kept of a mission; None: nothing."""
        query = sa.select(results).where(results.c.mission_id == mission_id)
        with self._database.read() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else KeptPiece(**row._mapping)

    def newest(self, *, status: str | None = None, page: int = 100) -> Iterator[KeptPiece]:
        """All of them, the missions that began last first; of one status, when it is named."""
        of = results.c
        query = sa.select(results).order_by(of.started_at.desc(), of.mission_id)
        if status is not None:
            query = query.where(of.status == status)
        offset = 0
        while True:
            with self._database.read() as connection:
                rows = connection.execute(query.offset(offset).limit(page)).all()
            yield from (KeptPiece(**row._mapping) for row in rows)
            if len(rows) < page:
                return
            offset += page

    def closed(self) -> Mapping[str, datetime]:
        """The missions of which something is kept, and up to when it tells of them."""
        query = sa.select(results.c.mission_id, results.c.closed_at)
        with self._database.read() as connection:
            return {mission_id: at for mission_id, at in connection.execute(query)}

    def under_other_keys(self, key_id: str) -> tuple[str, ...]:
        """The missions of which what is kept is encrypted with another key than this one."""
        query = sa.select(results.c.mission_id).where(results.c.key_id != key_id)
        with self._database.read() as connection:
            return tuple(connection.execute(query).scalars())

    def prune(self, before: datetime) -> int:
        """Remove what tells of missions that were over before this moment; how many."""
        with self._database.write() as connection:
            return connection.execute(
                sa.delete(results).where(results.c.closed_at < before)
            ).rowcount
