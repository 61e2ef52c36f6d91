"""Preparing calls: complete and check one, and draw up its card and its entry in the ledger."""

import asyncio
from collections.abc import Sequence
from typing import Final

from temporalio import activity
from temporalio.client import Client

from activities.authority import Authority
from activities.boundary import translated_errors
from activities.call_origins import CallOrigins, MissionOrigins
from activities.call_readiness import readied
from activities.cancel_review import CancelReview
from activities.kept_messages import KeptMessages, NothingKept
from activities.unknown_prices import UnknownPrices, UnpricedCall
from activities.wall_guard import WallGuard
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.storage.catalog_store import CatalogStore
from orchestrator.catalog.arguments import check_arguments
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.declared_prices import share_of
from orchestrator.catalog.prices import (
    plain_answer,
    plain_arguments,
    takes_money,
)
from orchestrator.catalog.stated_prices import amounts_in
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.confirmation.build import (
    CardContext,
    build_card,
    call_price,
    doubts_about_price,
    quoted_items,
)
from orchestrator.confirmation.cancellation import AskedCancel
from orchestrator.confirmation.models import ConfirmationCard, canonical_digest
from orchestrator.confirmation.named_things import EarlierAnswer, find_things, main_first
from orchestrator.core.budget import Money
from orchestrator.core.pii import as_written
from orchestrator.core.received_files import ReceivedFile
from orchestrator.core.record import JsonObject
from orchestrator.messages import names
from orchestrator.messages.kept import KeptMessage
from orchestrator.messages.spending_policy import SpendingPolicy
from orchestrator.messages.spending_rules import limited
from orchestrator.messages.tool_call import PreparedCall, PrepareInput, ToolCall
from orchestrator.planning.effects import READ_ONLY, is_covered, longest_list, why_unordered
from orchestrator.planning.models import Fact, Observation
from orchestrator.saga.agreed_days import agreed_days
from orchestrator.saga.draft import draft_cancel, draft_obligation
from orchestrator.saga.orders import Order

_LARGEST: Final = 500_000
"""Characters of a prepared call: most of it is in its leg's ledger too, and in other messages."""


class PrepareActivities:
    """Catalogs with the contracts of calls, and the vault that their personal fields are in."""

    def __init__(
        self,
        catalogs: CatalogStore,
        tools: ToolClient,
        client: Client,
        guard: WallGuard | None = None,
        authority: Authority | None = None,
        *,
        origins: CallOrigins | None = None,
        kept: KeptMessages | None = None,
    ) -> None:
        self._kept = kept or KeptMessages(NothingKept())
        self._catalogs = catalogs
        self._tools = tools
        self._cancels = CancelReview(tools, client)
        self._guard = guard or WallGuard()
        self._authority = authority or Authority()
        self._prices = UnknownPrices(client)
        self._origins = origins or MissionOrigins(client)

    @activity.defn(name=names.PREPARE_CALL)
    async def prepare_call(self, message: PrepareInput | KeptMessage) -> PreparedCall:
        """Fill what the orchestrator fills, check the arguments, draw up card and obligation.

        Whatever else would keep it from being sent is found here, before a person approves it.
        """
        with translated_errors():
            wanted = await self._kept.prepared(message, PrepareInput)
            catalog = await asyncio.to_thread(self._catalogs.get, wanted.catalog_digest)
            tool = catalog.tool(wanted.tool)
            if refusal := self._guard.refusal(wanted.agent, tool, at="preparation"):
                return PreparedCall(problems=(refusal,))
            await self._origins.check(wanted, tool)
            return _fitted(await self._checked(wanted, catalog, tool))

    async def _checked(self, wanted: PrepareInput, catalog: Catalog, tool: Tool) -> PreparedCall:
        """A call that this leg may make: its arguments, what it lacks, whom it has to ask."""
        arguments = dict(wanted.arguments)
        for name in tool.reference_inputs:
            arguments.setdefault(name, wanted.call_id)
        problems = check_arguments(catalog, tool, arguments)
        if problems:
            return PreparedCall(problems=problems)
        pinned, lacking = await readied(self._tools, catalog, tool, arguments, wanted)
        if lacking is not None:
            return lacking
        arguments = pinned.arguments
        wanted = wanted.model_copy(update={"arguments": arguments})
        asked = await self._cancels.asked(wanted, catalog, tool)
        if asked is not None:
            tool = asked.asking(tool)
        unordered = ""
        if tool.is_side_effect and (asked is not None or tool.effect is not Effect.CANCEL):
            if wanted.read_only:
                return PreparedCall(problems=(READ_ONLY.format(tool=tool.name),))
            unordered = why_unordered(
                tool, arguments, wanted.orders, wanted.effects, most_each=_most_each(wanted)
            )
            tool = UnpricedCall.asking(tool) if unordered else tool
        # In a thread, as whatever takes the longer the more a leg has seen.
        answers = await asyncio.to_thread(answers_of, wanted, catalog)
        quoted = _quoted(wanted, answers, asked)
        things = main_first(find_things(arguments, answers, tool.input_schema))
        price = call_price(tool, arguments, quoted, things)
        certain = None if doubts_about_price(tool, arguments, things) else price
        if wanted.budget is not None and wanted.changed_by_people:
            # What a planner wants has its reservation before a person reads the card: only what
            # people change can exceed what other legs have left of the budget.
            left = await self._prices.left(wanted) or wanted.budget_left
            spent = wanted.spent.model_copy(
                update={"unpriced": await self._prices.unpriced(wanted)}
            )
            wanted = wanted.model_copy(update={"budget_left": left, "spent": spent})
        rules = self._authority.spending(wanted.policy)
        unpriced = await self._prices.found(wanted, tool, price, rules)
        if unpriced is not None:
            if unpriced.is_refused:
                return PreparedCall(problems=(unpriced.problem,))
            tool = unpriced.asking(tool)
        fee = _fee(tool, price, rules) if asked is None else None
        prepared = _prepared(
            wanted,
            catalog,
            tool,
            quoted,
            answers=answers,
            asked=asked,
            unpriced=unpriced,
            price=price,
            amounts=_amounts(wanted, tool, certain, quoted),
            fee=fee,
            files=pinned.files,
        )
        prepared = prepared.model_copy(update={"meaning": _meaning(tool, arguments)})
        prepared = _under_orders(prepared, wanted, unordered)
        return limited(await self._authority.over(prepared, wanted), wanted, rules)


