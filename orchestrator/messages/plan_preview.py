"""A plan for people to read: its preview, its approval card, and the question about its doubts."""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final

from pydantic import Field

from orchestrator.catalog.card_types import PLAN
from orchestrator.confirmation.card_content import CONTENT_TYPES, CardLine
from orchestrator.confirmation.models import ConfirmationCard, Grant
from orchestrator.confirmation.signatures import PublicKeys
from orchestrator.core.plan_origin import PlanOrigin
from orchestrator.core.record import JsonObject, Record
from orchestrator.json_schema.canonical import canonical_digest
from orchestrator.messages.leg import open_choice
from orchestrator.messages.mission import LONGEST_GOAL, Came, MissionRequest, PlanAnswer
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.tool_call import PreparedCall, PrepareInput, ToolCall
from orchestrator.planning.models import Doubt, MissionPlan
from orchestrator.saga.orders import Order


class PlannedTool(Record):
    """A tool that a leg is likely to call; the planner decides step by step."""

    name: str
    title: str = ""
    is_side_effect: bool = False
    card_type: str | None = None
    """None: the call waits for no card."""
    cancellation: str = Field(default="", description="whether and how its effect can be cancelled")


class PlannedLeg(Record):
    """A leg of the plan."""

    leg_id: str
    goal: str
    agent: str
    depends_on: tuple[str, ...] = ()
    planned_by: str = ""
    """A model, or the rules; empty: unknown."""
    stage: int = Field(description="counted from 1; legs of one stage may run concurrently")
    tools: tuple[PlannedTool, ...] = ()
    """The tools of its orders; without orders, the first that the router would forward."""
    orders: tuple[Order, ...] = Field(default=(), description="effects that the leg must have")
    serves: tuple[str, ...] = ()
    """The words of the goal that the leg claims to serve."""

    @property
    def cards(self) -> tuple[str, ...]:
        """The types of the cards that it is likely to open, without duplicates."""
        asked = (tool.card_type for tool in self.tools if tool.is_side_effect)
        return tuple(dict.fromkeys(one for one in asked if one is not None))


class PlanPreview(Record):
    """A plan for a goal, without any effect. Prices are known only at the cards.

    Its digest equals that of the mission's own approval card, as long as both are planned alike.
    """

    goal: str
    digest: str = Field(description="digest of everything that an approval of the plan covers")
    legs: tuple[PlannedLeg, ...]
    uncovered: tuple[str, ...] = ()
    """Text of the goal that no leg claims to serve."""
    doubts: tuple[Doubt, ...] = ()
    """Parts of the goal that would not be carried out as stated."""
    asks_first: bool = False
    needs_approval: bool = False
    made_by: PlanOrigin = Field(default_factory=PlanOrigin)
    """The model that made it, or the reason for the rules."""
    catalog_digest: str
    undeclared_inputs: tuple[str, ...] = ()
    """Inputs of the request that no tool of its client takes."""


def plan_digest(preview: PlanPreview) -> str:
    """Return the SHA-256 of what a plan's approval covers, in canonical JSON (RFC 8785)."""
    legs: list[JsonObject] = [
        {
            "leg_id": leg.leg_id,
            "goal": leg.goal,
            "agent": leg.agent,
            "depends_on": list(leg.depends_on),
            "tools": [tool.name for tool in leg.tools],
            "orders": [order.model_dump(mode="json") for order in leg.orders],
        }
        for leg in preview.legs
    ]
    covered: JsonObject = {
        "goal": preview.goal,
        "catalog_digest": preview.catalog_digest,
        "legs": [*legs],
        "uncovered": list(preview.uncovered),
        "doubts": [doubt.about for doubt in preview.doubts],
    }
    return canonical_digest(covered)


def is_shown(plan: MissionPlan, shown: PlanPreview) -> bool:
    """Return True if a preview is of this plan and its digest is correct."""
    legs = [(one.leg_id, one.goal, one.agent.name, one.depends_on, one.orders) for one in plan.legs]
    seen = [(one.leg_id, one.goal, one.agent, one.depends_on, one.orders) for one in shown.legs]
    return legs == seen and plan.doubts == shown.doubts and plan_digest(shown) == shown.digest


