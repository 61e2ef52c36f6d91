"""What is printed when something fails, cleaned: usage errors, tracebacks, warnings, logs."""

import logging
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import typer

from orchestrator.core import errors
from orchestrator.core.shown_text import visible, visible_block

_OURS = (errors.OverlayWarning, errors.SkippedWarning, errors.UnreadWarning)
"""Warnings that are about documents, and not about anybody's code."""


def clean_what_python_prints() -> None:
    """Have uncaught exceptions, warnings and unclaimed log records printed clean."""
    sys.excepthook = _print_exception
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(CleanFormatter())
    _tell_warnings_in_a_line()


@contextmanager
def clean_usage_errors() -> Iterator[None]:
    """Clean the message of an error in a command line, which quotes the command line."""
    try:
        yield
    except Exception as error:
        if hasattr(error, "format_message") and hasattr(error, "message"):
            error.message = visible_block(str(error.message))
        raise


class CleanFormatter(logging.Formatter):
    """A log record on one line, and below it the lines of a traceback."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """The message."""
        return visible(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        """The traceback."""
        return visible_block(super().formatException(ei))


def tell_log(name: str) -> None:
    """Print what a logger of ours is told from INFO on, a line each on standard error."""
    logger, handler = logging.getLogger(name), logging.StreamHandler()
    handler.setFormatter(CleanFormatter())
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False


def tell_error(text: str) -> None:
    """One line on standard error that begins with our name."""
    typer.echo(f"orchestrator: {visible(text)}", err=True)


def _print_exception(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    typer.echo(
        visible_block("".join(traceback.format_exception(kind, error, trace))), err=True, nl=False
    )


def _tell_warnings_in_a_line() -> None:
    """Print a warning of ours without the line of code that it came from."""
    otherwise = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, _OURS):
            tell_error(f"warning: {message}")
        else:
            otherwise(message, category, *place, **more)

    warnings.showwarning = show
    for ours in _OURS:
        warnings.simplefilter("always", ours)
