"""Records of selections in the store."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from orchestrator.adapters.storage.sql_routing import SqlTraces, read_records
from orchestrator.adapters.storage.store import Store
from orchestrator.adapters.storage.store_database import StoreDatabase, file_url, migrate
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import DocumentUnreadable
from orchestrator.routing.learning.trace import RouteRecord, record_of
from orchestrator.routing.router import Router, fail_open
from orchestrator.routing.selection import RouteContext

NOW = datetime(2026, 11, 20, 9, tzinfo=UTC)


def record(catalog: Catalog, text: str, *, step: int = 1) -> RouteRecord:
    """The record of a selection for a text."""
    selection = Router(catalog).route(text, now=NOW)
    return record_of(
        selection, mission_id="trip", leg_id="1-flights", step=step, catalog_digest=catalog.digest
    )


def test_a_record_comes_back_with_what_was_called(shipped: Catalog, store: Store) -> None:
    """Joined by mission, leg and step; other steps stay without.

    A tool that had not been forwarded shows: the router had missed it.
    """
    traces, of_leg = store.traces, {"mission_id": "trip", "leg_id": "1-flights"}
    first, *others = [record(shipped, "find flights to Rome", step=step) for step in (1, 2, 3)]
    for one in (first, *others):
        traces.record(one)
    traces.called(**of_leg, step=1, tool="flight_search_offers")
    traces.called(**of_leg, step=3, tool="weather_get_forecast")

    with_call, without, missed = traces.records()
    assert with_call == first.model_copy(update={"called": (("flight_search_offers",),)})
    assert with_call.covered_by(with_call.tools)
    assert without.called == ()
    assert not missed.covered_by(missed.tools)


def test_no_word_of_a_request_reaches_the_disk(shipped: Catalog, tmp_path: Path) -> None:
    """Unusual words in verb, object, place, name, quotation, email, id and error are nowhere."""
    words = ("zwitschern", "quokkas", "Ouagadougou", "Xanthippe", "flibbertigibbet", "QX77-ZORK")
    text = (
        "Zwitschern the quokkas, book a flight from Ouagadougou for my friend Xanthippe tomorrow,"
        " 'flibbertigibbet', QX77-ZORK, xanthippe@quokkas.example, 8731 EUR"
    )
    context = RouteContext(
        goal="quokkas for Xanthippe", known=("flibbertigibbet",), last_error="QX77-ZORK not found"
    )
    with Store(tmp_path) as store:
        for step, said in enumerate((text, text.lower(), "Quokkas Ouagadougou")):
            selection = Router(shipped).route(said, context, now=NOW)
            store.traces.record(record_of(selection, mission_id="m", leg_id="l", step=step))
        broken = fail_open(shipped, "KeyError in the router")
        store.traces.record(record_of(broken, mission_id="m", leg_id="l", step=9))

        stored = b"".join(path.read_bytes() for path in tmp_path.iterdir()).lower()

    assert b"flight_search_offers" in stored
    assert [word for word in (*words, "8731", "example") if word.lower().encode() in stored] == []


def test_a_retried_step_has_one_record(shipped: Catalog, store: Store) -> None:
    """The later one. What passed a proxy is apart, though it is kept in the same place."""
    again = record(shipped, "what is the weather in Rome")
    for one in (record(shipped, "find flights to Rome"), again):
        store.traces.record(one)
    store.proxy_traces.record(record(shipped, "find flights to Rome"))

    assert store.traces.records() == [again]
    assert len(store.proxy_traces.records()) == 1


def test_the_oldest_records_go(shipped: Catalog, tmp_path: Path) -> None:
    """However many are written, about as many stay as may; those of a proxy are none of them."""
    database = StoreDatabase(file_url(tmp_path / "store.db"), prepare=migrate)
    traces = SqlTraces(database, most_records=10)
    one = record(shipped, "find flights to Rome")
    SqlTraces(database, "proxy").record(one)
    for step in range(257):
        traces.record(one.model_copy(update={"step": step}))

    assert [r.step for r in traces.records()] == list(range(247, 257))
    assert len(SqlTraces(database, "proxy").records()) == 1
    database.close()


def test_a_record_that_cannot_be_written_is_only_a_warning(
    shipped: Catalog, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither a directory in its place nor a file that is no database fails the selection."""
    (tmp_path / "a" / "store.db").mkdir(parents=True)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "store.db").write_text("something else " * 1000)
    for name in "ab":
        Store(tmp_path / name).traces.record(record(shipped, "find flights to Rome"))

    told = [r.getMessage() for r in caplog.records]
    assert len(told) == 2
    assert all(text.startswith("a route trace is lost: the store ") for text in told)


def test_records_are_read_from_lines_too(shipped: Catalog, tmp_path: Path) -> None:
    """As the evaluation writes them."""
    one = record(shipped, "find flights to Rome")
    path = tmp_path / "records.jsonl"
    path.write_text(f"{one.model_dump_json()}\n\n")

    assert read_records(path) == [one]


@pytest.mark.parametrize("content", [None, b"{}", b"not json", b"\xff\xfe", "a database"])
def test_what_is_no_record_is_refused(tmp_path: Path, content: bytes | str | None) -> None:
    """With the name of the file; a database without selections too."""
    path = tmp_path / "records"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE t (x)")

    with pytest.raises(DocumentUnreadable, match="records"):
        read_records(path)