class PlanInput(Record):
    """A request for a plan preview."""

    request: MissionRequest
    now: datetime | None = Field(default=None, description="set by the workflow that asks for it")


class PlanReviewInput(Record):
    """The input for reviewing a mission's plan before or after its approval."""

    mission_id: str
    goal: str
    inputs: JsonObject = Field(default_factory=dict)
    plan: MissionPlan
    planned_at: datetime = Field(description="day that `today` in the goal means")
    catalog_digest: str
    policy: MissionPolicy = Field(default_factory=MissionPolicy)
    requester: str = ""
    now: datetime
    ends_at: datetime | None = Field(default=None, description="when the mission ends at latest")
    confirmation_id: str
    round: int = Field(default=1, description="how often it was asked about, this time included")
    problem: str = ""
    """The reason that the restated goal could not be planned."""
    grant: Grant | None = Field(default=None, description="approval to check")
    shown: PlanPreview | None = Field(default=None, description="plan that the approval is for")


class PlanReview(Record):
    """The approval card of a plan; or, for an approval, the result of checking it."""

    shown: PlanPreview | None = Field(default=None, description="plan that the card shows")
    card: ConfirmationCard | None = None
    approval_keys: PublicKeys | None = None
    refusal: str | None = Field(default=None, description="why there is no card, or it fails")


GO_ON: Final = "go on"
STOP: Final = "stop"
ANSWER: Final = "answer"
"""The only field of a question about a plan."""
MOST_ROUNDS: Final = 5
"""Restatements of one mission's goal."""
UNANSWERED: Final = "if nobody answers until then, the mission ends; nothing was done"

_MEANS: Final[dict[str, Came]] = {GO_ON: "go on", "yes": "go on", STOP: "stop", "no": "stop"}
"""Fixed, because every replay reads recorded answers again."""


def what_it_means(text: str) -> Came:
    """Return the meaning of an answer: any answer but a few fixed words restates the goal."""
    plain = " ".join(re.sub(r"[^\w\s]", " ", text).casefold().split())
    return _MEANS.get(plain, "said otherwise")


def asks_first(plan: MissionPlan) -> bool:
    """Return True if a person is asked about a plan before it begins.

    Words left over in a read-only plan are listed in its result instead.
    """
    return any(plan.has_orders or doubt.kind != "left_over" for doubt in plan.doubts)


def answer_fields(plan: MissionPlan) -> dict[str, JsonObject]:
    """Return the schema of the answer to a question about a plan."""
    choices = {
        GO_ON: "as it is planned; the result lists what was set aside",
        STOP: "nothing is done",
    }
    schema = open_choice(choices, other="the whole goal said otherwise")
    answer: JsonObject = {"title": "your answer", "pattern": r"\S", "maxLength": LONGEST_GOAL}
    return {ANSWER: {**schema, **answer}}


def plan_question(plan: MissionPlan, problem: str = "") -> str:
    """Return the question about a plan, and why its restated goal could not be planned, if so."""
    numbers = {leg.leg_id: number for number, leg in enumerate(plan.legs, start=1)}
    planned = []
    for number, leg in enumerate(plan.legs, start=1):
        after = " and ".join(str(numbers[i]) for i in leg.depends_on if i in numbers)
        notes = [f"after {after}" if after else "", "changes something" if leg.orders else ""]
        note = ", ".join(part for part in notes if part)
        planned.append(f"({number}) {leg.goal}{f' [{note}]' if note else ''}")
    parts = [
        f"That cannot be planned: {problem.rstrip('.')}." if problem else "",
        f"I would do this: {'; '.join(planned)}.",
        f"Not carried out: {'; '.join(map(doubt_text, plan.doubts))}." if plan.doubts else "",
        f"Nothing was done yet. Answer '{GO_ON}' (as above; the result lists what was set aside), "
        f"'{STOP}' (nothing is done), or say the whole goal otherwise.",
    ]
    return " ".join(part for part in parts if part)


def doubt_text(doubt: Doubt) -> str:
    """Return a doubt in words for a person."""
    return f"{doubt.about!r}: {doubt.why.rstrip('.')}"


