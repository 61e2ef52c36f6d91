"""Kept results: the newest of each mission, found by status, and gone after their time."""

from datetime import UTC, datetime, timedelta

from orchestrator.adapters.storage.sql_results import KeptPiece
from orchestrator.adapters.storage.store import Store

DAY = datetime(2026, 11, 23, tzinfo=UTC)


def piece(mission_id: str, days: int, *, status: str = "succeeded", key: str = "") -> KeptPiece:
    at = DAY + timedelta(days=days)
    return KeptPiece(mission_id, status, at, at + timedelta(hours=1), key, b"\x00piece")


def test_the_newest_is_kept(store: Store) -> None:
    """Whoever keeps it, and however often."""
    store.results.put(piece("m-1", 0))
    store.results.put(piece("m-1", 0))
    store.results.put(piece("m-1", 1, status="rolled_back"))

    found = store.results.find("m-1")
    assert found == piece("m-1", 1, status="rolled_back")
    assert store.results.closed() == {"m-1": DAY + timedelta(days=1, hours=1)}
    assert store.results.find("m-2") is None


def test_they_are_listed_newest_first(store: Store) -> None:
    """Page by page, and of one status."""
    for number in range(5):
        store.results.put(piece(f"m-{number}", number, status="failed" if number % 2 else "parked"))

    assert [one.mission_id for one in store.results.newest(page=2)] == [
        "m-4",
        "m-3",
        "m-2",
        "m-1",
        "m-0",
    ]
    assert [one.mission_id for one in store.results.newest(status="failed", page=1)] == [
        "m-3",
        "m-1",
    ]


def test_what_is_old_goes(store: Store) -> None:
    """And what is under another key is found, to be written anew."""
    store.results.put(piece("old", -10, key="2025"))
    store.results.put(piece("new", 0, key="2026"))

    assert store.results.under_other_keys("2026") == ("old",)
    assert store.results.prune(DAY) == 1
    assert set(store.results.closed()) == {"new"}
