"""Calls that cost nobody knows what, in missions with a budget: put before a person, or refused."""

import asyncio
from dataclasses import dataclass
from typing import Final, TypeVar

from temporalio.client import Client, WorkflowQueryFailedError
from temporalio.service import RPCError

from orchestrator.catalog.card_types import DEFAULT_CARD
from orchestrator.catalog.prices import may_be_overcharged
from orchestrator.catalog.tool import Tool
from orchestrator.core.budget import Money
from orchestrator.messages import names
from orchestrator.messages.leg import ReserveInput
from orchestrator.messages.spending_policy import SpendingPolicy
from orchestrator.messages.spending_rules import unknown_price
from orchestrator.messages.tool_call import PrepareInput

T = TypeVar("T")
_ANSWER: Final = 5.0
"""Seconds in which a mission says what is left; the card is drawn without an answer as well."""


@dataclass(frozen=True)
class UnpricedCall:
    """A call that spends money of a budget, and whose price nobody knows."""

    doubt: str
    """What a person must know of it."""
    is_refused: bool

    @property
    def problem(self) -> str:
        """Why it is not made where the policy refuses such calls."""
        return (
            f"{self.doubt}, and the policy refuses such a call (spending.unknown_price): find what "
            "states its price first"
        )

    @staticmethod
    def asking(tool: Tool) -> Tool:
        """The tool, as one that asks: also where its contract lets it ask nobody."""
        if tool.needs_confirmation:
            return tool
        return tool.model_copy(update={"card_type": DEFAULT_CARD})


class UnknownPrices:
    """Finds such calls, and what is left of the budget that they may exceed."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def found(
        self, wanted: PrepareInput, tool: Tool, price: Money | None, rules: SpendingPolicy
    ) -> UnpricedCall | None:
        """What is to be known of this call; None when its price is known, or does not matter."""
        if wanted.budget is None or price is not None or rules.unknown_price == "allow":
            return None
        if not may_be_overcharged(tool):
            return None
        left, unpriced = await asyncio.gather(self.left(wanted), self.unpriced(wanted))
        doubt = unknown_price(wanted.budget, left, unpriced)
        return UnpricedCall(doubt, is_refused=rules.unknown_price == "refuse")

    async def left(self, wanted: PrepareInput) -> Money | None:
        """What the mission says is left, all of its legs counted; None: it does not answer now."""
        left = await self._asked(names.BUDGET_LEFT_QUERY, wanted, gives=list[Money])
        return next(iter(left or ()), None)

    async def unpriced(self, wanted: PrepareInput) -> int:
        """How many calls of unknown price that does not count; its own leg's if nobody answers."""
        known = await self._asked(names.UNPRICED_QUERY, wanted, gives=int)
        return wanted.spent.unpriced if known is None else known

    async def _asked(self, query: str, wanted: PrepareInput, *, gives: type[T]) -> T | None:
        mission = self._client.get_workflow_handle(wanted.mission_id)
        asked = ReserveInput(leg_id=wanted.leg_id, call_id=wanted.call_id, spent=wanted.spent)
        try:
            async with asyncio.timeout(_ANSWER):
                answer: T = await mission.query(query, asked, result_type=gives)
        except (RPCError, TimeoutError, WorkflowQueryFailedError):
            return None
        return answer
