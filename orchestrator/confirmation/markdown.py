"""A confirmation card as Markdown, for the Temporal UI and whatever else draws it."""

from orchestrator.confirmation.card_content import CardLine
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.shown_text import markdown_code, markdown_text


def as_markdown(card: ConfirmationCard) -> str:
    """All of a card; what comes from providers and planners cannot become markup."""
    heading = markdown_text(card.heading or card.card_type)
    lines = [f"**{markdown_text(card.unordered)}**", ""] if card.unordered else []
    lines += [f"### {heading}: {markdown_text(card.title)}", ""]
    lines += _again(card)
    lines += [f"**Mind** {markdown_text(warning)}" for warning in card.warnings]
    lines += [f"**{entry.label}** {markdown_text(entry.value)}" for entry in card.purpose()]
    lines.append("")
    if card.price is not None:
        lines += [f"**Price** {card.price}", ""]
    for section in card.sections():
        lines += [f"**{markdown_text(section.title)}**", ""] if section.title else []
        lines += [f"- {_line(line)}" for line in section.lines]
        lines.append("")
    undo = "CANNOT BE UNDONE: " if card.cannot_be_undone else ""
    lines.append(f"**Undo** {undo}{markdown_text(card.undo)}")
    if card.other_inputs:
        lines.append(f"**Other inputs** {markdown_text(card.folded())}")
    lines += [f"**{entry.label}** {markdown_text(entry.value)}" for entry in card.oversight()]
    if card.expires_at is not None:
        lines.append(f"**Decide before** {card.expires_at:%Y-%m-%d %H:%M %Z}")
    lines += _counted(card)
    lines.append("")
    lines += [
        f"- {choice.name}: {markdown_code(choice.command)} "
        f"({markdown_text('; '.join(choice.follows))})"
        for choice in card.choices()
    ]
    return "\n".join(lines)


def _again(card: ConfirmationCard) -> list[str]:
    """Why it is asked again, and what is otherwise."""
    if not card.asked_because:
        return []
    changed = [f"- {_line(change.line())}" for change in card.changes]
    return [f"**Asked again** {markdown_text(card.asked_because)}", "", *changed, ""]


def _counted(card: ConfirmationCard) -> list[str]:
    again = [f"asked for time no. {card.round}"] if card.round > 1 else []
    again += [f"reminded {card.reminded}x"] if card.reminded else []
    return [", ".join(again)] if again else []


def _line(line: CardLine) -> str:
    return f"{markdown_text(line.label)}: {markdown_text(line.value)}"
