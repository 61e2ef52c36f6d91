"""Prepare calls: complete and check a call, and create its card and its ledger entry."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from temporalio import activity

from orchestrator.activities.authority import Authority, WallGuard, check_sender, is_from_saga
from orchestrator.activities.boundary import catalog_of, translated_errors
from orchestrator.activities.cancel_review import CancelReview
from orchestrator.activities.kept_messages import KeptMessages, NothingKept
from orchestrator.adapters.http.personal_arguments import foreign_problems, pii_gone
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.storage.protocols import CatalogStore, GrantBook
from orchestrator.catalog.arguments import check_arguments
from orchestrator.catalog.card_types import DEFAULT_CARD, OVERCHARGE
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.declared_prices import share_of
from orchestrator.catalog.money import amounts_in
from orchestrator.catalog.prices import (
    may_be_overcharged,
    plain_answer,
    plain_arguments,
    takes_money,
)
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.confirmation.build import (
    AskedCancel,
    CardContext,
    build_card,
    call_price,
    doubts_about_price,
)
from orchestrator.confirmation.card_content import CardLine
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.confirmation.named_things import (
    EarlierAnswer,
    FoundThing,
    find_things,
    main_first,
)
from orchestrator.confirmation.overcharge import overcharge_card
from orchestrator.confirmation.policy import is_narrower
from orchestrator.core.budget import Money, limit_of, rest_text
from orchestrator.core.errors import DocumentInvalid, EgressRefused
from orchestrator.core.pii import as_written, handle_of
from orchestrator.core.received_files import ReceivedFile
from orchestrator.core.record import JsonObject
from orchestrator.messages import names
from orchestrator.messages.mission_policy import SpendingPolicy
from orchestrator.messages.step import KeptMessage
from orchestrator.messages.tool_call import OverchargeInput, PreparedCall, PrepareInput, ToolCall
from orchestrator.planning.effects import (
    READ_ONLY,
    essence_of,
    is_covered,
    longest_list,
    meaning_of,
    why_unordered,
)
from orchestrator.planning.models import CallTerms, Fact, Observation
from orchestrator.saga.agreed_days import agreed_days
from orchestrator.saga.cancel_arguments import cancelled_by, draft_cancel, draft_obligation
from orchestrator.saga.obligation import Obligation


def unknown_price(budget: Money, left: Money | None, unpriced: int = 0) -> str:
    """Return the warning about a call of unknown price that follows `unpriced` similar calls."""
    if left is None:
        return f"price unknown: it may exceed the budget of {budget}"
    left_of_it = rest_text(left, unpriced).rstrip(",")
    return f"price unknown: it may exceed what is left of the budget, {left_of_it}"


def with_charge_limit(
    prepared: PreparedCall, wanted: PrepareInput, rules: SpendingPolicy
) -> PreparedCall:
    """Return a prepared call with the limit for its charge, if its price is known.

    A budget counts the expected price. Without a budget, a standing approval covers up to its
    amount.
    """
    if prepared.price is None or not prepared.spends or prepared.cancel is not None:
        return prepared
    rule = prepared.call.standing if prepared.call is not None else None
    counts = wanted.budget is None and prepared.standing_approver is not None
    limit = limit_of(
        prepared.price,
        tolerance=rules.overcharge_tolerance,
        standing=rule.max_amount if rule is not None and counts else None,
        on_overcharge=rules.on_overcharge,
    )
    return prepared.model_copy(update={"limit": limit})


_LARGEST: Final = 500_000
"""Limit in characters of a prepared call, as its leg's ledger and other messages repeat it."""
_LONGEST_CANCEL: Final = 4_000
"""Limit in characters of what a card shows of the cancel that a written workflow states."""


