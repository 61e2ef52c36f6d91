"""Cursors of events."""

from datetime import UTC, datetime

from orchestrator.messages.events import Cursor, HistoryPlace, read_cursor


def test_a_cursor_is_read_as_it_was_written() -> None:
    """Ids with anything in them, and moments to the microsecond."""
    cursor = Cursor(
        {"m.leg 1 ä": HistoryPlace("run", 12, 3), "m": HistoryPlace("", 0, 0)},
        since=datetime(2026, 11, 23, 10, 4, 11, 210_001, tzinfo=UTC),
    )

    assert read_cursor(str(cursor)) == cursor
    assert str(cursor).replace("-", "").replace("_", "").isalnum()
