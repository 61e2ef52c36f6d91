"""`orchestrator mission file`, as it is typed."""

from pathlib import Path

import pytest

from orchestrator.adapters.storage.mission_files import MissionFiles
from orchestrator.adapters.storage.store import Store
from orchestrator.cli import main


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["orchestrator", *words])
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_a_file_is_written_once_and_by_its_own_mission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """For nobody else to read; a file that is there stays, and another mission has none."""
    monkeypatch.setenv("ORCHESTRATOR_STATE_DIR", str(tmp_path))
    with Store(tmp_path) as store:
        kept = MissionFiles(store.observations).keep("m-1", b"%PDF\xff", name="label.pdf")
    out = tmp_path / "label.pdf"

    assert run(monkeypatch, "mission", "file", "m-1", kept.handle, "--out", str(out)) == 0
    assert out.read_bytes() == b"%PDF\xff"
    assert out.stat().st_mode & 0o077 == 0
    out.write_bytes(b"mine")
    assert run(monkeypatch, "mission", "file", "m-1", kept.handle, "--out", str(out)) == 2
    assert out.read_bytes() == b"mine"
    other = str(tmp_path / "other.pdf")
    assert run(monkeypatch, "mission", "file", "m-2", kept.handle, "--out", other) == 2
    assert not Path(other).exists()
    assert "mission m-2 has no file" in capsys.readouterr().err
