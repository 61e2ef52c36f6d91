"""Commands that people are told to type, pasted as they are into a shell."""

import subprocess
from pathlib import Path

import pytest

from orchestrator.core import command_lines

ID = "m; rm -rf x.1-leg.2"
FILLED_IN = [
    command_lines.amend_card(ID),
    command_lines.respond_to_card(ID),
    command_lines.reject_card(ID),
    command_lines.reject_card(ID, ("replan", "skip", "rollback")),
    command_lines.answer_question(ID, ("city", "day")),
    command_lines.resolve_parked(ID, "cancelled", "how it was cancelled"),
]
WHOLE = [
    command_lines.approve_card(ID, "abc"),
    command_lines.approve_after_reading(ID),
    command_lines.show_card(ID),
    command_lines.answer_question(ID),
    command_lines.resolve_parked(ID, "retry"),
    command_lines.start_worker("a queue"),
]


def _pasted(line: str, folder: Path) -> list[str]:
    """What a shell ran, one argument on each line, when it got the line; nothing else is there."""
    stub = 'orchestrator() { printf "%s\\n" ran "$@"; }'
    shell = subprocess.run(
        ["/bin/bash", "-c", f"{stub}\n{line}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return shell.stdout.splitlines()


@pytest.mark.parametrize("line", FILLED_IN)
def test_what_is_to_be_filled_in_runs_nothing_as_it_is(line: str, tmp_path: Path) -> None:
    """Nobody rejects a card for the reason "why"; no file is made either."""
    assert _pasted(line, tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("line", WHOLE)
def test_what_is_whole_is_run_as_it_stands(line: str, tmp_path: Path) -> None:
    ran = _pasted(line, tmp_path)

    assert ran[0] == "ran"
    assert ID in ran or ran[1:] == ["worker"]
