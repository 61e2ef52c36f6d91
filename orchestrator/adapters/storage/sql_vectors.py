"""Vectors of cards in a database, by digest: what was embedded once is not embedded again."""

import logging
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import sqlalchemy as sa

from orchestrator.adapters.storage.schema import vectors as table
from orchestrator.adapters.storage.store_database import StoreDatabase
from orchestrator.core.errors import StoreRefused, StoreUnavailable
from orchestrator.routing.scoring.embedding import Vectors

_AT_ONCE: Final = 500
_log = logging.getLogger(__name__)


class SqlVectors:
    """The vectors of one store; one that cannot be used costs only the time saved."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    def get(self, keys: Sequence[str]) -> Mapping[str, Vectors]:
        """Those that are there, each of shape (n_dimensions,)."""
        found: dict[str, Vectors] = {}
        try:
            with self._database.read() as connection:
                for start in range(0, len(keys), _AT_ONCE):
                    some = keys[start : start + _AT_ONCE]
                    rows = connection.execute(sa.select(table).where(table.c.key.in_(some)))
                    found |= {key: np.frombuffer(vector, np.float32) for key, vector in rows}
        except (StoreUnavailable, StoreRefused, ValueError) as error:
            _log.warning("vectors of cards cannot be read: %s", error)
            return {}
        return found

    def put(self, vectors: Mapping[str, Vectors]) -> None:
        """Keep vectors."""
        rows = [
            {"key": key, "vector": np.asarray(vector, dtype=np.float32).tobytes()}
            for key, vector in vectors.items()
        ]
        if not rows:
            return
        try:
            with self._database.write(durable=False) as connection:
                connection.execute(self._database.put(table, "vector"), rows)
        except (StoreUnavailable, StoreRefused) as error:
            _log.warning("vectors of cards cannot be kept: %s", error)
