"""What a test makes up (tools, legs, selections, obligations), and what it reads from a ledger."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Literal

from orchestrator.catalog.declared_prices import CompensationFee
from orchestrator.catalog.tool import (
    Compensation,
    Effect,
    IdempotencyKey,
    Tool,
    ToolCallTemplate,
)
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject
from orchestrator.language.intent import IntentFrame
from orchestrator.planning.models import AgentProfile, LegPlan
from orchestrator.routing.selection import Band, Selection
from orchestrator.saga.ledger import Ledger, Obligation
from orchestrator.saga.orders import Order

KEY = IdempotencyKey(location="header", field="Idempotency-Key")
_WRITTEN = datetime(2026, 1, 1, tzinfo=UTC)


def fake_tool(
    name: str,
    *,
    cancel_tool: str | None = None,
    cancel_arguments: JsonObject | None = None,
    cancels: str | None = None,
    card_type: str | None = None,
    effect: Effect | None = None,
    idempotent: bool = True,
    max_attempts: int = 3,
    on_failure: Literal["park", "continue"] = "park",
    input_schema: JsonObject | None = None,
    personal: Iterable[str] = (),
    fee: Money | None = None,
) -> Tool:
    """A tool as a document would declare it, for a `FakeWorld`.

    ```python
    fake_tool("find_flights")                                      # reads
    fake_tool("book_flight", cancel_tool="cancel_flight")          # leaves an obligation
    fake_tool("pay", cancel_tool="refund", card_type="structured-payment")  # confirmed first
    fake_tool("post_note", effect=Effect.WRITE)                    # nothing takes it back
    ```

    Args:
        name: the operationId.
        cancel_tool: the operationId of the cancel tool; it need not be in the world.
        cancel_arguments: how the cancel tool's inputs are filled, by runtime expressions.
        cancels: the operationId of the tool that this one cancels.
        card_type: of the card that must be approved; None when nothing is asked.
        effect: by default an obligation with `cancel_tool`, a cancel with `cancels`, else a read.
        idempotent: whether it takes an idempotency key, and so may be called again.
        max_attempts: of its cancel, before it is parked.
        on_failure: what becomes of it then.
        input_schema: by default any object.
        personal: inputs whose values come from the vault.
        fee: what its cancel tool may cost.
    """
    compensation = None
    if cancel_tool is not None:
        compensation = Compensation(
            cancel=ToolCallTemplate(tool=cancel_tool, arguments=cancel_arguments or {}),
            max_attempts=max_attempts,
            on_failure=on_failure,
            fee=None if fee is None else CompensationFee(amount=fee),
        )
    return Tool(
        name=name,
        document="fake",
        domain="fake",
        summary=name.replace("_", " ").capitalize(),
        input_schema=input_schema or {"type": "object", "additionalProperties": True},
        effect=effect or _effect(cancel_tool, cancels),
        cancel_for=cancels,
        card_type=card_type,
        compensation=compensation,
        pii_fields=tuple(personal),
        idempotency_key=KEY if idempotent else None,
    )


def _effect(cancel_tool: str | None, cancels: str | None) -> Effect:
    if cancel_tool is not None:
        return Effect.OBLIGATION
    return Effect.CANCEL if cancels is not None else Effect.READ


def fake_leg(
    leg_id: str,
    *,
    after: Iterable[str] = (),
    agent: AgentProfile | None = None,
    orders: Iterable[Order] = (),
) -> LegPlan:
    """A leg of a plan, by default for an agent of the leg's name, and one that orders nothing."""
    return LegPlan(
        leg_id=leg_id,
        goal=f"do {leg_id}",
        agent=agent or AgentProfile(name=leg_id),
        depends_on=tuple(after),
        orders=tuple(orders),
    )


def fake_selection(
    *tools: str, catalog_size: int, band: Band = "crisp", reason: str = "scripted"
) -> Selection:
    """The tools that a router forwards at one step, all of them asked for."""
    return Selection(
        tools=tools,
        k=len(tools),
        band=band,
        reason=reason,
        frame=IntentFrame(),
        catalog_size=catalog_size,
    )


def fake_obligation(call_id: str = "m.1-leg.1", **stated: Any) -> Obligation:
    """What a call of `book`, which `cancel` takes back, has left, or may have: it is intended.

    ```python
    fake_obligation(state=ObligationState.COMMITTED, response={"booking_id": "b1"})
    fake_obligation("trip.2-car.7", tool="rent_car", cancel_tool=None)
    ```

    Args:
        call_id: of mission, leg and step.
        stated: fields that are otherwise.
    """
    mission_id, leg_id, _ = call_id.split(".")
    fields = {
        "obligation_id": call_id,
        "mission_id": mission_id,
        "leg_id": leg_id,
        "tool": "book",
        "cancel_tool": "cancel",
        "catalog_digest": "d",
        "arguments": {},
        "idempotency_key": call_id,
        "written_at": _WRITTEN,
        "deadline": _WRITTEN,
    }
    return Obligation.model_validate({**fields, **stated})


def states_of(ledger: Ledger) -> dict[str, str]:
    """Tool to the state of its obligation, in the order written: what a test asserts on."""
    return {o.tool: o.state.value for o in ledger.obligations}
