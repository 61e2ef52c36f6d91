"""The limits of a leg, checked before each of its steps, and its share of those of its mission."""

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.limits import LimitReached, Limits, out_of_time, reached
    from orchestrator.messages import names
    from orchestrator.messages.shared_limits import LegShare, ShareInput, ShareOutput
    from workflows import ui
    from workflows.failures import LegLost
    from workflows.progress import Progress
    from workflows.waiting import finish_despite_cancel, sent, until


CIRCLES = "circles-end-a-leg"
"""The change since which a leg that turns in circles ends; asked only where one does."""


class LimitSpent(LegLost):
    """A limit is reached; what follows is what follows when a leg cannot go on."""

    def __init__(self, limit: LimitReached) -> None:
        super().__init__(str(limit))
        self.limit = limit


class LegLimits:
    """What one leg may use up."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._answers: dict[int, ShareOutput] = {}
        self._thinks = False

    async def check(self) -> None:
        """Let the next step begin, once the mission has granted a share to take it from.

        Raises:
            LimitSpent: a limit of the agent, of each leg or of the mission is reached.
            LegLost: it turns in circles, and its planner was told.
        """
        circles = self._progress.state.repeats.ended_by
        if circles and workflow.patched(CIRCLES):
            raise LegLost(circles)
        await self._check(calls=False)

    async def check_call(self) -> None:
        """Let the next call begin, as a step; discovery, questions and refused calls are free.

        Raises:
            LimitSpent: as above.
        """
        await self._check(calls=True)

    async def _check(self, *, calls: bool) -> None:
        leg, used = self._progress.leg, self._progress.state.used
        agent = leg.leg.agent
        own = reached(agent.leg_limits, used, of=f"the agent {agent.name}", calls=calls)
        spent = own or reached(leg.limits, used, of="each leg", calls=calls) or self.out_of_time()
        if spent is not None:
            raise LimitSpent(spent)
        while leg.shares_limits and self._has_to_ask(calls=calls):
            await self._ask(calls=calls)

    # -- its time ---------------------------------------------------------------------------------

    @property
    def ends_at(self) -> datetime | None:
        """When its time is over; None: that is not limited."""
        began, limit = self._progress.state.began_at, self._tightest().wall_clock
        return None if began is None or limit is None else began + limit

    def out_of_time(self) -> LimitReached | None:
        """That its time is over; None: it is not, or is not limited."""
        began, limit = self._progress.state.began_at, self._tightest().wall_clock
        if began is None:
            return None
        agent = self._progress.leg.leg.agent
        of = f"the agent {agent.name}" if agent.limits.wall_clock == limit else "each leg"
        return out_of_time(limit, workflow.now() - began, of=of)

    def _tightest(self) -> Limits:
        leg = self._progress.leg
        return leg.leg.agent.leg_limits.beside(leg.limits)

    # -- its mission's ----------------------------------------------------------------------------

    def _has_to_ask(self, *, calls: bool) -> bool:
        share, used = self._progress.state.share, self._progress.state.used
        if share.allowance is None:
            return True
        return share.allowance.after(share.since, used).is_spent(calls=calls)

    async def _ask(self, *, calls: bool) -> None:
        """Ask for a share, and wait for the answer.

        Raises:
            LimitSpent: the mission has none left.
        """
        asks, used = self._progress.state.share.asks + 1, self._progress.state.used
        self._progress.share_limits(LegShare(asks=asks))
        leg_id = self._progress.leg.leg.leg_id
        await self._tell(ShareInput(leg_id=leg_id, used=used, asks=asks, calls=calls))
        await workflow.wait_condition(lambda: asks in self._answers)
        answer = self._answers.pop(asks)
        if answer.refusal is not None:
            raise LimitSpent(answer.refusal)
        self._progress.share_limits(LegShare(asks=asks, allowance=answer.allowance, since=used))

    async def take(self, answer: ShareOutput) -> None:
        """Take the mission's answer, or give back what the leg holds: at once, or after it thought.

        What the request to a model takes that is just being answered was granted: nobody else may
        use it before it is told.
        """
        if answer.asks:
            self._answers[answer.asks] = answer
            return
        await workflow.wait_condition(lambda: not self._thinks)
        state = self._progress.state
        self._progress.share_limits(LegShare(asks=state.share.asks))
        await self._tell(ShareInput(leg_id=self._progress.leg.leg.leg_id, used=state.used))

    @contextmanager
    def thinking(self) -> Iterator[None]:
        """While a planner is asked, and until what it took is counted."""
        self._thinks = True
        try:
            yield
        finally:
            self._thinks = False

    async def _tell(self, message: ShareInput) -> None:
        mission = workflow.get_external_workflow_handle(self._progress.leg.mission_id)
        await sent(mission.signal(names.SHARE_SIGNAL, message))


async def in_time(work: Coroutine[Any, Any, None], limits: LegLimits) -> None:
    """Do the work of a leg until its time is over, whatever it waits for then.

    A call that was sent is waited for all the same, and what came of it is in the ledger.

    Raises:
        LimitSpent: the time is over.
    """
    ends_at = limits.ends_at
    if ends_at is None:
        await work
        return
    task = asyncio.create_task(work)
    late = asyncio.create_task(workflow.sleep(until(ends_at), summary=ui.LEG_TIME))
    try:
        await workflow.wait_condition(lambda: task.done() or late.done())
    except asyncio.CancelledError:
        late.cancel()
        await _stopped(task)
        raise
    late.cancel()
    if not task.done():
        await _stopped(task)
    if task.cancelled() and (spent := limits.out_of_time()) is not None:
        raise LimitSpent(spent)
    task.result()


async def _stopped(task: asyncio.Task[None]) -> None:
    """Cancel the work and wait for its end: it settles the call that it has on the way."""
    task.cancel()
    await finish_despite_cancel(_ended(task))


async def _ended(task: asyncio.Task[None]) -> None:
    await asyncio.gather(task, return_exceptions=True)
