"""Errors, warnings, logs and tracebacks with escaped text, printed without rich."""

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

_DOCUMENT_WARNINGS = (errors.OverlayWarning, errors.SkippedWarning, errors.UnreadWarning)


def print_error(text: str) -> None:
    """Print one line on standard error that begins with our name."""
    typer.echo(f"orchestrator: {visible(text)}", err=True)


def install_clean_hooks() -> None:
    """Escape uncaught exceptions, warnings and log records without a handler."""

    def print_exception(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        text = "".join(traceback.format_exception(kind, error, trace))
        typer.echo(visible_block(text), err=True, nl=False)

    sys.excepthook = print_exception
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(CleanFormatter())
    otherwise = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, _DOCUMENT_WARNINGS):
            print_error(f"warning: {message}")
        else:
            otherwise(message, category, *place, **more)

    warnings.showwarning = show
    for category in _DOCUMENT_WARNINGS:
        warnings.simplefilter("always", category)


@contextmanager
def clean_usage_errors() -> Iterator[None]:
    """Escape the message of a usage error, which quotes the command line."""
    try:
        yield
    except Exception as error:
        if hasattr(error, "format_message") and hasattr(error, "message"):
            error.message = visible_block(str(error.message))
        raise


class CleanFormatter(logging.Formatter):
    """A log record on one line, followed by the lines of its traceback."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Return the message."""
        return visible(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        """Return the traceback."""
        return visible_block(super().formatException(ei))


def show_log(name: str) -> None:
    """Print the records of a logger from INFO on, a line each on standard error."""
    logger, handler = logging.getLogger(name), logging.StreamHandler()
    handler.setFormatter(CleanFormatter())
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
