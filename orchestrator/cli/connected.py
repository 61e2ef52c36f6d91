"""Commands that speak to the Temporal server, each through one call of a mission client."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from orchestrator.cli.output import progress, run

if TYPE_CHECKING:
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
