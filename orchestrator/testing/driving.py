"""Driving a mission from a test: deciding on its cards, and waiting for what becomes of it."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TypeVar

from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.errors import ConfirmationError, NoWorker, ServerUnreachable
from orchestrator.messages.mission import MissionResult, MissionStatus

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
    async with asyncio.timeout(timeout_s):
        while True:
            with contextlib.suppress(NoWorker, ServerUnreachable, ConfirmationError):
                for card in await mission.confirmations():
                    await decide(mission, card)
                    pause_s = _FIRST_PAUSE_S
                for question in await mission.questions():
                    raise AssertionError(f"{question.question_id} asks: {question.question}")
                now = await mission.snapshot()
                if now.finished_at is not None or now.status is MissionStatus.TERMINATED:
                    return await mission.result()
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * _GROWTH, _LONGEST_PAUSE_S)


async def eventually(ask: Callable[[], Awaitable[T]], *, timeout_s: float = 30.0) -> T:
    """The first answer that is true; between two it rests as long as an answer took.

    Example: `cards = await eventually(mission.confirmations)`

    Raises:
        TimeoutError: there was none in time.
    """
    clock = asyncio.get_running_loop().time
    async with asyncio.timeout(timeout_s):
        while True:
            began = clock()
            if answer := await ask():
                return answer
            await asyncio.sleep(max(_SHORTEST_PAUSE_S, clock() - began))
