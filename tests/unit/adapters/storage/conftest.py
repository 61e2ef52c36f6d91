"""Stores on both engines, opened as often as a test likes: as workers of other machines do."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.adapters.storage.sql_vault import VaultKey, new_key
from orchestrator.adapters.storage.store import Store
from tests.unit.adapters.storage.used_grants import OpenStore


@pytest.fixture(scope="session")
def made_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty store's file, to be copied: sooner done than made."""
    folder = tmp_path_factory.mktemp("made")
    with Store(folder):
        pass
    return folder / "store.db"


@pytest.fixture
def open_store(store_url: str | None, tmp_path: Path, made_file: Path) -> Iterator[OpenStore]:
    """Opens the same store once more; on a server from a folder of its own each time."""
    opened: list[Store] = []
    (tmp_path / "state").mkdir(mode=0o700)
    shutil.copy(made_file, tmp_path / "state" / "store.db")
    key = VaultKey("ORCHESTRATOR_PII_KEY", new_key())

    def make() -> Store:
        if store_url is None:
            store = Store(tmp_path / "state")
        else:
            store = Store(tmp_path / f"machine-{len(opened)}", url=store_url, key=key)
        opened.append(store)
        return store

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: OpenStore) -> Store:
    """An empty store."""
    return open_store()
