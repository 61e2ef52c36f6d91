"""Calls as activities receive them: prepared, approved, and sent without success."""

from collections.abc import Awaitable
from datetime import UTC, datetime
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from orchestrator.confirmation.models import ConfirmationCard, Grant
from orchestrator.messages.tool_call import PreparedCall, PrepareInput, ToolCall
from orchestrator.saga.obligation import Obligation

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def _ref(call_id: str) -> dict[str, Any]:
    mission_id, leg_id, _ = call_id.rsplit(".", 2)
    return {"call_id": call_id, "mission_id": mission_id, "leg_id": leg_id}


def made_call(call_id: str = "m.1-trip.1", **stated: Any) -> ToolCall:
    """Return a call of the mission and the leg that its id names."""
    fields = {**_ref(call_id), "tool": "book", "catalog_digest": "d", "arguments": {}}
    return ToolCall.model_validate({**fields, **stated})


def wanted_call(call_id: str = "m.1-shop.2", **stated: Any) -> PrepareInput:
    """Return the request to prepare such a call."""
    return PrepareInput.model_validate({**_ref(call_id), "arguments": {}, "now": NOW, **stated})


def call_of(prepared: PreparedCall) -> ToolCall:
    """Return the call that was prepared."""
    assert prepared.call is not None, prepared
    return prepared.call


def card_of(prepared: PreparedCall) -> ConfirmationCard:
    """Return the card of the call."""
    assert prepared.card is not None, prepared
    return prepared.card


def left_by(prepared: PreparedCall) -> Obligation:
    """Return the obligation that the call may leave."""
    assert prepared.obligation is not None, prepared
    return prepared.obligation


def approved(prepared: PreparedCall, approver: str = "ann") -> ToolCall:
    """Return the call with the grant that its card's approval gives."""
    card = card_of(prepared)
    grant = Grant(
        confirmation_id=card.confirmation_id, digest=card.digest, approver=approver, granted_at=NOW
    )
    return call_of(prepared).model_copy(update={"grant": grant})


async def failure_of(attempt: Awaitable[object]) -> ApplicationError:
    """Return the error that an attempt of an activity ends with."""
    with pytest.raises(ApplicationError) as raised:
        await attempt
    return raised.value