def _under_orders(prepared: PreparedCall, wanted: PrepareInput, unordered: str) -> PreparedCall:
    """The call with what its card says of orders; a standing approval covers orders only."""
    if prepared.card is None or prepared.call is None:
        return prepared
    tool, most = prepared.call.tool, _most_each(wanted)
    card = prepared.card.model_copy(update={"unordered": unordered})
    covered = not unordered and is_covered(tool, wanted.covered, wanted.effects, most_each=most)
    standing = prepared.standing_approver if covered and not card.is_unfounded else None
    return prepared.model_copy(
        update={"card": card, "unordered": unordered, "standing_approver": standing}
    )


def _most_each(wanted: PrepareInput) -> int:
    """How many effects an `each` order may have: the things that were read, and what is allowed."""
    read = [o.body for o in wanted.observations if o.outcome == "succeeded" and not o.side_effect]
    read += [fact.body for fact in wanted.facts if not fact.side_effect]
    return min(longest_list(read), wanted.most_each)


def _fitted(prepared: PreparedCall) -> PreparedCall:
    """The call, unless a message with all that belongs to it would be too large to be sent."""
    size = len(prepared.model_dump_json())
    if size <= _LARGEST:
        return prepared
    most = f"at most {_LARGEST / 1000:,.0f} kB can be"
    return PreparedCall(problems=(f"the call and its card are {size / 1000:,.0f} kB, {most}",))


def _quoted(
    wanted: PrepareInput, answers: Sequence[EarlierAnswer], asked: AskedCancel | None
) -> tuple[JsonObject, ...]:
    """What earlier answers, or a probe, say of what a call is about, the newest first."""
    if asked is not None:
        return asked.found
    return tuple(quoted_items(wanted.arguments, [answer.body for answer in answers]))


def _prepared(
    wanted: PrepareInput,
    catalog: Catalog,
    tool: Tool,
    quoted: Sequence[JsonObject],
    *,
    answers: tuple[EarlierAnswer, ...],
    asked: AskedCancel | None,
    unpriced: UnpricedCall | None,
    price: Money | None,
    amounts: tuple[Money, ...] | None,
    fee: Money | None,
    files: tuple[ReceivedFile, ...],
) -> PreparedCall:
    """A call whose arguments are complete and valid."""
    arguments, effect, now = wanted.arguments, tool.effect, wanted.now
    obliges = effect in (Effect.OBLIGATION, Effect.WRITE)
    if asked is not None:
        obliges = asked.leaves_a_consequence
    doubt = unpriced.doubt if unpriced is not None else ""
    card = None
    if tool.needs_confirmation:
        card = _card(wanted, tool, quoted, answers, doubt, fee, files)
    if asked is not None and card is not None:
        card = asked.on(card)
    spends = takes_money(tool)
    return PreparedCall(
        call=ToolCall(
            **wanted.ref,
            agent=wanted.agent,
            arguments=arguments,
            card_type=tool.card_type,
            timeout_s=wanted.policy.call_timeout.total_seconds(),
            amounts=amounts if tool.needs_confirmation else None,
            price=card.price if card is not None else None,
        ),
        title=tool.title,
        side_effect=tool.is_side_effect,
        spends=spends,
        repeatable=not tool.is_side_effect or tool.idempotency_key is not None,
        price=price if spends else None,
        fee=fee,
        card=card,
        standing_approver=_standing_approver(wanted, tool, amounts) if unpriced is None else None,
        obligation=draft_obligation(
            wanted,
            tool,
            arguments,
            now=now,
            verify_cancel=wanted.policy.verify_cancels,
            fee=fee,
            agreed=_agreed(tool, arguments, answers) if asked is None else None,
        )
        if obliges
        else None,
        cancel=draft_cancel(wanted, catalog, arguments, now=now)
        if effect is Effect.CANCEL
        else None,
    )


