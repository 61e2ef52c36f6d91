"""The JSON of webhooks: ids, what a card is about, and a link; never a personal value."""

import json
import re
from typing import Final

from orchestrator.core.personal_look import personal_look
from orchestrator.core.record import JsonObject
from orchestrator.core.shown_text import visible
from orchestrator.messages.notice import Notice

MASKED: Final = "•••"
_LONGEST_TITLE: Final = 200
_WORD: Final = re.compile(r"\S+")


def payload(notice: Notice, *, link: str) -> bytes:
    """Return the body of a webhook, the same for every attempt.

    It names no approver and no requester, and holds no text of a planner or a person.
    """
    price, expires_at = notice.price, notice.expires_at
    amount: JsonObject | None = None
    if price is not None:
        amount = {"amount": str(price.amount), "currency": price.currency}
    data: JsonObject = {"mission_id": notice.mission_id, "leg_id": notice.leg_id}
    if notice.event == "notice.failed":
        data |= {"notice_id": notice.failed, "confirmation_id": notice.wait_id}
    elif notice.event.startswith("question."):
        data |= {
            "question_id": notice.wait_id,
            "fields": [masked(name) for name in notice.fields],
            "outcome": notice.outcome,
            "expires_at": expires_at.isoformat() if expires_at is not None else None,
        }
    else:
        data |= {
            "confirmation_id": notice.wait_id,
            "digest": notice.digest,
            "card_type": notice.card_type,
            "tool": notice.tool,
            "title": masked(notice.title),
            "agent": notice.agent,
            "price": amount,
            "round": notice.round if notice.round > 1 else None,
            "decision": notice.outcome,
            "expires_at": expires_at.isoformat() if expires_at is not None else None,
        }
    data["link"] = link
    body = {
        "type": notice.event,
        "timestamp": notice.at.isoformat(),
        "data": {name: value for name, value in data.items() if value not in ("", None, [])},
    }
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def masked(text: str) -> str:
    """Return a text of a card on one line, without anything in it that looks personal.

    Cards mask the values of personal fields. This also masks a value that a provider or a planner
    put into other text; where only several words together look personal, all of the text goes.
    """
    shown = visible(text[:_LONGEST_TITLE])
    shown = _WORD.sub(lambda word: MASKED if personal_look(word[0]) else word[0], shown)
    return MASKED if personal_look(shown) else shown
