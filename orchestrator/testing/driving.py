"""Driving a mission from a test: deciding on its cards, and waiting for what becomes of it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.errors import ConfirmationError, NoWorker, ServerUnreachable
from orchestrator.messages.mission import MissionResult

_SHORTEST_PAUSE_S = 0.05
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 0.5
_GROWTH = 1.25

T = TypeVar("T")
Decide = Callable[[MissionHandle, ConfirmationCard], Awaitable[None]]


async def approve(mission: MissionHandle, card: ConfirmationCard) -> None:
    """Say yes to a card, as `tester@example.com`."""
    await mission.approve(card, approver="tester@example.com")


async def run_to_end(
    mission: MissionHandle, decide: Decide = approve, *, timeout_s: float = 60.0
) -> MissionResult:
    """The result of a mission whose cards are decided on as they come up.

    While no server or no worker answers, and when a decision comes too late, it looks again. The
    longer nothing is to be decided, the less often it looks: each look keeps a worker busy.

    Args:
        mission: a mission that was started.
        decide: called with each open card, again until it is closed; it may leave it open.
        timeout_s: seconds for the whole mission.

    Raises:
        AssertionError: the mission asks a question, which nobody here can answer.
        TimeoutError: the mission did not end in time.
    """
    pause_s = _FIRST_PAUSE_S
    async with asyncio.timeout(timeout_s), _ending(mission) as ending:
        while not ending.done():
            with contextlib.suppress(NoWorker, ServerUnreachable, ConfirmationError):
                waiting = await mission.waiting()
                for card in waiting.cards:
                    await decide(mission, card)
                    pause_s = _FIRST_PAUSE_S
                for question in waiting.questions:
                    raise AssertionError(f"{question.question_id} asks: {question.question}")
            await asyncio.wait([ending], timeout=pause_s)
            pause_s = min(pause_s * _GROWTH, _LONGEST_PAUSE_S)
        return ending.result()


@contextlib.asynccontextmanager
async def _ending(mission: MissionHandle) -> AsyncIterator[asyncio.Task[MissionResult]]:
    """The result, waited for beside what is done meanwhile, though the server goes away."""

    async def ended() -> MissionResult:
        while True:
            with contextlib.suppress(NoWorker, ServerUnreachable):
                return await mission.result()
            await asyncio.sleep(_LONGEST_PAUSE_S)

    ending = asyncio.create_task(ended())
    try:
        yield ending
    finally:
        ending.cancel()
        await asyncio.wait([ending])


async def eventually(ask: Callable[[], Awaitable[T]], *, timeout_s: float = 30.0) -> T:
    """The first answer that is true; the longer there is none, the less often it is asked for.

    Example: `cards = await eventually(mission.confirmations)`

    Raises:
        TimeoutError: there was none in time.
    """
    clock, pause_s = asyncio.get_running_loop().time, _SHORTEST_PAUSE_S
    async with asyncio.timeout(timeout_s):
        while True:
            began = clock()
            if answer := await ask():
                return answer
            await asyncio.sleep(max(pause_s, clock() - began))
            pause_s = min(pause_s * _GROWTH, _LONGEST_PAUSE_S)
