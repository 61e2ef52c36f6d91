"""What `orchestrator chaos run --specs` prints, and how it exits."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from orchestrator.chaos.verdicts.report import Flaw, PairCheck, PairsReport
from orchestrator.cli import main
from orchestrator.cli.chaos_runs import draw_pairs as show_pairs

Run = Callable[..., tuple[int, str, str]]
LOST = Flaw(why="the answer [never] came", mend="add a probe")

LOOSE = """
openapi: 3.1.0
info: {title: Notes, version: "1"}
servers: [{url: "https://notes.example"}]
paths:
  /notes:
    post:
      operationId: post_note
      summary: Post a note.
      x-orchet-tool: true
      x-orchet-requires-confirmation: structured-message
      responses: {"201": {description: posted}}
"""
READS = LOOSE.replace("post:", "get:").replace("x-orchet-requires-confirmation", "x-other")


def check(tool: str, case: str, *flaws: Flaw) -> PairCheck:
    """One trial of a tool."""
    return PairCheck(
        document="shop", tool=tool, cancel="drop", case=case, ok=not flaws, flaws=flaws
    )


def printed(*checks: PairCheck) -> str:
    """What is shown of a report."""
    text = io.StringIO()
    report = PairsReport(seed=7, pairs=2, checks=checks, seconds=1.5, ok=all(c.ok for c in checks))
    show_pairs(Console(file=text, width=200), report)
    return text.getvalue()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command in this process; gives its exit code and what it printed."""

    def ran(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["orchestrator", "chaos", "run", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        shown = capsys.readouterr()
        assert isinstance(stopped.value.code, int)
        return stopped.value.code, shown.out, shown.err

    return ran


def test_a_flaw_is_shown_once_with_its_cases() -> None:
    """Cases that fail alike share a line, and good tools have one of their own."""
    text = printed(
        check("book", "clean"),
        check("book", "answer lost", LOST),
        check("book", "too late", LOST),
        check("pay", "clean"),
    )

    assert text.count("the answer [never] came") == 1
    assert "when: answer lost, too late" in text
    assert "mend: add a probe" in text
    assert "ok shop: pay is undone by drop" in text
    assert "NOT ALL HELD: 2 tools, 4 trials in 1.5 s, seed 7" in text


def test_what_only_parks_is_not_called_undone_by_nothing() -> None:
    """An operator is asked where the answer was lost: another matter than what still stands."""
    parks = LOST.model_copy(update={"code": "ORC047"})
    shown = printed(
        check("book", "clean"),
        check("book", "answer lost", parks),
        check("pay", "clean", LOST),
        check("pay", "answer lost", parks),
    )

    assert "PARKS shop: book is undone by drop" in shown
    assert "NOT UNDONE shop: pay is undone by drop" in shown


def test_a_run_in_which_some_only_park_says_so() -> None:
    """What nothing could have told from a request that was lost is no failure of a rollback."""
    parks = LOST.model_copy(update={"code": "ORC047"})

    shown = printed(check("book", "clean"), check("book", "answer lost", parks))

    assert "HELD BUT WHERE ANSWERS ARE LOST: 2 tools, 2 trials in" in shown


def test_good_pairs_are_said_to_hold() -> None:
    """The verdict of a report without flaws."""
    assert "every pair held: 2 tools, 1 trial in" in printed(check("book", "clean"))


def test_a_broken_contract_exits_with_one_and_prints_one_document(tmp_path: Path, run: Run) -> None:
    """--json: nothing but the report on standard output."""
    (tmp_path / "notes.yaml").write_text(LOOSE)

    code, out, _ = run("--specs", str(tmp_path / "notes.yaml"), "--seed", "4", "--json")

    report = json.loads(out)
    assert code == 1
    assert (report["seed"], report["ok"]) == (4, False)
    assert [c["case"] for c in report["checks"]] == ["contract"]


def test_documents_without_pairs_are_wrong_usage(tmp_path: Path, run: Run) -> None:
    """Exit 2 with a sentence that says what is missing."""
    (tmp_path / "notes.yaml").write_text(READS)

    code, _, err = run("--specs", str(tmp_path / "notes.yaml"))

    assert code == 2
    assert "nothing to roll back" in err


def test_an_overlay_needs_documents(run: Run) -> None:
    """--overlay without --specs is wrong usage."""
    code, _, err = run("--overlay", "x.yaml")

    assert code == 2
    assert "--overlay goes with --specs" in err
