"""Asking whether to keep what cost more than was approved: its card, under both policies."""

import asyncio

from temporalio import activity
from temporalio.client import Client

from activities.authority import Authority
from activities.boundary import translated_errors
from activities.call_origins import CallOrigins, MissionOrigins
from activities.kept_messages import KeptMessages, NothingKept
from activities.prepare_activities import answers_of
from activities.unknown_prices import UnknownPrices
from orchestrator.adapters.storage.catalog_store import CatalogStore
from orchestrator.catalog.card_types import OVERCHARGE
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.confirmation.build import CardContext
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.confirmation.overcharge import overcharge_card
from orchestrator.core.budget import Money
from orchestrator.core.spending_limit import Overcharge
from orchestrator.messages import names
from orchestrator.messages.kept import KeptMessage
from orchestrator.messages.tool_call import OverchargeInput, PreparedCall, ToolCall


class OverchargeActivities:
    """Catalogs with the contracts of calls, and the policy of the worker."""

    def __init__(
        self,
        catalogs: CatalogStore,
        client: Client,
        authority: Authority | None = None,
        *,
        origins: CallOrigins | None = None,
        kept: KeptMessages | None = None,
    ) -> None:
        self._kept = kept or KeptMessages(NothingKept())
        self._catalogs = catalogs
        self._authority = authority or Authority()
        self._origins = origins or MissionOrigins(client)
        self._budgets = UnknownPrices(client)

    @activity.defn(name=names.PREPARE_OVERCHARGE)
    async def prepare_overcharge(self, message: OverchargeInput | KeptMessage) -> PreparedCall:
        """The card on which people keep or undo it; nothing is sent by either.

        No standing approval covers it: that one was for a price up to an amount.

        Raises:
            ApplicationError: LegUnowned or CallUnowned when it is not of a leg that its mission
                started.
        """
        with translated_errors():
            wanted = await self._kept.prepared(message, OverchargeInput)
            catalog = await asyncio.to_thread(self._catalogs.get, wanted.catalog_digest)
            tool = catalog.tool(wanted.tool)
            await self._origins.check(wanted, tool)
            left = await self._budgets.left(wanted) if wanted.budget is not None else None
            return await self._authority.over(_asking(wanted, tool, catalog, left), wanted)


def _asking(
    wanted: OverchargeInput, tool: Tool, catalog: Catalog, left: Money | None
) -> PreparedCall:
    """The question; `left` is what the budget had for it, all other calls counted."""
    overcharge = wanted.obligation.overcharge
    if overcharge is None:
        return PreparedCall(problems=(f"{wanted.call_id} cost no more than was approved",))
    charged = overcharge.charged
    return PreparedCall(
        call=ToolCall(
            **wanted.ref,
            arguments=wanted.obligation.arguments,
            card_type=OVERCHARGE,
            amounts=(charged,),
            price=charged,
        ),
        title=tool.title,
        price=charged,
        card=_card(wanted, tool, overcharge, catalog, left),
    )


def _card(
    wanted: OverchargeInput,
    tool: Tool,
    overcharge: Overcharge,
    catalog: Catalog,
    left: Money | None,
) -> ConfirmationCard:
    policy = wanted.policy
    card = overcharge_card(
        wanted,
        tool,
        overcharge,
        arguments=wanted.obligation.arguments,
        answer=wanted.obligation.response,
        confirmation_id=names.overcharge_id(wanted.call_id, wanted.round),
        asked=wanted.round,
        context=CardContext(
            goal=wanted.goal,
            clause=wanted.clause,
            agent=wanted.agent.agent if wanted.agent is not None else "",
            answers=answers_of(wanted, catalog),
            left=left,
        ),
    )
    approvers = policy.confirmation.approvers_of(card_type=OVERCHARGE, tool=tool.name)
    return card.model_copy(
        update={"expires_at": wanted.now + policy.confirmation_expiry, "approvers": approvers}
    )
