"""Records of selections and vectors of cards in a database; their loss makes nothing fail.

Records are bounded, and contain no word of any request.
"""

import logging
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import numpy as np
import sqlalchemy as sa
from pydantic import ValidationError

from orchestrator.adapters.storage.schema import selections
from orchestrator.adapters.storage.schema import vectors as vectors_table
from orchestrator.adapters.storage.store_database import StoreDatabase
from orchestrator.core.errors import DocumentUnreadable, StoreRefused, StoreUnavailable
from orchestrator.routing.learning.trace import RouteRecord
from orchestrator.routing.scoring.embedding import Vectors

MISSIONS: Final = "missions"
PROXY: Final = "proxy"
MOST_RECORDS: Final = 50_000
_TRIMMED_EVERY: Final = 256
_AT_ONCE: Final = 500
_OF: Final = selections.c
_CALLED: Final = (
    sa.update(selections)
    .where(_OF.source == sa.bindparam("its_source"), _OF.mission_id == sa.bindparam("its_mission"))
    .where(_OF.leg_id == sa.bindparam("its_leg"), _OF.step == sa.bindparam("its_step"))
    .values(called=sa.bindparam("tool"))
)
_log = logging.getLogger(__name__)


class SqlTraces:
    """The `RouteTraces` of one source: missions or a proxy."""

    def __init__(
        self, database: StoreDatabase, source: str = MISSIONS, *, most_records: int = MOST_RECORDS
    ) -> None:
        """Store the database, the source, and the number of records beyond which the oldest go."""
        self._database = database
        self._source = source
        self._most_records = most_records
        self._written = 0
        key = ("source", "mission_id", "leg_id", "step")
        self._record = database.put(selections, "record", "called", keys=key)
        self._lock = threading.Lock()

    def record(self, record: RouteRecord) -> None:
        """See `RouteTraces.record`."""
        self._write(
            self._record,
            {
                "source": self._source,
                "mission_id": record.mission_id,
                "leg_id": record.leg_id,
                "step": record.step,
                "record": record.model_dump_json(),
                "called": None,
            },
        )

    def called(self, *, mission_id: str, leg_id: str, step: int, tool: str) -> None:
        """See `RouteTraces.called`."""
        of = {"its_source": self._source, "its_mission": mission_id, "its_leg": leg_id}
        self._write(_CALLED, {**of, "its_step": step, "tool": tool})

    def records(self) -> list[RouteRecord]:
        """See `RouteTraces.records`."""
        query = sa.select(_OF.record, _OF.called).where(_OF.source == self._source)
        rows = self._database.fetch(query.order_by(_OF.number))
        return [_with_call(record, called) for record, called in rows]

    def _write(self, statement: sa.Executable, values: dict[str, object]) -> None:
        with self._lock:
            is_due = self._written % _TRIMMED_EVERY == 0
            self._written += 1
        try:
            with self._database.write(durable=False) as connection:
                connection.execute(statement, values)
                if is_due:
                    connection.execute(self._trim())
        except (StoreUnavailable, StoreRefused) as error:
            _log.warning("a route trace is lost: %s", error)

    def _trim(self) -> sa.Delete:
        """Return a statement that removes the oldest records beyond the limit."""
        ours = sa.select(_OF.number).where(_OF.source == self._source).order_by(_OF.number.desc())
        last = ours.offset(self._most_records).limit(1).scalar_subquery()
        return sa.delete(selections).where(_OF.source == self._source, _OF.number <= last)


def read_records(path: Path) -> list[RouteRecord]:
    """Return the records of a store's file, or of a file with one JSON record a line.

    Raises:
        DocumentUnreadable: there is no such file, or its content is something else.
    """
    try:
        with path.open("rb") as file:
            is_store = file.read(15) == b"SQLite format 3"
        if not is_store:
            lines = path.read_text(encoding="utf-8").splitlines()
            return [RouteRecord.model_validate_json(line) for line in lines if line.strip()]
        # Opened read-only, without a StoreDatabase, which would migrate the file.
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            rows = connection.execute("SELECT record, called FROM selections ORDER BY number")
            return [_with_call(record, called) for record, called in rows]
    except FileNotFoundError:
        raise DocumentUnreadable(str(path), "no such file") from None
    except (sqlite3.Error, OSError, ValidationError, UnicodeDecodeError) as error:
        raise DocumentUnreadable(str(path), "it does not hold route traces") from error


def _with_call(text: str, called: str | None) -> RouteRecord:
    record = RouteRecord.model_validate_json(text)
    return record.model_copy(update={"called": ((called,),)}) if called else record


class SqlVectors:
    """Vectors of cards by digest, so that a card is embedded once."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    def get(self, keys: Sequence[str]) -> Mapping[str, Vectors]:
        """Return the stored vectors of these keys, each of shape (n_dimensions,)."""
        found: dict[str, Vectors] = {}
        try:
            for start in range(0, len(keys), _AT_ONCE):
                some = keys[start : start + _AT_ONCE]
                query = sa.select(vectors_table).where(vectors_table.c.key.in_(some))
                rows = self._database.fetch(query)
                found |= {key: np.frombuffer(vector, np.float32) for key, vector in rows}
        except (StoreUnavailable, StoreRefused, ValueError) as error:
            _log.warning("vectors of cards cannot be read: %s", error)
            return {}
        return found

    def put(self, vectors: Mapping[str, Vectors]) -> None:
        """Store vectors."""
        rows = [
            {"key": key, "vector": np.asarray(vector, dtype=np.float32).tobytes()}
            for key, vector in vectors.items()
        ]
        if not rows:
            return
        try:
            self._database.run(self._database.put(vectors_table, "vector"), rows, durable=False)
        except (StoreUnavailable, StoreRefused) as error:
            _log.warning("vectors of cards cannot be kept: %s", error)
