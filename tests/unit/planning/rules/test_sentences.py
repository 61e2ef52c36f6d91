"""Plain words for what was done."""

import pytest

from orchestrator.catalog.tool import Effect, Tool
from orchestrator.planning.models import Fact
from orchestrator.planning.rules.sentences import done_phrase, headline, report
from orchestrator.planning.rules.situation import FactSource


@pytest.mark.parametrize(
    ("summary", "done"),
    [
        ("Reserve a selected restaurant table.", "Restaurant table reserved"),
        ("Post a message to a channel.", "Message posted to a channel"),
        ("Subscribe to warnings for a city.", "Subscribed to warnings for a city"),
        ("Pay an invoice. It is charged at once.", "Invoice paid"),
        ("Borrow", "Fallback"),
    ],
)
def test_what_a_tool_does_is_said_as_done(summary: str, done: str) -> None:
    """The verb becomes a participle behind its object; articles go."""
    assert done_phrase(summary, "Fallback") == done


TABLE = Tool(
    name="table_reserve",
    document="inn",
    domain="inn",
    summary="Reserve a table.",
    input_schema={"type": "object"},
    effect=Effect.OBLIGATION,
)
RESERVED = FactSource(
    Fact(
        source="1-inn.2",
        tool="table_reserve",
        side_effect=True,
        title="Reserve a table",
        body={
            "reservation_id": "r-7",
            "status": "confirmed",
            "inn_name": "Roma",
            "date": "2026-12-04",
            "time": "20:00",
            "party_size": 4,
            "price": {"amount": "20.00", "currency": "EUR"},
            "created_at": "2026-11-21T10:00:00Z",
        },
    ),
    TABLE,
)


def test_report_names_the_particulars() -> None:
    """A reader learns what, where, when, how many, its id and its price, and no bookkeeping."""
    assert report(RESERVED) == (
        "Table reserved: Roma, 2026-12-04, 20:00, party size 4, reference r-7, 20.00 EUR"
    )


def test_title_that_says_more_than_the_tool_is_kept() -> None:
    """A card's own title is better than one made from the tool's summary."""
    fact = RESERVED.fact.model_copy(update={"title": "Dinner at Roma"})

    assert headline(FactSource(fact, TABLE)) == "Dinner at Roma"
    assert headline(RESERVED) == "Table reserved"