class PrepareActivities:
    """Prepares calls by the contracts of stored catalogs, with a vault for personal fields."""

    def __init__(
        self,
        catalogs: CatalogStore,
        tools: ToolClient,
        guard: WallGuard | None = None,
        authority: Authority | None = None,
        *,
        kept: KeptMessages | None = None,
        grants: GrantBook | None = None,
    ) -> None:
        self._kept = kept or KeptMessages(NothingKept())
        self._grants = grants
        self._catalogs = catalogs
        self._tools = tools
        self._cancels = CancelReview(tools)
        self._guard = guard or WallGuard()
        self._authority = authority or Authority()

    async def prepare_forward(self, message: PrepareInput | KeptMessage) -> PreparedCall | None:
        """Prepare a call that needs no ledger; return None for a cancel, which needs one."""
        with translated_errors():
            wanted = await self._kept.prepared(message, PrepareInput)
            catalog = await catalog_of(self._catalogs, wanted.catalog_digest)
            if catalog.tool(wanted.tool).effect is Effect.CANCEL:
                return None
        return await self.prepare_call(wanted)

    @activity.defn(name=names.PREPARE_CALL)
    async def prepare_call(self, message: PrepareInput | KeptMessage) -> PreparedCall:
        """Fill the orchestrator's fields, check the arguments, and create the card and obligation.

        Every other reason not to send the call is found here, before a person approves it.
        """
        with translated_errors():
            wanted = await self._kept.prepared(message, PrepareInput)
            check_sender(wanted, serves_sagas=self._authority.serves_sagas)
            is_of_saga = is_from_saga(wanted)
            if is_of_saga:
                self._authority.check_saga(wanted)
            catalog = await catalog_of(self._catalogs, wanted.catalog_digest)
            tool, terms = catalog.tool(wanted.tool), wanted.call_terms
            if tool.effect is not Effect.WRITE or tool.irreversible:
                # The tool's document states how it is cancelled.
                terms = terms.model_copy(update={"cancel": None})
            wanted = wanted.model_copy(update={"call_terms": terms})
            tool = with_terms(tool, terms)
            cancel = catalog.tool(terms.cancel.tool) if terms.cancel is not None else None
            for one in (tool, cancel):
                if one is not None and (
                    refusal := self._guard.refusal(wanted.agent, one, at="preparation")
                ):
                    return PreparedCall(problems=(refusal,))
            prepared = await self._check_and_draft(wanted, catalog, tool)
            if is_of_saga and prepared.obligation is not None:
                # A saga's id does not name its workflow.
                owner = {"workflow_id": activity.info().workflow_id or ""}
                owned = prepared.obligation.model_copy(update=owner)
                prepared = prepared.model_copy(update={"obligation": owned})
            size = len(prepared.model_dump_json())
            if size <= _LARGEST:
                return prepared
            most = f"at most {_LARGEST / 1000:,.0f} kB can be"
            why = f"the call and its card are {size / 1000:,.0f} kB, {most}"
            return PreparedCall(problems=(why,))

    @activity.defn(name=names.PREPARE_OVERCHARGE)
    async def prepare_overcharge(self, message: OverchargeInput | KeptMessage) -> PreparedCall:
        """Return the card on which people keep or cancel an overcharged call; send nothing.

        No standing approval covers the overcharge: it was given for a price up to an amount.

        Raises:
            ApplicationError: CallUnowned if a workflow other than the call's mission asks.
        """
        with translated_errors():
            wanted = await self._kept.prepared(message, OverchargeInput)
            check_sender(wanted, serves_sagas=self._authority.serves_sagas)
            catalog = await catalog_of(self._catalogs, wanted.catalog_digest)
            tool = catalog.tool(wanted.tool)
            return await self._authority.over(_asking(wanted, tool, catalog), wanted)

    async def _check_and_draft(
        self, wanted: PrepareInput, catalog: Catalog, tool: Tool
    ) -> PreparedCall:
        """Check and complete a call, and find out who has to approve it.

        The terms of its workflow come first, since the digest of its card covers them.
        """
        arguments = dict(wanted.arguments)
        for name in tool.reference_inputs:
            arguments.setdefault(name, wanted.key)
        problems = check_arguments(catalog, tool, arguments)
        if problems:
            return PreparedCall(problems=problems)
        brought = [handle for text in wanted.brought if (handle := handle_of(text)) is not None]
        pinned = await self._tools.pin(
            catalog, tool, arguments, mission_id=wanted.mission_id, brought=brought
        )
        problems = (*foreign_problems(pinned.foreign), *pinned.unsendable)
        if problems:
            return PreparedCall(problems=problems)
        try:
            obstacles = await self._tools.obstacles(catalog, tool)
        except (DocumentInvalid, EgressRefused) as error:
            return PreparedCall(problems=(str(error),))
        if pinned.gone:
            obstacles = (str(pii_gone(pinned.gone)), *obstacles)
        if pinned.missing or obstacles:
            return PreparedCall(missing_personal=pinned.missing, obstacles=obstacles)
        wanted = wanted.model_copy(update={"arguments": pinned.arguments})
        asked = await self._cancels.asked(wanted, catalog, tool)
        rules = self._authority.spending(wanted.policy)
        # In a thread, like all work whose duration grows with the observations of a leg.
        prepared = await asyncio.to_thread(
            draft_call, wanted, catalog, tool, rules, asked=asked, files=pinned.files
        )
        prepared = _with_terms_on_card(prepared, wanted.call_terms, catalog)
        prepared = await self._within_standing_limit(await self._authority.over(prepared, wanted))
        if not is_from_saga(wanted):
            prepared = self._authority.again_terms(prepared, wanted, tool)
        return with_charge_limit(prepared, wanted, rules)

    async def _within_standing_limit(self, prepared: PreparedCall) -> PreparedCall:
        """Return the call without its standing approval if earlier calls have used that up."""
        call, card, spend = prepared.call, prepared.card, None
        if call is not None and card is not None and prepared.standing_approver is not None:
            spend = self._authority.standing_spend(call, card.card_type)
        if self._grants is None or card is None or spend is None:
            return prepared
        if (full := await asyncio.to_thread(self._grants.refusal, spend)) is None:
            return prepared
        warned = card.model_copy(update={"warnings": (*card.warnings, full)})
        return prepared.model_copy(update={"standing_approver": None, "card": warned})


