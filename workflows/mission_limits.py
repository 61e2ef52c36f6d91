"""Limits of a mission and its legs: steps, calls, models and time, checked before each step.

Legs side by side use up the limits of their mission together. A thought reserves its part of the
model usage that is left, since it is known only afterwards what the thought took.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.budget import Usage
    from orchestrator.core.limits import (
        Allowance,
        LimitReached,
        Limits,
        Used,
        left_of_limits,
        out_of_time,
        reached,
    )
    from orchestrator.workflows.failures import LegFailed
    from orchestrator.workflows.progress import Progress
    from orchestrator.workflows.waiting import all_done, finish_despite_cancel, until


class LimitSpent(LegFailed):
    """A limit is reached; the leg ends because it cannot continue."""

    def __init__(self, limit: LimitReached) -> None:
        super().__init__(str(limit))
        self.limit = limit


class MissionLimits:
    """Limits of a mission, which its legs use up together."""

    def __init__(
        self, legs: Callable[[], Mapping[str, "LegLimits"]], planning: Used | None = None
    ) -> None:
        """Take the legs under way, by id, and the usage before they began."""
        self._legs = legs
        self._ended: dict[str, Used] = {}
        self.limits = Limits()
        self.before = planning or Used()
        """The usage of planning."""
        self._thoughts: dict[str, Allowance] = {}
        """The usage that each thought under way may add, by leg id."""
        self._released = 0

    @property
    def total(self) -> Used:
        """Return the usage of planning and of all legs."""
        under_way = {leg_id: leg.used for leg_id, leg in self._legs().items()}
        return Used.total([self.before, *{**self._ended, **under_way}.values()])

    def take_plan(self, limits: Limits, used: Used) -> None:
        """Set the limits of a plan, and add the usage of making it."""
        self.limits = limits
        self.before = self.before.plus(used)

    def count(self, usage: Usage | None) -> None:
        """Add the usage of planning that ended without a plan."""
        self.before = self.before.plus(Used(usage=usage or Usage()))

    def record(self, leg_id: str, used: Used) -> None:
        """Record the usage of a leg that has ended."""
        self._ended[leg_id] = used

    def reached(self, *, calls: bool) -> LimitReached | None:
        """Return the limit that prevents the next step, or with `calls` the next call."""
        return reached(self.limits, self.total, of="the mission", calls=calls)

    async def reserve(self, leg_id: str) -> Allowance:
        """Reserve the model usage of a leg's next thought, until `release`.

        Legs side by side reserve equal parts, so that each goes beyond the limit by at most one
        request; while all that is left is reserved, the thought waits.

        Raises:
            LimitSpent: nothing is left.
        """
        while True:
            left = left_of_limits(self.limits, self.total).of_models()
            spent = self.reached(calls=False)
            if spent is not None and not all(left.left.values()):
                raise LimitSpent(spent)
            free = left.without(self._thoughts.values())
            if all(free.left.values()) or not self._thoughts:
                others = self._legs().keys() - self._thoughts.keys() - {leg_id}
                self._thoughts[leg_id] = free.part(len(others))
                return self._thoughts[leg_id]
            before = self._released
            await workflow.wait_condition(lambda: self._released > before)  # noqa: B023

    def release(self, leg_id: str) -> None:
        """Release what a thought had reserved: its usage is counted."""
        self._thoughts.pop(leg_id, None)
        self._released += 1


class LegLimits:
    """Limits of one leg."""

    def __init__(self, progress: Progress, shared: MissionLimits) -> None:
        self._progress = progress
        self._shared = shared

    @property
    def used(self) -> Used:
        """Return the leg's usage so far."""
        return self._progress.state.used

    def check(self, *, calls: bool = False) -> None:
        """Let the next step begin, or with `calls` the next call, which alone counts as one.

        Raises:
            LimitSpent: a limit of the agent, of each leg or of the mission is reached.
            LegFailed: the leg repeats itself without progress, although its planner was informed.
        """
        if not calls and (ended := self._progress.state.repeats.ended_by):
            raise LegFailed(ended)
        leg = self._progress.leg
        agent = leg.leg.agent
        own = reached(agent.leg_limits, self.used, of=f"the agent {agent.name}", calls=calls)
        spent = own or reached(leg.limits, self.used, of="each leg", calls=calls)
        spent = spent or self.out_of_time() or self._shared.reached(calls=calls)
        if spent is not None:
            raise LimitSpent(spent)

    @asynccontextmanager
    async def thinking(self) -> AsyncIterator[Allowance | None]:
        """Give the model usage that a thought may add; it is reserved until its usage is counted.

        Raises:
            LimitSpent: the mission has no model usage left.
        """
        leg_id = self._progress.leg.leg.leg_id
        part = await self._shared.reserve(leg_id)
        try:
            own = left_of_limits(self._tightest(), self.used).of_models()
            allowance = own.intersect(part)
            yield allowance if allowance.left else None
        finally:
            self._shared.release(leg_id)

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
    late = asyncio.create_task(
        workflow.sleep(until(ends_at), summary="the time that the leg may take")
    )
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
    await finish_despite_cancel(all_done([task]))
