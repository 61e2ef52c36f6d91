"""Used grants and calls that are taken back, in a database."""

import hashlib
from datetime import UTC, datetime

import sqlalchemy as sa

from orchestrator.adapters.storage.schema import grants, taken_back
from orchestrator.adapters.storage.store_database import StoreDatabase


class SqlGrants:
    """A row for each used grant, of which the table's key lets there be one.

    Of any number of processes that claim a grant at once exactly one is told None, and it stays
    told: the row is committed before the call is on the wire.
    """

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    def claim(self, digest: str, user: str) -> str | None:
        """Note that `user` uses the grant with this digest; see `GrantBook.claim`."""
        row = {"digest": digest, "used_by": user, "used_at": datetime.now(UTC)}
        with self._database.write() as connection:
            claimed = self._database.insert_new(grants).returning(grants.c.digest)
            if connection.execute(claimed, row).first() is not None:
                return None
            query = sa.select(grants.c.used_by).where(grants.c.digest == digest)
            before: str = connection.execute(query).scalar_one()
            return before

    def take_back(self, call_id: str) -> None:
        """See `GrantBook.take_back`; committed before the cancel is on the wire."""
        row = {"call_digest": _digest(call_id), "at": datetime.now(UTC)}
        with self._database.write() as connection:
            connection.execute(self._database.insert_new(taken_back), row)

    def is_taken_back(self, call_id: str) -> bool:
        """See `GrantBook.is_taken_back`."""
        query = sa.select(sa.literal(1)).where(taken_back.c.call_digest == _digest(call_id))
        with self._database.read() as connection:
            return connection.execute(query).first() is not None


def _digest(call_id: str) -> str:
    return hashlib.sha256(call_id.encode()).hexdigest()
