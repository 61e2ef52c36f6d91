"""What an installation's parts print, read on from where it stood."""

from pathlib import Path

import pytest

from orchestrator.runtime.part_logs import PartLog, how_it_ended, last_line


def _append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_only_what_is_new_and_whole_is_told(tmp_path: Path) -> None:
    """What earlier starts printed is no news; a line that is not complete waits for its end."""
    path = tmp_path / "worker.log"
    _append(path, "of yesterday\n")
    log = PartLog(path)
    _append(path, "orchestrator: one\n\ntwo\nthr")
    first = log.new_lines()
    _append(path, "ee\n")

    assert first == ["one", "two"]
    assert log.new_lines() == ["three"]
    assert log.new_lines() == []


def test_what_a_part_said_last_is_told_to_its_end(tmp_path: Path) -> None:
    """The lines that nobody has read, or else the last of all."""
    path = tmp_path / "worker.log"
    log = PartLog(path)
    _append(path, "a\nb\nc\nwithout an end")

    assert log.said_last(2) == ["c", "without an end"]
    assert log.said_last(2) == ["without an end"]


def test_a_log_that_was_emptied_is_read_from_its_beginning(tmp_path: Path) -> None:
    """And one that is not there yet once it is."""
    path = tmp_path / "worker.log"
    log = PartLog(path)
    assert log.new_lines() == []
    _append(path, "a long first line\n")
    assert log.new_lines() == ["a long first line"]
    path.write_text("new\n")

    assert log.new_lines() == ["new"]


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


@pytest.mark.parametrize(
    ("code", "told"), [(0, "exit code 0"), (2, "exit code 2"), (-9, "killed by SIGKILL")]
)
def test_an_end_is_told_in_words(code: int, told: str) -> None:
    """Signals by their names."""
    assert how_it_ended(code) == told
