"""Models with a hostile text in each field, and one of each kind that pages show."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from pydantic import BaseModel

from orchestrator.client.mission_list import MissionSummary, Wait
from orchestrator.client.mission_rollback import RollbackPreview
from orchestrator.confirmation.card_content import (
    CONTENT_TYPES,
    Amount,
    CancelTerms,
    CardLine,
    Change,
    NamedThing,
)
from orchestrator.confirmation.models import ConfirmationCard, DecisionRecord
from orchestrator.core.budget import Money
from orchestrator.messages.failure_details import ModelPause
from orchestrator.messages.hold import FailedCall, Hold, Standing, answer_fields
from orchestrator.messages.leg import LegResult, LegStatus, Question, open_choice
from orchestrator.messages.mission import MissionResult, MissionStatus
from orchestrator.messages.open_waits import Waiting
from orchestrator.messages.plan_preview import PlannedLeg, PlannedTool, PlanPreview
from orchestrator.messages.rollback import ParkedRollback, RollbackReport, parked_of
from orchestrator.messages.step import StepRecord
from orchestrator.planning.models import Doubt
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import Obligation, ObligationState, RollbackOrder
from orchestrator.saga.orders import Order
from orchestrator.saga.outcome import FollowUp
from tests.fakes import fake_obligation

NOON: Final = datetime(2026, 12, 3, 12, tzinfo=UTC)
EUR_78: Final = Money(amount=Decimal("78.00"), currency="EUR")
_COUNT = iter(range(10**6))


def hostile(field: str = "text") -> str:
    """A text that is markup, a template, an attribute's end and hidden characters at once."""
    return (
        f"{field}{next(_COUNT)}\"'><script>alert(1)</script><img src=x onerror=alert(2)>"
        "{{ 7*7 }}{% raw %}&lt;\u202e\x1b[31m</textarea>"
    )


def texts(*fields: str) -> dict[str, Any]:
    return {field: hostile(field) for field in fields}


def line(name: str) -> CardLine:
    return CardLine(label=hostile(name), value=hostile(name))


def hostile_card(**changes: Any) -> ConfirmationCard:
    """A card with a hostile text in each field that a provider, planner or person fills."""
    fields: dict[str, Any] = {
        "confirmation_id": "m.1-dinner.2-2",
        "mission_id": "m",
        "leg_id": "1-dinner",
        "card_type": "structured-reservation",
        **texts("heading", "title", "unordered", "goal", "clause", "agent", "reason"),
        **texts("asked_because", "cancellation", "requester"),
        "tool": "dining_reserve_table",
        "content": CONTENT_TYPES["structured-reservation"].model_validate(
            {"place": [line("place")], "times": [texts("label", "at")]}
        ),
        "lines": (line("line"), line("line")),
        "warnings": (hostile("warning"), hostile("warning")),
        "changes": (Change(**texts("label", "before", "now")),),
        "named": (
            NamedThing(
                ids=(line("id"),),
                lines=(line("thing"),),
                price=EUR_78,
                found_by=hostile("by"),
                found_for=(line("for"),),
                at=NOON,
            ),
        ),
        "totals": (Amount(label=hostile("total"), money=EUR_78),),
        "other_inputs": (line("other"), line("other")),
        "arguments": {"city": hostile("city"), "notes": [hostile("note")], "party_size": 2},
        "inputs": ("city", "notes", "party_size"),
        "price": EUR_78,
        "cancel_terms": CancelTerms(tool="dining_cancel"),
        "digest": "ab" * 32,
        "expires_at": NOON,
        "approvers": ("*",),
        "operators_approvers": ("*@example.com",),
        "approvals_needed": 2,
        "approved_by": (hostile("approver"),),
        "round": 2,
        "reminded": 1,
    }
    return ConfirmationCard(**{**fields, **changes})


QUESTION: Final = Question(
    question_id="m.1-dinner.3",
    mission_id="m",
    leg_id="1-dinner",
    **texts("question", "why", "otherwise"),
    fields={
        "city": {"type": "string", "title": hostile("label"), "description": hostile("about")},
        "cabin": {"type": "string", "enum": [hostile("choice"), "economy"]},
        "answer": open_choice({"go on": hostile("means")}, other=hostile("free")),
        "party_size": {"type": "integer", "default": 2},
    },
    personal=("traveler_id",),
    expires_at=NOON,
    asked_at=NOON,
)
_HOLD: Final = Hold(
    error=hostile("error"),
    leg_id="1-dinner",
    failed=FailedCall(tool="message_send", arguments={"text": hostile("argument")}),
    standing=(
        Standing(
            call_id="m.1-dinner.2",
            tool="dining_reserve_table",
            title=hostile("standing"),
            state=ObligationState.COMMITTED,
            price=EUR_78,
            cancel_tool="dining_cancel",
            fee=EUR_78,
            until=NOON,
        ),
    ),
)
HELD: Final = Question(
    question_id="m.hold.1",
    mission_id="m",
    leg_id="",
    question=hostile("held"),
    fields=answer_fields(_HOLD),
    otherwise=hostile("otherwise"),
    expires_at=NOON,
    hold=_HOLD,
)
PAUSE: Final = ModelPause(
    pause_id="m.1-dinner.4-model",
    mission_id="m",
    leg_id="1-dinner",
    **texts("model", "reason", "remedy"),
    since=NOON,
    deadline=NOON + timedelta(days=1),
)
FOLLOW_UP: Final = FollowUp(
    id="m.1-dinner.2:1",
    kind="cancel",
    tool="dining_cancel",
    title=hostile("follow"),
    inputs={"reservation_id": hostile("input")},
    asks_for=(hostile("asks"),),
    until=NOON,
    fee=EUR_78,
)


