"""Cards as people see them in a terminal."""

from datetime import UTC, datetime

from rich.console import Console

from orchestrator.cli import render_waiting
from orchestrator.confirmation.card_content import CONTENT_TYPES, CardLine
from orchestrator.confirmation.models import ConfirmationCard

CARD = ConfirmationCard(
    confirmation_id="m.1-dinner.2-2",
    mission_id="m",
    leg_id="1-dinner",
    card_type="structured-reservation",
    heading="Reservation",
    title="Reserve a [table]",
    content=CONTENT_TYPES["structured-reservation"].model_validate(
        {
            "place": [{"label": "City", "value": "Lisbon [bold]old town[/]"}],
            "times": [{"label": "Time", "at": "20:00"}],
        }
    ),
    lines=(CardLine(label="Client reference", value="m.1-dinner.2"),),
    tool="dining_reserve_table",
    undo="undone by dining_cancel_reservation within 1 day",
    digest="ab" * 32,
    expires_at=datetime(2026, 12, 3, 18, tzinfo=UTC),
    approvers=("*@ops.example.com",),
    round=2,
    reminded=1,
)


def drawn(width: int = 120) -> Console:
    return Console(width=width, record=True, quiet=False, file=None, force_terminal=False)


def test_a_card_shows_all_there_is_to_decide_on() -> None:
    """Under its headings; what looks like markup is text; the command holds the whole digest."""
    console = drawn()
    with console.capture() as captured:
        render_waiting.card(console, CARD)
    text = captured.get()

    for part in (
        "Reserve a [table]",
        "Where",
        "Lisbon [bold]old town[/]",
        "When",
        "20:00",
        "Details",
        "undone by dining_cancel_reservation within 1 day",
        "*@ops.example.com",
        "2026-12-03 18:00 UTC",
        "asked 2x, reminded 1x",
        f"orchestrator confirm approve m.1-dinner.2-2 --digest {'ab' * 32}",
    ):
        assert part in text
