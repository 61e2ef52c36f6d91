"""Confirmation cards, drawn with rich."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from orchestrator.cli.drawing import table_of

if TYPE_CHECKING:  # drawing a thing needs no import of where it comes from
    from orchestrator.confirmation.models import ConfirmationCard, DecisionReceipt


def cards(console: Console, found: Sequence[ConfirmationCard]) -> None:
    """A line per open card."""
    if not found:
        console.print("nothing waits for a decision")
        return
    table = table_of("confirmation", "price", "decide before")
    for one in found:
        until = f"{one.expires_at:%Y-%m-%d %H:%M %Z}" if one.expires_at is not None else ""
        notes = "".join(f", [yellow]{note}[/]" for note in _asked(one))
        what = f"{one.confirmation_id}\n  [dim]{escape(one.title)}[/]{notes}"
        table.add_row(what, str(one.price or ""), until)
    console.print(table)
    console.print("\nread one: orchestrator confirm show CID")


def _asked(card: ConfirmationCard) -> Iterator[str]:
    """How often people were asked so far."""
    if card.round > 1:
        yield f"asked {card.round}x"
    if card.reminded:
        yield f"reminded {card.reminded}x"


def card(console: Console, shown: ConfirmationCard) -> None:
    """One card, whole, and how to approve it."""
    body = Table(box=None, show_header=False, pad_edge=False)
    if shown.price is not None:
        body.add_row("[bold]Price[/]", f"[bold]{shown.price}[/]")
    for section in shown.sections():
        if section.title:
            body.add_row(f"[bold]{escape(section.title)}[/]", "")
        for line in section.lines:
            body.add_row(f"[dim]{escape(line.label)}[/]", escape(line.value))
    for label, value in _terms(shown):
        body.add_row(f"[dim]{label}[/]", escape(value))
    heading = escape(shown.heading or shown.card_type)
    title = f"[bold]{escape(shown.title)}[/]"
    console.print(Panel(body, title=title, subtitle=heading, expand=False))
    console.print(
        f"orchestrator confirm approve {shown.confirmation_id} --digest {shown.digest}",
        soft_wrap=True,
    )


def _terms(shown: ConfirmationCard) -> Iterator[tuple[str, str]]:
    """What holds for any card: how it is cancelled, who decides, and until when."""
    yield "Undo", shown.undo
    if shown.approvers:
        yield "Who may decide", ", ".join(shown.approvers)
    if shown.expires_at is not None:
        yield "Decide before", f"{shown.expires_at:%Y-%m-%d %H:%M %Z}"
    asked = ", ".join(_asked(shown))
    if asked:
        yield "So far", asked
    yield "Digest", shown.digest[:16]


def receipt(console: Console, given: DecisionReceipt) -> None:
    """What became of a decision; an amendment leads to a new card."""
    console.print(f"{given.accepted}: {given.confirmation_id}")
    if given.card is not None:
        card(console, given.card)
