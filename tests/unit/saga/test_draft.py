"""What the ledger is told of a call before it is sent."""

from datetime import UTC, datetime, timedelta
from typing import Any

from orchestrator.catalog.tool import (
    Compensation,
    Effect,
    IdempotencyKey,
    InputBinding,
    Tool,
    ToolCallTemplate,
)
from orchestrator.core.call_ref import CallRef
from orchestrator.saga.cancel_arguments import draft_obligation

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
CALL = CallRef(
    call_id="m.1-trip.2",
    mission_id="m",
    leg_id="1-trip",
    tool="room_book",
    catalog_digest="c0ffee",
)


def tool(**more: Any) -> Tool:
    """A tool that books something."""
    return Tool(name="room_book", document="rooms", domain="rooms", input_schema={}, **more)


def test_the_ledger_entry_has_all_that_its_cancel_needs() -> None:
    """What was sent, under which key and catalog, and the retries that the contract gives."""
    compensation = Compensation(
        cancel=ToolCallTemplate(
            tool="room_cancel",
            arguments={"room": "$request.body#/room_id", "id": "$response.body#/id"},
        ),
        timeout=timedelta(seconds=7),
        max_attempts=4,
        on_failure="continue",
    )
    booked = tool(
        effect=Effect.OBLIGATION,
        bindings=(InputBinding(name="room_id", location="body", field="room_id"),),
        compensation=compensation,
        idempotency_key=IdempotencyKey(location="header", field="Idempotency-Key"),
    )

    entry = draft_obligation(CALL, booked, {"room_id": "r1"}, now=NOW)

    assert (entry.obligation_id, entry.idempotency_key) == ("m.1-trip.2", "m.1-trip.2")
    assert (entry.cancel_tool, entry.catalog_digest) == ("room_cancel", "c0ffee")
    assert entry.arguments == {"room_id": "r1"}
    assert entry.cancel_inputs == {"room": "r1"}
    assert (entry.cancel_timeout, entry.cancel_max_attempts) == (timedelta(seconds=7), 4)
    assert entry.on_failure == "continue"
    assert entry.is_live


def test_a_call_without_key_or_cancel_says_so_in_the_ledger() -> None:
    """Rollback reads from it that nothing can be repeated and nothing is declared."""
    entry = draft_obligation(CALL, tool(effect=Effect.WRITE), {}, now=NOW)

    assert entry.idempotency_key is None
    assert entry.cancel_tool is None
    assert entry.on_failure == "park"
