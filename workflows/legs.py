"""Track the legs of a mission: which can start, which are under way, and how they ended.

One end is handled at a time: two legs that end in one workflow task lead to the same commands as
two that end one after the other, however a replay groups their events.
"""

import asyncio
from collections.abc import Iterable
from typing import Final

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.messages.leg import LegInput, LegResult, LegStatus
    from orchestrator.planning.models import LegPlan, MissionPlan
    from orchestrator.saga.ledger import Ledger
    from orchestrator.workflows.leg_task import Leg, SharedByLegs
    from orchestrator.workflows.leg_view import leg_result
    from orchestrator.workflows.waiting import all_done, finish_despite_cancel


_ENDED_WELL: Final = frozenset({LegStatus.SUCCEEDED, LegStatus.SKIPPED})


class MissionLegFailed(Exception):
    """A leg cannot reach its goal; the message is the leg's error."""

    def __init__(self, result: LegResult) -> None:
        super().__init__(result.error or "the leg failed")
        self.result = result


class Legs:
    """The legs that one mission has started."""

    def __init__(self) -> None:
        self.results: dict[str, LegResult] = {}
        """Results by leg id, of legs that have ended or were left out."""
        self.under_way: dict[str, Leg] = {}
        """Running legs by leg id, in the order of their start."""
        self.lost: dict[str, LegInput] = {}
        """States of legs that failed or were cancelled, by leg id: a repair continues these."""
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ended: list[str] = []

    @property
    def were_started(self) -> bool:
        """True if any leg has begun."""
        return bool(self.under_way or self.results)

    @property
    def has_ended_one(self) -> bool:
        """True if the end of a leg is still to be handled."""
        return bool(self._ended)

    @property
    def are_at_rest(self) -> bool:
        """True if a new run can continue from the state of each leg."""
        return not self._ended and all(leg.is_at_rest for leg in self.under_way.values())

    def all_results(self) -> dict[str, LegResult]:
        """Return the final or current result of each leg, by leg id."""
        return {**self.results, **{k: leg.result() for k, leg in self.under_way.items()}}

    def ledgers(self) -> list[Ledger]:
        """Return the ledger of each leg, the ended legs first."""
        ended = [one.ledger for one in self.results.values()]
        return [*ended, *(leg.progress.state.ledger for leg in self.under_way.values())]

    def are_done(self, plan: MissionPlan) -> bool:
        """Return True if every leg of a plan has ended."""
        return all(leg.leg_id in self.results for leg in plan.legs)

    def ready(self, plan: MissionPlan) -> list[LegPlan]:
        """Return the legs of a plan that can start now, in the plan's order."""
        self._skip_dependents(plan)
        return [
            leg
            for leg in plan.legs
            if leg.leg_id not in self.results
            and leg.leg_id not in self.under_way
            and all(needed in self.results for needed in leg.depends_on)
        ]

    def start(self, leg: LegInput, shared: SharedByLegs) -> None:
        """Start a leg."""
        self.resume(leg, shared)
        self.run()

    def resume(self, leg: LegInput, shared: SharedByLegs) -> None:
        """Restore a leg from the state of the previous run; `run` continues it."""
        runner = Leg(leg, shared)
        self.under_way[runner.leg_id] = runner

    def run(self) -> None:
        """Start a task for each leg that has none."""
        for leg_id, leg in self.under_way.items():
            if leg_id not in self._tasks:
                self._tasks[leg_id] = task = asyncio.create_task(leg.run())
                task.add_done_callback(lambda _, leg_id=leg_id: self._ended.append(leg_id))  # type: ignore[misc]

    def _skip_dependents(self, plan: MissionPlan) -> None:
        skipped = [k for k, one in self.results.items() if one.status is LegStatus.SKIPPED]
        for needed in skipped:
            for leg in plan.legs:
                if needed in leg.depends_on and leg.leg_id not in self.results:
                    why = f"left out: it depends on {needed}, which was left out"
                    self.results[leg.leg_id] = LegResult(
                        leg_id=leg.leg_id,
                        agent=leg.agent.name,
                        goal=leg.goal,
                        status=LegStatus.SKIPPED,
                        error=why,
                    )
                    skipped.append(leg.leg_id)

    def take_ended(self) -> LegResult:
        """Store and return the result of the first leg whose end is to be handled.

        Raises:
            asyncio.CancelledError: the leg was cancelled.
        """
        leg_id = self._ended.pop(0)
        leg = self.under_way[leg_id]
        result = leg.result()
        self._tasks.pop(leg_id).result()
        if result.status is LegStatus.FAILED:
            self.lost[leg_id] = leg.progress.as_left_off()
        del self.under_way[leg_id]
        self.results[leg_id] = result
        return result

    async def stop(self) -> None:
        """Cancel all legs under way and wait for their ends: each settles its sent calls."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await finish_despite_cancel(all_done(tasks))
        self.results = self.all_results()
        for leg_id in self.under_way:
            if self.results[leg_id].status not in _ENDED_WELL:
                self.lost[leg_id] = self.under_way[leg_id].progress.as_left_off()
        self.under_way.clear()
        self._tasks.clear()
        self._ended.clear()

    def lose(self, legs: Iterable[LegInput]) -> None:
        """Restore the lost legs of the previous run."""
        for leg in legs:
            self.lost[leg.leg.leg_id] = leg
            self.results[leg.leg.leg_id] = leg_result(leg)

    def reopen(self, legs: Iterable[LegInput], shared: SharedByLegs) -> None:
        """Continue lost legs from these states."""
        for leg in legs:
            self.results.pop(leg.leg.leg_id, None)
            self.resume(leg, shared)
        self.lost.clear()
        self.run()

    async def suspend(self) -> tuple[LegInput, ...]:
        """Stop the tasks of all legs, and return the states from which a new run continues."""
        states = tuple(leg.suspend() for leg in self.under_way.values())
        for task in self._tasks.values():
            task.cancel()
        await all_done(list(self._tasks.values()))
        return states
