"""The card of a call that cost more than was approved: the charge, and the two choices."""

from collections.abc import Iterator

from pydantic import JsonValue

from orchestrator.catalog.card_types import OVERCHARGE
from orchestrator.catalog.tool import Tool
from orchestrator.confirmation.build import CardContext, cancel_terms
from orchestrator.confirmation.card_content import CancelTerms, CardLine
from orchestrator.confirmation.card_facts import CardFact, content_of, facts
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.confirmation.named_things import find_things, main_first, named_thing
from orchestrator.core.budget import Money, Overcharge
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
    """Return the card that asks whether to keep the effect, without deciders, expiry, digest.

    Args:
        call: the one that was sent.
        tool: the call's.
        overcharge: the approved and the charged amount.
        arguments: as they were sent.
        answer: the provider's.
        confirmation_id: of this card.
        asked: how often it is asked about, this time included.
        context: the purpose of the call, and earlier answers.
    """
    body = answer if isinstance(answer, dict) else {}
    content, rest = content_of(OVERCHARGE, list(_shown(arguments, body)))
    assert content is not None
    terms = cancel_terms(tool)
    context = context or CardContext()
    things = main_first(find_things(arguments, context.answers, tool.input_schema))
    ours = {
        "warnings": tuple(_warnings(terms)),
        "charges": tuple(_charges(overcharge, context.left)),
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


def _shown(arguments: JsonObject, body: JsonObject) -> Iterator[CardFact]:
    """Yield the arguments, then new facts of the answer; amounts are listed with the charges."""
    sent = [fact for fact in facts(arguments) if fact.money is None]
    names = {fact.name for fact in sent} | set(arguments)
    yield from sent
    for fact in facts(body):
        is_new = not {fact.name, fact.name.split(".")[0]} & names
        if is_new and not fact.is_empty and fact.money is None:
            yield fact


def _charges(overcharge: Overcharge, left: Money | None) -> Iterator[CardLine]:
    """Yield the amounts; `left` is the budget without this call, None if there is no budget."""
    yield CardLine(label="Approved", value=str(overcharge.approved))
    yield CardLine(label="Charged", value=str(overcharge.charged))
    is_other = overcharge.more.currency != overcharge.approved.currency
    unknown = f"nobody knows by how much: no rate of {overcharge.more.currency} is held"
    yield CardLine(label="More than approved", value=unknown if is_other else str(overcharge.more))
    if left is not None:
        note = ""
        if is_other:
            note = ": whether that is enough nobody knows"
        elif overcharge.charged.amount > left.amount:
            note = ": kept, it exceeds the budget"
        yield CardLine(label="The budget has for it", value=f"{left}{note}")


def _warnings(terms: CancelTerms) -> Iterator[CardLine]:
    rejected = (
        f"cancels it with {terms.tool}; the leg goes on without it"
        if terms.tool is not None
        else "ends the leg, and the mission is rolled back: no tool cancels this"
    )
    yield CardLine(label="It is done", value="the provider has carried it out and charged for it")
    yield CardLine(label="Approving", value="keeps it, at what was charged")
    yield CardLine(label="Rejecting", value=rejected)
    yield CardLine(label="Until then", value="the mission spends nothing more")
    yield CardLine(label="If nobody decides", value="the mission is rolled back")
