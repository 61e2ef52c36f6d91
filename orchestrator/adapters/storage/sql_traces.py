"""Records of selections in a database: bounded, and without a word of any request."""

import logging
import threading
from typing import Final

import sqlalchemy as sa

from orchestrator.adapters.storage.route_traces import with_call
from orchestrator.adapters.storage.schema import selections
from orchestrator.adapters.storage.store_database import StoreDatabase
from orchestrator.core.errors import StoreRefused, StoreUnavailable
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
    """The records of one source, which is missions or a proxy."""

    def __init__(
        self, database: StoreDatabase, source: str = MISSIONS, *, most_records: int = MOST_RECORDS
    ) -> None:
        """Take the store, whose records they are, and beyond how many the oldest go."""
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
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(_OF.number)).all()
        return [with_call(record, called) for record, called in rows]

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
        """Remove the oldest beyond those that stay."""
        ours = sa.select(_OF.number).where(_OF.source == self._source).order_by(_OF.number.desc())
        last = ours.offset(self._most_records).limit(1).scalar_subquery()
        return sa.delete(selections).where(_OF.source == self._source, _OF.number <= last)
