"""Calls of the mission client, and questions to the person at the terminal."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from getpass import getuser
from typing import TYPE_CHECKING, TypeVar

import typer

from orchestrator.cli.output import progress, run
from orchestrator.core.errors import UsageError
from orchestrator.core.shown_text import visible

if TYPE_CHECKING:
    from orchestrator.client.mission_client import MissionClient

T = TypeVar("T")

_SILENCE_S = 3.0


def ask(question: "Callable[[MissionClient], Awaitable[T]]", *, notes_silence: bool = False) -> T:
    """Return the answer of a client that is connected as the environment says.

    Args:
        question: is given the client.
        notes_silence: print a line on standard error when the answer takes longer than it should.

    Example: `ask(lambda client: client.get(mission_id).snapshot())`
    """

    async def answered() -> T:
        from orchestrator.client.mission_client import MissionClient
        from orchestrator.runtime.process_telemetry import process_telemetry

        async with process_telemetry("orchestrator-cli", is_worker=False):
            client = await MissionClient.connect()
            if not notes_silence:
                return await question(client)
            noting = asyncio.create_task(_note_silence())
            try:
                return await question(client)
            finally:
                noting.cancel()

    return run(answered())


async def _note_silence() -> None:
    await asyncio.sleep(_SILENCE_S)
    progress.print("no answer yet: workers are busy or have just died; waiting for 20 seconds")


def is_terminal() -> bool:
    """Return true if standard input and standard error are a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def require_terminal(instead: str) -> None:
    """Refuse to go on without a terminal: all of a question is on standard error.

    Args:
        instead: the option for scripts and its meaning: "--yes, which asks nothing".
    """
    if not is_terminal():
        raise UsageError(f"this asks first, and there is no terminal to ask at; give {instead}")


def confirmed(question: str, *, instead: str) -> bool:
    """Return true if the person at the terminal says yes; no is the default.

    Example: `if not confirmed("Cancel all of it?", instead="--yes, which asks nothing"): ...`
    """
    require_terminal(instead)
    return typer.confirm(visible(question), default=False, err=True)


def account_name() -> str:
    """Return the name of the account; empty if the system has none, as in some containers."""
    try:
        return getuser()
    except (KeyError, OSError):
        return ""
