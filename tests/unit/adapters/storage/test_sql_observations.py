"""Observations of missions and their results in the store."""

import pytest

from orchestrator.adapters.storage.store import Store
from orchestrator.core.errors import ObservationMissing
from tests.unit.adapters.storage.used_grants import OpenStore


def test_a_piece_is_kept_once(open_store: OpenStore) -> None:
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

    assert store.place in str(missing.value)


def test_a_mission_is_purged_alone(store: Store) -> None:
    """All of it goes, any number of times; the others stay."""
    seen = store.observations
    assert seen.missions() == {}
    seen.put("m-1", "k", b"first")
    seen.put("m/2", "k", b"second")
    assert set(seen.missions()) == {"m-1", "m/2"}

    seen.purge("m-1", "unknown")
    seen.purge("m-1")

    assert set(seen.missions()) == {"m/2"}
    assert seen.get("m/2", "k") == b"second"
    with pytest.raises(ObservationMissing):
        seen.get("m-1", "k")
