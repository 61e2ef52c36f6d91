"""Notices and configurations that the tests of this folder share."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from orchestrator.adapters.notices.notice_rules import NoticeRules
from orchestrator.core.budget import Money
from orchestrator.messages.events import CardEvent
from orchestrator.messages.notice import Notice, announced

AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
HOOK = {"webhook": "https://hooks.example.com/in", "secrets": ["hook"]}
SLACK = {"slack": "C0123456"}


def card_event(**changes: Any) -> CardEvent:
    """The opening of a card."""
    fields: dict[str, Any] = {
        "mission_id": "trip-1",
        "leg_id": "1-flights",
        "at": AT,
        "confirmation_id": "trip-1.1-flights.2",
        "digest": "d" * 64,
        "state": "opened",
        "tool": "flight_book_offer",
        "card_type": "structured-itinerary",
        "title": "Book flight from Berlin to Lisbon",
        "agent": "flights",
        "requester": "ana@example.com",
        "price": Money(amount=Decimal("120.50"), currency="EUR"),
        "expires_at": AT.replace(hour=13),
    }
    return CardEvent.model_validate({**fields, **changes})


def notice(**changes: Any) -> Notice:
    """The notice of a card."""
    made = announced(card_event(**changes))
    assert made is not None
    return made


def rules(**changes: Any) -> NoticeRules:
    """A configuration of two webhooks and Slack."""
    fields: dict[str, Any] = {
        "inbox": "https://inbox.example.com/",
        "channels": {"ops": HOOK, "audit": {**HOOK, "events": ["card.decided"]}, "chat": SLACK},
        "routes": [{"channels": ["ops"]}],
        "slack": {},
    }
    return NoticeRules.model_validate({**fields, **changes}, extra="forbid")
