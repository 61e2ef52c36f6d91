"""Drives missions in a test: decides on their cards, awaits their end, finds leftovers."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Literal, NamedTuple, TypeVar

from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.errors import ConfirmationError, NoWorker, ServerUnreachable
from orchestrator.core.record import JsonObject
from orchestrator.messages.mission import MissionResult
from orchestrator.sandbox import SandboxClient

_SHORTEST_PAUSE_S = 0.05
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 0.5
_GROWTH = 1.25

T = TypeVar("T")
Decide = Callable[[MissionHandle, ConfirmationCard], Awaitable[None]]


async def approve(mission: MissionHandle, card: ConfirmationCard) -> None:
    """Approve a card as `tester@example.com`."""
    await mission.approve(card, approver="tester@example.com")


async def run_to_end(
    mission: MissionHandle, decide: Decide = approve, *, timeout_s: float = 120.0
) -> MissionResult:
    """Return the result of a mission, deciding on each card that opens.

    It retries while no server or worker answers and when a decision is too late. The longer no card
    opens, the less often it polls, because each poll keeps a worker busy.

    Args:
        mission: a started mission.
        decide: called with each open card until the card is closed; it may leave the card open.
        timeout_s: seconds for the whole mission.

    Raises:
        AssertionError: the mission asks a question, which no test code can answer.
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
    """Wait for the result in a task that survives restarts of the server."""

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


async def eventually(ask: Callable[[], Awaitable[T]], *, timeout_s: float = 60.0) -> T:
    """Return the first truthy answer, polling less and less often.

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


class Leftover(NamedTuple):
    """A flaw of a rollback, found in the sandbox's ledger."""

    kind: Literal["stands", "cancelled again", "made again"]
    sentence: str


async def find_leftovers(sandbox: SandboxClient, mission_id: str) -> list[Leftover]:
    """Return the flaws of a rollback; none if everything was made once and cancelled once."""
    effects = await sandbox.ledger(mission_id)
    made = [e for e in effects if e["kind"] == "create"]
    cancels = Counter(_thing(e) for e in effects if e["kind"] == "cancel")
    standing = [
        Leftover("stands", f"{e['resource_type']} {e['resource_id']} of {e['operation']} stands")
        for e in made
        if e["status"] == "live"
    ]
    again = [
        Leftover("cancelled again", f"{thing[1]} {thing[2]} was cancelled {cancels[thing]} times")
        for thing, times in Counter(_thing(e) for e in made).items()
        if cancels[thing] > times
    ]
    twice = [
        Leftover(
            "made again", f"the call {found['cause']} took effect {len(found['effects'])} times"
        )
        for found in await sandbox.duplicates(mission_id)
    ]
    return [*standing, *again, *twice]


def _thing(effect: JsonObject) -> tuple[str, str, str]:
    return str(effect["provider"]), str(effect["resource_type"]), str(effect["resource_id"])


async def assert_nothing_left(sandbox: SandboxClient, mission: MissionHandle) -> None:
    """Fail if a finished mission left anything at a provider or to an operator.

    Raises:
        AssertionError: a sentence for each leftover.
    """
    await mission.result()
    # Not from the result, as a rollback may have followed it.
    ledger = (await mission.snapshot()).ledger
    found = [left.sentence for left in await find_leftovers(sandbox, mission.mission_id)]
    found += [
        f"{o.tool} is {o.state.value} in the mission's ledger: {o.note}" for o in ledger.live()
    ]
    assert not found, f"mission {mission.mission_id} left behind: " + "; ".join(found)
