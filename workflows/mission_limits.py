"""The limits of a mission while its legs run: each asks for a share, which may be called back.

After a loss nobody is answered: a leg that waits for a share is cancelled.
"""

from collections.abc import Callable, Sequence

from temporalio import workflow
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.budget import Usage
    from orchestrator.core.limit_shares import LimitShares
    from orchestrator.core.limits import Limits, Used
    from orchestrator.messages import names
    from orchestrator.messages.leg import LegResult
    from orchestrator.messages.shared_limits import ShareInput, ShareOutput


class MissionLimits:
    """What a mission may use up, shared by its legs."""

    def __init__(
        self, mission_id: str, running: Callable[[], Sequence[str]], is_lost: Callable[[], bool]
    ) -> None:
        """Nothing is limited, and nothing used."""
        self._mission_id = mission_id
        self._running = running
        self._is_lost = is_lost
        self._shares = LimitShares(Limits())
        self._called_back: set[str] = set()

    @property
    def limits(self) -> Limits:
        """What all of it may use up."""
        return self._shares.limits

    @property
    def before_legs(self) -> Used:
        """What planning it has used."""
        return self._shares.before

    @property
    def total(self) -> Used:
        """What planning and legs have used, as far as legs have told."""
        return self._shares.total

    @property
    def is_shared(self) -> bool:
        """Whether its legs have to ask."""
        return self._shares.is_limited

    def plan(self, limits: Limits, used: Used) -> None:
        """Take the limits that it was planned with, and add what that used."""
        self._shares.limits = limits
        self._shares.before = self._shares.before.plus(used)

    def count(self, usage: Usage | None) -> None:
        """Add what planning took that came to no plan."""
        self._shares.before = self._shares.before.plus(Used(usage=usage or Usage()))

    def settle(self, result: LegResult) -> None:
        """Take what a leg that is over has used."""
        self._shares.tell(result.leg_id, result.used)

    async def take(self, told: ShareInput) -> None:
        """Take what a leg has used, and answer it where it asks."""
        if told.leg_id not in self._running():
            return
        self._called_back.discard(told.leg_id)
        if not told.asks:
            self._shares.tell(told.leg_id, told.used)
            return
        answer = await self._answer(told)
        if answer is not None:
            await self._send(told.leg_id, answer)

    async def _answer(self, told: ShareInput) -> ShareOutput | None:
        """What it may use, once no other leg holds what it will not use; None after a loss."""
        while not self._is_lost():
            running = len(self._running())
            share = self._shares.ask(told.leg_id, told.used, running=running, calls=told.calls)
            if share.refusal is not None:
                return ShareOutput(asks=told.asks, refusal=share.refusal)
            if share.allowance is not None:
                return ShareOutput(asks=told.asks, allowance=share.allowance)
            for leg_id in share.call_back:
                await self._call_back(leg_id)
            await self._freed(share.call_back)
        return None

    async def _freed(self, legs: Sequence[str]) -> None:
        """Wait until these legs hold nothing; or for a loss, after which nothing matters."""
        held = self._shares.granted
        await workflow.wait_condition(
            lambda: self._is_lost() or not any(leg_id in held for leg_id in legs)
        )

    async def _call_back(self, leg_id: str) -> None:
        if leg_id in self._called_back:
            return
        self._called_back.add(leg_id)
        await self._send(leg_id, ShareOutput())

    async def _send(self, leg_id: str, answer: ShareOutput) -> None:
        leg = workflow.get_external_workflow_handle(names.leg_workflow_id(self._mission_id, leg_id))
        try:
            await leg.signal(names.SHARED_SIGNAL, answer)
        except ApplicationError:
            self._shares.granted.pop(leg_id, None)
            workflow.logger.info("a leg that was to be told of its share is over")