def obligation(number: int, state: ObligationState, **changes: Any) -> Obligation:
    made = fake_obligation(f"m.1-dinner.{number}", state=state)
    fields: dict[str, Any] = {
        **texts("title", "note", "confirmed_by"),
        "price": EUR_78,
        "response": {"reservation_id": hostile("reference")},
        "settled_at": NOON + timedelta(minutes=number),
        "rollback": RollbackOrder(reason=hostile("order"), approver=hostile("orderer")),
        "differs": (hostile("differs"),),
    }
    return made.model_copy(update={**fields, **changes})


STEP: Final = StepRecord(
    step=1,
    tools_forwarded=(),
    catalog_size=40,
    band="crisp",
    did=f"call {hostile('tool')}",
    outcome="rejected",
    error=hostile("error"),
    at=NOON,
)
REJECTED: Final = DecisionRecord(
    confirmation_id="m.1-dinner.2",
    kind="rejected",
    **texts("approver", "reason"),
    at=NOON,
    digest="ab" * 32,
    then="rollback",
)
LEG: Final = LegResult(
    leg_id="1-dinner",
    **texts("agent", "goal", "error", "summary"),
    status=LegStatus.FAILED,
    steps=(STEP,),
    decisions=(REJECTED,),
)
LEDGER: Final = Ledger(
    obligations=(
        obligation(2, ObligationState.COMMITTED, follow_ups=(FOLLOW_UP,)),
        obligation(3, ObligationState.CANCELLED),
        obligation(4, ObligationState.PARKED),
    )
)
RESULT: Final = MissionResult(
    mission_id="m",
    **texts("goal", "error", "summary", "summary_before"),
    requester="ana@example.com",
    status=MissionStatus.PARKED,
    legs=(LEG,),
    set_aside=(hostile("aside"),),
    uncovered=(hostile("uncovered"),),
    ledger=LEDGER,
    budget=Money(amount=Decimal(100), currency="EUR"),
    started_at=NOON,
    finished_at=NOON + timedelta(hours=1),
)
REPORT: Final = RollbackReport(
    mission_id="m",
    order=RollbackOrder(reason=hostile("order"), approver=hostile("orderer"), asked_at=NOON),
    ledger=LEDGER,
    settled=True,
    notes=(hostile("note"),),
)
PARKED: Final = ParkedRollback(**dict(REPORT), waiting=parked_of(REPORT))
PREVIEW: Final = RollbackPreview(
    mission_id="m",
    status=MissionStatus.SUCCEEDED,
    obligations=LEDGER.obligations[:1],
    references={"m.1-dinner.2": {"reservation_id": hostile("reference")}},
    is_begun=False,
)
MISSION: Final = MissionSummary(
    mission_id="m",
    status="running",
    goal=hostile("goal"),
    started_at=NOON,
    waits_for=(Wait(kind="confirmation", what=hostile("wait")),),
)
PLAN: Final = PlanPreview(
    goal=hostile("goal"),
    digest="cd" * 32,
    legs=(
        PlannedLeg(
            leg_id="1-dinner",
            goal=hostile("leg"),
            agent=hostile("agent"),
            stage=1,
            tools=(PlannedTool(name="t", title=hostile("title"), is_side_effect=True),),
            orders=(Order(tools=("t",), clause=hostile("clause")),),
            serves=(hostile("serves"),),
        ),
    ),
    uncovered=(hostile("uncovered"),),
    doubts=(Doubt(kind="left_over", about=hostile("about"), why=hostile("why")),),
    catalog_digest="ef" * 32,
    undeclared_inputs=(hostile("input"),),
)
WAITING: Final = Waiting(
    cards=(hostile_card(),), questions=(QUESTION, HELD), pauses=(PAUSE,), stalled=(hostile("st"),)
)


def texts_of(value: object) -> Iterator[str]:
    """Yield every text in a model, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from texts_of(getattr(value, name))
    elif isinstance(value, dict):
        yield from (text for inner in value.values() for text in texts_of(inner))
    elif isinstance(value, list | tuple):
        yield from (text for inner in value for text in texts_of(inner))
