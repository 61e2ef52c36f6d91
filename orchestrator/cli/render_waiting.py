"""Cards, questions and pauses that wait for people, drawn with rich."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from orchestrator.cli.output import block, indented, line
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core import command_lines
from orchestrator.messages.open_waits import Waiting, commands_for

if TYPE_CHECKING:  # their modules need not be loaded to draw them
    from orchestrator.confirmation.models import DecisionReceipt
    from orchestrator.confirmation.same_again import AgainRecord
    from orchestrator.messages.failure_details import ModelPause
    from orchestrator.messages.leg import Question


def waiting(console: Console, found: Waiting) -> None:
    """Draw what waits with the commands to type, the first to expire at the top.

    No line is folded or cut, so that commands can be copied.
    """
    for one in found.in_order():
        asked(console, one)
    for pause in found.pauses:
        for text in paused(pause):
            console.print(text, soft_wrap=True)
    for why in found.stalled:
        console.print(line((f"waits: {why}", "yellow")), soft_wrap=True)
    if found == Waiting():
        console.print("nothing waits for a decision or an answer")


def asked(console: Console, one: ConfirmationCard | Question) -> None:
    """Draw a card or a question in a few lines, with the commands to type."""
    for text in entry(one):
        console.print(text, soft_wrap=True)


def mission_waits(console: Console, found: Waiting) -> None:
    """Draw what one mission waits for, without the waits for workers."""
    found = found.model_copy(update={"stalled": ()})
    if found != Waiting():
        of_people = found.cards or found.questions
        console.print()
        console.print(line(("waits for a person" if of_people else "waits", "bold")))
        waiting(console, found)


def paused(pause: ModelPause) -> Iterator[Text]:
    """Yield a leg that waits for its model, with the commands that resume or end it."""
    yield line(f"{pause.mission_id}.{pause.leg_id}  ", (pause.sentence, "yellow"))
    for command in command_lines.resume_leg(pause.pause_id):
        yield line("  ", command)


def entry(one: ConfirmationCard | Question) -> Iterator[Text]:
    """Yield the lines of a card or a question, with the commands to type."""
    if isinstance(one, ConfirmationCard):
        named, facts = line(one.confirmation_id), [str(one.price)] if one.price else []
    else:
        named = line(one.question_id, "  asks" if one.hold is None else "  is on hold")
        facts = []
    if one.expires_at is not None:
        facts.append(f"until {one.expires_at:%Y-%m-%d %H:%M %Z}")
    yield line(named, *(("  " + fact, "dim") for fact in facts))
    if isinstance(one, ConfirmationCard):
        notes = [part for note in times_asked(one) for part in (", ", (note, "yellow"))]
        yield line("  ", (one.title, "dim"), *notes)
    else:
        yield line("  ", one.question if one.hold is None else f"failed: {one.hold.error}")
        yield from particulars(one)
    for command in commands_for(one):
        yield line("  ", command)


def particulars(asked: Question) -> Iterator[Text]:
    """Yield the reason of a question, its fields, and what happens without an answer."""
    if (hold := asked.hold) is not None:
        for one in hold.standing:
            yield line(("  stands: ", "dim"), str(one))
        if hold.failed is not None:
            arguments = json.dumps(hold.failed.arguments, ensure_ascii=False)
            yield line(("  failed call: ", "dim"), f"{hold.failed.tool} {arguments}")
        if hold.limit is not None:
            yield line(("  limit: ", "dim"), f"{hold.limit} (--limit raises it)")
        if hold.no_repair:
            yield line(("  cannot be repaired: ", "yellow"), hold.no_repair)
        yield line(("  otherwise: ", "dim"), asked.otherwise)
        return
    if asked.why:
        yield line(("  because: ", "dim"), asked.why)
    for field in asked.asks:
        yield line(("  - ", "dim"), field.described(asked.today))
        for choice in field.listed():
            yield line("      ", choice)
    if asked.otherwise:
        yield line(("  otherwise: ", "dim"), asked.otherwise)


def times_asked(card: ConfirmationCard) -> Iterator[str]:
    """Yield how often people were asked so far, if more than once."""
    if card.round > 1:
        yield f"asked {card.round}x"
    if card.reminded:
        yield f"reminded {card.reminded}x"


def card(console: Console, shown: ConfirmationCard) -> None:
    """Draw one card, and the commands that decide on it.

    Our labels stand at the margin; text of providers and planners is indented.
    """
    body = Table(box=None, show_header=False, pad_edge=False)

    def row(label: str, value: Text) -> None:
        body.add_row(line((label, "bold")), value)

    if shown.unordered:
        row("Not ordered", line((shown.unordered, "bold red")))
    if shown.asked_because:
        row("Asked again", block(shown.asked_because))
    for change in shown.changes:
        changed = change.line()
        row("", line((f"{changed.label}: ", "dim"), changed.value))
    for warning in shown.warnings:
        row("Mind", line((warning, "bold yellow")))
    for entry in shown.purpose():
        row(entry.label, block(entry.value))
    if shown.price is not None:
        row("Price", line((str(shown.price), "bold")))
    for section in shown.sections():
        if section.title:
            body.add_row(indented(line((section.title, "bold"))), "")
        for entry in section.lines:
            body.add_row(indented(line((entry.label, "dim")), by=4), block(entry.value))
    if shown.cannot_be_cancelled:
        never = ("CANNOT BE CANCELLED: ", "bold red")
        row("Cancellation", line(never, shown.cancellation))
    else:
        row("Cancellation", block(shown.cancellation))
    if shown.other_inputs:
        row("Other inputs", line((shown.folded(), "dim")))
    for entry in shown.oversight():
        row(entry.label, block(entry.value))
    if shown.expires_at is not None:
        row("Decide before", line(f"{shown.expires_at:%Y-%m-%d %H:%M %Z}"))
    if asked := ", ".join(times_asked(shown)):
        row("So far", line(asked))
    row("Digest", line(shown.digest[:16]))
    heading = line(shown.heading or shown.card_type)
    title = line((shown.title, "bold"))
    console.print(Panel(body, title=title, subtitle=heading, expand=False))
    for choice in shown.choices():
        console.print(line((f"{choice.name:<10}", "bold"), choice.command), soft_wrap=True)
        for follows in choice.follows:
            console.print(Padding(line((follows, "dim")), (0, 0, 0, 10)))


def rule(console: Console, given: AgainRecord) -> None:
    """Draw a rule for later calls."""
    console.print(line(given.sentence), soft_wrap=True)


def receipt(console: Console, given: DecisionReceipt) -> None:
    """Draw the receipt of a decision, and the card that is open after it."""
    console.print(f"{given.accepted}: {given.confirmation_id}")
    if given.card is not None and given.accepted == "approved":
        console.print("another person has to approve it too")
    if given.card is not None:
        card(console, given.card)
