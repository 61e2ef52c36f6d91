"""The card of a call that cost more than was approved: the charge, and the two choices."""

from pydantic import JsonValue

from orchestrator.catalog.card_types import OVERCHARGE
from orchestrator.catalog.tool import Tool
from orchestrator.confirmation.build import CardContext, cancel_terms
from orchestrator.confirmation.card_content import CardLine
from orchestrator.confirmation.card_facts import content_of, facts
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.confirmation.named_things import find_things, main_first, named_thing
from orchestrator.core.budget import Overcharge
from orchestrator.core.call_ref import CallRef
from orchestrator.core.record import JsonObject

_HEADING = "Charged more than approved"


def overcharge_card(
    call: CallRef,
    tool: Tool,
    overcharge: Overcharge,
    *,
    arguments: JsonObject,
    answer: JsonValue,
    confirmation_id: str,
    asked: int = 1,
    context: CardContext | None = None,
) -> ConfirmationCard:
    """Return the card that asks whether to keep the effect, without deciders, expiry, digest."""
    body = answer if isinstance(answer, dict) else {}
    # The arguments, then new facts of the answer; amounts are listed with the charges.
    sent = [fact for fact in facts(arguments) if fact.money is None]
    names = {fact.name for fact in sent} | set(arguments)
    added = [
        fact
        for fact in facts(body)
        if not {fact.name, fact.name.split(".")[0]} & names
        and not fact.is_empty
        and fact.money is None
    ]
    content, rest = content_of(OVERCHARGE, [*sent, *added])
    assert content is not None
    terms = cancel_terms(tool)
    context = context or CardContext()
    things = main_first(find_things(arguments, context.answers, tool.input_schema))
    more, left = overcharge.more, context.left
    is_other = more.currency != overcharge.approved.currency
    unknown = f"nobody knows by how much: no rate of {more.currency} is held"
    charges = {
        "Approved": str(overcharge.approved),
        "Charged": str(overcharge.charged),
        "More than approved": unknown if is_other else str(more),
    }
    if left is not None:  # the budget without this call
        note = ""
        if is_other:
            note = ": whether that is enough nobody knows"
        elif overcharge.charged.amount > left.amount:
            note = ": kept, it exceeds the budget"
        charges["The budget has for it"] = f"{left}{note}"
    warnings = {
        "It is done": "the provider has carried it out and charged for it",
        "Approving": "keeps it, at what was charged",
        "Rejecting": f"cancels it with {terms.tool}; the leg goes on without it"
        if terms.tool is not None
        else "ends the leg, and the mission is rolled back: no tool cancels this",
        "Until then": "the mission spends nothing more",
        "If nobody decides": "the mission is rolled back",
    }
    ours = {
        "warnings": tuple(CardLine(label=k, value=v) for k, v in warnings.items()),
        "charges": tuple(CardLine(label=k, value=v) for k, v in charges.items()),
    }
    return ConfirmationCard(
        confirmation_id=confirmation_id,
        mission_id=call.mission_id,
        leg_id=call.leg_id,
        card_type=OVERCHARGE,
        heading=_HEADING,
        title=tool.title,
        tool=tool.name,
        content=content.model_copy(update=ours),
        lines=tuple(fact.line() for fact in rest),
        goal=context.goal,
        clause=context.clause,
        agent=context.agent,
        named=tuple(named_thing(thing, is_shown=False, labels={}) for thing in things),
        arguments=arguments,
        personal=tool.pii_fields,
        inputs=(),
        price=overcharge.charged,
        cancellation=terms.sentence(),
        cancel_terms=terms,
        digest="",
        round=asked,
    )