def with_terms(tool: Tool, terms: CallTerms) -> Tool:
    """Return the tool with the terms of a written workflow, where its document has none."""
    if terms.card_type and not tool.needs_confirmation:
        tool = tool.model_copy(update={"card_type": terms.card_type})
    return cancelled_by(tool, terms.cancel) if terms.cancel is not None else tool


def _with_terms_on_card(prepared: PreparedCall, terms: CallTerms, catalog: Catalog) -> PreparedCall:
    """Return the call with its workflow's approvers on the card, and its cancel in the ledger.

    A person reads what the stated cancel sends. No standing approval covers a cancel that its
    document has people asked about.
    """
    changes: dict[str, object] = {}
    call, card = prepared.call, prepared.card
    if terms.cancel is not None:
        cancel = catalog.tool(terms.cancel.tool)
        if prepared.obligation is not None:
            noted = {"contract": terms.cancel}
            changes["obligation"] = prepared.obligation.model_copy(update=noted)
        if card is None and cancel.needs_confirmation:
            return PreparedCall(problems=(f"people are asked about {cancel.name}, its cancel",))
        if card is not None:
            sends = json.dumps(terms.cancel.arguments, ensure_ascii=False)
            if len(sends) > _LONGEST_CANCEL:
                most = f"more than {_LONGEST_CANCEL:,} characters"
                return PreparedCall(problems=(f"the inputs of its cancel have {most}",))
            line = CardLine(label="Cancel sends", value=f"{cancel.name} {sends}")
            card = card.model_copy(update={"other_inputs": (*card.other_inputs, line)})
            changes["card"] = card
            if cancel.needs_confirmation:
                changes["standing_approver"] = None
    if terms.timeout_s is not None and call is not None:
        limit = {"timeout_s": min(call.timeout_s, terms.timeout_s)}
        changes["call"] = call = call.model_copy(update=limit)
    if terms.approvers and card is not None and call is not None:
        among = [one for one in terms.approvers if is_narrower((one,), card.approvers)]
        if not among:
            allowed = ", ".join(card.approvers)
            said = f"its workflow names {', '.join(terms.approvers)} as approvers"
            return PreparedCall(problems=(f"{said}, and the policy {allowed}",))
        changes["card"] = card.model_copy(update={"approvers": tuple(among)})
        changes["call"] = call.model_copy(update={"approvers": tuple(among)})
        if prepared.standing_approver is not None:
            changes["standing_approver"] = None  # only these people decide
    return prepared.model_copy(update=changes) if changes else prepared


