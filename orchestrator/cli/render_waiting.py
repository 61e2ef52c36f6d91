"""Cards, questions and pauses that wait for people, drawn with rich."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from orchestrator.cli.drawing import block, indented, line
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core import command_lines
from orchestrator.messages.open_waits import commands_for

if TYPE_CHECKING:  # drawing a thing needs no import of where it comes from
    from orchestrator.confirmation.models import ConfirmationCard, DecisionReceipt
    from orchestrator.messages.leg import Question
    from orchestrator.messages.model_trouble import ModelPause
    from orchestrator.messages.open_waits import UnaskedLeg, Waiting


def waiting(console: Console, found: Waiting) -> None:
    """What expires first at the head, each with what to type; then what could not be asked.

    No line is folded or cut: what one types is copied.
    """
    for one in found.in_order():
        for text in (_head(one), *_told(one)):
            console.print(text, soft_wrap=True)
    for pause in found.pauses:
        for text in paused(pause):
            console.print(text, soft_wrap=True)
    for leg in found.unasked:
        console.print(_unasked(leg))
    if not _waits(found):
        console.print("nothing waits for a decision or an answer")


def part(console: Console, found: Waiting) -> None:
    """What one mission waits for, below the rest of it; nothing where it waits for nobody."""
    if _waits(found):
        of_people = found.cards or found.questions or found.unasked
        console.print()
        console.print(line(("waits for a person" if of_people else "waits", "bold")))
        waiting(console, found)


def paused(pause: ModelPause) -> Iterator[Text]:
    """A leg that waits for its model, with what to type to hasten, turn or end that."""
    yield line(f"{pause.mission_id}.{pause.leg_id}  ", (pause.told, "yellow"))
    for command in command_lines.resume_leg(pause.pause_id):
        yield line("  ", command)


def _waits(found: Waiting) -> bool:
    return bool(found.cards or found.questions or found.pauses or found.unasked)


def _head(asked: ConfirmationCard | Question) -> Text:
    """Which it is, what it costs, until when it waits."""
    if isinstance(asked, ConfirmationCard):
        named, facts = line(asked.confirmation_id), [str(asked.price)] if asked.price else []
    else:
        named, facts = line(asked.question_id, "  asks"), []
    if asked.expires_at is not None:
        facts.append(f"until {asked.expires_at:%Y-%m-%d %H:%M %Z}")
    return line(named, *(("  " + fact, "dim") for fact in facts))


def _told(asked: ConfirmationCard | Question) -> Iterator[Text]:
    """What is asked, and what to type."""
    if isinstance(asked, ConfirmationCard):
        notes = [part for note in times_asked(asked) for part in (", ", (note, "yellow"))]
        yield line("  ", (asked.title, "dim"), *notes)
    else:
        yield line("  ", asked.question)
        yield from particulars(asked)
    for command in commands_for(asked):
        yield line("  ", command)


def particulars(asked: Question) -> Iterator[Text]:
    """Why it is asked, what each field takes, and what happens without an answer."""
    if asked.why:
        yield line(("  because: ", "dim"), asked.why)
    for field in asked.asks:
        yield line(("  - ", "dim"), field.told(asked.today))
        for choice in field.listed():
            yield line("      ", choice)
    if asked.otherwise:
        yield line(("  otherwise: ", "dim"), asked.otherwise)


def _unasked(leg: UnaskedLeg) -> Text:
    return line(("could not be asked: ", "red"), f"{leg.leg} ({leg.status or 'waits'}): {leg.why}")


def times_asked(card: ConfirmationCard) -> Iterator[str]:
    """How often people were asked so far, where it was more than once."""
    if card.round > 1:
        yield f"asked {card.round}x"
    if card.reminded:
        yield f"reminded {card.reminded}x"


def card(console: Console, shown: ConfirmationCard) -> None:
    """One card, whole, and how to approve it.

    What stands at the margin is ours; what providers and planners name and say is further right.
    """
    body = Table(box=None, show_header=False, pad_edge=False)
    for label, value in _first(shown):
        body.add_row(_ours(label), value)
    if shown.price is not None:
        body.add_row(_ours("Price"), line((str(shown.price), "bold")))
    for section in shown.sections():
        if section.title:
            body.add_row(indented(line((section.title, "bold"))), "")
        for entry in section.lines:
            body.add_row(indented(line((entry.label, "dim")), by=4), block(entry.value))
    for label, value in _terms(shown):
        body.add_row(_ours(label), value)
    heading = line(shown.heading or shown.card_type)
    title = line((shown.title, "bold"))
    console.print(Panel(body, title=title, subtitle=heading, expand=False))
    for choice in shown.choices():
        console.print(line((f"{choice.name:<10}", "bold"), choice.command), soft_wrap=True)
        for follows in choice.follows:
            console.print(Padding(line((follows, "dim")), (0, 0, 0, 10)))


def _ours(label: str) -> Text:
    return line((label, "bold"))


def _first(shown: ConfirmationCard) -> Iterator[tuple[str, Text]]:
    """What is read before all else: that nothing orders it, why again, what to mind."""
    if shown.unordered:
        yield "Not ordered", line((shown.unordered, "bold red"))
    if shown.asked_because:
        yield "Asked again", block(shown.asked_because)
    for change in shown.changes:
        told = change.line()
        yield "", line((f"{told.label}: ", "dim"), told.value)
    for warning in shown.warnings:
        yield "Mind", line((warning, "bold yellow"))
    for entry in shown.purpose():
        yield entry.label, block(entry.value)


def _terms(shown: ConfirmationCard) -> Iterator[tuple[str, Text]]:
    """What holds for any card: how it is cancelled, who decides, and until when."""
    if shown.cannot_be_undone:
        yield "Undo", line(("CANNOT BE UNDONE: ", "bold red"), shown.undo)
    else:
        yield "Undo", block(shown.undo)
    if shown.other_inputs:
        yield "Other inputs", line((shown.folded(), "dim"))
    for entry in shown.oversight():
        yield entry.label, block(entry.value)
    if shown.expires_at is not None:
        yield "Decide before", line(f"{shown.expires_at:%Y-%m-%d %H:%M %Z}")
    asked = ", ".join(times_asked(shown))
    if asked:
        yield "So far", line(asked)
    yield "Digest", line(shown.digest[:16])


def receipt(console: Console, given: DecisionReceipt) -> None:
    """What became of a decision; the card that is open after it waits for another."""
    console.print(f"{given.accepted}: {given.confirmation_id}")
    if given.card is not None and given.accepted == "approved":
        console.print("another person has to approve it too")
    if given.card is not None:
        card(console, given.card)
