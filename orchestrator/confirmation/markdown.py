"""A confirmation card as Markdown, for the Temporal UI and whatever else draws it."""

from orchestrator.confirmation.card_content import CardLine
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.shown_text import markdown_code, markdown_text


def as_markdown(card: ConfirmationCard) -> str:
    """All of a card; what comes from providers and planners cannot become markup."""
    heading = markdown_text(card.heading or card.card_type)
    lines = [f"### {heading}: {markdown_text(card.title)}", ""]
    if card.price is not None:
        lines += [f"**Price** {card.price}", ""]
    for section in card.sections():
        lines += [f"**{markdown_text(section.title)}**", ""] if section.title else []
        lines += [f"- {_line(line)}" for line in section.lines]
        lines.append("")
    lines.append(f"**Undo** {markdown_text(card.undo)}")
    lines += [f"**{entry.label}** {markdown_text(entry.value)}" for entry in card.oversight()]
    if card.expires_at is not None:
        lines.append(f"**Decide before** {card.expires_at:%Y-%m-%d %H:%M %Z}")
    again = [f"asked for time no. {card.round}"] if card.round > 1 else []
    again += [f"reminded {card.reminded}x"] if card.reminded else []
    if again:
        lines.append(", ".join(again))
    approve = f"orchestrator confirm approve {card.confirmation_id} --digest {card.digest}"
    lines += ["", markdown_code(approve)]
    return "\n".join(lines)


def _line(line: CardLine) -> str:
    return f"{markdown_text(line.label)}: {markdown_text(line.value)}"
