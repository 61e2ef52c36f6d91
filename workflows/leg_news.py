"""What legs wait for, told by them to their mission: it shows it, and nothing else follows."""

import asyncio
from collections.abc import Collection

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
        if news.wait is not None and not news.wait.id.startswith(f"{leg}."):
            return False
        if self._newest.get(news.leg_id) == news:
            return False
        self._newest[news.leg_id] = news
        return True

    def of(self, running: Collection[str]) -> dict[str, LegNews]:
        """The newest news of each of these legs, where there was any."""
        return {leg_id: news for leg_id, news in self._newest.items() if leg_id in running}


class Teller:
    """Tells a leg's mission whenever the leg begins to wait, waits for something else, or ends to.

    How it ends is not told: the mission gets its result.
    """

    def __init__(self) -> None:
        self._told: LegWait | None = None
        self._sending: set[asyncio.Task[None]] = set()

    def tell(self, leg: LegInput, waiting: LegWaiting) -> None:
        """Tell what has changed, if anything has; nobody waits for the telling."""
        wait = wait_of(waiting)
        mission = workflow.info().parent
        if wait == self._told or mission is None or leg.state.status in _ENDED:
            return
        if not workflow.patched(PATCH):
            return
        self._told = wait
        task = asyncio.create_task(_send(mission.workflow_id, news_of(leg, waiting)))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)


_ENDED = frozenset({LegStatus.SUCCEEDED, LegStatus.FAILED, LegStatus.CANCELLED})


async def _send(mission_id: str, news: LegNews) -> None:
    try:
        await workflow.get_external_workflow_handle(mission_id).signal(names.LEG_WAITS_SIGNAL, news)
    except ApplicationError:
        workflow.logger.info("the mission is gone; its leg goes on without it")
