"""A workflow over the functions of theatre.py: two seats, or none."""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator import ToolSaga


@workflow.defn
class Evening:
    """Books seats for tonight."""

    @workflow.run
    async def run(self, seats: list[str]) -> int:
        """Book them all; where one is taken, the others are cancelled."""
        async with ToolSaga("evening", requester="ana@example.com") as saga:
            for seat in seats:
                await saga.call("book_seat", {"seat": seat})
        return len(seats)
