"""`orchestrator chaos run`: its verdicts and exit codes, as far as they need no server."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands import Ran

Run = Callable[..., Ran]

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


@pytest.mark.parametrize(
    "options",
    [
        ("--faults", "explode"),
        ("--faults", ""),
        ("--missions", "0"),
        ("--overlay", "x.yaml"),
        ("--planner", "own"),
        ("--model", "openai:gpt-5"),
        ("--store", "mysql"),
        ("--specs", "reads.yaml"),
        ("--workflow", "json"),
        ("--workflow", "no_such_module:Trip"),
        ("--workflow", "json:Trip"),
        ("--workflow", "json:JSONDecoder"),
        ("--input", "trip.json"),
        ("--activity", "json:dumps"),
    ],
)
def test_wrong_usage_is_refused_before_anything_starts(
    run: Run, tmp_path: Path, options: tuple[str, str]
) -> None:
    """Exit code 2; documents without a consequence have nothing to roll back."""
    (tmp_path / "reads.yaml").write_text(READS)
    ran = run("chaos", "run", *options)

    assert (ran.exit_code, ran.stdout) == (2, "")
    assert ran.stderr


def test_a_broken_contract_exits_with_one_and_prints_one_document(tmp_path: Path, run: Run) -> None:
    (tmp_path / "notes.yaml").write_text(LOOSE)
    ran = run("chaos", "run", "--specs", "notes.yaml", "--seed", "4", "--json")

    assert ran.exit_code == 1
    assert (ran.json["seed"], ran.json["ok"]) == (4, False)
    assert [c["case"] for c in ran.json["checks"]] == ["contract"]
