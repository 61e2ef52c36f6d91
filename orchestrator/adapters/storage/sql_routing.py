"""Records of selections in a database; their loss makes nothing fail.

Records are bounded, and contain no word of any request.
"""

import logging
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Final

import sqlalchemy as sa
from pydantic import ValidationError

from orchestrator.adapters.storage.schema import selections
from orchestrator.adapters.storage.store_database import StoreDatabase
from orchestrator.core.errors import DocumentUnreadable, StoreRefused, StoreUnavailable
from orchestrator.routing.learning.trace import RouteRecord

MISSIONS: Final = "missions"
PROXY: Final = "proxy"
MOST_RECORDS: Final = 50_000
_TRIMMED_EVERY: Final = 256
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
                    ours = (
                        sa.select(_OF.number)
                        .where(_OF.source == self._source)
                        .order_by(_OF.number.desc())
                    )
                    last = ours.offset(self._most_records).limit(1).scalar_subquery()
                    connection.execute(
                        sa.delete(selections).where(_OF.source == self._source, _OF.number <= last)
                    )
        except (StoreUnavailable, StoreRefused) as error:
            _log.warning("a route trace is lost: %s", error)


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