def set_aside(plan: MissionPlan, answers: Iterable[PlanAnswer]) -> tuple[str, ...]:
    """Return the doubts that the plan began with, and the person who accepted them."""
    went = next((a for a in reversed([*answers]) if a.outcome == "go on"), None)
    by = f"; {went.by or 'somebody'} said to go on" if went is not None else ""
    return tuple(f"{doubt_text(doubt)}{by}" for doubt in plan.doubts)


PLAN_TOOL = "mission.plan"
"""The tool name of a plan's card; no real tool has a dot in its name."""
_HEADING = "Plan of a mission"


def prepared_plan(wanted: PlanReviewInput, preview: PlanPreview) -> PreparedCall:
    """Return a plan as the call, with its card, that approval rules check."""
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
    """Return the input that approval rules expect, for a plan."""
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
    count, again = len(preview.legs), ""
    if wanted.problem:
        said = f"What was said instead cannot be planned: {wanted.problem.rstrip('.')}."
        again = f"{said} This is the plan as it was."
    made_by = preview.made_by
    origin = [CardLine(label="Made by", value=made_by.sentence)] if made_by.model else []
    content = CONTENT_TYPES[PLAN].model_validate(
        {
            "warnings": [
                CardLine(label="Not carried out", value=doubt_text(d)) for d in preview.doubts
            ],
            "legs": [
                *origin,
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
        title=f"Begin a mission of {count} leg{'s' if count > 1 else ''}",
        tool=PLAN_TOOL,
        content=content,
        goal=wanted.goal,
        asked_because=again,
        inputs=(),
        cancellation="nothing is done yet; effects are cancelled as each of their cards says",
        digest=preview.digest,
        approvers=wanted.policy.confirmation.approvers_of(card_type=PLAN, tool=PLAN_TOOL),
        round=wanted.round,
    )


def leg_lines(leg: PlannedLeg) -> Iterator[CardLine]:
    """Yield a leg's line, with its orders and tools below it."""
    yield CardLine(label=leg.leg_id, value=f"{leg.goal} ({leg_note(leg)})")
    tools = {tool.name: tool for tool in leg.tools}
    for order in leg.orders:
        yield CardLine(label=f"{leg.leg_id}, order", value=order_text(order, tools))
    for tool in leg.tools if not leg.orders else ():
        yield CardLine(label=f"{leg.leg_id}, likely", value=tool_text(tool))
    if not leg.orders and not leg.tools:
        yield CardLine(label=f"{leg.leg_id}, likely", value="it looks for a tool when it begins")


def leg_note(leg: PlannedLeg) -> str:
    """Return a leg's agent, planner and dependencies."""
    after = [f"after {' and '.join(leg.depends_on)}"] if leg.depends_on else []
    planned = [f"planned by {leg.planned_by}"] if leg.planned_by else []
    return ", ".join([f"agent {leg.agent}", *planned, *after])


def order_text(order: Order, tools: Mapping[str, PlannedTool]) -> str:
    """Return an order in words: effect, count, condition, and how it is cancelled."""
    known = [tools[name] for name in order.tools if name in tools]
    titles = dict.fromkeys([tool.title or tool.name for tool in known] or order.tools)
    title = " or ".join(titles)
    often = f"each of {order.each!r}" if order.each else "once" if order.count == 1 else ""
    most = "at most " if order.at_most else ""
    parts = [f"{title}: {often or f'{most}{order.count} times'}"]
    parts += [f"only {order.when!r}"] if order.when else []
    parts += [f"for {order.clause!r}"] if order.clause else []
    parts += dict.fromkeys(map(_asked_and_cancelled, known))
    return "; ".join(parts)


def tool_text(tool: PlannedTool) -> str:
    """Return a tool in words, with its card and how it is cancelled."""
    if not tool.is_side_effect:
        return f"{tool.name}: {tool.title}; reads"
    return f"{tool.name}: {tool.title}; {_asked_and_cancelled(tool)}"


def _asked_and_cancelled(tool: PlannedTool) -> str:
    asked = (
        f"asks on a card of type {tool.card_type} before it is sent"
        if tool.card_type is not None
        else "sent without asking, as its document says"
    )
    return f"{asked}; {tool.cancellation}" if tool.cancellation else asked
