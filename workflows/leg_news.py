"""What legs wait for, told by them to their mission: it shows it, and nothing else follows."""

import asyncio
from collections.abc import Callable, Collection
from datetime import timedelta
from typing import Final

from temporalio import workflow
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from orchestrator.messages import names
    from orchestrator.messages.leg import LegInput, LegStatus, LegWaiting
    from orchestrator.messages.news import LegNews, LegWait, news_of, wait_of

PATCH = "leg-news"
"""Missions and legs that began without it go on without: none of their commands changes."""


class NewsOfLegs:
    """A mission's newest news of each leg that has not ended."""

    def __init__(self, mission_id: str) -> None:
        self._mission_id = mission_id
        self._newest: dict[str, LegNews] = {}

    def take(self, news: LegNews, *, running: Collection[str]) -> bool:
        """Keep news of a leg that runs, whoever says so; whether there was any.

        A signal names no sender. What waits elsewhere is nothing that this leg could tell of.
        """
        leg = names.leg_workflow_id(self._mission_id, news.leg_id)
        if news.leg_id not in running:
            return False
        if news.wait is not None and news.wait.id and not news.wait.id.startswith(f"{leg}."):
            return False
        if self._newest.get(news.leg_id) == news:
            return False
        self._newest[news.leg_id] = news
        return True

    def of(self, running: Collection[str]) -> dict[str, LegNews]:
        """The newest news of each of these legs, where there was any."""
        return {leg_id: news for leg_id, news in self._newest.items() if leg_id in running}


STILL_WAITS: Final = "until its mission is told that it waits"
_SOON: Final = timedelta(seconds=5)
"""A wait that is over sooner is not worth two signals and the tasks that they wake."""


class Teller:
    """Tells a leg's mission whenever the leg begins to wait, waits for something else, or ends to.

    How it ends is not told: the mission gets its result.
    """

    def __init__(self, waits_for: Callable[[], LegWaiting]) -> None:
        """Take what tells what the leg waits for now."""
        self._waits_for = waits_for
        self._told: LegWait | None = None
        self._sending: set[asyncio.Task[None]] = set()
        self._later: asyncio.Task[None] | None = None
        self._comes: LegWait | None = None

    def tell_later(self, leg: LegInput, waiting: LegWaiting) -> None:
        """Tell what has changed, once that has lasted; the end of what was told is told at once."""
        wait, mission = wait_of(waiting), workflow.info().parent
        if wait == self._comes or mission is None:
            return
        if self._later is not None:
            self._later.cancel()
            self._later = None
        self._comes = wait
        if leg.state.status in _ENDED:
            return
        if wait is None:
            if self._told is not None:
                self._send(mission.workflow_id, leg, waiting)
        else:
            self._later = asyncio.create_task(self._tell_soon(mission.workflow_id, leg, wait))

    async def _tell_soon(self, mission_id: str, leg: LegInput, wait: LegWait) -> None:
        await workflow.sleep(_SOON, summary=STILL_WAITS)
        # A decision that comes in the same task comes first, however a replay orders the two.
        await workflow.wait_condition(lambda: True)
        waiting = self._waits_for()
        if wait_of(waiting) == wait:
            self._send(mission_id, leg, waiting)

    def tell(self, leg: LegInput, waiting: LegWaiting) -> None:
        """Tell what has changed, if anything has; nobody waits for the telling."""
        wait = wait_of(waiting)
        mission = workflow.info().parent
        if wait == self._told or mission is None or leg.state.status in _ENDED:
            return
        if not workflow.patched(PATCH):
            return
        self._send(mission.workflow_id, leg, waiting)

    def _send(self, mission_id: str, leg: LegInput, waiting: LegWaiting) -> None:
        self._told = wait_of(waiting)
        task = asyncio.create_task(_send(mission_id, news_of(leg, waiting)))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)


_ENDED = frozenset({LegStatus.SUCCEEDED, LegStatus.FAILED, LegStatus.CANCELLED})


async def _send(mission_id: str, news: LegNews) -> None:
    try:
        await workflow.get_external_workflow_handle(mission_id).signal(names.LEG_WAITS_SIGNAL, news)
    except ApplicationError:
        workflow.logger.info("the mission is gone; its leg goes on without it")
