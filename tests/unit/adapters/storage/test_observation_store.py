"""The store of observations: whole or not there, once, of one mission, until that is purged."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from orchestrator.adapters.storage.observation_store import FileObservations
from orchestrator.core.errors import ObservationMissing


def test_a_piece_is_kept_once(tmp_path: Path) -> None:
    """The same key again changes nothing: whoever keeps it after a death keeps the same."""
    store = FileObservations(tmp_path / "seen")

    store.put("m-1", "k", b"first")
    store.put("m-1", "k", b"again")

    assert store.get("m-1", "k") == b"first"
    assert FileObservations(tmp_path / "seen").get("m-1", "k") == b"first"


@pytest.mark.parametrize("mission_id", ["m-2", "../m-1", ""])
def test_a_piece_is_of_one_mission(tmp_path: Path, mission_id: str) -> None:
    """Another mission does not read it, whatever its id is; the error says where it was looked."""
    store = FileObservations(tmp_path / "seen")
    store.put("m-1", "k", b"first")

    with pytest.raises(ObservationMissing, match=str(tmp_path / "seen")):
        store.get(mission_id, "k")


def test_a_disk_that_fails_has_lost_nothing(tmp_path: Path) -> None:
    """A leg waits for a share that is away as for one that is another: nothing is undone for it."""
    store = FileObservations(tmp_path / "seen")
    store.put("m-1", "k", b"first")
    (tmp_path / "seen").rename(tmp_path / "away")
    (tmp_path / "seen").write_bytes(b"")

    with pytest.raises(ObservationMissing, match="Not a directory"):
        store.get("m-1", "k")


def test_nobody_else_may_look(tmp_path: Path) -> None:
    """Folders and files are the owner's alone."""
    store = FileObservations(tmp_path / "seen")
    store.put("m-1", "k", b"first")

    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "seen").rglob("*")}
    assert modes == {0o700, 0o600}


def test_a_mission_is_purged_alone(tmp_path: Path) -> None:
    """All of it goes, any number of times; the others stay."""
    store = FileObservations(tmp_path / "seen")
    store.put("m-1", "k", b"first")
    store.put("m/2", "k", b"second")
    assert set(store.missions()) == {"m-1", "m/2"}

    store.purge("m-1", "unknown")
    store.purge("m-1")

    assert set(store.missions()) == {"m/2"}
    assert store.get("m/2", "k") == b"second"
    with pytest.raises(ObservationMissing):
        store.get("m-1", "k")


def test_an_empty_store_has_no_missions(tmp_path: Path) -> None:
    """Before anything is kept there is no folder."""
    assert FileObservations(tmp_path / "seen").missions() == {}
