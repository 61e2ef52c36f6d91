"""`orchestrator chaos run`, as far as it goes without starting anything."""

from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--faults", "explode"], "no fault is called explode"),
        (["--faults", ""], "kill-worker"),
        (["--missions", "0"], "--missions"),
    ],
)
def test_wrong_usage_is_told_before_anything_starts(
    run: Run, options: list[str], said: str
) -> None:
    """Exit code 2, and what would be right."""
    ran = run("chaos", "run", *options)

    assert ran.exit_code == 2
    assert said in ran.stderr


def test_help_names_every_fault(run: Run) -> None:
    """The list that --faults takes is in the help text."""
    ran = run("chaos", "run", "--help")

    assert all(word in ran.stdout for word in ("drop-after", "kill-worker", "--every-point"))
