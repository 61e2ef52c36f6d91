"""Vectors of cards on disk: kept, found again, and never a reason to fail."""

from pathlib import Path

import numpy as np
import pytest

from orchestrator.adapters.storage.vector_store import SqliteVectors


def test_vectors_come_back_as_they_were(tmp_path: Path) -> None:
    """By another object over the same file; what is not there is left out."""
    made = {f"k{n}": np.array([n, -n, 0.5], dtype=np.float32) for n in range(1_200)}
    SqliteVectors(tmp_path / "state" / "v.db").put(made)

    found = SqliteVectors(tmp_path / "state" / "v.db").get([*made, "unknown"])

    assert set(found) == set(made)
    assert all(np.array_equal(found[key], made[key]) for key in made)


def test_a_later_vector_replaces_an_earlier_one(tmp_path: Path) -> None:
    """One for each key."""
    store = SqliteVectors(tmp_path / "v.db")
    store.put({"k": np.array([1.0], dtype=np.float32)})
    store.put({"k": np.array([2.0], dtype=np.float32)})

    assert store.get(["k"])["k"].tolist() == [2.0]


def test_a_file_that_cannot_be_used_is_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A folder in its place: nothing is found, nothing is kept, nothing is raised."""
    store = SqliteVectors(tmp_path)
    store.put({"k": np.array([1.0], dtype=np.float32)})

    assert store.get(["k"]) == {}
    assert [r.getMessage() for r in caplog.records] == [
        "vectors of cards cannot be kept: OperationalError",
        "vectors of cards cannot be read: OperationalError",
    ]