def _agreed(tool: Tool, arguments: JsonObject, answers: Sequence[EarlierAnswer]) -> JsonObject:
    """The days that a call is about: its own, and those that the things it names were asked by."""
    things = main_first(find_things(arguments, answers, tool.input_schema))
    found = [(held.item, answer.arguments) for one in things for held, answer in one.sources[:1]]
    return agreed_days(as_written(arguments), reversed(found))


def _fee(tool: Tool, price: Money | None, rules: SpendingPolicy) -> Money | None:
    """What undoing a call may cost: as its document says, else the share of the policy."""
    if tool.compensation is None:
        return None
    declared = tool.compensation.fee
    share = share_of(price if takes_money(tool) else None, rules.fee_share)
    return share if declared is None else declared.of(price)


def answers_of(wanted: PrepareInput, catalog: Catalog) -> tuple[EarlierAnswer, ...]:
    """What earlier calls answered, of other legs and then of this one, the newest last."""
    own = [o for o in wanted.observations if o.outcome == "succeeded"]
    seen: list[Fact | Observation] = [*wanted.facts, *own]
    return tuple(_answer(one, catalog) for one in seen)


def _answer(seen: Fact | Observation, catalog: Catalog) -> EarlierAnswer:
    """One answer with its money plain, as the document says that it comes from."""
    tool = catalog.tools.get(seen.tool)
    if tool is None:
        return EarlierAnswer(body=seen.body, arguments=seen.arguments, title=seen.tool, at=seen.at)
    return EarlierAnswer(
        body=plain_answer(tool, seen.body),
        arguments=plain_arguments(tool, seen.arguments),
        title=tool.title,
        at=seen.at,
    )


def _meaning(tool: Tool, arguments: JsonObject) -> str:
    """What a planner wants, as a digest: without our own references, and what goes unsaid."""
    unsaid = [(n, shape["default"]) for n, shape in tool.properties.items() if "default" in shape]
    wanted = {
        name: value
        for name, value in as_written(arguments).items()
        if name not in tool.reference_inputs and (name, value) not in unsaid
    }
    return canonical_digest({"tool": tool.name, "arguments": wanted})


def _card(
    wanted: PrepareInput,
    tool: Tool,
    quoted: Sequence[JsonObject],
    answers: tuple[EarlierAnswer, ...],
    doubt: str,
    fee: Money | None,
    files: tuple[ReceivedFile, ...],
) -> ConfirmationCard:
    policy = wanted.policy
    own = [order for order in wanted.orders if tool.name in order.tools]
    return build_card(
        wanted,
        tool,
        wanted.arguments,
        quoted=quoted,
        expires_at=wanted.now + policy.confirmation_expiry,
        approvers=policy.confirmation.approvers_of(card_type=tool.card_type or "", tool=tool.name),
        confirmation_id=names.confirmation_id(wanted.call_id, wanted.round),
        asked=wanted.round,
        context=CardContext(
            goal=wanted.goal,
            clause=wanted.clause,
            agent=wanted.agent.agent if wanted.agent is not None else "",
            reason=wanted.reason,
            answers=answers,
            given=tuple(str(value) for value in wanted.given.values()),
            left=wanted.budget_left if tool.spends else None,
            unpriced=wanted.spent.unpriced,
            doubt=doubt,
            fee=fee,
            files=files,
            asked=wanted.asked,
            proposals=wanted.proposals,
            changed_by_people=wanted.changed_by_people,
            said_at=wanted.said_at,
            order="; ".join(dict.fromkeys(_unconditional(order) for order in own)),
            count=sum(order.count for order in own),
        ),
    )


def _unconditional(order: Order) -> str:
    """The words that an order is stated by, without those that it depends on."""
    return " ".join(order.clause.replace(order.when, " ").split()) if order.when else order.clause


def _standing_approver(
    wanted: PrepareInput, tool: Tool, amounts: tuple[Money, ...] | None
) -> str | None:
    """Evaluated here and not in the workflow, so that history holds what came of it."""
    if tool.card_type is None:
        return None
    return wanted.policy.confirmation.standing_approver(
        card_type=tool.card_type, tool=tool.name, amounts=amounts
    )


def _amounts(
    wanted: PrepareInput, tool: Tool, certain: Money | None, quoted: Sequence[JsonObject]
) -> tuple[Money, ...] | None:
    """The price of a call and every other amount on its card; None when its price is uncertain."""
    if certain is None:
        return None
    return certain, *amounts_in([plain_arguments(tool, wanted.arguments), *quoted[:1]])
