"""Questions to the person at the terminal; without one, what a script gives in their place."""

import sys

import typer

from orchestrator.core.errors import UsageError
from orchestrator.core.shown_text import visible


def is_terminal() -> bool:
    """Whether somebody can be asked: standard input and standard error are a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def require_terminal(instead: str) -> None:
    """Refuse to go on where nobody can be asked: all of a question is on standard error.

    Args:
        instead: what a script gives, with what it means: "--yes, which asks nothing".

    Raises:
        UsageError: standard input or standard error is no terminal.
    """
    if not is_terminal():
        raise UsageError(f"this asks first, and there is no terminal to ask at; give {instead}")


def confirmed(question: str, *, instead: str) -> bool:
    """Whether the person at the terminal says yes; no is the default.

    Example: `if not confirmed("Cancel all of it?", instead="--yes, which asks nothing"): ...`

    Raises:
        UsageError: there is no terminal.
        typer.Abort: they pressed Ctrl-C or ended the input.
    """
    require_terminal(instead)
    return typer.confirm(visible(question), default=False, err=True)
