"""Plans that people read: previews without a mission, and cards that ask for approval."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from temporalio import activity

from orchestrator.activities.authority import Authority
from orchestrator.activities.boundary import catalog_of, heartbeats, translated_errors
from orchestrator.adapters.storage.protocols import CatalogStore
from orchestrator.catalog.card_types import CANCELLATION, PLAN
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.confirmation.card_content import CancelTerms
from orchestrator.core.pii import as_written
from orchestrator.messages import names
from orchestrator.messages.mission import BegunPlan, begin_of
from orchestrator.messages.mission_policy import BeginInput
from orchestrator.messages.plan_preview import (
    PlanInput,
    PlannedLeg,
    PlannedTool,
    PlanPreview,
    PlanReview,
    PlanReviewInput,
    as_wanted,
    asks_first,
    is_shown,
    plan_digest,
    prepared_plan,
)
from orchestrator.planning.models import LegPlan, MissionPlan, StepContext
from orchestrator.planning.walls import is_inside
from orchestrator.routing.selection import Selection

_SHOWN_AS = "plan"
"""The mission id for a plan that is only shown."""


class Plans(Protocol):
    """The activities that plan missions, or a fake of them."""

    async def split_goal(self, mission: BeginInput) -> BegunPlan:
        """Return the checked plan of a goal."""

    async def first_selection(self, context: StepContext, catalog: Catalog) -> Selection:
        """Return the tools of a leg's first step, without recording them."""


