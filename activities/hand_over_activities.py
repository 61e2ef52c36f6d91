"""Planning a hand-over: the leg that a part of another leg becomes, inside its agent's walls."""

import asyncio
from collections.abc import Sequence

from temporalio import activity

from activities.boundary import translated_errors
from orchestrator.adapters.storage.catalog_store import CatalogStore
from orchestrator.adapters.temporal.rollbacks import query_or_none
from orchestrator.messages import names
from orchestrator.messages.hand_over import HandOverAsked, HandOverInput, HandOverPlan
from orchestrator.planning.models import AgentProfile, LegPlan
from orchestrator.planning.per_agent import who_decides
from orchestrator.planning.walls import colleagues_of, handed_over_orders


class HandOverActivities:
    """Makes legs of hand-overs by the profiles of this worker."""

    def __init__(self, catalogs: CatalogStore, agents: Sequence[AgentProfile]) -> None:
        """Take the catalogs and the worker's profiles."""
        self._catalogs = catalogs
        self._agents = tuple(agents)

    @activity.defn(name=names.PLAN_HAND_OVER)
    async def plan_hand_over(self, wanted: HandOverInput) -> HandOverPlan:
        """The leg that a hand-over becomes; or why it does not.

        A signal names no sender: the leg itself is asked whether it wants that handed over.
        """
        if not await _is_asked(wanted):
            return HandOverPlan(refusal="the leg that it names does not ask for it")
        return await asyncio.to_thread(self.planned, wanted)

    def planned(self, wanted: HandOverInput) -> HandOverPlan:
        """The same, without asking the leg."""
        asked, asking = wanted.asked, wanted.asking
        allowed = {one.name for one in colleagues_of(asking.agent, self._agents)}
        if asked.agent not in allowed:
            may = ", ".join(sorted(allowed)) or "nobody"
            return HandOverPlan(
                refusal=f"{asking.agent.name} may hand over to {may}, not to {asked.agent}"
            )
        agent = next(one for one in self._agents if one.name == asked.agent)
        own = {"planner": asking.agent.planner, "model": asking.agent.model}
        if agent.planner is None and agent.model is None:
            agent = agent.model_copy(update=own)
        with translated_errors():
            catalog = self._catalogs.get(wanted.catalog_digest)
        orders = [one for one in asked.orders if one.is_part_of(asking.orders)]
        leg = LegPlan(
            leg_id=wanted.new_leg_id,
            goal=asked.goal,
            agent=agent,
            depends_on=asking.depends_on,
            orders=handed_over_orders(orders, agent, catalog),
            handed_over_by=asking.leg_id,
            planned_by=who_decides(agent) or asking.planned_by,
        )
        return HandOverPlan(leg=leg)


async def _is_asked(wanted: HandOverInput) -> bool:
    leg = names.leg_workflow_id(wanted.mission_id, wanted.asked.leg_id)
    handle = activity.client().get_workflow_handle(leg)
    open_now = await query_or_none(handle, names.HANDING_OVER_QUERY, list[HandOverAsked])
    return wanted.asked in (open_now or [])
