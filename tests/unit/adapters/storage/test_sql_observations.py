"""Observations of missions and their results in the store."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from orchestrator.adapters.storage.sql_observations import KeptPiece
from orchestrator.adapters.storage.store import Store
from orchestrator.core.errors import ObservationMissing


def test_a_piece_is_kept_once(open_store: Callable[[], Store]) -> None:
    """The same key again changes nothing: whoever keeps it after a death keeps the same."""
    store = open_store().observations

    store.put("m-1", "k", b"first\x00\xff")
    store.put("m-1", "k", b"again")

    assert store.get("m-1", "k") == b"first\x00\xff"
    assert open_store().observations.get("m-1", "k") == b"first\x00\xff"


@pytest.mark.parametrize("mission_id", ["m-2", "../m-1", ""])
def test_a_piece_is_of_one_mission(store: Store, mission_id: str) -> None:
    """Another mission does not read it, whatever its id is; the error says where it was looked."""
    store.observations.put("m-1", "k", b"first")

    with pytest.raises(ObservationMissing) as missing:
        store.observations.get(mission_id, "k")

    assert missing.value.place == store.place


def test_a_mission_is_purged_alone(store: Store) -> None:
    """All of it goes, any number of times; the others stay."""
    seen = store.observations
    seen.put("m-1", "k", b"first")
    seen.put("m/2", "k", b"second")
    assert set(seen.missions()) == {"m-1", "m/2"}

    seen.purge("m-1", "unknown")
    seen.purge("m-1")

    assert set(seen.missions()) == {"m/2"}
    assert seen.get("m/2", "k") == b"second"
    with pytest.raises(ObservationMissing):
        seen.get("m-1", "k")


def test_an_empty_store_has_no_missions(store: Store) -> None:
    """Before anything is kept."""
    assert store.observations.missions() == {}


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