class PlanActivities:
    """Shows plans as this worker makes them, and checks their approval under its policy."""

    def __init__(
        self,
        catalog: Catalog,
        catalogs: CatalogStore,
        plans: Plans,
        authority: Authority | None = None,
    ) -> None:
        """Take the catalog of new missions, and the planner for any stored catalog."""
        self._catalog = catalog
        self._catalogs = catalogs
        self._plans = plans
        self._authority = authority or Authority()

    @activity.defn(name=names.PREVIEW_PLAN)
    async def preview_plan(self, wanted: PlanInput) -> PlanPreview:
        """Return the plan of a request; no mission begins, and nothing is recorded."""
        request, now = wanted.request, wanted.now or activity.info().scheduled_time
        async with heartbeats():
            with translated_errors():
                # Store the catalog as at the start of a mission: planners read it by its digest.
                await asyncio.to_thread(self._catalogs.put, self._catalog)
                begin = begin_of(
                    request,
                    mission_id=request.mission_id or _SHOWN_AS,
                    now=now,
                    catalog_digest=self._catalog.digest,
                    read_only=False,
                    observe=False,
                )
                plan = await self._plans.split_goal(begin)
                shown = await self._preview(plan, begin, self._catalog)
                return shown.model_copy(
                    update={
                        "needs_approval": plan.needs_approval,
                        "asks_first": asks_first(plan) and not plan.needs_approval,
                    }
                )

    @activity.defn(name=names.REVIEW_PLAN)
    async def review_plan(self, wanted: PlanReviewInput) -> PlanReview:
        """Return the card of a mission's plan under both policies, or check its approval.

        No standing approval covers a plan: standing approvals are for calls.
        """
        async with heartbeats():
            with translated_errors():
                if wanted.grant is not None:
                    return PlanReview(refusal=await self._refusal(wanted))
                catalog = await catalog_of(self._catalogs, wanted.catalog_digest)
                fields = ("mission_id", "goal", "inputs", "catalog_digest")
                begin = BeginInput(
                    **{name: getattr(wanted, name) for name in fields}, now=wanted.planned_at
                )
                shown = await self._preview(wanted.plan, begin, catalog)
                prepared = await self._authority.over(
                    prepared_plan(wanted, shown), as_wanted(wanted)
                )
                if prepared.card is None:
                    return PlanReview(refusal="; ".join(prepared.problems))
                ends = [m for m in (prepared.card.expires_at, wanted.ends_at) if m is not None]
                # The approval is for the plan's own digest, as `mission plan` shows it.
                changes = {"digest": shown.digest, "expires_at": min(ends, default=None)}
                card = prepared.card.model_copy(update=changes)
                return PlanReview(shown=shown, card=card, approval_keys=prepared.approval_keys)

    async def _refusal(self, wanted: PlanReviewInput) -> str | None:
        grant, shown = wanted.grant, wanted.shown
        assert grant is not None
        if shown is None or grant.digest != shown.digest or not is_shown(wanted.plan, shown):
            return "its approval is for another plan than the one that would begin"
        prepared = await self._authority.over(prepared_plan(wanted, shown), as_wanted(wanted))
        if prepared.call is None:
            return "; ".join(prepared.problems)
        return await self._authority.refusal_of(prepared.call, PLAN)

    async def _preview(self, plan: MissionPlan, begin: BeginInput, catalog: Catalog) -> PlanPreview:
        legs = [await self._planned(leg, plan, begin, catalog) for leg in plan.legs]
        shown = PlanPreview(
            goal=begin.goal,
            digest="",
            legs=tuple(legs),
            uncovered=plan.uncovered,
            doubts=plan.doubts,
            made_by=plan.made_by,
            catalog_digest=begin.catalog_digest,
        )
        return shown.model_copy(update={"digest": plan_digest(shown)})

    async def _planned(
        self, leg: LegPlan, plan: MissionPlan, begin: BeginInput, catalog: Catalog
    ) -> PlannedLeg:
        names_shown = [name for order in leg.orders for name in order.tools]
        if not names_shown:
            selection = await self._plans.first_selection(
                StepContext(
                    mission_id=begin.mission_id,
                    leg_id=leg.leg_id,
                    step=1,
                    mission_goal=begin.goal,
                    leg_goal=leg.goal,
                    agent=leg.agent,
                    inputs=as_written(begin.inputs),
                    orders=leg.orders,
                    now=begin.now,
                    catalog_digest=begin.catalog_digest,
                ),
                catalog,
            )
            fits = selection.fits and selection.band != "fail_open"
            reads = [n for n in selection.tools if not catalog.tool(n).is_side_effect]
            names_shown = reads[:1] if fits else []
        tools = [catalog.tools[n] for n in dict.fromkeys(names_shown) if n in catalog.tools]
        return PlannedLeg(
            leg_id=leg.leg_id,
            goal=leg.goal,
            agent=leg.agent.name,
            planned_by=leg.planned_by,
            depends_on=leg.depends_on,
            stage=_stages(plan.legs)[leg.leg_id],
            tools=tuple(
                PlannedTool(
                    name=tool.name,
                    title=tool.title,
                    is_side_effect=tool.is_side_effect,
                    card_type=_card_type(tool),
                    cancellation=_cancellation(tool) if tool.is_side_effect else "",
                )
                for tool in tools
                if is_inside(tool, (leg.agent.wall,))
            ),
            orders=leg.orders,
            serves=leg.serves,
        )


def _stages(legs: Sequence[LegPlan]) -> dict[str, int]:
    """Return the position of each leg in its longest chain of dependencies, from 1."""
    by_id = {leg.leg_id: leg for leg in legs}
    found: dict[str, int] = {}

    def stage(leg: LegPlan) -> int:
        if leg.leg_id not in found:
            found[leg.leg_id] = 1 + max((stage(by_id[i]) for i in leg.depends_on), default=0)
        return found[leg.leg_id]

    for leg in legs:
        stage(leg)
    return found


def _card_type(tool: Tool) -> str | None:
    """Return the card type of a call; for a cancel, the type for effects of another mission."""
    if tool.effect is Effect.CANCEL:
        return tool.card_type or CANCELLATION
    return tool.card_type if tool.is_side_effect else None


def _cancellation(tool: Tool) -> str:
    contract = tool.compensation
    if contract is None or tool.irreversible:
        return CancelTerms(irreversible=tool.irreversible).sentence()
    return CancelTerms(tool=contract.cancel.tool, window=contract.window).sentence()
