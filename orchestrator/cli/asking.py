"""Questions to the server and to the person at the terminal, and what stands in their place."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import typer

from orchestrator.cli.output import progress, run
from orchestrator.core.errors import UsageError
from orchestrator.core.shown_text import visible

if TYPE_CHECKING:  # drawing a thing needs no import of where it comes from
    from orchestrator.client.mission_client import MissionClient

T = TypeVar("T")

_SILENCE_S = 3.0


def ask(question: "Callable[[MissionClient], Awaitable[T]]", *, tells_silence: bool = False) -> T:
    """What a client answers that is connected as the environment says.

    Args:
        question: what it is asked.
        tells_silence: say on standard error when the answer takes longer than it should.

    Example: `ask(lambda client: client.get(mission_id).snapshot())`
    """

    async def answered() -> T:
        from orchestrator.client.mission_client import MissionClient
        from orchestrator.runtime.process_telemetry import process_telemetry

        async with process_telemetry("orchestrator-cli", is_worker=False):
            client = await MissionClient.connect()
            if not tells_silence:
                return await question(client)
            telling = asyncio.create_task(_tell_silence())
            try:
                return await question(client)
            finally:
                telling.cancel()

    return run(answered())


async def _tell_silence() -> None:
    await asyncio.sleep(_SILENCE_S)
    progress.print("no answer yet: workers are busy or have just died; asking for 20 seconds")


def is_terminal() -> bool:
    """Whether somebody can be asked: standard input and standard error are a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def require_terminal(instead: str) -> None:
    """Refuse to go on where nobody can be asked: all of a question is on standard error.

    Args:
        instead: what a script gives, with what it means: "--yes, which asks nothing".
    """
    if not is_terminal():
        raise UsageError(f"this asks first, and there is no terminal to ask at; give {instead}")


def confirmed(question: str, *, instead: str) -> bool:
    """Whether the person at the terminal says yes; no is the default.

    Example: `if not confirmed("Cancel all of it?", instead="--yes, which asks nothing"): ...`
    """
    require_terminal(instead)
    return typer.confirm(visible(question), default=False, err=True)
