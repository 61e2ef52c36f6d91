"""What an installation's parts print, read on from where it stood."""

from pathlib import Path

import pytest

from orchestrator.runtime.part_logs import PartLog, last_line


def _append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_only_what_is_new_and_whole_is_told(tmp_path: Path) -> None:
    """What earlier starts printed is no news; a line that is not complete waits for its end.

    A log that was emptied is read from its beginning, and one that is not there yet once it is.
    """
    path = tmp_path / "worker.log"
    _append(path, "of yesterday\n")
    log, missing = PartLog(path), PartLog(tmp_path / "later.log")
    assert missing.new_lines() == []
    _append(path, "orchestrator: one\n\ntwo\nthr")
    first = log.new_lines()
    _append(path, "ee\n")
    _append(tmp_path / "later.log", "there\n")

    assert first == ["one", "two"]
    assert log.new_lines() == ["three"]
    assert log.new_lines() == []
    assert missing.new_lines() == ["there"]
    path.write_text("new\n")
    assert log.new_lines() == ["new"]


def test_what_a_part_said_last_is_told_to_its_end(tmp_path: Path) -> None:
    """The lines that nobody has read, or else the last of all."""
    path = tmp_path / "worker.log"
    log = PartLog(path)
    _append(path, "a\nb\nc\nwithout an end")

    assert log.said_last(2) == ["c", "without an end"]
    assert log.said_last(2) == ["without an end"]


def test_what_a_part_prints_cannot_speak_to_the_terminal(tmp_path: Path) -> None:
    """Its lines stand among ours."""
    path = tmp_path / "worker.log"
    path.write_bytes(b"\x1b[2Jgone\xff\n")

    assert "\x1b" not in last_line(path)
    assert last_line(tmp_path / "none.log") == "it printed nothing"


def test_a_full_disk_is_told_with_the_last_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever ran into it could not write it down."""
    monkeypatch.setattr("orchestrator.runtime.part_logs._FULL_BYTES", 1 << 62)

    assert "kB are free at" in last_line(tmp_path / "temporal.log")