def draft_call(
    wanted: PrepareInput,
    catalog: Catalog,
    tool: Tool,
    rules: SpendingPolicy,
    *,
    asked: AskedCancel | None = None,
    files: tuple[ReceivedFile, ...] = (),
) -> PreparedCall:
    """Return a call whose arguments are complete and valid, with its card; nothing is looked up."""
    arguments = wanted.arguments
    if asked is not None:
        tool = asked.asking(tool)
    unordered = ""
    if tool.is_side_effect and (asked is not None or tool.effect is not Effect.CANCEL):
        if wanted.read_only:
            return PreparedCall(problems=(READ_ONLY.format(tool=tool.name),))
        unordered = why_unordered(
            tool,
            wanted.orders,
            wanted.effects,
            most_each=_most_each(wanted),
            repeats=wanted.repeats,
        )
        tool = _with_card(tool) if unordered else tool
    answers = answers_of(wanted, catalog)
    things = main_first(find_things(arguments, answers, tool.input_schema))
    quoted = asked.found if asked is not None else [item for one in things for item in one.items]
    price = call_price(tool, arguments, quoted, things)
    certain = None if doubts_about_price(tool, arguments, things) else price
    doubt, is_unpriced = "", price is None and rules.unknown_price != "allow"
    if wanted.budget is not None and is_unpriced and may_be_overcharged(tool):
        doubt = unknown_price(wanted.budget, wanted.budget_left, wanted.spent.unpriced)
    if doubt and rules.unknown_price == "refuse":
        problem = (
            f"{doubt}, and the policy refuses such a call (spending.unknown_price): find what "
            "states its price first"
        )
        return PreparedCall(problems=(problem,))
    tool = _with_card(tool) if doubt else tool
    # All amounts on its card, price first; none of them if the call costs nothing.
    amounts: tuple[Money, ...] | None = None if tool.spends else ()
    if certain is not None:
        amounts = (certain, *amounts_in([plain_arguments(tool, arguments), *quoted[:1]]))
    fee = None
    if tool.compensation is not None and asked is None:
        # As the document of its cancel states, else the policy's share of the price.
        share = share_of(price if takes_money(tool) else None, rules.fee_share)
        fee = share if (declared := tool.compensation.fee) is None else declared.of(price)
    draft = _Draft(
        wanted=wanted,
        catalog=catalog,
        tool=tool,
        quoted=quoted,
        answers=answers,
        things=things,
        asked=asked,
        doubt=doubt,
        price=price,
        amounts=amounts,
        fee=fee,
        files=files,
    )
    prepared = draft.prepared().model_copy(update={"meaning": meaning_of(tool, arguments)})
    if prepared.card is None or prepared.call is None:
        return prepared
    card = prepared.card.model_copy(update={"unordered": unordered})
    # Standing approvals cover orders only.
    covered = not unordered and is_covered(
        prepared.call.tool, wanted.covered, wanted.effects, most_each=_most_each(wanted)
    )
    standing = prepared.standing_approver if covered and not card.is_unfounded else None
    return prepared.model_copy(
        update={"card": card, "unordered": unordered, "standing_approver": standing}
    )


def _most_each(wanted: PrepareInput) -> int:
    """Return the most effects of an `each` order: the number of things read, up to a limit."""
    read = [o.body for o in wanted.observations if o.outcome == "succeeded" and not o.side_effect]
    read += [fact.body for fact in wanted.facts if not fact.side_effect]
    return min(longest_list(read), wanted.most_each)


