"""Records of selections: where they are kept, and those that stand in a file."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Protocol

from pydantic import ValidationError

from orchestrator.core.errors import DocumentUnreadable
from orchestrator.routing.learning.trace import RouteRecord


class RouteTraces(Protocol):
    """Records of selections, by mission, leg and step.

    A record that cannot be written is lost, with a warning: a mission never waits for it or fails.
    """

    def record(self, record: RouteRecord) -> None:
        """Keep a record; that of a step recorded before (its activity was retried) replaces it."""
        ...

    def called(self, *, mission_id: str, leg_id: str, step: int, tool: str) -> None:
        """Join what a step called in the end to the record of its selection."""
        ...

    def records(self) -> list[RouteRecord]:
        """All of them, the oldest first.

        Raises:
            StoreUnavailable: they cannot be read now.
        """
        ...


def read_records(path: Path) -> list[RouteRecord]:
    """The records of a database of an earlier release, or of a file with one JSON record a line.

    Raises:
        DocumentUnreadable: there is no such file, or it holds something else.
    """
    if not path.is_file():
        raise DocumentUnreadable(str(path), "no such file")
    try:
        with path.open("rb") as file:
            is_database = file.read(15) == b"SQLite format 3"
        if not is_database:
            lines = path.read_text(encoding="utf-8").splitlines()
            return [RouteRecord.model_validate_json(line) for line in lines if line.strip()]
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            rows = connection.execute("SELECT record, called FROM selections ORDER BY number")
            return [with_call(record, called) for record, called in rows]
    except (sqlite3.Error, OSError, ValidationError, UnicodeDecodeError) as error:
        raise DocumentUnreadable(str(path), "it does not hold route traces") from error


def with_call(text: str, called: str | None) -> RouteRecord:
    """A record from its JSON, and what its step called in the end."""
    record = RouteRecord.model_validate_json(text)
    return record.model_copy(update={"called": ((called,),)}) if called else record
