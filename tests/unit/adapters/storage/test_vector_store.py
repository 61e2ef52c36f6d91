"""Vectors of cards in a store: kept, found again, and never a reason to fail."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from orchestrator.adapters.storage.store import Store


def test_vectors_come_back_as_they_were(open_store: Callable[[], Store]) -> None:
    """By another object over the same store; what is not there is left out."""
    made = {f"k{n}": np.array([n, -n, 0.5], dtype=np.float32) for n in range(1_200)}
    open_store().vectors.put(made)

    found = open_store().vectors.get([*made, "unknown"])

    assert set(found) == set(made)
    assert all(np.array_equal(found[key], made[key]) for key in made)


def test_a_later_vector_replaces_an_earlier_one(store: Store) -> None:
    """One for each key."""
    store.vectors.put({"k": np.array([1.0], dtype=np.float32)})
    store.vectors.put({"k": np.array([2.0], dtype=np.float32)})

    assert store.vectors.get(["k"])["k"].tolist() == [2.0]


def test_a_store_that_cannot_be_used_is_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A folder in the place of its file: nothing is found, nothing is kept, nothing is raised."""
    (tmp_path / "store.db").mkdir()
    vectors = Store(tmp_path).vectors
    vectors.put({"k": np.array([1.0], dtype=np.float32)})

    assert vectors.get(["k"]) == {}
    told = [r.getMessage().partition(":")[0] for r in caplog.records]
    assert told == ["vectors of cards cannot be kept", "vectors of cards cannot be read"]
