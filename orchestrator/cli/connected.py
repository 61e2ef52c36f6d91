"""Commands that speak to the Temporal server, each through one call of a mission client."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from orchestrator.cli.output import run

if TYPE_CHECKING:
    from orchestrator.client.mission_client import MissionClient

T = TypeVar("T")


def ask(question: "Callable[[MissionClient], Awaitable[T]]") -> T:
    """What a client answers that is connected as the environment says.

    Example: `ask(lambda client: client.get(mission_id).snapshot())`
    """

    async def answered() -> T:
        from orchestrator.client.mission_client import MissionClient

        return await question(await MissionClient.connect())

    return run(answered())
