"""When a mission stops spending: from an overcharge in one leg until it is decided on.

Legs that run are told, and wait before they send what spends money; a reservation is not answered.
"""

import asyncio
from collections.abc import Callable, Iterable

from temporalio import workflow
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from orchestrator.messages import names
    from orchestrator.messages.leg import OverchargeNews, SpendingHold


class SpendingHolds:
    """The overcharges of a mission that nobody has decided on, and which legs know of them."""

    def __init__(self, mission_id: str, running: Callable[[], Iterable[str]]) -> None:
        """Nothing is held.

        Args:
            mission_id: the mission's.
            running: the ids of the legs that run.
        """
        self._mission_id = mission_id
        self._running = running
        self._open: dict[str, str] = {}
        """Leg id to the call that is to be decided on, in the order of history."""
        self._told: dict[str, bool] = {}
        self._telling = asyncio.Lock()

    def __bool__(self) -> bool:
        """Whether some leg waits for a decision."""
        return bool(self._open)

    def holds(self, leg_id: str) -> bool:
        """Whether a leg may not spend: its own overcharge it decides on itself."""
        return any(other != leg_id for other in self._open)

    def starts(self, leg_id: str) -> bool:
        """Whether a leg that is about to start may not spend; it is told by how it is started."""
        held = self.holds(leg_id)
        if held:
            self._told[leg_id] = True
        return held

    async def take(self, news: OverchargeNews) -> None:
        """Take what a leg says, and tell the others where that changes what they may do."""
        if news.is_open:
            self._open[news.leg_id] = news.call_id
        elif self._open.get(news.leg_id) == news.call_id:
            del self._open[news.leg_id]
        async with self._telling:
            for leg_id in list(self._running()):
                await self._tell(leg_id)

    async def _tell(self, leg_id: str) -> None:
        held = self.holds(leg_id)
        if self._told.get(leg_id, False) is held:
            return
        leg = workflow.get_external_workflow_handle(names.leg_workflow_id(self._mission_id, leg_id))
        try:
            await leg.signal(names.HOLD_SIGNAL, SpendingHold(held=held))
        except ApplicationError:
            workflow.logger.info("a leg that was to be told about spending is over")
        else:
            self._told[leg_id] = held
