"""The trip as a mission of this product: all that its author writes."""

from collections.abc import Callable

from orchestrator import MissionClient, MissionRequest
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.errors import ConfirmationError, NoWorker


async def trip(client: MissionClient, goal: str, m: str, may: Callable[[str, str], bool]) -> str:
    """Start it, decide on its cards as they open, wait for its end."""
    return await run(client, MissionRequest(goal=goal, mission_id=m), may)


async def run(
    client: MissionClient, wanted: MissionRequest, may: Callable[[str, str], bool]
) -> str:
    """Do the same for any request."""
    mission, m = await client.start(wanted), wanted.mission_id or ""
    async for card in mission.cards():
        if may(m, card.tool):
            await _approve(mission, card)
    return (await mission.result()).status.value


async def _approve(mission: MissionHandle, card: ConfirmationCard) -> None:
    """Approve it, also where the worker is away or busy just then."""
    while True:
        try:
            await mission.approve(card, approver="you@example.com")
        except NoWorker:
            continue
        except ConfirmationError as refused:
            if refused.code != "CardDecided":  # it was taken the last time
                raise
            return
        else:
            return
