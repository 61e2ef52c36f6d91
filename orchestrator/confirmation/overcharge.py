"""The card of what cost more than was approved: what was charged, what either answer leads to."""

from collections.abc import Iterator

from pydantic import JsonValue

from orchestrator.catalog.card_types import OVERCHARGE
from orchestrator.catalog.tool import Tool
from orchestrator.confirmation.build import CardContext
from orchestrator.confirmation.card_content import CancelTerms, CardLine
from orchestrator.confirmation.card_facts import CardFact, facts
from orchestrator.confirmation.card_parts import content_of
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.confirmation.named_things import find_things, main_first, named_thing
from orchestrator.core.budget import Money
from orchestrator.core.call_ref import CallRef
from orchestrator.core.record import JsonObject
from orchestrator.core.spending_limit import Overcharge

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
    """The card that asks whether to keep it; who decides, until when and its digest are not set.

    Args:
        call: the one that was sent.
        tool: the call's.
        overcharge: what was approved, and what was charged.
        arguments: as they were sent.
        answer: what the provider said.
        confirmation_id: of this card.
        asked: how often it is asked about, this time included.
        context: what the call was for, and what was found before it.
    """
    body = answer if isinstance(answer, dict) else {}
    content, rest = content_of(OVERCHARGE, list(_shown(arguments, body)))
    assert content is not None
    terms = _terms(tool)
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
        undo=terms.sentence(),
        undo_terms=terms,
        digest="",
        round=asked,
    )


def _shown(arguments: JsonObject, body: JsonObject) -> Iterator[CardFact]:
    """What was sent, then what the answer adds; amounts stand with the charges, in our words."""
    sent = [fact for fact in facts(arguments) if fact.money is None]
    names = {fact.name for fact in sent} | set(arguments)
    yield from sent
    for fact in facts(body):
        is_new = not {fact.name, fact.name.split(".")[0]} & names
        if is_new and not fact.is_empty and fact.money is None:
            yield fact


def _charges(overcharge: Overcharge, left: Money | None) -> Iterator[CardLine]:
    """The amounts; `left` is what the budget has without this call, None: there is no budget."""
    yield CardLine(label="Approved", value=str(overcharge.approved))
    yield CardLine(label="Charged", value=str(overcharge.charged))
    is_other = overcharge.more.currency != overcharge.approved.currency
    unknown = f"nobody knows by how much: no rate of {overcharge.more.currency} is held"
    yield CardLine(label="More than approved", value=unknown if is_other else str(overcharge.more))
    if left is not None:
        told = ""
        if is_other:
            told = ": whether that is enough nobody knows"
        elif overcharge.charged.amount > left.amount:
            told = ": kept, it exceeds the budget"
        yield CardLine(label="The budget has for it", value=f"{left}{told}")


def _warnings(terms: CancelTerms) -> Iterator[CardLine]:
    """What has happened, and what follows from each answer."""
    undone = (
        f"undoes it with {terms.tool}; the leg goes on without it"
        if terms.tool is not None
        else "ends the leg, and the mission is rolled back: no tool undoes this"
    )
    yield CardLine(label="It is done", value="the provider has carried it out and charged for it")
    yield CardLine(label="Approving", value="keeps it, at what was charged")
    yield CardLine(label="Rejecting", value=undone)
    yield CardLine(label="Until then", value="the mission spends nothing more")
    yield CardLine(label="If nobody decides", value="the mission is rolled back")


def _terms(tool: Tool) -> CancelTerms:
    contract = tool.compensation
    if contract is None or tool.irreversible:
        return CancelTerms(irreversible=tool.irreversible)
    return CancelTerms(tool=contract.cancel.tool, window=contract.window)
