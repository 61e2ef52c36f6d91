"""Whether a clause speaks of what a tool does."""

from datetime import UTC, datetime

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.rules.tool_words import speaks_of
from orchestrator.planning.rules.utterance import read_utterance

NOW = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("clause", "tool", "speaks"),
    [
        ("Reserve a table for four in Lisbon at 20:00", "dining_reserve_table", True),
        ("Remind me to call the bank tomorrow at 9:00", "calendar_create_reminder", True),
        ("file the expense", "expense_file_report", True),
        ("Book me a massage", "flight_book_offer", False),
        ("Paint my house blue", "hotel_book_room", False),
        ("in Lisbon on 2026-12-03", "flight_book_offer", False),
        ("Which vans are big enough for nine", "car_search_offers", True),
        ("Who drives vans big enough for nine", "car_search_offers", False),
    ],
)
def test_most_words_must_be_the_tools_own(
    clause: str, tool: str, speaks: bool, shipped: Catalog
) -> None:
    """Values and the matter of a message do not count; one shared verb is not enough.

    Which of a kind is asked of what lists such, whatever else is said.
    """
    assert speaks_of(read_utterance(clause, now=NOW), shipped.tool(tool)) is speaks
