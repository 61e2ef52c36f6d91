"""Files that are whole or not there."""

from pathlib import Path

import pytest

from orchestrator.adapters.storage.files import create_file, replace_file


def test_replacing_leaves_nothing_else_behind(tmp_path: Path) -> None:
    """New content, wanted permissions, no temporary file."""
    path = tmp_path / "f"
    path.write_bytes(b"old")

    replace_file(path, b"new", mode=0o640)

    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_the_first_to_create_a_file_wins(tmp_path: Path) -> None:
    """The second is told, and changes nothing."""
    path = tmp_path / "key"

    assert create_file(path, b"first") is True
    assert create_file(path, b"second") is False
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_keeps_the_old_content(tmp_path: Path) -> None:
    """And cleans up after itself."""
    path = tmp_path / "f"
    path.mkdir()

    with pytest.raises(OSError, match="directory"):
        replace_file(path, b"new")

    assert list(tmp_path.iterdir()) == [path]
