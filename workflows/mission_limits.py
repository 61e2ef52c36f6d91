"""Limits of a mission and its legs: steps, calls, models and time, checked before each step.

Concurrent legs share the limits of their mission: each takes a share, which the mission calls back
when another leg needs it.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.budget import Usage
    from orchestrator.core.limits import (
        Allowance,
        LimitReached,
        Limits,
        LimitShares,
        Used,
        out_of_time,
        reached,
    )
    from orchestrator.messages.leg import LegShare
    from orchestrator.workflows import ui
    from orchestrator.workflows.failures import LegLost
    from orchestrator.workflows.progress import Progress
    from orchestrator.workflows.waiting import finish_despite_cancel, until


class LimitSpent(LegLost):
    """A limit is reached; the leg ends because it cannot continue."""

    def __init__(self, limit: LimitReached) -> None:
        super().__init__(str(limit))
        self.limit = limit


class MissionLimits:
    """Limits of a mission, shared by its legs."""

    def __init__(
        self, legs: Callable[[], Mapping[str, "LegLimits"]], planning: Used | None = None
    ) -> None:
        """Take the legs under way, by id, and the usage before they began."""
        self._legs = legs
        self.shares = LimitShares(Limits(), before=planning or Used())

    def take_plan(self, limits: Limits, used: Used) -> None:
        """Set the limits of a plan, and add the usage of making it."""
        self.shares.limits = limits
        self.shares.before = self.shares.before.plus(used)

    def count(self, usage: Usage | None) -> None:
        """Add the usage of planning that ended without a plan."""
        self.shares.before = self.shares.before.plus(Used(usage=usage or Usage()))

    async def share(self, leg_id: str, progress: Progress, *, calls: bool) -> Allowance:
        """Grant a leg a share for its next step, or its next call.

        Raises:
            LimitSpent: nothing is left.
        """
        while True:
            used, legs = progress.state.used, self._legs()
            share = self.shares.ask(leg_id, used, running=len(legs), calls=calls)
            if share.refusal is not None:
                raise LimitSpent(share.refusal)
            if share.allowance is not None:
                return share.allowance
            for other in share.call_back:
                if other in legs:
                    legs[other].give_back()
                else:
                    self.shares.granted.pop(other, None)
            await self._given_back(share.call_back)

    async def _given_back(self, legs: Sequence[str]) -> None:
        held = self.shares.granted
        await workflow.wait_condition(lambda: not any(leg_id in held for leg_id in legs))


class LegLimits:
    """Limits of one leg."""

    def __init__(self, progress: Progress, shared: MissionLimits) -> None:
        self._progress = progress
        self._shared = shared
        self._thinks = False
        self._is_called_back = False

    async def check(self) -> None:
        """Let the next step begin, once the mission has granted the leg a share.

        Raises:
            LimitSpent: a limit of the agent, of each leg or of the mission is reached.
            LegLost: the leg repeats itself without progress, although its planner was informed.
        """
        if ended := self._progress.state.repeats.ended_by:
            raise LegLost(ended)
        await self._check(calls=False)

    async def check_call(self) -> None:
        """Let the next call begin; discovery, questions and refused calls are free.

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
        if self._shared.shares.is_limited and self._has_to_ask(calls=calls):
            self._progress.share_limits(LegShare())
            allowance = await self._shared.share(leg.leg.leg_id, self._progress, calls=calls)
            share = LegShare(allowance=allowance, since=self._progress.state.used)
            self._progress.share_limits(share)

    def _has_to_ask(self, *, calls: bool) -> bool:
        share, used = self._progress.state.share, self._progress.state.used
        if share.allowance is None:
            return True
        return share.allowance.after(share.since, used).is_spent(calls=calls)

    @contextmanager
    def thinking(self) -> Iterator[None]:
        """Keep the share during a planner request, until its usage is counted."""
        self._thinks = True
        try:
            yield
        finally:
            self._thinks = False
            if self._is_called_back:
                self.give_back()

    def give_back(self) -> None:
        """Give the share back: at once, or after the model request in flight."""
        self._is_called_back = self._thinks
        if not self._thinks:
            self._progress.share_limits(LegShare())
            self._shared.shares.record(self._progress.leg.leg.leg_id, self._progress.state.used)

    # -- time -------------------------------------------------------------------------------------

    @property
    def ends_at(self) -> datetime | None:
        """Return when the leg's time is over; None: unlimited."""
        began, limit = self._progress.state.began_at, self._tightest().wall_clock
        return None if began is None or limit is None else began + limit

    def out_of_time(self) -> LimitReached | None:
        """Return the time limit if it is reached; None: it is not, or time is unlimited."""
        began, limit = self._progress.state.began_at, self._tightest().wall_clock
        if began is None:
            return None
        agent = self._progress.leg.leg.agent
        of = f"the agent {agent.name}" if agent.limits.wall_clock == limit else "each leg"
        return out_of_time(limit, workflow.now() - began, of=of)

    def _tightest(self) -> Limits:
        leg = self._progress.leg
        return leg.leg.agent.leg_limits.intersect(leg.limits)


async def in_time(work: Coroutine[Any, Any, None], limits: LegLimits) -> None:
    """Run the work of a leg until its time is over, even if the leg is waiting then.

    A call that was sent is still waited for, and its outcome is in the ledger.

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
    """Cancel the work and wait for its end: the work settles its call in flight."""
    task.cancel()
    await finish_despite_cancel(_ended(task))


async def _ended(task: asyncio.Task[None]) -> None:
    await asyncio.gather(task, return_exceptions=True)
