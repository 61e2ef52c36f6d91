"""What waits for people, drawn with rich: cards, questions, and who could not be asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from orchestrator.cli.drawing import line, lines, table_of
from orchestrator.cli.render_cards import times_asked
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.messages.open_waits import commands_for

if TYPE_CHECKING:  # drawing a thing needs no import of where it comes from
    from orchestrator.messages.leg import Question
    from orchestrator.messages.open_waits import UnaskedLeg, Waiting


def waiting(console: Console, found: Waiting) -> None:
    """What expires first at the head, each with what to type; then what could not be asked."""
    if found.cards or found.questions:
        table = table_of("waits", "price", "until")
        for one in found.in_order():
            price = one.price if isinstance(one, ConfirmationCard) else None
            until = f"{one.expires_at:%Y-%m-%d %H:%M %Z}" if one.expires_at is not None else ""
            table.add_row(lines(*_told(one)), str(price or ""), until)
        console.print(table)
    elif not found.unasked:
        console.print("nothing waits for a decision or an answer")
    for leg in found.unasked:
        console.print(_unasked(leg))


def _told(asked: ConfirmationCard | Question) -> Iterator[Text]:
    """What is asked, and what to type."""
    if isinstance(asked, ConfirmationCard):
        notes = [part for note in times_asked(asked) for part in (", ", (note, "yellow"))]
        yield line(asked.confirmation_id)
        yield line("  ", (asked.title, "dim"), *notes)
    else:
        yield line(asked.question_id, "  asks")
        yield line("  ", (asked.question, "dim"))
    for command in commands_for(asked):
        yield line("  ", command)


def _unasked(leg: UnaskedLeg) -> Text:
    return line(("could not be asked: ", "red"), f"{leg.leg} ({leg.status or 'waits'}): {leg.why}")
