"""Messages in Slack: plain text, so that no text of others becomes a link, a mention or markup."""

import json
from typing import Final

from pydantic import JsonValue

from orchestrator.adapters.notices.webhook_payloads import masked
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.record import JsonObject, Record
from orchestrator.core.shown_text import number_of
from orchestrator.messages.notice import Notice

APPROVE: Final = "orchestrator_approve"
REJECT: Final = "orchestrator_reject"
OPEN: Final = "orchestrator_open"
REASON: Final = "reason"
EVENT_TYPE: Final = "orchestrator_notice"
"""The type of the metadata by which an earlier post of a notice is found again."""
_LONGEST: Final = 280
_LONGEST_REASON: Final = 500
_SIGNED: Final = "Decisions on this card are signed by the person who signed in: not in Slack."
_ENDED: Final = {
    "card.expired": "Expired: nobody decided in time.",
    "card.withdrawn": "Withdrawn: the mission no longer asks.",
    "question.closed": "Closed: it was answered, or is no longer asked.",
}


class CardKey(Record):
    """The card that a button decides on, as its value has it."""

    confirmation_id: str
    digest: str

    def text(self) -> str:
        """Return the value of a button."""
        return json.dumps([self.confirmation_id, self.digest])

    @classmethod
    def read(cls, text: str) -> "CardKey":
        """Return the card that a button's value names.

        Raises:
            ValueError: the value is none of ours.
        """
        match json.loads(text):
            case [str() as confirmation_id, str() as digest]:
                return cls(confirmation_id=confirmation_id, digest=digest)
        raise ValueError("no value of one of our buttons")


def plain(text: str) -> str:
    """Return text of others, masked, on one line, and short."""
    shown = masked(text)
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"


def escaped(text: str) -> str:
    """Return text for the places that Slack reads as markup: notifications."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def open_card(card: ConfirmationCard, *, link: str) -> JsonObject:
    """Return the message of an open card: essentials, buttons, and a link.

    A card whose decisions are signed has no button that decides: a click in Slack proves nobody.
    """
    key = CardKey(confirmation_id=card.confirmation_id, digest=card.digest).text()
    lines = [f"{plain(card.heading or card.card_type)} · {card.tool}"]
    if card.price is not None:
        lines.append(f"Price: {card.price}")
    if warnings := [one for one in (card.unordered, *card.warnings) if one]:
        lines.append(f"⚠ {number_of(len(warnings), 'warning')}. {plain(warnings[0])}")
    cancellation = "CANNOT BE CANCELLED. " if card.cannot_be_cancelled else ""
    lines.append(f"Cancellation: {cancellation}{plain(card.cancellation)}")
    if card.requester:
        lines.append(f"Requested by {card.requester}")
    if card.approvals_needed > 1:
        lines.append(f"Approvals needed: {card.approvals_needed}, of different people")
    if card.expires_at is not None:
        lines.append(f"Decide before {card.expires_at:%Y-%m-%d %H:%M %Z}")
    buttons: list[JsonValue] = []
    if card.signed:
        lines.append(_SIGNED)
    else:
        approve = _button(APPROVE, "Approve", value=key, style="primary")
        price = f" for {card.price}" if card.price is not None else ""
        approve["confirm"] = {
            "title": _text("Approve?"),
            "text": _text(f"{plain(card.title)}{price}"),
            "confirm": _text("Approve"),
            "deny": _text("Back"),
        }
        reject = _button(REJECT, "Reject…", value=key, style="danger")
        buttons = [reject] if card.exceeds_budget else [approve, reject]
    if link:
        label = "Decide in the inbox" if card.signed else "Whole card"
        buttons.append(_button(OPEN, label, url=link))
    actions: list[JsonValue] = [{"type": "actions", "elements": buttons}] if buttons else []
    return {
        "text": escaped(f"Waits for a decision: {plain(card.title)}"),
        "blocks": [
            _header(plain(card.title)),
            *(_section(line) for line in lines),
            *actions,
            _context(f"{card.confirmation_id} · digest {card.digest[:12]}"),
        ],
    }


def closed_card(notice: Notice) -> JsonObject:
    """Return the message of a card that is closed: how, by whom, and no button."""
    who = f" by {notice.decided_by}" if notice.decided_by else ""
    ended = _ENDED.get(notice.event, f"{notice.outcome.capitalize()}{who}.")
    if notice.outcome == "amended":
        ended += " A new card follows."
    title = plain(notice.title) or "Question"
    return {
        "text": escaped(f"{title}: {ended}"),
        "blocks": [_header(title), _section(ended), _context(notice.wait_id)],
    }


def reminder(notice: Notice) -> str:
    """Return the line under a card that still waits."""
    until = f" until {notice.expires_at:%Y-%m-%d %H:%M %Z}" if notice.expires_at else ""
    return f"Still waits for a decision{until}."


def question(notice: Notice, *, link: str) -> JsonObject:
    """Return the message of an open question; it is answered in the inbox."""
    fields = ", ".join(plain(name) for name in notice.fields[:10])
    lines = [f"Asked for: {fields}"] if fields else []
    if notice.expires_at is not None:
        lines.append(f"Answer before {notice.expires_at:%Y-%m-%d %H:%M %Z}")
    buttons: list[JsonValue] = [_button(OPEN, "Answer", url=link)] if link else []
    actions: list[JsonValue] = [{"type": "actions", "elements": buttons}] if buttons else []
    return {
        "text": f"A mission asks a question: {escaped(notice.mission_id)}",
        "blocks": [
            _header("A mission asks a question"),
            *(_section(line) for line in lines),
            *actions,
            _context(notice.wait_id),
        ],
    }


def other(notice: Notice) -> JsonObject:
    """Return the message of a test, or of a notice that no channel has delivered."""
    text = (
        "A test of this channel: notices arrive here."
        if notice.event == "notice.test"
        else f"No channel has delivered the notice about {notice.wait_id or notice.mission_id}."
    )
    return {"text": escaped(text), "blocks": [_section(text)]}


def rejection_view(key: CardKey, *, title: str) -> JsonObject:
    """Return the dialog that asks for the reason of a rejection."""
    return {
        "type": "modal",
        "callback_id": REJECT,
        "private_metadata": key.text(),
        "title": _text("Reject"),
        "submit": _text("Reject"),
        "close": _text("Back"),
        "blocks": [
            _section(title),
            {
                "type": "input",
                "block_id": REASON,
                "label": _text("Reason, for the planner and the record"),
                "element": {
                    "type": "plain_text_input",
                    "action_id": REASON,
                    "multiline": True,
                    "max_length": _LONGEST_REASON,
                },
            },
        ],
    }


def _text(text: str) -> JsonObject:
    return {"type": "plain_text", "text": text or "-", "emoji": False}


def _header(text: str) -> JsonObject:
    return {"type": "header", "text": _text(text[:150])}


def _section(text: str) -> JsonObject:
    return {"type": "section", "text": _text(text)}


def _context(text: str) -> JsonObject:
    return {"type": "context", "elements": [_text(text)]}


def _button(
    action: str, label: str, *, value: str = "", url: str = "", style: str = ""
) -> JsonObject:
    named: JsonObject = {"value": value, "url": url, "style": style}
    shown: JsonObject = {"type": "button", "action_id": action, "text": _text(label)}
    return shown | {name: text for name, text in named.items() if text}
