"""What waits for people, drawn with rich: cards, questions, and who could not be asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from orchestrator.cli.drawing import line
from orchestrator.cli.render_cards import times_asked
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core import command_lines
from orchestrator.messages.open_waits import commands_for

if TYPE_CHECKING:  # drawing a thing needs no import of where it comes from
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