@dataclass(frozen=True, kw_only=True)
class _Draft:
    """A call whose arguments are complete and valid, with all that its card shows."""

    wanted: PrepareInput
    catalog: Catalog
    tool: Tool
    quoted: Sequence[JsonObject]
    answers: tuple[EarlierAnswer, ...]
    things: Sequence[FoundThing]
    """The things that the ids among the arguments name, the main one first."""
    asked: AskedCancel | None
    doubt: str
    """The warning about an unknown price in a mission with a budget; '' without one."""
    price: Money | None
    amounts: tuple[Money, ...] | None
    """All amounts on the card; None if the price is uncertain."""
    fee: Money | None
    files: tuple[ReceivedFile, ...]

    def prepared(self) -> PreparedCall:
        """Return the call with its card and its ledger entries."""
        wanted, tool = self.wanted, self.tool
        card = self._card() if tool.needs_confirmation else None
        if self.asked is not None and card is not None:
            card = self.asked.on(card)
        standing = cancel = None
        if not self.doubt and tool.card_type is not None:
            # Found here and not in the workflow: history holds it.
            standing = wanted.policy.confirmation.standing_for(
                card_type=tool.card_type, tool=tool.name, amounts=self.amounts
            )
        if tool.effect is Effect.CANCEL:
            cancel = draft_cancel(wanted, self.catalog, wanted.arguments, now=wanted.now)
        call = ToolCall(
            **wanted.ref,
            agent=wanted.agent,
            arguments=wanted.arguments,
            card_type=tool.card_type,
            stated_cancel=wanted.call_terms.cancel,
            repeats=wanted.repeats.call_id if wanted.repeats is not None else "",
            timeout_s=wanted.policy.call_timeout.total_seconds(),
            amounts=self.amounts if tool.needs_confirmation else None,
            price=card.price if card is not None else None,
            standing=standing,
        )
        return PreparedCall(
            call=call,
            title=tool.title,
            side_effect=tool.is_side_effect,
            spends=takes_money(tool),
            repeatable=not tool.is_side_effect or tool.idempotency_key is not None,
            price=self.price if takes_money(tool) else None,
            fee=self.fee,
            card=card,
            standing_approver=standing.approver if standing is not None else None,
            obligation=self._obligation(),
            cancel=cancel,
        )

    def _obligation(self) -> Obligation | None:
        wanted, obliges = self.wanted, self.tool.effect in (Effect.OBLIGATION, Effect.WRITE)
        if self.asked is not None:
            obliges = self.asked.leaves_a_consequence
        if not obliges:
            return None
        arguments, agreed = plain_arguments(self.tool, wanted.arguments), None
        if self.asked is None:
            # Dates of the call, and of the searches that found its things.
            sources = [source for one in self.things for source in one.sources[:1]]
            found = [(held.item, answer.arguments) for held, answer in sources]
            agreed = agreed_days(as_written(wanted.arguments), reversed(found))
        return draft_obligation(
            wanted,
            self.tool,
            wanted.arguments,
            now=wanted.now,
            essence=essence_of(self.tool, wanted.arguments),
            verify_cancel=wanted.policy.verify_cancels,
            fee=self.fee,
            agreed=agreed,
            has_price=next(amounts_in([arguments, *self.quoted[:1]]), None) is not None,
        )

    def _card(self) -> ConfirmationCard:
        wanted, tool, policy = self.wanted, self.tool, self.wanted.policy
        own = [order for order in wanted.orders if tool.name in order.tools]
        clauses = [
            " ".join(order.clause.replace(order.when, " ").split()) if order.when else order.clause
            for order in own
        ]
        approvers = policy.confirmation.approvers_of(card_type=tool.card_type or "", tool=tool.name)
        return build_card(
            wanted,
            tool,
            wanted.arguments,
            quoted=self.quoted,
            expires_at=wanted.now + policy.confirmation_expiry,
            approvers=approvers,
            confirmation_id=names.confirmation_id(wanted.call_id, wanted.round),
            asked=wanted.round,
            context=CardContext(
                goal=wanted.goal,
                clause=wanted.clause,
                agent=wanted.agent.agent if wanted.agent is not None else "",
                reason=wanted.reason,
                answers=self.answers,
                given=tuple(str(value) for value in wanted.given.values()),
                left=wanted.budget_left if tool.spends else None,
                unpriced=wanted.spent.unpriced,
                doubt=self.doubt,
                fee=self.fee,
                files=self.files,
                asked=wanted.asked,
                proposals=wanted.proposals,
                changed_by_people=wanted.changed_by_people,
                said_at=wanted.said_at,
                order="; ".join(dict.fromkeys(clauses)),
                count=sum(order.count for order in own),
            ),
        )


def _with_card(tool: Tool) -> Tool:
    """Return the tool with a card, even if its contract requires no approval."""
    return tool if tool.needs_confirmation else tool.model_copy(update={"card_type": DEFAULT_CARD})


def answers_of(wanted: PrepareInput, catalog: Catalog) -> tuple[EarlierAnswer, ...]:
    """Return earlier answers, amounts as plain money; those of other legs first, newest last."""
    own = [o for o in wanted.observations if o.outcome == "succeeded"]
    answers = []
    seen_before: list[Fact | Observation] = [*wanted.facts, *own]
    for seen in seen_before:
        tool = catalog.tools.get(seen.tool)
        answers.append(
            EarlierAnswer(
                body=plain_answer(tool, seen.body) if tool else seen.body,
                arguments=plain_arguments(tool, seen.arguments) if tool else seen.arguments,
                title=tool.title if tool else seen.tool,
                at=seen.at,
            )
        )
    return tuple(answers)


def _asking(wanted: OverchargeInput, tool: Tool, catalog: Catalog) -> PreparedCall:
    overcharge = wanted.obligation.overcharge
    if overcharge is None:
        return PreparedCall(problems=(f"{wanted.call_id} cost no more than was approved",))
    charged = overcharge.charged
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
            left=wanted.budget_left,
        ),
    )
    approvers = policy.confirmation.approvers_of(card_type=OVERCHARGE, tool=tool.name)
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
        card=card.model_copy(
            update={"expires_at": wanted.now + policy.confirmation_expiry, "approvers": approvers}
        ),
    )
