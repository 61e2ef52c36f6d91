"""How a leg has money for its next call set aside in the purse that its mission keeps.

Legs that run side by side ask one purse, so that they cannot spend the same money twice.
"""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator import contracts
    from orchestrator.budget import over_budget
    from orchestrator.contracts import PreparedCall, ReserveInput, ReserveOutput
    from workflows.progress import Progress


class Reservations:
    """A leg's requests to the purse of its mission, and the answers to them."""

    def __init__(self, progress: Progress) -> None:
        """Nothing is asked for yet."""
        self._progress = progress
        self._answers: dict[str, ReserveOutput] = {}

    async def reserve(self, prepared: PreparedCall) -> str | None:
        """Set the price of a call aside; why not, when it does not fit."""
        leg = self._progress.leg
        if leg.budget is None or prepared.price is None or not prepared.spends:
            return None
        mission = workflow.info().parent
        if mission is None:
            return over_budget(leg.budget, leg.state.spend, prepared.price)
        call_id = leg.call_id
        await workflow.get_external_workflow_handle(mission.workflow_id).signal(
            contracts.RESERVE_SIGNAL,
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
