"""The budget of a mission, shared by its legs: reservations, and holds during open overcharges.

Concurrent legs reserve before they send, so that no money is spent twice. From an overcharge until
the decision on it, no other leg spends.
"""

from collections.abc import Mapping

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.budget import Money, Spend, left_of, over_budget_with_fee
    from orchestrator.messages.leg import LegInput
    from orchestrator.messages.tool_call import PreparedCall


class MissionBudget:
    """Amounts that legs have spent or reserved of one budget, and the legs that may spend."""

    def __init__(self, limit: Money | None) -> None:
        """Take the limit; None: unlimited."""
        self._limit = limit
        self.taken: dict[str, Spend] = {}
        """Amounts that each leg has spent or reserved, by leg id."""
        self.overcharges: dict[str, str] = {}
        """By leg, the call whose overcharge awaits a decision."""

    def resume(self, taken: Mapping[str, Spend], overcharges: Mapping[str, str]) -> None:
        """Restore the reservations and open overcharges of the previous run."""
        self.taken.update(taken)
        self.overcharges.update(overcharges)

    def settle(self, leg_id: str, taken: Spend) -> None:
        """Replace a leg's reservations by its actual spending."""
        self.taken[leg_id] = taken

    def left(self, leg_id: str, taken: Spend) -> Money | None:
        """Return the budget left for a leg that has taken this amount; None: no limit."""
        return None if self._limit is None else left_of(self._limit, self._all(leg_id, taken))

    def unpriced(self, leg_id: str, taken: Spend) -> int:
        """Return the number of calls of unknown price, of all legs."""
        return self._all(leg_id, taken).unpriced

    async def reserve(self, leg: LegInput, prepared: PreparedCall) -> str | None:
        """Reserve the price of a leg's call; return why it does not fit, or None.

        Waits while the overcharge of another leg awaits a decision.
        """
        if leg.budget is None or not (prepared.spends or prepared.fee is not None):
            return None
        leg_id = leg.leg.leg_id
        await self._until_free(leg_id)
        price = prepared.price if prepared.spends else None
        taken = leg.state.taken
        refusal = over_budget_with_fee(self._limit, self._all(leg_id, taken), price, prepared.fee)
        self.taken[leg_id] = taken if refusal else taken.plus(price).plus(prepared.fee)
        return refusal

    async def once_free(self, leg: LegInput, prepared: PreparedCall) -> str | None:
        """Wait until the leg may spend; return why its call no longer fits after an overcharge."""
        leg_id = leg.leg.leg_id
        while prepared.spends and self._is_held(leg_id):
            await self._until_free(leg_id)
            if (refusal := await self.reserve(leg, prepared)) is not None:
                return refusal
        return None

    def hold(self, leg_id: str, call_id: str) -> None:
        """Let no other leg spend until the overcharge of this call is decided."""
        self.overcharges[leg_id] = call_id

    def release(self, leg_id: str) -> None:
        """Let the other legs spend again."""
        self.overcharges.pop(leg_id, None)

    def _is_held(self, leg_id: str) -> bool:
        return any(other != leg_id for other in self.overcharges)

    async def _until_free(self, leg_id: str) -> None:
        if self._is_held(leg_id):
            await workflow.wait_condition(lambda: not self._is_held(leg_id))

    def _all(self, leg_id: str, taken: Spend) -> Spend:
        others = [spend for other, spend in self.taken.items() if other != leg_id]
        return Spend.total([*others, taken])
