"""A confirmation card as Markdown, for the Temporal UI and whatever else draws it."""

import re

from orchestrator.confirmation.models import ConfirmationCard

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|!])")


def as_markdown(card: ConfirmationCard) -> str:
    """All of a card; what comes from providers and planners cannot become markup."""
    lines = [f"### {_plain(card.heading or card.card_type)}: {_plain(card.title)}", ""]
    if card.price is not None:
        lines += [f"**Price** {card.price}", ""]
    for section in card.sections():
        lines += [f"**{_plain(section.title)}**", ""] if section.title else []
        lines += [f"- {_plain(line.label)}: {_plain(line.value)}" for line in section.lines]
        lines.append("")
    lines.append(f"**Undo** {_plain(card.undo)}")
    if card.approvers:
        lines.append(f"**Who may decide** {_plain(', '.join(card.approvers))}")
    if card.expires_at is not None:
        lines.append(f"**Decide before** {card.expires_at:%Y-%m-%d %H:%M %Z}")
    again = [f"asked for time no. {card.round}"] if card.round > 1 else []
    again += [f"reminded {card.reminded}x"] if card.reminded else []
    if again:
        lines.append(", ".join(again))
    lines += [
        "",
        f"`orchestrator confirm approve {card.confirmation_id} --digest {card.digest}`",
    ]
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Text that a Markdown renderer shows as it is, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
