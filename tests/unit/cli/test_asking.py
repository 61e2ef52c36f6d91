"""Questions at a terminal, and what becomes of them where there is none."""

import io
import sys

import pytest

from orchestrator.cli.asking import confirmed
from orchestrator.core.errors import UsageError


class Terminal(io.StringIO):
    """Text that says it comes from a terminal, or goes there."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("typed", "said"), [("y\n", True), ("yes\n", True), ("n\n", False), ("\n", False)]
)
def test_only_a_yes_is_a_yes(typed: str, said: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty line is a no; the question goes to standard error."""
    asked = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    monkeypatch.setattr(sys, "stderr", asked)

    assert confirmed("Cancel it?", instead="--yes") is said
    assert "Cancel it? [y/N]" in asked.getvalue()


@pytest.mark.parametrize("piped", ["stdin", "stderr"])
def test_nobody_is_asked_without_a_terminal(piped: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the question or its answer could not be seen, and the error says what to give."""
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(sys, piped, io.StringIO("y\n"))

    with pytest.raises(UsageError, match="give --yes"):
        confirmed("Cancel it?", instead="--yes")
