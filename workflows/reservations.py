"""Budget reservations: a mission reserves money for the calls of its legs before they are made.

Legs that run side by side ask one mission, so that they cannot spend the same money twice.
"""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.budget import Money, Spend, left_of, over_budget_with_fee
    from orchestrator.messages import names
    from orchestrator.messages.leg import LegInput, ReserveInput, ReserveOutput
    from orchestrator.messages.tool_call import PreparedCall
    from workflows.progress import Progress
    from workflows.waiting import sent


class BudgetReservations:
    """The budget of a mission, and what each of its legs has spent or reserved of it."""

    def __init__(self, budget: Money | None) -> None:
        """Nothing is spent; without a budget everything fits."""
        self._budget = budget
        self._reserved: dict[str, Spend] = {}
        self._granted: dict[str, Money] = {}

    def settle(self, leg_id: str, spent: Spend) -> None:
        """Take what a leg has spent for all that it has reserved: no call of it is to come."""
        self._reserved[leg_id] = spent

    def left(self, asked: ReserveInput) -> Money | None:
        """What is left for a leg, beside what all others have spent or reserved; None: no limit."""
        if self._budget is None:
            return None
        return left_of(self._budget, Spend.total([*self._others(asked.leg_id), asked.spent]))

    def unpriced(self, asked: ReserveInput) -> int:
        """How many calls, of all legs, cost nobody knows what."""
        return Spend.total([*self._others(asked.leg_id), asked.spent]).unpriced

    def reserve(self, wanted: ReserveInput) -> ReserveOutput:
        """Reserve money for a leg's next call, or say why it does not fit."""
        taken = Spend.total([*self._others(wanted.leg_id), wanted.spent])
        refusal = over_budget_with_fee(self._budget, taken, wanted.price, wanted.fee)
        takes = wanted.spent.plus(wanted.price).plus(wanted.fee)
        self._reserved[wanted.leg_id] = takes if refusal is None else wanted.spent
        self._granted.pop(wanted.call_id, None)
        granted = wanted.price or wanted.fee
        if refusal is None and granted is not None:
            self._granted[wanted.call_id] = granted
        return ReserveOutput(call_id=wanted.call_id, refusal=refusal)

    def granted(self, call_id: str) -> Money | None:
        """What was reserved for a call; None: nothing is, or it did not fit."""
        return self._granted.get(call_id)

    def _others(self, leg_id: str) -> list[Spend]:
        return [spend for other, spend in self._reserved.items() if other != leg_id]


def needs_reservation(leg: LegInput, prepared: PreparedCall) -> bool:
    """Whether money must be set aside for a call: there is a budget, and it is known how much."""
    return leg.budget is not None and prepared.reserves is not None


class Reservations:
    """A leg's requests to its mission, and the answers to them."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._answers: dict[str, ReserveOutput] = {}

    async def reserve(self, prepared: PreparedCall) -> str | None:
        """Reserve the price of a call; why not, when it does not fit."""
        leg = self._progress.leg
        if not needs_reservation(leg, prepared):
            return None
        price = prepared.price if prepared.spends else None
        mission = workflow.info().parent
        if mission is None:
            return over_budget_with_fee(leg.budget, leg.state.taken, price, prepared.fee)
        call_id = leg.call_id
        wanted = ReserveInput(
            leg_id=leg.leg.leg_id,
            call_id=call_id,
            spent=leg.state.taken,
            price=price,
            fee=prepared.fee,
        )
        handle = workflow.get_external_workflow_handle(mission.workflow_id)
        await sent(handle.signal(names.RESERVE_SIGNAL, wanted))
        await workflow.wait_condition(lambda: call_id in self._answers)
        return self._answers.pop(call_id).refusal

    async def once_free(self, prepared: PreparedCall) -> str | None:
        """Wait until the mission spends again, if it does not; why the call no longer fits, if so.

        What was reserved before may not be there any more: an overcharge took it.
        """
        while prepared.spends and self._progress.leg.spending_held:
            await workflow.wait_condition(lambda: not self._progress.leg.spending_held)
            refusal = await self.reserve(prepared)
            if refusal is not None:
                return refusal
        return None

    def take(self, answer: ReserveOutput) -> None:
        """Take the mission's answer."""
        self._answers[answer.call_id] = answer
