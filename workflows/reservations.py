"""Budget reservations: a mission reserves money for the calls of its legs before they are made.

Legs that run side by side ask one mission, so that they cannot spend the same money twice.
"""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.budget import Money, Spend, over_budget
    from orchestrator.messages import names
    from orchestrator.messages.leg import ReserveInput, ReserveOutput
    from orchestrator.messages.tool_call import PreparedCall
    from workflows.progress import Progress


class BudgetReservations:
    """The budget of a mission, and what each of its legs has spent or reserved of it."""

    def __init__(self, budget: Money | None) -> None:
        """Nothing is spent; without a budget everything fits."""
        self._budget = budget
        self._reserved: dict[str, Spend] = {}

    def settle(self, leg_id: str, spent: Spend) -> None:
        """Release what a leg that is over has reserved and not spent."""
        self._reserved[leg_id] = spent

    def reserve(self, wanted: ReserveInput) -> ReserveOutput:
        """Reserve money for a leg's next call, or say why it does not fit."""
        others = [spend for leg_id, spend in self._reserved.items() if leg_id != wanted.leg_id]
        refusal = over_budget(self._budget, Spend.total([*others, wanted.spent]), wanted.price)
        self._reserved[wanted.leg_id] = (
            wanted.spent.plus(wanted.price) if refusal is None else wanted.spent
        )
        return ReserveOutput(call_id=wanted.call_id, refusal=refusal)


class Reservations:
    """A leg's requests to its mission, and the answers to them."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._answers: dict[str, ReserveOutput] = {}

    async def reserve(self, prepared: PreparedCall) -> str | None:
        """Reserve the price of a call; why not, when it does not fit."""
        leg = self._progress.leg
        if leg.budget is None or prepared.price is None or not prepared.spends:
            return None
        mission = workflow.info().parent
        if mission is None:
            return over_budget(leg.budget, leg.state.spend, prepared.price)
        call_id = leg.call_id
        await workflow.get_external_workflow_handle(mission.workflow_id).signal(
            names.RESERVE_SIGNAL,
            ReserveInput(
                leg_id=leg.leg.leg_id,
                call_id=call_id,
                spent=leg.state.spend,
                price=prepared.price,
            ),
        )
        await workflow.wait_condition(lambda: call_id in self._answers)
        return self._answers.pop(call_id).refusal

    def take(self, answer: ReserveOutput) -> None:
        """Take the mission's answer."""
        self._answers[answer.call_id] = answer
