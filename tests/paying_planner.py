"""A planner that pays what its goal lists: `ACME gets 40.50 EUR, ACME gets 55.25 EUR`."""

import re
from collections.abc import Sequence

from orchestrator import (
    AgentProfile,
    CallTool,
    Catalog,
    Finish,
    GoalBrief,
    LegPlan,
    MissionPlan,
    Planner,
    PlannerParts,
    Selection,
    StepContext,
    StepDecision,
)
from orchestrator.saga.orders import Order

_PAYMENT = re.compile(r"(\w+) gets ([\d.]+) EUR")


class Payments:
    """Makes one payment a step, whatever became of the one before."""

    async def split_goal(
        self, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile]
    ) -> MissionPlan:
        """One leg orders all payments."""
        count = len(_PAYMENT.findall(brief.goal))
        orders = (Order(tools=("transfer_send",), count=count, clause=brief.goal),)
        leg = LegPlan(
            leg_id="1-pay", goal=brief.goal, agent=AgentProfile(name="payer"), orders=orders
        )
        return MissionPlan(legs=(leg,))

    async def plan_step(
        self, context: StepContext, selection: Selection, catalog: Catalog
    ) -> StepDecision:
        """The next payment of the list."""
        wanted = _PAYMENT.findall(context.leg_goal)[len(context.observations) :]
        if not wanted:
            return Finish(summary="All is paid.")
        payee, value = wanted[0]
        arguments = {"payee": payee, "sum": {"value": float(value), "currency": "EUR"}}
        return CallTool(tool="transfer_send", arguments=arguments)


def make(parts: PlannerParts) -> Planner:
    """Return the planner of a worker."""
    return Payments()
