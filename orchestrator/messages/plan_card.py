"""The card on which a plan is approved, and the call that stands for it before the rules."""

from collections.abc import Iterator, Mapping

from orchestrator.catalog.card_types import PLAN
from orchestrator.confirmation.card_content import CONTENT_TYPES, CardLine
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.messages.plan_answers import doubt_text
from orchestrator.messages.plan_preview import PlannedLeg, PlannedTool, PlanPreview, PlanReviewInput
from orchestrator.messages.tool_call import PreparedCall, PrepareInput, ToolCall
from orchestrator.saga.orders import Order

PLAN_TOOL = "mission.plan"
"""What stands where a card names its tool: the dot is in no name of a tool."""
_HEADING = "Plan of a mission"


def prepared_plan(wanted: PlanReviewInput, preview: PlanPreview) -> PreparedCall:
    """A plan as what the rules on approvals know: a call, and its card."""
    call = ToolCall(
        call_id=wanted.confirmation_id,
        mission_id=wanted.mission_id,
        leg_id="",
        tool=PLAN_TOOL,
        catalog_digest=wanted.catalog_digest,
        arguments={"plan": preview.digest},
        card_type=PLAN,
        requester=wanted.requester,
        grant=wanted.grant,
    )
    return PreparedCall(call=call, title=_HEADING, card=_card(wanted, preview))


def as_wanted(wanted: PlanReviewInput) -> PrepareInput:
    """What the rules on approvals ask of whoever wants a call."""
    return PrepareInput(
        call_id=wanted.confirmation_id,
        mission_id=wanted.mission_id,
        leg_id="",
        tool=PLAN_TOOL,
        catalog_digest=wanted.catalog_digest,
        arguments={},
        policy=wanted.policy,
        requester=wanted.requester,
        now=wanted.now,
        round=wanted.round,
    )


def _card(wanted: PlanReviewInput, preview: PlanPreview) -> ConfirmationCard:
    content = CONTENT_TYPES[PLAN].model_validate(
        {
            "warnings": [
                CardLine(label="Not carried out", value=doubt_text(d)) for d in preview.doubts
            ],
            "legs": [
                *_origin_line(preview),
                *(line for leg in preview.legs for line in leg_lines(leg)),
            ],
            "unserved": [CardLine(label="No leg serves", value=text) for text in preview.uncovered],
        }
    )
    return ConfirmationCard(
        confirmation_id=wanted.confirmation_id,
        mission_id=wanted.mission_id,
        leg_id="",
        card_type=PLAN,
        heading=_HEADING,
        title=_title(preview),
        tool=PLAN_TOOL,
        content=content,
        goal=wanted.goal,
        asked_because=_again(wanted.problem),
        inputs=(),
        undo="nothing is done yet; what the legs do is undone as each of their cards says",
        digest=preview.digest,
        approvers=wanted.policy.confirmation.approvers_of(card_type=PLAN, tool=PLAN_TOOL),
        round=wanted.round,
    )


def _origin_line(preview: PlanPreview) -> Iterator[CardLine]:
    """Who made the plan, where a model was asked: what rules make is the same each time."""
    if preview.made_by.model:
        yield CardLine(label="Made by", value=preview.made_by.told)


def _again(problem: str) -> str:
    """Why the plan before is shown once more."""
    if not problem:
        return ""
    said = f"What was said instead cannot be planned: {problem.rstrip('.')}."
    return f"{said} This is the plan as it was."


def _title(preview: PlanPreview) -> str:
    count = len(preview.legs)
    return f"Begin a mission of {count} leg{'s' if count > 1 else ''}"


def leg_lines(leg: PlannedLeg) -> Iterator[CardLine]:
    """What a leg would do, as a person reads it: its orders below it, with their tools."""
    yield CardLine(label=leg.leg_id, value=f"{leg.goal} ({leg_note(leg)})")
    tools = {tool.name: tool for tool in leg.tools}
    for order in leg.orders:
        yield CardLine(label=f"{leg.leg_id}, order", value=order_text(order, tools))
    for tool in leg.tools if not leg.orders else ():
        yield CardLine(label=f"{leg.leg_id}, likely", value=tool_text(tool))
    if not leg.orders and not leg.tools:
        yield CardLine(label=f"{leg.leg_id}, likely", value="it looks for a tool when it begins")


def leg_note(leg: PlannedLeg) -> str:
    """Who handles a leg, and when."""
    after = [f"after {' and '.join(leg.depends_on)}"] if leg.depends_on else []
    planned = [f"planned by {leg.planned_by}"] if leg.planned_by else []
    return ", ".join([f"agent {leg.agent}", *planned, *after])


def order_text(order: Order, tools: Mapping[str, PlannedTool]) -> str:
    """An order as a person reads it: what, how often, on which condition, and what undoes it."""
    known = [tools[name] for name in order.tools if name in tools]
    title = " or ".join(tool.title or tool.name for tool in known) or " or ".join(order.tools)
    often = f"each of {order.each!r}" if order.each else "once" if order.count == 1 else ""
    parts = [f"{title}: {often or f'{order.count} times'}"]
    parts += [f"only {order.when!r}"] if order.when else []
    parts += [f"for {order.clause!r}"] if order.clause else []
    parts += [_asked_and_undone(tool) for tool in known]
    return "; ".join(parts)


def tool_text(tool: PlannedTool) -> str:
    """A tool that is likely to be called, and what follows."""
    if not tool.is_side_effect:
        return f"{tool.name}: {tool.title}; reads"
    return f"{tool.name}: {tool.title}; {_asked_and_undone(tool)}"


def _asked_and_undone(tool: PlannedTool) -> str:
    asked = (
        f"asks on a card of type {tool.card_type} before it is sent"
        if tool.card_type is not None
        else "sent without asking, as its document says"
    )
    return f"{asked}; {tool.undo}" if tool.undo else asked
