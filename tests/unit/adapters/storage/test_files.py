"""Files are written whole or not at all, and are private."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from orchestrator.adapters.storage.files import (
    create_file,
    private_file,
    private_folder,
    replace_file,
)
from orchestrator.adapters.storage.store import Store
from orchestrator.catalog.catalog import Catalog
from tests.unit.adapters.storage.used_grants import use_grant


def test_replacing_leaves_nothing_else_behind(tmp_path: Path) -> None:
    """New content, wanted permissions, no temporary file, also after a write that failed."""
    path = tmp_path / "f"
    path.write_bytes(b"old")
    replace_file(path, b"new", mode=0o640)

    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]
    path.unlink()
    path.mkdir()
    with pytest.raises(OSError, match="directory"):
        replace_file(path, b"new")
    assert list(tmp_path.iterdir()) == [path]


def test_the_first_to_create_a_file_wins(tmp_path: Path) -> None:
    """The second is told, and changes nothing."""
    path = tmp_path / "key"

    assert create_file(path, b"first") is True
    assert create_file(path, b"second") is False
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture(autouse=True)
def careless() -> Iterator[None]:
    """A umask that would give everything to everybody."""
    before = os.umask(0)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    """All below a folder, and itself, that its group or others may touch."""
    return [str(path) for path in (folder, *folder.rglob("*")) if path.stat().st_mode & 0o077]


def test_a_folder_is_made_private_with_those_above_it(tmp_path: Path) -> None:
    """Those that were there are not ours to change, but for the one that others may read."""
    tmp_path.chmod(0o755)
    private_folder(tmp_path / "state" / "deep")
    (tmp_path / "readable").mkdir(mode=0o755)
    private_folder(tmp_path / "readable")

    assert open_to_others(tmp_path / "state") == []
    assert tmp_path.stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "readable").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("why", ["sticky", "of another user"])
def test_a_shared_folder_stays_and_is_told(
    why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As /tmp is: others need it too."""
    mode = 0o1777 if why == "sticky" else 0o755
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(mode)
    if why != "sticky":
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    private_folder(tmp_path / "shared")

    assert (tmp_path / "shared").stat().st_mode & 0o7777 == mode
    assert "others may look into" in caplog.text


def test_what_a_worker_and_the_vault_write_is_private(tmp_path: Path, shipped: Catalog) -> None:
    """The store and the key of its vault, with all that SQLite puts beside them."""
    state = tmp_path / "state"
    store = Store(state)
    store.vault.put("traveler_name", "Ada")
    store.catalogs.put(shipped)
    use_grant(store, "ab" * 32, "me")

    assert (state / "store.db-wal").exists()
    assert open_to_others(state) == []
    store.close()


def test_a_file_is_narrowed_without_losing_the_locks_on_it(tmp_path: Path) -> None:
    """SQLite's are of the process: who opens the file beside it and closes it again drops them."""
    path = tmp_path / "locked.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("CREATE TABLE things (name TEXT)")
        path.chmod(0o644)
        holder.execute("BEGIN IMMEDIATE")
        private_file(path)
        is_locked = os.system(
            f"""python3 -c "import sqlite3; c = sqlite3.connect('{path}', timeout=0); """
            """c.execute('BEGIN IMMEDIATE')" 2>/dev/null"""
        )

    assert is_locked != 0
    assert path.stat().st_mode & 0o777 == 0o600
